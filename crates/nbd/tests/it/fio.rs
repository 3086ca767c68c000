//! fio's own verification, over the wire.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "a test that skips says so")]

use std::process::Command;

use crate::common::{fast, start};
use flashlag_serve::{Settings, TimeScale};

/// Seconds of each; `FLASHLAG_LONG` asks for more.
fn seconds() -> u64 {
    std::env::var("FLASHLAG_LONG").ok().and_then(|text| text.parse().ok()).unwrap_or(3)
}

/// Random writes, reads that verify, discards and flushes at depth 32, then everything again.
fn verify(settings: Settings) {
    let version = Command::new("fio").arg("--version").output();
    let engines = Command::new("fio").arg("--enghelp").output();
    let has_nbd =
        engines.is_ok_and(|engines| String::from_utf8_lossy(&engines.stdout).contains("nbd"));
    if version.is_err() || !has_nbd {
        return flashlag_need::skip("no fio with an nbd engine (install the package fio)");
    }
    let what = format!("{settings:?}");
    let Some(running) = start(settings) else { return };
    let common = [
        "--name=verify".to_owned(),
        "--ioengine=nbd".to_owned(),
        format!("--uri={}", running.uri()),
        "--bsrange=4k-64k".to_owned(),
        "--bs_unaligned=0".to_owned(),
        "--iodepth=32".to_owned(),
        "--size=192m".to_owned(),
        "--verify=crc32c".to_owned(),
        "--verify_fatal=1".to_owned(),
        "--randseed=7".to_owned(),
    ];
    let run = |more: &[&str]| {
        // It leaves a file where it stands.
        let folder = tempfile::tempdir().unwrap();
        let mut fio = Command::new("fio");
        let output = fio.current_dir(&folder).args(&common).args(more).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let seen = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{what}\n{said}\n{seen}\n{:?}", running.said());
    };
    let runtime = format!("--runtime={}", seconds());
    run(&["--rw=randwrite", "--fsync=64", "--verify_backlog=512", "--time_based", &runtime]);
    run(&["--rw=randtrimwrite", "--do_verify=0", "--fsync=64", "--io_size=32m"]);
    let stats = running.control().unwrap().stat().unwrap();
    assert!(stats.host.writes > 100 && stats.host.flushes > 1 && stats.host.failed == 0, "{what}");
    assert!(stats.host.trims > 0, "{what}: no discards");
    running.stop().unwrap();
}

#[test]
fn fio_verifies_what_a_modelled_device_in_memory_holds() {
    verify(Settings { time_scale: scale("200"), ..fast("nexus5-2013") });
}

#[test]
fn fio_verifies_what_a_device_with_a_cache_holds() {
    let size = Some(flashlag_units::Bytes::from_mib(2048));
    verify(Settings { size, time_scale: scale("200"), ..fast("ufs21-phone") });
}

#[test]
fn fio_verifies_what_a_stored_device_holds() {
    let folder = tempfile::tempdir().unwrap();
    let store = Some(folder.path().join("device"));
    verify(Settings { store, time_scale: scale("200"), ..fast("moto-x-2013") });
}

#[test]
fn fio_verifies_what_a_device_without_a_model_holds() {
    verify(fast("zero"));
}

fn scale(text: &str) -> TimeScale {
    text.parse().unwrap()
}
