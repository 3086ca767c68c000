//! `flashlag watch adb:` on a stand-in phone, by the real adb: it goes on without the cable, its history
//! is fetched, and nothing is left once it has ended.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that can't go on fails")]

use std::path::PathBuf;
use std::process::Output;
use std::time::Duration;

use flashlag_schema::history::History;

use crate::support::phone::{Bench, pixel, text};
use crate::watch::{history, until};

fn did(bench: &Bench, words: &[&str]) -> Output {
    let output = bench.command(words).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", text(&output));
    output
}

/// The history so far, and what was said of the watch.
fn fetched(bench: &Bench, more: &[&str]) -> (History, String) {
    let mut words = vec!["watch", "fetch", "adb:"];
    words.extend(more);
    let said = text(&did(bench, &words));
    (history(file(bench).to_str().unwrap()), said)
}

fn file(bench: &Bench) -> PathBuf {
    bench.home.path().join("fetched")
}

fn probes(history: &History) -> u64 {
    history.spans.iter().map(|span| span.probes.restore().unwrap().count()).sum()
}

#[test]
fn a_watch_goes_on_without_the_cable_is_fetched_twice_and_leaves_nothing_once_it_has_ended() {
    let Some(bench) = Bench::of(pixel()) else { return };
    let said = text(&did(&bench, &["watch", "adb:", "--probe", "1s", "--over", "2s"]));
    for part in
        ["Pixel 4", "watching ", "for waits over 2.0 s", "each 1.0 s", "until the phone restarts"]
    {
        assert!(said.contains(part), "no `{part}` in {said}");
    }
    assert!(!said.contains("Ctrl-C"), "{said}");
    let again = bench.refused(&["watch", "adb:"]);
    assert!(again.contains("is watched already") && again.contains("watch fetch adb:"), "{again}");
    bench.phone.cut();
    bench.adb.connect(&bench.phone).unwrap();
    let path = file(&bench);
    let to = ["-o", path.to_str().unwrap()];
    let (first, said) = fetched(&bench, &to);
    assert!(said.contains("the watch goes on") && said.contains("times a second"), "{said}");
    assert_eq!(first.subject.unwrap().directory, "/data/local/tmp");
    // Its end writes what was seen since the last minute.
    std::thread::sleep(Duration::from_secs(3));
    let mut words = to.to_vec();
    words.push("--end");
    let (last, said) = fetched(&bench, &words);
    assert!(said.contains("nothing of it is left on the phone"), "{said}");
    assert!(probes(&last) > 0, "{last:?}");
    bench.is_clean();
    let none = bench.refused(&["watch", "fetch", "adb:"]);
    assert!(none.contains("no watch on the phone"), "{none}");
}

#[test]
fn a_restart_of_the_phone_ends_it_and_another_watch_goes_on_with_its_history() {
    let Some(bench) = Bench::of(pixel()) else { return };
    let path = file(&bench);
    let to = ["-o", path.to_str().unwrap()];
    let watch = ["watch", "adb:", "--probe", "1s", "--for", "3s"];
    did(&bench, &watch);
    let mut before = 0;
    until("the watch ends by itself", || {
        let (history, said) = fetched(&bench, &to);
        before = probes(&history);
        said.contains("the watch has ended")
    });
    assert!(before > 0);
    did(&bench, &["watch", "adb:", "--probe", "1s"]);
    bench.phone.reboot().unwrap();
    bench.adb.connect(&bench.phone).unwrap();
    let (history, said) = fetched(&bench, &to);
    assert!(said.contains("ended when the phone restarted"), "{said}");
    assert!(probes(&history) >= before);
    let cleaned = did(&bench, &["clean", "adb:"]);
    let cleaned = String::from_utf8_lossy(&cleaned.stdout).into_owned();
    assert!(cleaned.contains("a watch is there"), "{cleaned}");
    did(&bench, &["watch", "adb:", "--probe", "1s"]);
    let (history, _) = fetched(&bench, &[to[0], to[1], "--end"]);
    assert!(probes(&history) >= before);
    bench.is_clean();
}

#[test]
fn where_the_disks_counters_are_hidden_probes_alone_measure_and_without_them_it_is_refused() {
    let hidden = ["/sys/block", "/sys/dev/block", "/sys/class/block"];
    let Some(bench) = Bench::of(pixel().unreadable(hidden)) else { return };
    let said = bench.refused(&["watch", "adb:"]);
    assert!(said.contains("can't be watched") && said.contains("--probe 30s"), "{said}");
    bench.is_clean();
    let said = text(&did(&bench, &["watch", "adb:", "--probe", "1s", "--for", "4s"]));
    assert!(said.contains("disk counters: "), "{said}");
    let path = file(&bench);
    let mut found = History::default();
    until("the watch ends by itself", || {
        let (history, said) = fetched(&bench, &["-o", path.to_str().unwrap()]);
        found = history;
        said.contains("the watch has ended")
    });
    assert!(probes(&found) > 0);
    fetched(&bench, &["-o", path.to_str().unwrap(), "--end"]);
    bench.is_clean();
}

#[test]
fn what_is_no_phone_and_options_that_a_phone_can_not_have_are_named() {
    let Some(bench) = Bench::of(pixel()) else { return };
    let said = bench.refused(&["watch", "adb:", "--listen", "9178"]);
    assert!(said.contains("without --listen"), "{said}");
    let said = bench.refused(&["watch", "fetch", "."]);
    assert!(said.contains("is no phone"), "{said}");
    let said = bench.refused(&["watch", "report", "adb:"]);
    assert!(said.contains("watch fetch adb:"), "{said}");
    std::fs::write(file(&bench), "a letter").unwrap();
    let said = bench.refused(&["watch", "fetch", "adb:", "-o", "fetched"]);
    assert!(said.contains("fetched"), "{said}");
    assert_eq!(std::fs::read(file(&bench)).unwrap(), b"a letter");
}
