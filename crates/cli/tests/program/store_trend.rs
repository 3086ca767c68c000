//! `flashlag store trend`: a sentence and an exit status over runs that were made now and then.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use flashlag_testing::sample;

use crate::watch::ran;

const WEEK_S: i64 = 7 * 86_400;
/// 2026-01-01.
const START_S: i64 = 1_767_225_600;

/// A store of one run a week; each takes `course` of its week times as long, and a little more or less.
fn store(folder: &Path, weeks: i64, course: impl Fn(i64) -> f64) {
    for week in 0..weeks {
        let noise = 1.0 + 0.04 * (week as f64 * 2.4).sin();
        let mut run = sample::slower(course(week) * noise);
        run.started = Some(day_of(START_S + week * WEEK_S));
        run.seal();
        std::fs::write(folder.join(format!("{week:03}.json")), run.to_json()).unwrap();
    }
}

fn day_of(seconds: i64) -> String {
    let date = std::process::Command::new("date")
        .args(["-u", "-d", &format!("@{seconds}"), "+%Y-%m-%dT%H:%M:%SZ"])
        .output()
        .unwrap();
    String::from_utf8(date.stdout).unwrap().trim().to_owned()
}

#[test]
fn a_device_that_becomes_slower_is_reported_in_a_sentence_and_by_the_exit_status() {
    let folder = tempfile::tempdir().unwrap();
    let said = |name: &str, weeks, ends: f64| {
        let place = folder.path().join(name);
        std::fs::create_dir(&place).unwrap();
        store(&place, weeks, |week| 1.0 + (ends - 1.0) * week as f64 / (weeks - 1) as f64);
        ran(&["store", "trend", "--store", place.to_str().unwrap()])
    };
    let (status, text, error) = said("slower", 20, 1.6);
    assert!(status == Some(1) && text.contains(" grew from "), "{text} {error}");
    assert!(text.contains("since 2026-01-01") && text.lines().count() == 1, "{text}");
    let ratio = text.split(": ").nth(1).and_then(|rest| rest.split('×').next());
    let ratio: f64 = ratio.unwrap().parse().unwrap();
    assert!((ratio / 1.6 - 1.0).abs() < 0.15, "{text}");
    let (status, text, error) = said("faster", 20, 0.6);
    assert!(status == Some(0) && text.contains(" fell from "), "{text} {error}");
    let (status, text, error) = said("same", 20, 1.0);
    assert!(
        status == Some(0) && text.contains("no change beyond noise over 20 runs"),
        "{text} {error}"
    );
    let (status, text, error) = said("few", 3, 3.0);
    assert!(
        status == Some(0) && text.contains("of 9 weeks or more, and there are runs in 3"),
        "{text} {error}"
    );
    let place = folder.path().join("few");
    let asked = |more: &[&str]| {
        let words = ["store", "trend", "--store", place.to_str().unwrap()];
        ran(&[&words, more].concat())
    };
    let (status, text, error) =
        asked(&["--test", "rand_read_4k", "--where", "started > '2026-01-05'"]);
    assert!(status == Some(0) && text.contains("there are runs in 2"), "{text} {error}");
    for more in [["--test", "it's none"], ["--where", "started < '2020'"]] {
        let (status, _, error) = asked(&more);
        assert!(status == Some(2) && error.contains("flashlag store list"), "{more:?}: {error}");
    }
    let (status, _, error) = asked(&["--where", "nonsense = 1"]);
    assert!(status == Some(2) && error.contains("nonsense"), "{error}");
}
