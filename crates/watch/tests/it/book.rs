//! The file of a history: what is written is read; damage costs what it hits; its size is kept.

use flashlag_schema::history::{History, Span, Subject};
use flashlag_units::{Bytes, Nanos};
use flashlag_watch::book::read_from;
use flashlag_watch::{Book, BookError, read};
use proptest::prelude::*;

use crate::made::{START_S, incident, part, waits};

const SECOND: Nanos = Nanos::from_secs(1);

fn book(path: &std::path::Path) -> Book {
    sized(path, 20_000_000)
}

fn sized(path: &std::path::Path, size: u64) -> Book {
    Book::open(path, Bytes(size)).unwrap().leaving(Bytes(0))
}

fn watched(history: &History) -> u64 {
    history.spans.iter().map(|span| span.watched_ns.0).sum::<u64>() / SECOND.0
}

#[test]
fn parts_of_an_hour_become_an_hour_and_old_hours_a_day_and_nothing_is_lost_or_counted_twice() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("a.history");
    let mut written = book(&path);
    written.subject(&Subject { directory: "/srv".to_owned(), ..Subject::default() }).unwrap();
    let mut minutes = 0;
    for hour in 0..30 {
        for minute in 0..4 {
            written.minutes(&part(START_S + hour * 3600, SECOND)).unwrap();
            minutes += 1;
            let now = START_S + hour * 3600 + minute * 900;
            written.tidy(now).unwrap();
            assert_eq!(watched(&read(&path).unwrap()), minutes);
        }
    }
    written.incident(&incident(START_S * 1000)).unwrap();
    let history = read(&path).unwrap();
    assert_eq!((history.spans.len(), history.incidents.len()), (30, 1));
    assert_eq!(history.subject.as_ref().unwrap().directory, "/srv");
    assert_eq!(history.spans[0].writes.restore().unwrap().count(), 160);
    assert_eq!(history.spans[0].programs[0].bytes, Bytes(40));
    written.tidy(START_S + 100 * 86_400).unwrap();
    let old = read(&path).unwrap();
    assert_eq!((old.spans.len(), watched(&old), old.damaged_pages), (2, minutes, 0));
    assert_eq!(old.spans[0].seconds, 86_400);
    // A clock that was set back brings an hour of a day that was joined already.
    written.minutes(&part(START_S, SECOND)).unwrap();
    written.tidy(START_S + 100 * 86_400).unwrap();
    assert_eq!(watched(&read(&path).unwrap()), minutes + 1);
    drop(written);
    drop(book(&path));
    assert_eq!(watched(&read(&path).unwrap()), minutes + 1);
}

#[test]
fn one_writer_has_it_and_readers_need_no_lock() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("a.history");
    let written = book(&path);
    let error = Book::open(&path, Bytes(20_000_000)).unwrap_err();
    assert!(matches!(error, BookError::Busy { .. }), "{error}");
    assert!(error.to_string().contains("another `flashlag watch` writes to"), "{error}");
    assert!(read(&path).unwrap().spans.is_empty());
    drop(written);
    drop(book(&path));
}

#[test]
fn another_version_and_another_file_are_refused_and_left_alone() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("a.history");
    for (content, word) in [
        (b"FLH2 something of a later flashlag".to_vec(), "version 2"),
        (b"a letter to a friend".to_vec(), "is no history"),
        (vec![0u8; 100_000], "is no history"),
    ] {
        std::fs::write(&path, &content).unwrap();
        let opened = Book::open(&path, Bytes(20_000_000)).map(drop).unwrap_err().to_string();
        assert!(opened.contains(word) && opened.contains("--history"), "{opened}");
        assert_eq!(read(&path).unwrap_err().to_string(), opened);
        assert_eq!(std::fs::read(&path).unwrap(), content);
    }
    let missing = read(&home.path().join("none")).unwrap_err().to_string();
    assert!(missing.contains("there is no history"), "{missing}");
}

#[test]
fn a_full_disk_stops_the_file_before_it_takes_what_is_left() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("a.history");
    let mut written = book(&path).leaving(Bytes(u64::MAX));
    let refused = (0..400).find_map(|hour| written.minutes(&part(hour * 3600, SECOND)).err());
    let error = refused.unwrap().to_string();
    assert!(error.contains("does not grow") && error.contains("are free there"), "{error}");
    assert!(!read(&path).unwrap().spans.is_empty(), "what was written before stays");
}

#[test]
fn the_file_keeps_its_size_and_drops_the_oldest_days() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("a.history");
    let size = 1_000_000;
    let mut written = sized(&path, size);
    for hour in 0..24 * 120u64 {
        let start_s = START_S + hour * 3600;
        let rich =
            Span { writes: waits(Nanos::from_millis(5 + hour % 90), 400), ..part(start_s, SECOND) };
        written.minutes(&rich).unwrap();
        written.tidy(start_s).unwrap();
        if hour % 3 == 0 {
            written.incident(&incident(start_s * 1000)).unwrap();
        }
    }
    let length = std::fs::metadata(&path).unwrap().len();
    assert!(length <= size + (64 << 10), "{length}");
    let history = read(&path).unwrap();
    assert!(history.dropped_before_s > START_S, "{}", history.dropped_before_s);
    assert!(history.spans.iter().all(|span| span.start_s >= history.dropped_before_s));
    assert_eq!(history.spans.last().unwrap().start_s, START_S + (24 * 120 - 1) * 3600);
    assert!(history.spans.len() > 100 && history.incidents.len() > 20, "{}", history.spans.len());
    drop(written);
    let again = Book::open(&path, Bytes(size)).map(drop);
    again.unwrap();
    assert_eq!(read(&path).unwrap(), history);
}

#[test]
fn incidents_that_take_more_room_than_hours_are_dropped_before_them_the_oldest_first() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("a.history");
    let mut written = sized(&path, 1_000_000);
    let days = 30;
    for hour in 0..24 * days {
        let start_s = START_S + hour * 3600;
        written.minutes(&part(start_s, SECOND)).unwrap();
        written.tidy(start_s).unwrap();
        for second in 0..6 {
            written.incident(&incident((start_s + second) * 1000)).unwrap();
        }
    }
    let history = read(&path).unwrap();
    assert_eq!((history.spans[0].start_s, history.dropped_before_s), (START_S, 0));
    assert_eq!(watched(&history), 24 * days, "no hour is lost");
    let starts: Vec<u64> = history.incidents.iter().map(|one| one.start_ms / 1000).collect();
    let all: Vec<u64> = (0..24 * days)
        .flat_map(|hour| (0..6).map(move |second| START_S + hour * 3600 + second))
        .collect();
    assert!(starts.len() > 200 && starts.len() < all.len(), "{}", starts.len());
    assert_eq!(starts, all[all.len() - starts.len()..], "the newest are there, none is missing");
}

#[test]
fn a_damaged_record_is_counted_and_those_beside_it_are_whole() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("a.history");
    let mut written = book(&path);
    let starts = [1, 2, 3].map(|hour| (START_S + hour * 3600) * 1000);
    starts.iter().for_each(|start| written.incident(&incident(*start)).unwrap());
    let whole = std::fs::read(&path).unwrap();
    assert_eq!(
        (content(&read_from(&whole)), read_from(&whole).damaged_pages),
        (starts.to_vec(), 0)
    );
    let name = b"sqlite3";
    let at: Vec<usize> = (0..whole.len()).filter(|at| whole[*at..].starts_with(name)).collect();
    assert_eq!(at.len(), starts.len(), "each has its program's name once");
    for (index, at) in at.iter().enumerate() {
        let mut damaged = whole.clone();
        damaged[*at] ^= 0x01;
        let history = read_from(&damaged);
        let others: Vec<u64> =
            starts.iter().copied().filter(|start| *start != starts[index]).collect();
        assert_eq!((content(&history), history.damaged_pages), (others, 1), "record {index}");
    }
}

/// A history with a record of every kind.
fn sample() -> Vec<u8> {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("a.history");
    let mut written = book(&path);
    written.subject(&Subject::default()).unwrap();
    for hour in 0..80 * 24u64 {
        if hour % 97 == 0 {
            written.minutes(&part(START_S + hour * 3600, SECOND)).unwrap();
            written.incident(&incident((START_S + hour * 3600) * 1000)).unwrap();
        }
    }
    written.tidy(START_S + 80 * 86_400).unwrap();
    written.minutes(&part(START_S + 80 * 86_400, SECOND)).unwrap();
    std::fs::read(&path).unwrap()
}

/// What a history has: the start of each span and each incident.
fn content(history: &History) -> Vec<u64> {
    let spans = history.spans.iter().map(|span| span.start_s);
    spans.chain(history.incidents.iter().map(|incident| incident.start_ms)).collect()
}

/// The sample of the fuzzers' seeds, where that is to be written anew.
#[test]
fn the_seed_of_the_fuzzers_is_a_history() {
    let text: String = sample().into_iter().map(char::from).collect();
    let text = text.trim_end_matches('\0');
    let path = format!("{}/../../fuzz/seeds/history/sample", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("FLASHLAG_UPDATE_DOCS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let stored = std::fs::read_to_string(&path).unwrap();
    let bytes: Vec<u8> = stored.chars().map(|letter| letter as u8).collect();
    assert!(content(&read_from(&bytes)).len() > 20, "FLASHLAG_UPDATE_DOCS=1 renews it");
}

#[test]
fn a_damaged_byte_costs_at_most_the_record_that_it_lies_in() {
    let whole = sample();
    let before = content(&read_from(&whole));
    assert!(before.len() > 30, "{}", before.len());
    let mut hit = 0;
    for at in (0..whole.len()).step_by(61) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x40;
        let after = content(&read_from(&damaged));
        let lost = before.iter().filter(|key| !after.contains(key)).count();
        // What a damaged day had replaced was overwritten or comes back: nothing is made up.
        assert!(lost <= 1, "byte {at}: {lost} lost");
        assert!(after.iter().all(|key| before.contains(key) || key % 3600 == 0), "byte {at}");
        hit += usize::from(lost > 0);
    }
    assert!(hit > 10, "damage was met {hit} times");
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..3000)) {
        let _ = read_from(&bytes);
        let _ = read_from(&flashlag_watch::book::holding(&bytes));
    }

    #[test]
    fn any_cut_leaves_what_lies_before_it(cut in 0usize..70_000) {
        let whole = sample_once();
        let cut = cut.min(whole.len());
        let before = content(&read_from(whole));
        let after = content(&read_from(&whole[..cut].to_vec()));
        prop_assert!(after.len() <= before.len() + 30);
    }
}

fn sample_once() -> &'static Vec<u8> {
    static SAMPLE: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
    SAMPLE.get_or_init(sample)
}
