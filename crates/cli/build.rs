//! The commit that the program is built from, for every run file: `FLASHLAG_COMMIT`. And a release
//! without unwind tables.
//!
//! In this crate, since a change of any product source rebuilds it anyway: nothing else is built
//! again because of a commit. Without git, or outside of flashlag's own repository, the variable is
//! not set and a run file says so.

use std::path::Path;
use std::process::Command;

/// What the program is built from, relative to the workspace.
const SOURCES: [&str; 5] = ["crates", "profiles", "scenarios", "Cargo.toml", "Cargo.lock"];

fn main() {
    println!("cargo::rerun-if-env-changed=FLASHLAG_COMMIT");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    watch(&root);
    leave_out_unwind_tables();
    pack_relocations();
    fold_identical_functions();
    let given = std::env::var("FLASHLAG_COMMIT").ok().filter(|given| !given.is_empty());
    if let Some(commit) = given.or_else(|| commit(&root)) {
        println!("cargo::rustc-env=FLASHLAG_COMMIT={commit}");
    }
}

/// Has the linker leave out the unwind tables of a release, an eighth of its bytes: it aborts at a
/// panic (`panic = "abort"`), so nothing unwinds. rustc's flag for that can't be set for one profile,
/// and would leave the tables of the standard library and of SQLite.
fn leave_out_unwind_tables() {
    println!("cargo::rerun-if-changed=no-unwind-tables.ld");
    let is_release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let is_linux = std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux");
    // GNU ld and LLD read linker scripts; a linker that somebody chose, such as mold, may not.
    let flags = std::env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    if is_release && is_linux && !flags.contains("-fuse-ld=") {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("no-unwind-tables.ld");
        println!("cargo::rustc-link-arg-bins=-Wl,-T,{}", script.display());
    }
}

/// Has the linker keep one of several functions with the same instructions in a release (ICF), a hundredth of
/// its bytes. Only for the target on which rustc links with its own LLD: GNU ld has no such option.
fn fold_identical_functions() {
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    let flags = std::env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let is_chosen = ["-fuse-ld=", "linker"].iter().any(|flag| flags.contains(flag))
        || std::env::var_os("RUSTC_LINKER").is_some();
    if is("PROFILE", "release") && is("TARGET", "x86_64-unknown-linux-gnu") && !is_chosen {
        println!("cargo::rustc-link-arg-bins=-Wl,--icf=all");
    }
}

/// Has the linker pack the relocations of a release (RELR): 24 bytes for each pointer become a bit. Only
/// where the C library of this machine can read them, since glibc 2.36; an older one says so when the
/// program starts there.
fn pack_relocations() {
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    let is_native = std::env::var("TARGET").ok() == std::env::var("HOST").ok();
    let is_gnu = is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu");
    let flags = std::env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    if is("PROFILE", "release")
        && is_native
        && is_gnu
        && !flags.contains("-fuse-ld=")
        && reads_packed()
    {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// Whether this machine's C library is glibc 2.36 or newer.
fn reads_packed() -> bool {
    let said = Command::new("getconf").arg("GNU_LIBC_VERSION").output();
    let text = said.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let version = text.ok().and_then(|text| {
        let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
        Some((major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?))
    });
    version.is_some_and(|version| version >= (2, 36))
}

/// The short hash of the commit, with `-dirty` if a source differs from it or is new.
fn commit(root: &Path) -> Option<String> {
    let top = git(root, &["rev-parse", "--show-toplevel"])?;
    // An unpacked archive may lie within some other repository.
    if Path::new(&top).canonicalize().ok()? != root.canonicalize().ok()? {
        return None;
    }
    let hash = git(root, &["rev-parse", "--short=12", "HEAD"])?;
    let status = [&["status", "--porcelain", "--"][..], &SOURCES].concat();
    let is_clean = git(root, &status)?.is_empty();
    Some(if is_clean { hash } else { format!("{hash}-dirty") })
}

fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    // A build must not write into the repository, nor wait for whoever does.
    let output = command.args(arguments).current_dir(root).env("GIT_OPTIONAL_LOCKS", "0").output();
    let output = output.ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}

/// Runs this script again after a commit, a checkout, or a change of a product source.
fn watch(root: &Path) {
    let watch = |path: &Path| {
        // A path that does not exist would run the script at every build.
        if path.exists() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    };
    println!("cargo::rerun-if-changed=build.rs");
    for source in &SOURCES[1..] {
        watch(&root.join(source));
    }
    for entry in std::fs::read_dir(root.join("crates")).into_iter().flatten().flatten() {
        watch(&entry.path().join("src"));
        watch(&entry.path().join("Cargo.toml"));
    }
    let Some(folder) = git(root, &["rev-parse", "--absolute-git-dir"]) else { return };
    for name in ["HEAD", "logs/HEAD"] {
        watch(&Path::new(&folder).join(name));
    }
}
