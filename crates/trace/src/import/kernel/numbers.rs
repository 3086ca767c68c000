//! System calls by their numbers, as `raw_syscalls` has them: the numbers depend on the
//! architecture.

use super::CallWords;

/// A kind of processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    /// x86 with 64 bits.
    X86_64,
    /// ARM with 64 bits.
    Aarch64,
}

/// A call's name, with its numbers on x86_64 and aarch64: `arch/x86/entry/syscalls/syscall_64.tbl` and
/// `include/uapi/asm-generic/unistd.h`.
const CALLS: [(&str, u64, u64); 10] = [
    ("write", 1, 64),
    ("pwrite64", 18, 68),
    ("writev", 20, 66),
    ("pwritev", 296, 70),
    ("pwritev2", 328, 287),
    ("fsync", 74, 82),
    ("fdatasync", 75, 83),
    ("ftruncate", 77, 46),
    ("sync", 162, 81),
    ("syncfs", 306, 267),
];

/// Numbers that are frequent on one architecture, and rare or unused on the other: openat, futex,
/// read, write, close, epoll_wait, newfstatat.
const FREQUENT_X86_64: [u64; 7] = [257, 202, 0, 1, 3, 232, 262];
const FREQUENT_AARCH64: [u64; 8] = [56, 98, 63, 64, 57, 22, 79, 113];

impl Machine {
    /// The architecture of this machine.
    pub fn own() -> Option<Machine> {
        match std::env::consts::ARCH {
            "x86_64" => Some(Machine::X86_64),
            "aarch64" => Some(Machine::Aarch64),
            _ => None,
        }
    }

    /// The architecture with this name in the kernel.
    pub fn of_name(name: &str) -> Option<Machine> {
        match name {
            "x86_64" => Some(Machine::X86_64),
            "aarch64" => Some(Machine::Aarch64),
            _ => None,
        }
    }

    /// The architecture that the numbers of many calls indicate; absent if they are not conclusive.
    pub fn of_numbers(numbers: impl Iterator<Item = u64>) -> Option<Machine> {
        let (mut x86_64, mut aarch64) = (0_u64, 0_u64);
        for number in numbers {
            x86_64 += u64::from(FREQUENT_X86_64.contains(&number));
            aarch64 += u64::from(FREQUENT_AARCH64.contains(&number));
        }
        match () {
            () if x86_64 > 2 * aarch64 => Some(Machine::X86_64),
            () if aarch64 > 2 * x86_64 => Some(Machine::Aarch64),
            () => None,
        }
    }

    /// The numbers of the calls to trace.
    pub fn numbers(self) -> [u64; 10] {
        CALLS.map(|(_, x86_64, aarch64)| if self == Machine::X86_64 { x86_64 } else { aarch64 })
    }

    /// The call with a number, with only those arguments that it uses.
    pub(super) fn call(self, number: u64, words: CallWords) -> Option<(&'static str, CallWords)> {
        let at = self.numbers().iter().position(|known| *known == number)?;
        let (name, ..) = CALLS.get(at)?;
        let CallWords { fd, offset, length } = words;
        let offset = offset.filter(|_| name.starts_with("pwrite"));
        let length = length.filter(|_| *name == "ftruncate");
        Some((name, CallWords { fd, offset, length }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_calls_are_those_of_this_machines_headers() {
        let Some(own) = Machine::own() else { return };
        let headers = [
            libc::SYS_write,
            libc::SYS_pwrite64,
            libc::SYS_writev,
            libc::SYS_pwritev,
            libc::SYS_pwritev2,
            libc::SYS_fsync,
            libc::SYS_fdatasync,
            libc::SYS_ftruncate,
            libc::SYS_sync,
            libc::SYS_syncfs,
        ];
        assert_eq!(own.numbers().map(|number| number as i64), headers);
    }

    #[test]
    fn a_machine_is_known_by_its_frequent_calls_and_not_guessed_from_none() {
        let of = |numbers: &[u64]| Machine::of_numbers(numbers.iter().copied());
        assert_eq!(of(&[257, 1, 3, 74, 98]), Some(Machine::X86_64));
        assert_eq!(of(&[56, 64, 82, 57, 98, 0]), Some(Machine::Aarch64));
        assert_eq!(of(&[74, 82]), None);
        assert_eq!(of(&[257, 98]), None);
    }
}
