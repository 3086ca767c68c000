//! Under Android's filter for apps, an old call has its modern equivalent's effect.
#![cfg(target_arch = "x86_64")]
#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

mod common;

use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::time::Instant;

// What is not imported is not linked: this brings the handler.
use flashlag_seccomp as _;

use common::{ANDROIDS, Processor, allowed, call, under_each};

fn name(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).unwrap()
}

fn at(name: &CString) -> i64 {
    name.as_ptr() as i64
}

const ABSENT: i64 = -(libc::ENOENT as i64);

#[test]
fn files_are_opened_and_made_by_old_calls() {
    under_each(|_, folder| {
        let (there, absent) = (folder.join("there"), folder.join("absent"));
        fs::write(&there, "some words").unwrap();
        let descriptor = call(libc::SYS_open, [at(&name(&there)), libc::O_RDONLY.into()]);
        let mut bytes = [0_u8; 4];
        assert_eq!(call(libc::SYS_read, [descriptor, bytes.as_mut_ptr() as i64, 4]), 4);
        assert_eq!(&bytes, b"some");
        assert_eq!(call(libc::SYS_open, [at(&name(&absent)), libc::O_RDONLY.into()]), ABSENT);
        let flags = libc::O_CREAT | libc::O_EXCL | libc::O_RDWR;
        // Which numbers are free changes: other tests open and close files beside this one.
        let made = call(libc::SYS_open, [at(&name(&absent)), flags.into(), 0o600]);
        assert!(made >= 0 && made != descriptor, "{made}");
        assert_eq!(fs::metadata(&absent).unwrap().mode() & 0o777, 0o600);
        let anew = call(libc::SYS_creat, [at(&name(&there)), 0o600]);
        assert!(anew >= 0 && anew != descriptor && anew != made, "{anew}");
        assert_eq!(fs::read(&there).unwrap(), b"", "made anew");
    });
}

#[test]
fn what_a_file_is_comes_from_old_calls_as_from_new_ones() {
    // SAFETY: for this type of C, all bits zero are a value.
    let status = || unsafe { std::mem::zeroed::<libc::stat>() };
    let here = i64::from(libc::AT_FDCWD);
    under_each(|_, folder| {
        let (file, link) = (folder.join("file"), folder.join("link"));
        fs::write(&file, "twelve bytes").unwrap();
        symlink("file", &link).unwrap();
        for (old, flags, size) in
            [(libc::SYS_stat, 0, 12), (libc::SYS_lstat, libc::AT_SYMLINK_NOFOLLOW, 4)]
        {
            let (mut by_old, mut by_new) = (status(), status());
            let link = name(&link);
            assert_eq!(call(old, [at(&link), &raw mut by_old as i64]), 0);
            let new = [here, at(&link), &raw mut by_new as i64, flags.into()];
            assert_eq!(call(libc::SYS_newfstatat, new), 0);
            let said = |status: &libc::stat| (status.st_ino, status.st_size, status.st_mode);
            assert_eq!((said(&by_old), by_old.st_size), (said(&by_new), size));
        }
        let mut bytes = [0_u8; 9];
        let length = call(libc::SYS_readlink, [at(&name(&link)), bytes.as_mut_ptr() as i64, 9]);
        assert_eq!((length, &bytes[..4]), (4, &b"file"[..]));
        assert_eq!(call(libc::SYS_access, [at(&name(&file)), libc::R_OK.into()]), 0);
        assert_eq!(call(libc::SYS_access, [at(&name(&folder.join("no"))), 0]), ABSENT);
    });
}

#[test]
fn names_are_made_changed_and_removed_by_old_calls() {
    under_each(|_, folder| {
        let [file, other, link, within] =
            ["file", "other", "link", "within"].map(|n| folder.join(n));
        fs::write(&file, "").unwrap();
        assert_eq!(call(libc::SYS_rename, [at(&name(&file)), at(&name(&other))]), 0);
        assert_eq!(call(libc::SYS_link, [at(&name(&other)), at(&name(&file))]), 0);
        assert_eq!(fs::metadata(&file).unwrap().nlink(), 2);
        assert_eq!(call(libc::SYS_symlink, [at(&name(&other)), at(&name(&link))]), 0);
        assert_eq!(fs::read_link(&link).unwrap(), other);
        assert_eq!(call(libc::SYS_chmod, [at(&name(&link)), 0o640]), 0);
        let mode = |path| fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&other), mode(&link)), (0o640, 0o777), "of what the link leads to");
        // To nobody's: -1 leaves an owner as it is.
        assert_eq!(call(libc::SYS_chown, [at(&name(&link)), -1, -1]), 0);
        assert_eq!(call(libc::SYS_unlink, [at(&name(&other))]), 0);
        assert_eq!(call(libc::SYS_chown, [at(&name(&link)), -1, -1]), ABSENT, "followed");
        assert_eq!(call(libc::SYS_lchown, [at(&name(&link)), -1, -1]), 0, "not followed");
        assert_eq!(call(libc::SYS_mkdir, [at(&name(&within)), 0o700]), 0);
        assert_eq!(mode(&within), 0o700);
        let is_folder = -i64::from(libc::EISDIR);
        assert_eq!(call(libc::SYS_unlink, [at(&name(&within))]), is_folder);
        assert_eq!(call(libc::SYS_rmdir, [at(&name(&within))]), 0);
        assert_eq!(call(libc::SYS_rmdir, [at(&name(&within))]), ABSENT);
    });
}

#[test]
fn pipes_descriptors_and_waits_work_by_old_calls() {
    under_each(|android, _| {
        let mut ends = [0_i32; 2];
        assert_eq!(call(libc::SYS_pipe, [ends.as_mut_ptr() as i64]), 0);
        let [from, to] = ends.map(i64::from);
        let mut waited = libc::pollfd { fd: ends[0], events: libc::POLLIN, revents: 0 };
        let mut poll = |milliseconds: i64| {
            let result = call(libc::SYS_poll, [&raw mut waited as i64, 1, milliseconds]);
            (result, waited.revents)
        };
        assert_eq!(poll(0), (0, 0));
        let begin = Instant::now();
        // Seconds and what is beyond are apart in the modern call.
        let wait = if android == 8 { 1_020 } else { 20 };
        assert_eq!(poll(wait), (0, 0), "nothing comes");
        let passed = begin.elapsed().as_millis() as i64;
        assert!((wait..wait + 20_000).contains(&passed), "{passed} ms for {wait}");
        let copy = call(libc::SYS_dup2, [to, 1_000]);
        assert_eq!(copy, 1_000);
        assert_eq!(call(libc::SYS_dup2, [copy, copy]), copy, "it stays");
        let closed = -i64::from(libc::EBADF);
        assert_eq!(call(libc::SYS_dup2, [1_001, 1_001]), closed);
        assert_eq!(call(libc::SYS_dup2, [1_001, 1_000]), closed);
        assert_eq!(call(libc::SYS_write, [copy, b"x".as_ptr() as i64, 1]), 1);
        assert_eq!(poll(-1), (1, libc::POLLIN), "for ever, if need be");
        // Above 32 bits the kernel ignores what is in the register.
        assert_eq!(poll(0xffff_ffff), (1, libc::POLLIN));
        for descriptor in [from, to, copy] {
            assert_eq!(call(libc::SYS_close, [descriptor]), 0);
        }
    });
}

#[test]
fn each_android_allows_what_old_calls_are_made_by() {
    let on_x86_64 =
        "openat newfstatat faccessat readlinkat mkdirat renameat pipe2 fcntl dup3 ppoll";
    for android in ANDROIDS {
        for (processor, names) in
            [(Processor::X86_64, on_x86_64), (Processor::Armv7, "clock_gettime")]
        {
            let names = names.split(' ').filter(|name| !name.is_empty());
            let calls = allowed(android, processor);
            for name in names.chain(["unlinkat", "linkat", "symlinkat", "fchmodat", "fchownat"]) {
                assert!(calls.contains_key(name), "Android {android}, {processor:?}: {name}");
            }
        }
    }
}
