use std::os::fd::AsFd;
use std::path::Path;

use flashlag_device::DeviceError;
use flashlag_units::Bytes;
use rustix::fs::StatVfs;

/// The space of a filesystem (`statvfs`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FreeSpace {
    /// Its size, without its own fixed structures.
    pub total: Bytes,
    /// Blocks that hold nothing, including those reserved for root.
    pub free: Bytes,
    /// What an ordinary user can still write: `df`'s "Avail".
    pub available: Bytes,
    /// The unit in which the filesystem allocates space.
    pub block: Bytes,
}

impl FreeSpace {
    /// Bytes in use: the fill level.
    pub fn used(&self) -> Bytes {
        self.total.saturating_minus(self.free)
    }

    pub(crate) fn from_statvfs(stat: &StatVfs) -> FreeSpace {
        let bytes = |blocks: u64| Bytes(blocks.saturating_mul(stat.f_frsize));
        FreeSpace {
            total: bytes(stat.f_blocks),
            free: bytes(stat.f_bfree),
            available: bytes(stat.f_bavail),
            block: Bytes(stat.f_frsize),
        }
    }
}

/// The room on the filesystem that holds `path`.
pub fn free_space(path: &Path) -> Result<FreeSpace, DeviceError> {
    let stat = rustix::fs::statvfs(path)
        .map_err(|errno| DeviceError::os("statvfs", path.display().to_string(), None, errno))?;
    Ok(FreeSpace::from_statvfs(&stat))
}

/// The room on the filesystem of an open file or directory, whose path may have changed.
pub(crate) fn free_space_of(file: impl AsFd, subject: &Path) -> Result<FreeSpace, DeviceError> {
    let stat = rustix::fs::fstatvfs(file)
        .map_err(|errno| DeviceError::os("statvfs", subject.display().to_string(), None, errno))?;
    Ok(FreeSpace::from_statvfs(&stat))
}

/// What is left free of a disk of 10 GB or more.
const LEAST: Bytes = Bytes(1_000_000_000);

/// What a fill of real storage of this size leaves free by default, and why: the larger of 5 % and
/// 1 GB, but at most a tenth, which matters only below 10 GB.
pub fn leave_default(total: Bytes) -> (Bytes, String) {
    let share = Bytes(total.0 / 20);
    let least = LEAST;
    let reviewers = "the reviewers left 300 MB: --leave 300MB";
    if total.0 / 10 < least.0 {
        return (Bytes(total.0 / 10), format!("a tenth of {total}"));
    }
    if share > least {
        (share, format!("5% of {total}, which is more than 1 GB ({reviewers})"))
    } else {
        (least, format!("1 GB, which is more than 5% of {total} ({reviewers})"))
    }
}

/// What a run that fills nothing leaves free by default, and why: as much as a fill would, but at
/// most 1 GB, so that a large disk that is nearly full can still be measured.
pub fn leave_default_unfilled(total: Bytes) -> (Bytes, String) {
    let (leave, reason) = leave_default(total);
    if leave > LEAST { (LEAST, "1 GB: nothing is filled".to_owned()) } else { (leave, reason) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fills_nothing_leaves_a_gigabyte_at_most() {
        for total in [0, 200_000_000, 9_999_999_999, 10_000_000_000, 16_000_000_000] {
            assert_eq!(leave_default_unfilled(Bytes(total)), leave_default(Bytes(total)));
        }
        for total in [64_000_000_000, 270_000_000_000, u64::MAX] {
            let (leave, reason) = leave_default_unfilled(Bytes(total));
            assert_eq!(leave, Bytes(1_000_000_000));
            assert!(reason.contains("nothing is filled"), "{reason}");
        }
    }

    #[test]
    fn the_default_leaves_the_larger_of_a_twentieth_and_a_gigabyte() {
        assert_eq!(leave_default(Bytes(64_000_000_000)).0, Bytes(3_200_000_000));
        assert_eq!(leave_default(Bytes(16_000_000_000)).0, Bytes(1_000_000_000));
        assert!(leave_default(Bytes(64_000_000_000)).1.contains("300 MB"));
    }

    #[test]
    fn a_small_volume_keeps_a_tenth_and_so_has_room_for_a_test() {
        assert_eq!(leave_default(Bytes(200_000_000)).0, Bytes(20_000_000));
        assert_eq!(leave_default(Bytes(9_999_999_999)).0, Bytes(999_999_999));
        assert_eq!(leave_default(Bytes(10_000_000_000)).0, Bytes(1_000_000_000));
        assert_eq!(leave_default(Bytes(0)).0, Bytes(0));
    }

    #[test]
    fn free_space_is_what_df_says() {
        let space = free_space(Path::new("/")).unwrap();
        assert!(space.total >= space.free && space.free >= space.available);
        assert_eq!(space.used().plus(space.free), space.total);
        let error = free_space(Path::new("/nowhere/at/all")).unwrap_err().to_string();
        assert!(error.contains("/nowhere/at/all") && error.contains("statvfs"), "{error}");
    }
}
