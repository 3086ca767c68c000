//! What a phone needs on this machine.

use std::process::Stdio;

use flashlag_need::find;

use crate::space::unshare;

/// What this machine lacks for a stand-in phone and for adb; `None` if it has everything.
pub fn lacks() -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return Some("a stand-in phone needs root".to_owned());
    }
    let needs = [
        ("adb", "adb"),
        ("unshare", "util-linux"),
        ("nsenter", "util-linux"),
        ("mksh-static", "mksh"),
        ("toybox", "toybox"),
        ("ldd", "libc-bin"),
    ];
    let missing = needs.iter().find(|(name, _)| find(name).is_none());
    if let Some((name, package)) = missing {
        return Some(format!("there is no {name} (install the package {package})"));
    }
    let made = unshare().and_then(|mut unshare| {
        unshare.args(["--mount", "--pid", "--fork", "true"]).stdout(Stdio::null()).output()
    });
    let fine = made.is_ok_and(|made| made.status.success());
    (!fine).then(|| "namespaces of mounts and processes can't be had".to_owned())
}

/// The kernel's major and minor version.
pub fn kernel() -> (u32, u32) {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release.split('.').map(|word| word.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}
