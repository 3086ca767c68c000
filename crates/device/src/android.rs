//! Whether this system is Android, found out at run time: the program for phones is built for Linux
//! and calls no Android library, so the compiler can't know.

use std::path::Path;
use std::sync::OnceLock;

/// What every Android has, and no other Linux: the properties of its build, the program that each app
/// starts as, and the dynamic linker of its C library.
const MARKS: [&str; 6] = [
    "system/build.prop",
    "system/bin/app_process",
    "system/bin/app_process32",
    "system/bin/app_process64",
    "system/bin/linker",
    "system/bin/linker64",
];

/// Set by Android's `init` for every process, in a shell of `adb` and in Termux alike.
const VARIABLE: &str = "ANDROID_ROOT";

/// Whether this process runs on Android, in an app such as Termux too.
pub fn is_android() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    let named = || std::env::var_os(VARIABLE).is_some_and(|root| !root.is_empty());
    let ask = || cfg!(target_os = "android") || named() || is_android_at(Path::new("/"));
    *ANSWER.get_or_init(ask)
}

/// Whether the system with this root directory is Android, judging by its files alone.
pub fn is_android_at(root: &Path) -> bool {
    // A link counts even if it can't be followed: apps may not read all targets.
    MARKS.iter().any(|mark| root.join(mark).symlink_metadata().is_ok())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_phone_is_known_by_any_one_of_its_files() {
        for mark in MARKS {
            let root = tempfile::tempdir().unwrap();
            assert!(!is_android_at(root.path()), "nothing there");
            let path = root.path().join(mark);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            assert!(!is_android_at(root.path()), "a folder `system` alone is no phone");
            std::os::unix::fs::symlink("/apex/com.android.runtime/nothing", &path).unwrap();
            assert!(is_android_at(root.path()), "{mark}");
        }
    }

    #[test]
    fn a_computer_is_none() {
        let root = tempfile::tempdir().unwrap();
        for file in ["usr/bin/linker64", "etc/os-release", "lib/ld-linux-aarch64.so.1"] {
            let path = root.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        assert!(!is_android_at(root.path()));
        assert!(!is_android_at(&root.path().join("absent")));
    }
}
