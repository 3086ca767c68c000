//! Reads and writes of the same shape side by side, in MB/s: what users of disk benchmarks look for.

use flashlag_schema::{Phase, Run};
use flashlag_spec::Operation;
use flashlag_units::Bytes;

use crate::doubt::failures_of;
use crate::format;
use crate::naming::repeats;

/// One shape of test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateRow {
    /// `1M seq Q8`, `4K rand Q32 T4`, `4K rand, 70% reads`.
    pub title: String,
    /// Index of the phase that read, where there is one.
    pub read: Option<usize>,
    /// Index of the phase that wrote.
    pub write: Option<usize>,
}

/// The properties that the two tests of a row share.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Shape {
    sequential: bool,
    block: Bytes,
    depth: u32,
    threads: u32,
    read_percent: Option<u32>,
}

/// The tests of a run that is about throughput: reads and writes, none of them a save or durable
/// one by one, in one state. Empty for every other run.
pub fn rates(run: &Run) -> Vec<RateRow> {
    let about_rates = |phase: &Phase| {
        shape(phase).is_some()
            && phase.durable == flashlag_spec::scenario::Durability::None
            && phase.intervals.iter().all(|interval| interval.filled_bytes.is_none())
    };
    let one_state =
        run.phases.iter().all(|phase| Some(phase.state) == run.phases.first().map(|p| p.state));
    let repeated = run.phases.first().is_some_and(|phase| repeats(run, phase.state));
    if !one_state || repeated || !run.phases.iter().all(about_rates) {
        return Vec::new();
    }
    let mut rows: Vec<(Shape, RateRow)> = Vec::new();
    for (index, phase) in run.phases.iter().enumerate() {
        let Some((shape, reads)) = shape(phase) else { continue };
        let taken = |row: &RateRow| if reads { row.read.is_some() } else { row.write.is_some() };
        let position = rows.iter().position(|(known, row)| *known == shape && !taken(row));
        let position = position.unwrap_or_else(|| {
            rows.push((shape, RateRow { title: title(&shape), read: None, write: None }));
            rows.len() - 1
        });
        if let Some((_, row)) = rows.get_mut(position) {
            *(if reads { &mut row.read } else { &mut row.write }) = Some(index);
        }
    }
    let rows: Vec<RateRow> = rows.into_iter().map(|(_, row)| row).collect();
    if rows.iter().any(|row| row.read.is_some() && row.write.is_some()) { rows } else { Vec::new() }
}

/// The shape of a phase, and whether it read.
fn shape(phase: &Phase) -> Option<(Shape, bool)> {
    let (sequential, reads) = match phase.operation {
        Operation::SequentialRead => (true, true),
        Operation::SequentialWrite => (true, false),
        Operation::RandomRead => (false, true),
        Operation::RandomWrite => (false, false),
        Operation::Save
        | Operation::ReplayRead
        | Operation::ReplayWrite
        | Operation::ReplaySync
        | Operation::ReplayNames
        | Operation::ReplayDiscard => return None,
    };
    let (block, depth, threads) = (phase.block_bytes, phase.queue_depth, phase.threads);
    let read_percent = phase.mixed.map(|mixed| mixed.read_percent);
    Some((Shape { sequential, block, depth, threads, read_percent }, reads))
}

fn title(shape: &Shape) -> String {
    let block = match shape.block.0 {
        bytes if bytes >= 1 << 20 && bytes.is_multiple_of(1 << 20) => format!("{}M", bytes >> 20),
        bytes if bytes >= 1 << 10 && bytes.is_multiple_of(1 << 10) => format!("{}K", bytes >> 10),
        bytes => format!("{bytes} B"),
    };
    let order = if shape.sequential { "seq" } else { "rand" };
    let depth = if shape.depth > 1 { format!(" Q{}", shape.depth) } else { String::new() };
    let threads = if shape.threads > 1 { format!(" T{}", shape.threads) } else { String::new() };
    let mixed = shape
        .read_percent
        .map(|reads| format!(", {} reads", format::share(f64::from(reads) / 100.0)))
        .unwrap_or_default();
    format!("{block} {order}{depth}{threads}{mixed}")
}

/// `Sequential reads 560 MB/s, writes 510 MB/s; random reads 390 MB/s, writes 310 MB/s.`: the fastest of
/// each, of the rows that no failed check covers.
pub(crate) fn sentence(run: &Run) -> Option<String> {
    if rates(run).is_empty() {
        return None;
    }
    let fastest = |operation: Operation| {
        let rates = run.phases.iter().filter(|phase| {
            phase.operation == operation
                && phase.mixed.is_none()
                && failures_of(run, phase).is_empty()
        });
        rates.map(|phase| phase.bytes_per_sec).max_by(f64::total_cmp)
    };
    let pair = |name: &str, read: Operation, write: Operation| {
        let said = |word: &str, rate: Option<f64>| {
            rate.map(|rate| format!("{word} {} MB/s", format::mb_per_s(rate)))
        };
        let parts: Vec<String> = [said("reads", fastest(read)), said("writes", fastest(write))]
            .into_iter()
            .flatten()
            .collect();
        (!parts.is_empty()).then(|| format!("{name} {}", parts.join(", ")))
    };
    let sequential = pair("sequential", Operation::SequentialRead, Operation::SequentialWrite);
    let random = pair("random", Operation::RandomRead, Operation::RandomWrite);
    let said: Vec<String> = [sequential, random].into_iter().flatten().collect();
    Some(if said.is_empty() {
        "No figure of this run can be relied on: a failed check covers each.".to_owned()
    } else {
        format::capitalized(&said.join("; ")) + "."
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use flashlag_schema::Mixed;
    use flashlag_spec::scenario::Durability;

    use super::*;
    use flashlag_testing::sample;

    /// The four tests without durable writes and saves.
    fn run() -> Run {
        let mut run = sample::quick();
        run.phases.retain(|phase| phase.operation != Operation::Save);
        run.phases.iter_mut().for_each(|phase| phase.durable = Durability::None);
        run.trust.checks.clear();
        run
    }

    /// From bytes and time, not from the stored rate.
    fn rate(run: &Run, name: &str) -> String {
        let phase = run.phases.iter().find(|phase| phase.name == name).unwrap();
        format::mb_per_s(phase.bytes.0 as f64 / phase.elapsed_ns.as_secs_f64())
    }

    #[test]
    fn reads_and_writes_of_one_shape_are_one_row() {
        let mut run = run();
        for phase in &mut run.phases {
            if phase.block_bytes == Bytes(4096) {
                (phase.queue_depth, phase.threads) = (32, 4);
            }
        }
        let rows = rates(&run);
        let titles: Vec<&str> = rows.iter().map(|row| row.title.as_str()).collect();
        assert_eq!(titles, ["256K seq", "4K rand Q32 T4"]);
        assert!(rows.iter().all(|row| row.read.is_some() && row.write.is_some()), "{rows:?}");
        for phase in &mut run.phases {
            phase.mixed = (phase.block_bytes == Bytes(4096)).then_some(Mixed { read_percent: 70 });
        }
        assert_eq!(rates(&run)[1].title, format!("4K rand Q32 T4, {} reads", format::share(0.7)));
    }

    #[test]
    fn a_run_about_throughput_says_mb_per_second_first() {
        let run = run();
        let said = crate::headline(&run).sentence;
        let wanted = format!(
            "Sequential reads {} MB/s, writes {} MB/s; random reads {} MB/s, writes {} MB/s.",
            rate(&run, "seq_read_256k"),
            rate(&run, "seq_write_256k"),
            rate(&run, "rand_read_4k"),
            rate(&run, "rand_write_4k"),
        );
        assert_eq!(said, wanted);
    }

    #[test]
    fn a_run_that_reports_lag_is_not_about_throughput() {
        assert_eq!(rates(&sample::quick()), []);
        assert_eq!(rates(&sample::lifecycle()), []);
        let mut run = run();
        run.phases.clear();
        assert_eq!(rates(&run), []);
    }

    #[test]
    fn no_heading_denies_waits_that_the_table_shows() {
        let mut run = run();
        for phase in &mut run.phases {
            phase.stalls.clear();
            phase.stalls_seen = 0;
        }
        assert!(crate::stalls(&run).unwrap().heading.starts_with("No wait was longer than"));
        // Every wait of one test is longer than a frame.
        run.phases[0].latency_ns.p50 = Some(flashlag_units::Nanos::from_secs(2));
        run.phases[0].stalls_seen = run.phases[0].ops;
        let heading = crate::stalls(&run).unwrap().heading;
        assert!(heading.ends_with("where that is not the usual wait"), "{heading}");
    }

    #[test]
    fn figures_that_a_failed_check_covers_are_not_in_the_sentence() {
        let mut run = run();
        run.trust.checks = sample::memory().trust.checks;
        run.trust.checks.iter_mut().for_each(|check| check.phases.clear());
        let said = sentence(&run).unwrap();
        assert!(said.starts_with("No figure of this run"), "{said}");
    }
}
