//! The Python package's own tests (`*.py` in this folder), by pytest, on the package as it was built with
//! the workspace.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The package's folder in the source.
const SOURCE: &str = env!("CARGO_MANIFEST_DIR");

/// Where cargo builds: the test is in TARGET/PROFILE/deps.
fn profile() -> PathBuf {
    std::env::current_exe().unwrap().ancestors().nth(2).unwrap().to_owned()
}

/// The library and the program as they are now: cargo builds neither for a test by itself. The script that
/// runs all tests has built both with the workspace.
fn built() -> PathBuf {
    let library = profile().join("libflashlag_python.so");
    if std::env::var_os("FLASHLAG_TEST_BUILT").is_some() {
        return library;
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet", "--locked", "-p", "flashlag-python", "-p", "flashlag-cli"]);
    command.arg("--target-dir").arg(profile().parent().unwrap()).current_dir(SOURCE);
    if profile().ends_with("release") {
        command.arg("--release");
    }
    assert!(command.status().unwrap().success(), "cannot build the package");
    library
}

/// A folder with the package, its library as a link, for `PYTHONPATH`.
fn package(folder: &Path) {
    let package = folder.join("flashlag");
    fs::create_dir(&package).unwrap();
    for entry in fs::read_dir(Path::new(SOURCE).join("python/flashlag")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            fs::copy(&path, package.join(path.file_name().unwrap())).unwrap();
        }
    }
    std::os::unix::fs::symlink(built(), package.join("_flashlag.abi3.so")).unwrap();
    // The program and the record of both, as pip installs them.
    let version = env!("CARGO_PKG_VERSION");
    let (bin, record) = (folder.join("bin"), folder.join(format!("flashlag-{version}.dist-info")));
    fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(profile().join("flashlag"), bin.join("flashlag")).unwrap();
    fs::create_dir(&record).unwrap();
    let metadata = format!("Metadata-Version: 2.1\nName: flashlag\nVersion: {version}\n");
    fs::write(record.join("METADATA"), metadata).unwrap();
    fs::write(record.join("RECORD"), "bin/flashlag,,\nflashlag/__init__.py,,\n").unwrap();
}

#[test]
fn python_programs_see_what_the_tests_in_python_claim() {
    let python = profile().parent().unwrap().join("python/tests/bin/python");
    if !python.exists() {
        return flashlag_need::skip("there is no pytest (scripts/setup-test installs it)");
    }
    let folder = tempfile::tempdir().unwrap();
    package(folder.path());
    let mut pytest = Command::new(python);
    pytest.args(["-m", "pytest", "-p", "no:cacheprovider"]).current_dir(SOURCE);
    pytest.env("PYTHONPATH", folder.path()).env("PYTHONDONTWRITEBYTECODE", "1");
    pytest.env("FLASHLAG_TEST_PROGRAM", profile().join("flashlag"));
    // Notebooks and mypy write to their homes.
    pytest.env("HOME", folder.path()).env("MYPY_CACHE_DIR", folder.path().join("mypy"));
    let output = pytest.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}\n{errors}");
    assert!(text.contains(" passed"), "{text}");
}
