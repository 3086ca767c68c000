//! Storage quotas, by the mount options and by Btrfs's counters.
//!
//! quota(1), mount(8); xfs(5): `uqnoenforce` and the like only count. Btrfs:
//! Documentation/ABI/testing/sysfs-fs-btrfs, `/sys/fs/btrfs/UUID/qgroups/0_SUBVOLUME`.

use std::path::{Path, PathBuf};

use flashlag_schema::{Quota, QuotaOf};
use flashlag_spec::Reading;
use flashlag_units::Bytes;

use crate::mount::Mount;
use crate::root::Root;

/// `limit_flags` of a qgroup: the limit is on referenced bytes, or on bytes that it shares with no
/// other.
const LIMITS: [(u64, &str, &str); 2] =
    [(1, "max_referenced", "referenced"), (2, "max_exclusive", "exclusive")];

/// The quotas of a mounted filesystem on the device `top`.
pub(crate) fn quotas(root: &Root, mount: &Mount, top: Option<&str>) -> Vec<Quota> {
    if mount.kind == "btrfs" {
        return top.and_then(|top| subvolume(root, mount, top)).into_iter().collect();
    }
    let mut quotas: Vec<Quota> = Vec::new();
    for of in mount.options.iter().filter_map(|option| limited(option)) {
        if quotas.iter().all(|known| known.of != of) {
            let unread = || {
                let command = of.command();
                Reading::unavailable(format!("it is not read here: `{command}` shows it"))
            };
            quotas.push(Quota { of, limit_bytes: unread(), used_bytes: unread() });
        }
    }
    quotas
}

/// Whom a mount option of ext4, F2FS, XFS or tmpfs limits: `usrquota`, `usrjquota=aquota.user`.
fn limited(option: &str) -> Option<QuotaOf> {
    let (name, value) = option.split_once('=').unwrap_or((option, "on"));
    Some(match name {
        "usrquota" | "uquota" | "usrjquota" if !value.is_empty() => QuotaOf::User,
        "grpquota" | "gquota" | "grpjquota" if !value.is_empty() => QuotaOf::Group,
        "prjquota" | "pquota" | "prjjquota" if !value.is_empty() => QuotaOf::Project,
        _ => return None,
    })
}

/// The quota of the mounted subvolume.
fn subvolume(root: &Root, mount: &Mount, top: &str) -> Option<Quota> {
    let id: u64 = mount.option("subvolid")?.parse().ok()?;
    let filesystems =
        root.names("/sys/fs/btrfs").into_iter().map(|name| Path::new("/sys/fs/btrfs").join(name));
    let mut ours =
        filesystems.filter(|at| root.names(at.join("devices")).iter().any(|one| one == top));
    let group = ours.next()?.join(format!("qgroups/0_{id}"));
    let flags = root.number::<u64>(group.join("limit_flags")).ok()?;
    let (_, limit, used) = LIMITS.into_iter().find(|(flag, ..)| flags & flag != 0)?;
    let bytes = |name: &str| -> Reading<Bytes> {
        root.number(PathBuf::from(&group).join(name)).map(Bytes).into()
    };
    Some(Quota { of: QuotaOf::Subvolume, limit_bytes: bytes(limit), used_bytes: bytes(used) })
}
