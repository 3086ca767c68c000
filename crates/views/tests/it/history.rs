//! What a page of a history says was not seen.
#![allow(clippy::unwrap_used)]

use flashlag_schema::history::{History, Span, Subject};
use flashlag_views::history::history_page;
use flashlag_views::page::Block;

/// The list below "Not seen".
fn not_seen(history: &History) -> Vec<String> {
    let page = history_page(history);
    let how = page.sections.iter().find(|section| section.id == "how").unwrap();
    let lists = how.blocks.iter().filter_map(|block| match block {
        Block::List(lines) => Some(lines.clone()),
        _ => None,
    });
    lists.flatten().collect()
}

/// 13 September 2020; and a minute after the start of a clock that was not set.
const TIMED: u64 = 1_600_000_000;
const UNTIMED: u64 = 60;

fn watched(starts: &[u64]) -> History {
    let span = |start: &u64| Span { start_s: *start, seconds: 3_600, ..Span::default() };
    History {
        subject: Some(Subject::default()),
        spans: starts.iter().map(span).collect(),
        ..History::default()
    }
}

#[test]
fn a_whole_history_lacks_nothing() {
    assert_eq!(not_seen(&watched(&[TIMED])), [""; 0]);
}

#[test]
fn damaged_pages_dropped_days_and_hours_without_a_clock_are_each_said() {
    let damaged = History { damaged_pages: 2, ..watched(&[TIMED]) };
    assert_eq!(not_seen(&damaged), ["damaged pages of the history: 2"]);
    let dropped = History { dropped_before_s: TIMED, ..watched(&[TIMED]) };
    let said = "what is older than 2020-09-13 was dropped to keep the file's size";
    assert_eq!(not_seen(&dropped), [said]);
    let said = "2 hours were recorded before the clock was set; no trend uses them";
    assert_eq!(not_seen(&watched(&[UNTIMED, UNTIMED, TIMED])), [said]);
    let mut blind = watched(&[TIMED]);
    blind.subject.as_mut().unwrap().missing.push("the disk's queue".to_owned());
    assert_eq!(not_seen(&blind), ["the disk's queue"]);
}
