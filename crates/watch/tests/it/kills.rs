//! A writer that is killed at any moment loses nothing that it had acknowledged.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use flashlag_units::{Bytes, Nanos};
use flashlag_watch::{Book, read};

use crate::made::{START_S, incident, part};

/// The history that a child of this test writes to.
const CHILD: &str = "FLASHLAG_TEST_WATCH_CHILD";

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
    if flashlag_need::slow("300 kills") {
        return;
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
