//! Late frames, and the waits that made them late.

use flashlag_schema::trace::{TraceFrames, TraceLateFrame, TraceLedger};
use flashlag_units::{InOrder, count};

use super::{seconds, words};

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

/// `Of 812 frames 3 were late, 2 of them by waits for storage.`
pub(super) fn sentence(frames: &TraceFrames) -> String {
    let TraceFrames { frames: all, late, by_storage, .. } = frames;
    let late_words = match late {
        0 => "none was late".to_owned(),
        1 => "one was late".to_owned(),
        late => format!("{} were late", count(*late)),
    };
    let storage = match (late, by_storage) {
        (0, _) => String::new(),
        (_, 0) => ", none of them by waits for storage".to_owned(),
        (1, _) => ", by waits for storage".to_owned(),
        (_, by) => format!(", {} of them by waits for storage", count(*by)),
    };
    format!("Of {} frames {late_words}{storage}.", count(*all))
}

/// `at 12.4 s a frame of com.example was 312 ms late: an fsync of app.db by its main thread took 320 ms`
fn line(late: &TraceLateFrame) -> String {
    let TraceLateFrame { frame, process, waited_ns, wait } = late;
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
    format!("at {end} a frame of {process} {how}: {what}{file}{by} took {}{all}", wait.took_ns)
}
