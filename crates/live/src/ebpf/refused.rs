//! Finds out which right or kernel option is missing when the kernel refuses programs: the errno
//! alone does not say.

use std::fs;
use std::path::Path;

use rustix::process::{Resource, getrlimit};

/// Numbers of include/uapi/linux/capability.h.
const SYS_ADMIN: u32 = 21;
const PERFMON: u32 = 38;
const BPF: u32 = 39;

/// Locked memory that the maps take: the ring buffer, and tables of files and calls in flight.
const MAPS: u64 = 64 << 20;

/// What decides whether this process may load programs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Rights {
    /// Effective capabilities, a bit each.
    capabilities: u64,
    /// Whether a seccomp filter is active in this process.
    has_filter: bool,
    /// Whether the process has its capabilities only in a user namespace.
    is_in_namespace: bool,
    /// `kernel.unprivileged_bpf_disabled`.
    unprivileged: Option<u8>,
    /// Whether kernel lockdown forbids programs to read its memory.
    is_locked: bool,
    has_types: bool,
    /// Major and minor number of the kernel.
    kernel: Option<(u32, u32)>,
    /// The limit of locked memory; absent without one.
    locked_memory: Option<u64>,
}

impl Rights {
    /// The rights of this process on this machine.
    pub(super) fn of_this_process() -> Rights {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let status = read("/proc/self/status");
        let field = |name: &str| {
            status.lines().find_map(|line| Some(line.strip_prefix(name)?.strip_prefix(':')?.trim()))
        };
        let bits = field("CapEff").and_then(|bits| u64::from_str_radix(bits, 16).ok());
        // In the initial user namespace: `0 0 4294967295`.
        let map = read("/proc/self/uid_map");
        let all = map.split_whitespace().nth(2) == Some("4294967295");
        Rights {
            capabilities: bits.unwrap_or(0),
            has_filter: field("Seccomp") == Some("2"),
            is_in_namespace: !map.is_empty() && !all,
            unprivileged: read("/proc/sys/kernel/unprivileged_bpf_disabled").trim().parse().ok(),
            is_locked: read("/sys/kernel/security/lockdown").contains("[confidentiality]"),
            has_types: Path::new("/sys/kernel/btf/vmlinux").exists(),
            kernel: version(&rustix::system::uname().release().to_string_lossy()),
            locked_memory: getrlimit(Resource::Memlock).current,
        }
    }

    fn has(&self, capability: u32) -> bool {
        // The older, larger capability includes the newer ones.
        [capability, SYS_ADMIN].iter().any(|bit| (self.capabilities >> bit) & 1 == 1)
    }

    /// What is missing, one phrase each; empty if everything that is known to be needed is there.
    pub(super) fn missing(&self) -> Vec<String> {
        let mut missing = Vec::new();
        if self.kernel.is_some_and(|kernel| kernel < (5, 8)) {
            missing.push("the kernel is older than Linux 5.8".to_owned());
        }
        if !self.has_types {
            let file = "/sys/kernel/btf/vmlinux";
            missing.push(format!("the kernel has no {file} (CONFIG_DEBUG_INFO_BTF)"));
        }
        if !self.has(BPF) {
            let closed = match self.unprivileged {
                Some(0) | None => String::new(),
                Some(value) => {
                    format!(", without which kernel.unprivileged_bpf_disabled={value} refuses all")
                }
            };
            missing.push(format!("this process lacks the capability CAP_BPF{closed}"));
        }
        if !self.has(PERFMON) {
            missing.push("this process lacks the capability CAP_PERFMON".to_owned());
        }
        if self.is_in_namespace {
            let text = "this process is in a user namespace, whose capabilities do not count here";
            missing.push(text.to_owned());
        }
        if self.is_locked {
            let text = "the kernel is locked down (lockdown=confidentiality), which refuses all \
                        programs that read its memory";
            missing.push(text.to_owned());
        }
        if self.has_filter {
            let text =
                "a seccomp filter is on this process, as in a container, and may refuse bpf(2)";
            missing.push(text.to_owned());
        }
        // Since Linux 5.11, the control group accounts for maps instead.
        let counts_locked = self.kernel.is_some_and(|kernel| kernel < (5, 11));
        if let Some(limit) = self.locked_memory.filter(|limit| counts_locked && *limit < MAPS) {
            let kib = limit >> 10;
            missing.push(format!("RLIMIT_MEMLOCK is {kib} KiB (ulimit -l unlimited lifts it)"));
        }
        missing
    }
}

fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Rights {
        Rights {
            capabilities: 1 << BPF | 1 << PERFMON,
            unprivileged: Some(2),
            has_types: true,
            kernel: version("6.1.0-18-amd64"),
            locked_memory: Some(8 << 20),
            ..Rights::default()
        }
    }

    #[test]
    fn each_right_and_option_that_is_missing_is_named_and_no_other() {
        assert_eq!(all().missing(), Vec::<String>::new());
        let root = Rights { capabilities: 1 << SYS_ADMIN, ..all() };
        assert_eq!(root.missing(), Vec::<String>::new());
        let planted = [
            (
                Rights { capabilities: 1 << PERFMON, ..all() },
                "CAP_BPF, without which kernel.unprivileged_bpf_disabled=2",
            ),
            (Rights { capabilities: 1 << BPF, ..all() }, "CAP_PERFMON"),
            (Rights { has_types: false, ..all() }, "CONFIG_DEBUG_INFO_BTF"),
            (Rights { is_locked: true, ..all() }, "lockdown=confidentiality"),
            (Rights { has_filter: true, ..all() }, "seccomp"),
            (Rights { is_in_namespace: true, ..all() }, "user namespace"),
            (Rights { kernel: version("5.10.198"), ..all() }, "RLIMIT_MEMLOCK is 8192 KiB"),
            (
                Rights { kernel: version("4.19"), locked_memory: None, ..all() },
                "older than Linux 5.8",
            ),
        ];
        for (rights, named) in planted {
            let missing = rights.missing();
            assert_eq!(missing.len(), 1, "{missing:?}");
            assert!(missing[0].contains(named), "{missing:?}");
        }
    }
}
