//! A phone that fills up in the middle of a run: what was measured is kept, and what to do is said.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that can't go on fails")]

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::support::phone::{Bench, pixel, text};
use flashlag_schema::RunStatus;
use rustix::fs::{FallocateFlags, fallocate};

/// Another app that takes every byte of the phone, until it is dropped.
struct Filler {
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    file: PathBuf,
}

impl Filler {
    fn start(bench: &Bench) -> Filler {
        let file = bench.phone.root().join("data/local/tmp/filler");
        let (ends, filler) = (Arc::<AtomicBool>::default(), File::create(&file).unwrap());
        let asked = Arc::clone(&ends);
        let thread = std::thread::spawn(move || {
            // Blocks are taken without writing them: how fast this machine writes decides nothing.
            let (mut place, mut size) = (0, 64 << 20);
            while !asked.load(Ordering::Relaxed) {
                match fallocate(&filler, FallocateFlags::empty(), place, size) {
                    Ok(()) => place += size,
                    Err(_) if size > 4096 => size /= 2,
                    // Full, until something is removed.
                    Err(_) => std::thread::sleep(Duration::from_millis(1)),
                }
            }
        });
        Filler { ends, thread: Some(thread), file }
    }
}

impl Drop for Filler {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
        std::fs::remove_file(&self.file).unwrap();
    }
}

#[test]
fn a_phone_that_fills_up_during_a_run_costs_what_was_not_measured_yet_and_no_more() {
    let Some(bench) = Bench::of(pixel().data_size(Some(200 << 20))) else { return };
    let words = ["short.toml", "--on", "adb:", "--leave", "1MB"];
    let mut child = bench.begin(&words);
    bench.wait_for("WAL save", 1);
    let filler = Filler::start(&bench);
    assert_eq!(child.wait().unwrap().code(), Some(2), "{}", bench.log());
    let said = bench.log().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("No space left") && said.contains("--resume"), "{said}");
    let stored = bench.stored();
    assert!(!stored.phases.is_empty(), "{said}");
    assert!(stored.phases[0].ops > 0 && !stored.phases[0].cut_short);
    assert!(
        matches!(&stored.status, RunStatus::Failed { error, .. } if error.contains("No space"))
    );
    let verified = bench.command(&["verify", "run.json"]).output().unwrap();
    assert!(verified.status.success(), "{}", text(&verified));
    bench.is_clean();
    // Once there is room, the same command goes on.
    drop(filler);
    let first = stored.phases[0].clone();
    let run = bench.complete(bench.begin(&[&words[..], &["--resume"]].concat()));
    assert_eq!(run.phases.len(), 3);
    assert_eq!(run.phases[0], first, "what was measured before is as it was");
}
