//! Saves without SQLite: their table, and what would make them wait less.

use std::collections::BTreeMap;

use flashlag_schema::finding::FindingAction;
use flashlag_schema::trace::{TraceLedger, TraceSaveKind, TraceSaves};
use flashlag_units::{Bytes, InOrder, Nanos, count, ratio};

use super::words::Who;
use crate::format::{NONE, ms, share_of};

/// A table of words and figures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraceTable {
    /// The title of the labels.
    pub title: &'static str,
    /// The columns.
    pub columns: Vec<TraceColumn>,
    /// The rows: a label, then a text for each column.
    pub rows: Vec<(String, Vec<String>)>,
    /// Number of rows that are left out.
    pub more: usize,
}

/// A column of a trace's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceColumn {
    /// The head.
    pub title: &'static str,
    /// Priority of leaving the column out for lack of room, highest first; 0: never.
    pub spare: u8,
    /// Whether the cells are words.
    pub words: bool,
}

/// Saves added up by file, thread and kind, or as a finding needs them.
#[derive(Clone, Debug, Default)]
struct Sum {
    saves: u64,
    unsynced: u64,
    bytes: u64,
    /// Saves whose wait is known, and the longest wait.
    timed: u64,
    longest: Nanos,
    waited: Nanos,
    over_frame: u64,
    /// Those in which a frame was late; `None` if no frames are known.
    janks: Option<u64>,
    over_5s: u64,
    followed: u64,
    followed_for: Nanos,
    /// Whether any is one of `SharedPreferences`.
    prefs: bool,
}

impl Sum {
    fn add(&mut self, row: &TraceSaves) {
        self.saves = self.saves.saturating_add(row.saves);
        self.unsynced = self.unsynced.saturating_add(row.unsynced);
        self.bytes = self.bytes.saturating_add(row.bytes.0);
        self.followed = self.followed.saturating_add(row.followed);
        self.prefs |= row.kind == TraceSaveKind::SharedPreferences;
        let Some(waits) = &row.waits else { return };
        self.timed = self.timed.saturating_add(row.saves);
        self.longest = self.longest.max(waits.latency_ns.max.unwrap_or_default());
        self.waited = self.waited.plus(waits.waited_ns);
        self.over_frame = self.over_frame.saturating_add(waits.over_frame);
        if let Some(janks) = waits.janks {
            self.janks = Some(self.janks.unwrap_or(0).saturating_add(janks));
        }
        self.over_5s = self.over_5s.saturating_add(waits.over_5s);
        self.followed_for = self.followed_for.plus(waits.followed_ns);
    }

    fn bytes_each(&self) -> Option<Bytes> {
        ratio(self.bytes, self.saves).map(|each| Bytes(each.round() as u64))
    }
}

fn kind_name(kind: TraceSaveKind) -> &'static str {
    match kind {
        TraceSaveKind::SharedPreferences => "SharedPreferences",
        TraceSaveKind::AtomicFile => "AtomicFile",
        TraceSaveKind::Datastore => "DataStore",
        TraceSaveKind::Backup => "backup, written",
        TraceSaveKind::Rename => "written, renamed",
        TraceSaveKind::AppendLog => "appended",
        TraceSaveKind::InPlace => "in place",
        TraceSaveKind::Unknown => "unknown",
    }
}

/// Added up by a key.
fn sums<'a, K: Ord>(
    rows: impl Iterator<Item = &'a TraceSaves>,
    key: impl Fn(&TraceSaves) -> K,
) -> BTreeMap<K, Sum> {
    let mut sums: BTreeMap<K, Sum> = BTreeMap::new();
    rows.for_each(|row| sums.entry(key(row)).or_default().add(row));
    sums
}

/// The table of saves: who saves which file how, what it writes each time, and how long the thread waits.
pub(super) fn table(ledger: &TraceLedger, most: usize) -> TraceTable {
    let named =
        |row: &TraceSaves| (row.file.clone(), kind_name(row.kind), Who::saves(row).thread());
    let mut sums: Vec<_> = sums(ledger.saves.iter(), named).into_iter().collect();
    sums.retain(|(_, sum)| sum.saves > 0);
    sums.order_by_key(|(_, sum)| std::cmp::Reverse(sum.saves));
    let more = sums.len().saturating_sub(most);
    sums.truncate(most);
    let timed = sums.iter().any(|(_, sum)| sum.timed > 0);
    let late = sums.iter().any(|(_, sum)| sum.over_5s > 0);
    let janks = sums.iter().any(|(_, sum)| sum.janks.is_some());
    let column = |title, spare| TraceColumn { title, spare, words: false };
    let columns = [
        (true, TraceColumn { title: "how", spare: 0, words: true }),
        (true, column("by", 1)),
        (true, column("saves", 0)),
        (true, column("bytes each", 3)),
        (timed, column("max ms", 0)),
        (timed, column("over 16.7 ms", 2)),
        (janks, column("jank", 1)),
        (timed && late, column("over 5 s", 0)),
    ];
    let row = |((file, how, by), sum): ((String, &str, String), Sum)| {
        let share = |part: u64| share_of(part, sum.timed);
        let cells = vec![
            how.to_owned(),
            by,
            count(sum.saves),
            sum.bytes_each().map_or_else(|| NONE.to_owned(), |bytes| bytes.to_string()),
            if sum.timed > 0 { ms(sum.longest) } else { NONE.to_owned() },
            share(sum.over_frame),
            sum.janks.map_or_else(|| NONE.to_owned(), count),
            share(sum.over_5s),
        ];
        let cells = cells.into_iter().zip(&columns).filter(|(_, (kept, _))| *kept);
        (file, cells.map(|(cell, _)| cell).collect())
    };
    let rows = sums.into_iter().map(row).collect();
    let columns = columns.into_iter().filter(|(kept, _)| *kept).map(|(_, column)| column).collect();
    TraceTable { title: "save", columns, rows, more }
}

/// The smallest file that is large, as in a run.
const LARGE: Bytes = Bytes(64_000);

/// Findings of a kind that are listed; all of them in full.
const LISTED: usize = 3;

/// What would make saves wait less, with what it would spare of this trace: the most first.
pub(super) fn findings(ledger: &TraceLedger, full: bool) -> Vec<String> {
    let most = if full { usize::MAX } else { LISTED };
    let listed = |mut found: Vec<(u64, String)>| {
        found.order_by_key(|(effect, _)| std::cmp::Reverse(*effect));
        found.into_iter().take(most).map(|(_, sentence)| sentence)
    };
    let saves = &ledger.saves;
    let kinds = [on_main_threads(saves), again_within_a_frame(saves), large_files(saves)];
    kinds.into_iter().flat_map(listed).collect()
}

fn on_main_threads(saves: &[TraceSaves]) -> Vec<(u64, String)> {
    let on_main = saves.iter().filter(|row| row.main == Some(true));
    let late = sums(on_main, |row| Who::saves(row).process());
    // Where frames are known, a late save that no frame waited for disturbed nobody.
    let disturbing = |sum: &Sum| sum.janks.unwrap_or(sum.over_frame);
    let late = late.into_iter().filter(|(_, sum)| disturbing(sum) > 0);
    let sentence = |(process, sum): (String, Sum)| {
        let effect =
            if sum.janks.is_some() { "make a frame late" } else { "take longer than a frame" };
        let sentence = format!(
            "The main thread of {process} waits for its saves: {} of {} {effect}, {} at most, {} \
             together. Save on another thread (SharedPreferences: `apply`).",
            count(disturbing(&sum)),
            count(sum.timed),
            sum.longest,
            sum.waited,
        );
        (sum.waited.0, sentence)
    };
    late.map(sentence).collect()
}

/// A file of a program.
fn file_of(row: &TraceSaves) -> (String, String) {
    (row.file.clone(), Who::saves(row).process())
}

fn again_within_a_frame(saves: &[TraceSaves]) -> Vec<(u64, String)> {
    let again = sums(saves.iter(), file_of).into_iter().filter(|(_, sum)| sum.followed > 0);
    let sentence = |((file, process), sum): ((String, String), Sum)| {
        let spared = if sum.followed_for > Nanos::ZERO {
            format!(", and {} of {} that the thread waits", sum.followed_for, sum.waited)
        } else {
            String::new()
        };
        let how = if sum.prefs { FindingAction::SaveTogether.sentence() } else { "" };
        let sentence = format!(
            "{process} saves {file} again within a frame: one save where it makes several would spare {} of {} \
             saves{spared}. {how}",
            count(sum.followed),
            count(sum.saves),
        );
        (sum.followed, sentence.trim_end().to_owned())
    };
    again.map(sentence).collect()
}

fn large_files(saves: &[TraceSaves]) -> Vec<(u64, String)> {
    use TraceSaveKind::{AppendLog, InPlace, Unknown};
    let anew = saves.iter().filter(|row| !matches!(row.kind, AppendLog | InPlace | Unknown));
    let anew = sums(anew, file_of).into_iter().filter(|(_, sum)| sum.saves > 1);
    let sentence = |((file, process), sum): ((String, String), Sum)| {
        let each = sum.bytes_each().filter(|each| *each >= LARGE)?;
        let sentence = format!(
            "{process} writes {file} anew for each of {} saves: {each} each, {} together. {}",
            count(sum.saves),
            Bytes(sum.bytes),
            FindingAction::KeepApart.sentence(),
        );
        Some((sum.bytes, sentence))
    };
    anew.filter_map(sentence).collect()
}

/// What is said of files that were replaced without a sync.
pub(super) fn unsynced(ledger: &TraceLedger) -> Option<String> {
    let number = ledger.saves.iter().map(|row| row.unsynced).fold(0, u64::saturating_add);
    let (files, were) = if number == 1 { ("file", "was") } else { ("files", "were") };
    (number > 0).then(|| {
        format!(
            "{} {files} {were} replaced by a rename without a sync: these are not among the saves, since a power cut \
             may undo them or leave an empty file.",
            count(number)
        )
    })
}
