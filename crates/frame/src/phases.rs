use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use flashlag_schema::{LatencySummary, Phase, Run};
use flashlag_spec::Verdict;
use flashlag_units::Nanos;
use flashlag_views::{device_name, failures_of};

use crate::column::{Column, Signed, flag, real, table, text, whole};
use crate::named::{OfPhase, named};

/// A phase and its run.
struct Row<'a> {
    run: &'a Run,
    phase: &'a Phase,
}

impl OfPhase for Row<'_> {
    fn phase(&self) -> &Phase {
        self.phase
    }
}

/// A row for each phase of each run: what was done, and the figures.
pub fn phases(runs: &[&Run]) -> Result<RecordBatch, ArrowError> {
    let rows = runs.iter().flat_map(|run| run.phases.iter().map(|phase| Row { run, phase }));
    let rows: Vec<Row<'_>> = rows.collect();
    table(columns(), &rows)
}

fn columns<'a>() -> Vec<Column<Row<'a>>> {
    let mut columns = of_the_run();
    columns.extend(of_the_test());
    columns.extend(figures());
    columns
}

fn of_the_run<'a>() -> Vec<Column<Row<'a>>> {
    vec![
        text("device", "Short name of the device under test", |row| Some(device_name(row.run))),
        text("scenario", "Name of the scenario", |row| Some(row.run.scenario.name.clone())),
        text("target", "What was measured, as typed", |row| Some(row.run.target.name.clone())),
        whole("seed", "Seed of every random choice", |row| Some(row.run.scenario.seed.signed())),
        flag("trusted", "Whether every trust check of the run passed", |row| {
            Some(row.run.trust.verdict == Verdict::Trusted)
        }),
    ]
}

fn of_the_test<'a>() -> Vec<Column<Row<'a>>> {
    named(vec![
        text("operation", "What was done", |row| Some(row.phase.operation.name().to_owned())),
        whole("block_bytes", "Bytes of each operation", |row| Some(row.phase.block_bytes.signed())),
        whole("span_bytes", "Bytes that addresses were drawn from", |row| {
            Some(row.phase.span_bytes.signed())
        }),
        whole("queue_depth", "Operations in flight, in each thread", |row| {
            Some(row.phase.queue_depth.signed())
        }),
        whole("threads", "Threads side by side", |row| Some(row.phase.threads.signed())),
        text("durable", "How each operation was made durable", |row| {
            Some(row.phase.durable.name().to_owned())
        }),
        flag("direct", "Whether the page cache was bypassed", |row| Some(row.phase.direct)),
        flag("closed_loop", "Whether the next operation waits for the last", |row| {
            Some(row.phase.closed_loop)
        }),
        text("background", "Test that ran beside it, if one did", |row| {
            row.phase.background.clone()
        }),
    ])
}

fn figures<'a>() -> Vec<Column<Row<'a>>> {
    vec![
        flag("believed", "Whether no failed trust check covers the phase", |row| {
            Some(failures_of(row.run, row.phase).is_empty())
        }),
        whole("began_ns", "Begin, from the start of the run", |row| {
            Some(row.phase.began_ns.signed())
        }),
        whole("elapsed_ns", "Duration", |row| Some(row.phase.elapsed_ns.signed())),
        whole("ops", "Operations done", |row| Some(row.phase.ops.signed())),
        whole("bytes", "Bytes moved by them", |row| Some(row.phase.bytes.signed())),
        real("ops_per_sec", "Operations a second", |row| Some(row.phase.ops_per_sec)),
        real("bytes_per_sec", "Bytes a second", |row| Some(row.phase.bytes_per_sec)),
        whole("latency_p50_ns", "Median latency", |row| latency(row, |it| it.p50)),
        whole("latency_p90_ns", "90 % latency", |row| latency(row, |it| it.p90)),
        whole("latency_p99_ns", "99 % latency", |row| latency(row, |it| it.p99)),
        whole("latency_p999_ns", "99.9 % latency", |row| latency(row, |it| it.p999)),
        whole("latency_max_ns", "Longest latency", |row| latency(row, |it| it.max)),
        whole("latency_mean_ns", "Mean latency", |row| latency(row, |it| it.mean)),
        whole("response_p50_ns", "Median from the intended start, of a schedule", |row| {
            response(row, |it| it.p50)
        }),
        whole("response_p99_ns", "99 % from the intended start, of a schedule", |row| {
            response(row, |it| it.p99)
        }),
        whole("response_max_ns", "Longest from the intended start, of a schedule", |row| {
            response(row, |it| it.max)
        }),
        whole("stalls", "Waits longer than stall_over_ns", |row| {
            Some(row.phase.stalls_seen.signed())
        }),
        whole("stall_over_ns", "The time from which on a wait counts as a stall", |row| {
            Some(row.phase.stall_over_ns.signed())
        }),
        whole("late", "Saves longer than a frame at 60 Hz", |row| {
            row.phase.lag.map(|lag| lag.over_60hz.signed())
        }),
        whole("device_bytes", "Bytes that the flash programmed, where known", |row| {
            row.phase.ledger.device_bytes.value().map(|bytes| bytes.signed())
        }),
        flag("cut_short", "Whether it ended before its time", |row| Some(row.phase.cut_short)),
    ]
}

fn latency(row: &Row<'_>, which: fn(&LatencySummary) -> Option<Nanos>) -> Option<i64> {
    which(&row.phase.latency_ns).map(Signed::signed)
}

fn response(row: &Row<'_>, which: fn(&LatencySummary) -> Option<Nanos>) -> Option<i64> {
    row.phase.response_ns.as_ref().and_then(which).map(Signed::signed)
}
