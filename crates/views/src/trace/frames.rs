//! Late frames, and the waits that made them late.

use flashlag_schema::trace::{
    TraceFrames, TraceLateFrame, TraceLedger, TraceRun, TraceRunStall, TraceRunTest,
};
use flashlag_units::{InOrder, count};

use super::saves::{TraceColumn, TraceTable};
use super::{seconds, words};
use crate::causes::cause_name;
use crate::format::NONE;

/// A line for each of the latest frames that storage made late.
pub(super) fn frames(ledger: &TraceLedger, most: usize) -> Vec<String> {
    let Some(frames) = ledger.frames.as_ref().filter(|frames| frames.late > 0) else {
        return Vec::new();
    };
    let mut latest: Vec<&TraceLateFrame> = frames.listed.iter().collect();
    latest.order_by_key(|late| {
        (std::cmp::Reverse((late.frame.late_by_ns, late.waited_ns)), late.wait.event)
    });
    latest.truncate(most);
    let more = frames.by_storage.saturating_sub(latest.len() as u64);
    let more = (more > 0).then(|| format!("and {} more", count(more)));
    latest.into_iter().map(line).chain(more).collect()
}

/// `Of 812 frames 3 were late, 2 of them by waits for storage, both while the run did saves: wal.`
pub(super) fn sentence(ledger: &TraceLedger) -> Option<String> {
    let TraceFrames { frames: all, late, by_storage, .. } = ledger.frames.as_ref()?;
    let beside = " What made them late is not in this trace: `flashlag trace --from FILE --beside FILE` \
                  takes a recording of storage of the same time, too.";
    let late_words = match late {
        0 => "none was late".to_owned(),
        1 => "one was late".to_owned(),
        late => format!("{} were late", count(*late)),
    };
    let none = no_storage(ledger);
    let storage = match (late, by_storage) {
        (0, _) => String::new(),
        _ if none => String::new(),
        (_, 0) => ", none of them by waits for storage".to_owned(),
        (1, _) => ", by waits for storage".to_owned(),
        (_, by) => format!(", {} of them by waits for storage", count(*by)),
    };
    let run = ledger.run.as_ref().map_or_else(String::new, |run| during_tests(run, none));
    let beside = if none && *late > 0 && ledger.run.is_none() { beside } else { "" };
    Some(format!("Of {} frames {late_words}{storage}{run}.{beside}", count(*all)))
}

/// Whether nothing is known of what storage did.
fn no_storage(ledger: &TraceLedger) -> bool {
    ledger.events == 0
}

/// `; while the run measured, 12 were late, 9 of them by storage`. `none`: the trace has no storage events,
/// so only the run's own stalls are known.
fn during_tests(run: &TraceRun, none: bool) -> String {
    let sum = |of: fn(&TraceRunTest) -> u64| run.tests.iter().map(of).fold(0, u64::saturating_add);
    let late = sum(|test| test.late);
    let (part, how) = if none {
        (sum(|test| test.at_stalls), "while one of its own operations stalled")
    } else {
        (sum(|test| test.by_storage), "by storage")
    };
    if late == 0 {
        return "; none was late while the run measured".to_owned();
    }
    let were = if late == 1 { "was" } else { "were" };
    format!("; while the run measured, {} {were} late, {} of them {how}", count(late), count(part))
}

/// The late frames of each of the run's tests that has any, or late saves.
pub(super) fn table(ledger: &TraceLedger, most: usize) -> TraceTable {
    let column = |title, spare| TraceColumn { title, spare, words: false };
    let all = ledger.run.as_ref().map_or(&[][..], |run| &run.tests);
    let none = no_storage(ledger);
    let has_saves = all.iter().any(|test| test.saves.is_some());
    let row = |test: &TraceRunTest| {
        let mut cells = vec![
            seconds(test.t_ns),
            seconds(test.lasted_ns),
            count(test.late),
            if none { NONE.to_owned() } else { count(test.by_storage) },
            count(test.at_stalls),
        ];
        let saves =
            test.saves.map(|saves| format!("{} of {}", count(saves.late), count(saves.saves)));
        cells.extend(has_saves.then(|| saves.unwrap_or_else(|| NONE.to_owned())));
        (test.test.clone(), cells)
    };
    let mut columns = vec![
        column("from", 4),
        column("for", 3),
        column("late frames", 0),
        column("by storage", 0),
        column("at its stalls", 1),
    ];
    columns.extend(has_saves.then(|| column("late saves", 2)));
    TraceTable {
        title: "test of the run",
        columns,
        rows: all.iter().take(most).map(row).collect(),
        more: all.len().saturating_sub(most),
    }
}

/// `at 12.4 s a frame of com.example was 312 ms late: an fsync of app.db by its main thread took 320 ms`
fn line(late: &TraceLateFrame) -> String {
    let TraceLateFrame { frame, process, waited_ns, wait, during } = late;
    let end = seconds(frame.t_ns.plus(frame.took_ns));
    let how = match (frame.dropped, frame.late_by_ns) {
        (true, _) => "was dropped".to_owned(),
        (false, Some(by)) => format!("was {by} late"),
        (false, None) => "was late".to_owned(),
    };
    let file = wait.file.as_ref().map_or_else(String::new, |file| format!(" of {file}"));
    let by = wait.task.as_ref().map_or_else(String::new, |task| format!(" by {task}"));
    let what = words::stalled(wait.what);
    let all = if waited_ns > &wait.took_ns {
        format!(", {waited_ns} with others")
    } else {
        String::new()
    };
    let during = during.as_ref().map_or_else(String::new, |during| {
        let stalled = |stall: &TraceRunStall| {
            let cause = cause_name(stall.cause);
            format!(", of which an operation took {} ({cause})", stall.took_ns)
        };
        let stall = during.stall.as_ref().map_or_else(String::new, stalled);
        format!("; meanwhile {}{stall}", during.test)
    });
    format!(
        "at {end} a frame of {process} {how}: {what}{file}{by} took {}{all}{during}",
        wait.took_ns
    )
}
