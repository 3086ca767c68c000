//! A writer or a watch that is killed at any moment loses nothing that it had acknowledged.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use flashlag_device::read_clock;
use flashlag_units::{Bytes, Nanos};
use flashlag_watch::{Book, Event, Settings, read, watch};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use rustix::time::ClockId;

use crate::made::{START_S, incident, part};

/// The history that a child of this test writes to.
const CHILD: &str = "FLASHLAG_TEST_WATCH_CHILD";

/// How often a recording watch is killed; a test by hand may ask for more.
const KILLS: &str = "FLASHLAG_TEST_KILLS";

/// With one thread, as on a machine with one CPU, the harness writes a test's name in front of its first line.
const OWN_LINES: &str = "--test-threads=2";

/// Room for all that is written before the test begins another file, however quick the disk is: 600 hours with
/// their incidents.
const SIZE: Bytes = Bytes::from_mb(4);

/// Writes until it is killed: a line for each part that is durable.
fn be_the_writer(path: &str) -> ! {
    let mut book = Book::open(path.as_ref(), SIZE).unwrap().leaving(Bytes(0));
    let history = read(path.as_ref()).unwrap();
    let first = history.spans.last().map_or(START_S, |span| span.start_s);
    let mut hour = first;
    loop {
        for _ in 0..3 {
            book.minutes(&part(hour, Nanos::from_secs(1))).unwrap();
            let _ = writeln!(std::io::stdout(), "part");
        }
        book.incident(&incident(hour * 1000)).unwrap();
        let _ = writeln!(std::io::stdout(), "incident");
        hour += 3600;
        book.tidy(hour).unwrap();
    }
}

#[test]
fn killed_hundreds_of_times_it_keeps_all_that_was_acknowledged() {
    if let Ok(path) = std::env::var(CHILD) {
        be_the_writer(&path);
    }
    const KILLS: u64 = 300;
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("a.history");
    let (mut parts, mut most, mut killed_within) = (0, 0, 0);
    let mut before = 0;
    for kill in 0..KILLS {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "kills::killed_hundreds_of_times_it_keeps_all_that_was_acknowledged",
                "--nocapture",
                OWN_LINES,
            ])
            .env(CHILD, &path)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // It has opened the history, and is somewhere in a write.
        let first = lines.by_ref().map_while(Result::ok).find(|line| line == "part");
        std::thread::sleep(Duration::from_micros(137 * (kill % 29)));
        child.kill().unwrap();
        let rest = lines.map_while(Result::ok).filter(|line| line == "part").count() as u64;
        child.wait().unwrap();
        let acknowledged = u64::from(first.is_some()) + rest;
        parts += acknowledged;
        let history = read(&path).unwrap();
        assert_eq!(history.dropped_before_s, 0, "the file is large enough for this test");
        let seen: u64 =
            history.spans.iter().map(|span| span.watched_ns.0).sum::<u64>() / 1_000_000_000;
        let new = seen - before;
        // One more may be durable without its line.
        assert!(
            (acknowledged..=acknowledged + 1).contains(&new),
            "kill {kill}: {new} of {acknowledged}"
        );
        before = seen;
        most = most.max(acknowledged);
        killed_within += u64::from(new > acknowledged);
        if history.spans.len() > 600 {
            std::fs::remove_file(&path).unwrap();
            before = 0;
        }
    }
    assert!(parts > KILLS && most >= 3, "{parts} parts, {most} at most, {killed_within} between");
}

/// Records until it is killed, and writes a part each time it looks: a line for each part that is durable.
fn be_the_watch(place: &Path) {
    let settings = Settings {
        directory: place.to_owned(),
        history: place.join("a.history"),
        probe: None,
        over: Nanos::from_millis(250),
        size: Bytes::from_mb(20),
        daily: Bytes::from_mb(1_000_000),
        time: None,
        part: Nanos(1),
        version: "0".to_owned(),
    };
    let ended = watch(&settings, &|| false, None, &mut |event| {
        let _ = match event {
            Event::Begins(_) => writeln!(std::io::stdout(), "begins"),
            Event::Kept(watched) => writeln!(std::io::stdout(), "kept {}", watched.0),
            Event::Incident(_) | Event::Trouble(_) => Ok(()),
        };
    });
    let _ = writeln!(std::io::stdout(), "refused: {}", ended.map(drop).unwrap_err());
}

/// What a watch that was killed had said, and how long it had lived.
struct Life {
    kept: u64,
    lived: Nanos,
}

fn lived(mut child: Child, random: &mut Pcg64) -> Result<Life, String> {
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let first = lines.find(|line| line == "begins" || line.starts_with("refused"));
    let began = read_clock(ClockId::Monotonic);
    if first.as_deref() == Some("begins") {
        std::thread::sleep(Duration::from_micros(random.random_range(0..1_500_000)));
    }
    let lived = read_clock(ClockId::Monotonic).since(began);
    child.kill().unwrap();
    let kept = lines.filter_map(|line| line.strip_prefix("kept ")?.parse::<u64>().ok()).sum();
    child.wait().unwrap();
    first.filter(|line| line == "begins").map(|_| Life { kept, lived }).ok_or("no disk".to_owned())
}

#[test]
fn a_recording_watch_that_is_killed_keeps_what_it_had_written_and_its_history_is_readable() {
    const NAME: &str = "kills::a_recording_watch_that_is_killed_keeps_what_it_had_written_and_its_history_is_readable";
    if let Ok(place) = std::env::var(CHILD) {
        be_the_watch(place.as_ref());
        return;
    }
    let kills = std::env::var(KILLS).ok().and_then(|kills| kills.parse().ok()).unwrap_or(24u64);
    let seed = u64::from(std::process::id());
    println!("{kills} kills, seed {seed}");
    let mut random = Pcg64::seed_from_u64(seed);
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("a.history");
    let (mut before, mut seen, mut lost, mut parts) = (0, 0, Vec::new(), 0);
    for kill in 0..kills {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", NAME, "--nocapture", OWN_LINES])
            .env(CHILD, home.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let Ok(life) = lived(child.unwrap(), &mut random) else {
            flashlag_need::skip("no disk is below the folder of temporary files");
            return;
        };
        let history = read(&path).unwrap();
        assert!(
            history.subject.is_some() && history.damaged_pages <= 1,
            "kill {kill}: {history:?}"
        );
        let watched: u64 = history.spans.iter().map(|span| span.watched_ns.0).sum();
        assert!(
            watched >= before + life.kept,
            "seed {seed}, kill {kill}: what was durable is lost"
        );
        let stopped: u64 = history.spans.iter().map(|span| span.stopped_ns.0).sum();
        lost.push((seen + life.lived.0).saturating_sub(watched + stopped) / 1_000_000);
        parts += u64::from(life.kept > 0);
        (before, seen) = (watched, watched + stopped);
    }
    lost.sort_unstable();
    let (half, most) = (lost[lost.len() / 2], lost[lost.len() - 1]);
    println!("{parts} had written; half lost at most {half} ms, all at most {most} ms");
    assert!(parts > 0, "none of {kills} had written anything");
}
