use std::path::Path;

use crate::block::name;
use crate::root::Root;

/// The UFS host controller of a SCSI disk: the ancestor that has the UFS descriptors or a UFS
/// controller's name.
pub(crate) fn ufs_host<'a>(root: &Root, disk: &'a Path) -> Option<&'a Path> {
    let is_host = |above: &&Path| {
        let named = name(above);
        root.has(above.join("health_descriptor"))
            || named.contains(".ufshc")
            || named.contains("ufshcd")
            || named.ends_with(".ufs")
    };
    disk.ancestors().skip(1).find(is_host)
}
