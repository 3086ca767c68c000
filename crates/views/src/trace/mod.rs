//! Sentences about a trace: who writes the most, whose fsyncs wait, and the tables below.

mod answer;
mod frames;
mod saves;
mod tables;
mod words;

use flashlag_schema::trace::{TraceLedger, TraceStall};
use flashlag_units::{InOrder, Nanos, count};

pub use saves::{TraceColumn, TraceTable};
pub use words::source_name;

/// A trace as every view says it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraceSummary {
    /// How the file was understood, where that is not plain from its format.
    pub understood: Option<String>,
    /// Who writes the most, and whose fsyncs wait.
    pub answer: String,
    /// The kind of trace, its length, and the layers that it records.
    pub origin: String,
    /// The tables: writers, files, databases, layers. An empty one is left out.
    pub tables: Vec<TraceTable>,
    /// What would make saves wait less, with what it would spare.
    pub findings: Vec<String>,
    /// The latest of the frames that storage made late; empty if there is none.
    pub frames: Vec<String>,
    /// The stalls; empty if there is none or no latency is known.
    pub stalls: Vec<String>,
    /// What is not in the trace, and what was left out.
    pub notes: Vec<String>,
}

/// Stalls, and late frames, that are listed; all of them in full.
const STALLS: usize = 5;

/// The words and tables of a trace; in full with every row.
pub fn trace_summary(ledger: &TraceLedger, full: bool) -> TraceSummary {
    TraceSummary {
        understood: ledger.source.read_as.as_ref().map(|read_as| format!("{read_as}.")),
        answer: answer::answer(ledger),
        origin: words::origin(ledger),
        tables: tables::tables(ledger, full),
        findings: saves::findings(ledger, full),
        frames: frames::frames(ledger, if full { usize::MAX } else { STALLS }),
        stalls: stalls(ledger, full),
        notes: saves::unsynced(ledger).into_iter().chain(words::notes(ledger)).collect(),
    }
}

fn stalls(ledger: &TraceLedger, full: bool) -> Vec<String> {
    let mut longest: Vec<&TraceStall> = ledger.stalls.listed.iter().collect();
    longest.order_by_key(|stall| (std::cmp::Reverse(stall.took_ns), stall.event));
    if !full {
        longest.truncate(STALLS);
    }
    longest.iter().map(|stall| stalled(stall)).collect()
}

/// `at 12.4 s an fsync of app.db by com.example took 620 ms`
fn stalled(stall: &TraceStall) -> String {
    let file = stall.file.as_ref().map_or_else(String::new, |file| format!(" of {file}"));
    let task = stall.task.as_ref().map_or_else(String::new, |task| format!(" by {task}"));
    let what = words::stalled(stall.what);
    format!("at {} {what}{file}{task} took {}", seconds(stall.t_ns), stall.took_ns)
}

fn seconds(t: Nanos) -> String {
    format!("{:.3} s", t.as_secs_f64())
}

/// The title of the list of stalls.
pub fn trace_stalls_heading(ledger: &TraceLedger) -> String {
    let stalls = &ledger.stalls;
    let (number, rest) = match stalls.count {
        1 => ("One event".to_owned(), "that of its kind"),
        many => (format!("{} events", count(many)), "those of their kind"),
    };
    format!("{number} stalled: over 100 ms and over ten times the median of {rest}; the longest")
}
