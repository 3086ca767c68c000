//! A watch ends soon after it is asked to, however busy machine and disk are.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use flashlag_device::read_clock;
use flashlag_units::{Bytes, Nanos};
use flashlag_watch::{Live, MINUTE, Settings, watch};
use rustix::time::ClockId;

/// Threads that keep CPUs and disk busy.
const LOAD: usize = 6;

/// How long a thread has waited for a CPU, by its `schedstat`; `None` once it has ended.
fn waited(of_scheduler: &File) -> Option<Nanos> {
    let mut text = [0u8; 96];
    let length = of_scheduler.read_at(&mut text, 0).ok()?;
    let text = std::str::from_utf8(text.get(..length)?).ok()?;
    Some(Nanos(text.split_whitespace().nth(1)?.parse().ok()?))
}

#[test]
fn it_ends_within_a_second_of_cpu_or_storage_however_busy_both_are() {
    let home = tempfile::tempdir().unwrap();
    let settings = Settings {
        directory: home.path().to_owned(),
        history: home.path().join("a.history"),
        probe: Some(Nanos::from_secs(1)),
        over: Nanos::from_millis(250),
        size: Bytes::from_mb(20),
        daily: Bytes::from_mb(1),
        time: None,
        part: MINUTE,
        version: "0".to_owned(),
    };
    let (stop, rest) = (AtomicBool::new(false), AtomicBool::new(false));
    let (send, meters) = channel();
    let live = Live::default();
    std::thread::scope(|scope| {
        for index in 0..LOAD {
            let mut file = File::create(home.path().join(format!("load{index}"))).unwrap();
            let rest = &rest;
            scope.spawn(move || {
                let bytes = vec![index as u8; 256 << 10];
                while !rest.load(Ordering::Relaxed) {
                    file.write_all(&bytes).unwrap();
                    if file.metadata().unwrap().len() > 8 << 20 {
                        file.sync_data().unwrap();
                        file.set_len(0).unwrap();
                    }
                }
            });
        }
        let watching = scope.spawn(|| {
            send.send(File::open("/proc/thread-self/schedstat").unwrap()).unwrap();
            let ended =
                watch(&settings, &|| stop.load(Ordering::Relaxed), Some(&live), &mut |_| {});
            (ended, read_clock(ClockId::Monotonic))
        });
        let of_scheduler = meters.recv().unwrap();
        std::thread::sleep(Duration::from_secs(3));
        let mut waits = waited(&of_scheduler);
        let before = waits;
        let asked = read_clock(ClockId::Monotonic);
        stop.store(true, Ordering::Relaxed);
        while !watching.is_finished() {
            waits = waited(&of_scheduler).or(waits);
            std::thread::sleep(Duration::from_millis(1));
        }
        let (ended, at) = watching.join().unwrap();
        rest.store(true, Ordering::Relaxed);
        if let Err(error) = ended {
            flashlag_need::skip(error);
            return;
        }
        let took = at.saturating_since(asked);
        // A second of its own: how long others keep the CPU from it is nothing that it can change.
        let runnable =
            waits.zip(before).map_or(Nanos::ZERO, |(to, from)| to.saturating_since(from));
        println!("ended after {took}, of which it waited {runnable} for a CPU");
        assert!(took.saturating_since(runnable) < Nanos::from_secs(1), "{took}, {runnable}");
        let subject = live.sums().subject.expect("what is watched is shown while it is watched");
        assert_eq!(subject.directory, home.path().to_string_lossy());
    });
}
