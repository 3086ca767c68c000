//! A scenario's block tests as an fio job file.

use std::fmt::Write;

use flashlag_spec::scenario::{
    Durability, EngineKind, Io, IoOperation, Pattern, Scenario, Schedule, Step, Test, ThreadSpans,
    Until,
};
use flashlag_units::{Bytes, Nanos};

/// The file that all tests share, in fio's `--directory`.
const FILE: &str = "flashlag-fio.dat";

/// The scenario's block tests as a job file for fio 3.x: one section each, in the order in which
/// they are first measured, each after the end of the one before (`stonewall`). A comment names what
/// fio has no option for.
pub fn job_file(scenario: &Scenario) -> String {
    let mut text = String::new();
    head(&mut text, scenario);
    let tests = measured(scenario);
    let file = tests.iter().map(|test| if let Test::Io(io) = test { io.end() } else { Bytes(0) });
    global(&mut text, file.max().unwrap_or_default());
    for test in tests {
        text.push('\n');
        match test {
            Test::Io(io) => section(&mut text, io),
            Test::Save(save) => {
                comment(
                    &mut text,
                    &format!("{}: saves through SQLite, which fio does not have", save.name),
                );
            }
            Test::FileSave(save) => {
                comment(
                    &mut text,
                    &format!("{}: saves of a file that is replaced, which fio has not", save.name),
                );
            }
            Test::Card(card) => {
                comment(
                    &mut text,
                    &format!("{}: the proof of a card, which fio does not have", card.name),
                );
            }
            Test::Replay(replay) => {
                comment(
                    &mut text,
                    &format!(
                        "{}: the replay of a trace, which fio reads in a form of its own (read_iolog)",
                        replay.name
                    ),
                );
            }
        }
    }
    let left_out: Vec<String> = scenario.steps.iter().filter_map(left_out).collect();
    if !left_out.is_empty() {
        text.push('\n');
        comment(&mut text, "Steps of the scenario that a job file has no words for:");
        left_out.iter().for_each(|step| comment(&mut text, &format!("- {step}")));
    }
    text
}

fn head(text: &mut String, scenario: &Scenario) {
    let name = &scenario.name;
    comment(text, &format!("Scenario {name} of flashlag {} as a job file for fio 3.x:", version()));
    comment(text, "  fio --directory=DIR --output-format=json+ --output=FIO.json THIS_FILE");
    comment(
        text,
        "`flashlag report FIO.json` and `flashlag compare` read what it writes. fio tells",
    );
    comment(
        text,
        "neither where a wait was spent nor whether to believe it. The file it measures,",
    );
    comment(text, &format!("{FILE}, stays in DIR."));
}

fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

fn comment(text: &mut String, line: &str) {
    // A name or a path of the scenario may contain line breaks; a comment is one line.
    let line: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let _ = writeln!(text, "# {line}");
}

fn set(text: &mut String, name: &str, value: impl std::fmt::Display) {
    let _ = writeln!(text, "{name}={value}");
}

fn global(text: &mut String, file: Bytes) {
    text.push_str("\n[global]\n");
    set(text, "filename", FILE);
    if file > Bytes::ZERO {
        set(text, "filesize", file.0);
    }
    // The file is laid out before the test, which then overwrites it, as flashlag's tests do.
    set(text, "overwrite", 1);
    set(text, "thread", 1);
    set(text, "randrepeat", 1);
    set(text, "norandommap", 1);
    set(text, "refill_buffers", 1);
    set(text, "lat_percentiles", 1);
}

/// The tests of all measuring steps, each once.
fn measured(scenario: &Scenario) -> Vec<&Test> {
    let mut tests: Vec<&Test> = Vec::new();
    for step in &scenario.steps {
        let Step::Measure { tests: names, .. } = step else { continue };
        for test in names.iter().filter_map(|name| scenario.tests.get(name)) {
            if tests.iter().all(|known| known.name() != test.name()) {
                tests.push(test);
            }
        }
    }
    tests
}

fn section(text: &mut String, io: &Io) {
    if let Some(rate) = io.arrivals.per_second
        && rate < 0.5
    {
        comment(text, &format!("{}: fio's slowest schedule is one operation a second", io.name));
        return;
    }
    remarks(text, io);
    let _ = writeln!(text, "[{}]", io.name);
    set(text, "rw", direction(io.operation, io.pattern));
    if let Some(percent) = io.read_percent {
        set(text, "rwmixread", percent);
    }
    set(text, "bs", io.block.0.0);
    set(text, "size", size(io));
    if io.begin() > Bytes::ZERO {
        set(text, "offset", io.begin().0);
    }
    set(text, "ioengine", engine(io));
    set(text, "iodepth", io.queue_depth);
    if io.threads > 1 {
        threads(text, io);
    }
    set(text, "direct", u8::from(io.direct));
    if io.operation.writes() {
        match io.durable {
            Durability::None => set(text, "end_fsync", 1),
            Durability::Fsync => set(text, "sync", "sync"),
            Durability::Fdatasync | Durability::Dsync | Durability::RwfDsync => {
                set(text, "sync", "dsync");
            }
        }
    }
    if let Some(rate) = io.arrivals.per_second {
        let each = (rate / f64::from(io.threads.max(1))).round() as u64;
        set(text, "rate_iops", each.max(1));
        let poisson = io.arrivals.schedule == Schedule::Poisson;
        set(text, "rate_process", if poisson { "poisson" } else { "linear" });
    }
    if let Some(think) = io.think.filter(|think| think.0 > Nanos::ZERO) {
        set(text, "thinktime", think.0.0.div_ceil(1_000));
    }
    limits(text, io);
    set(text, "stonewall", 1);
}

/// Jobs that fio counts as one, each with a share of the limits.
fn threads(text: &mut String, io: &Io) {
    set(text, "numjobs", io.threads);
    set(text, "group_reporting", 1);
    let part = io.span.map_or(0, |span| span.0.0) / u64::from(io.threads);
    let part = part - part % io.block.0.0.max(1);
    match (io.thread_spans, io.pattern) {
        (ThreadSpans::Disjoint, _) | (ThreadSpans::Shared, Pattern::Sequential) => {
            set(text, "offset_increment", part);
        }
        (ThreadSpans::Shared, Pattern::Random) | (ThreadSpans::Same, _) => {}
    }
}

fn limits(text: &mut String, io: &Io) {
    let milliseconds = |time: Nanos| format!("{}ms", time.0.div_ceil(1_000_000).max(1));
    if let Some(warmup) = io.warmup.filter(|warmup| warmup.0.0 > 0) {
        set(text, "ramp_time", milliseconds(warmup.0));
    }
    if let Some(time) = io.time {
        set(text, "runtime", milliseconds(time.0));
    }
    match io.bytes {
        Some(bytes) => {
            let each = bytes.0.0 / u64::from(io.threads.max(1));
            set(text, "io_size", each.max(io.block.0.0));
        }
        None => set(text, "time_based", 1),
    }
}

/// The deviations of fio in this test.
fn remarks(text: &mut String, io: &Io) {
    let durable = match io.durable {
        _ if io.operation == IoOperation::Read => None,
        Durability::Fdatasync => {
            Some(("write + fdatasync", "O_DSYNC, since fio times write and sync separately"))
        }
        Durability::Fsync => {
            Some(("write + fsync", "O_SYNC, since fio times write and sync separately"))
        }
        Durability::RwfDsync => Some(("RWF_DSYNC", "O_DSYNC: fio has no such flag")),
        Durability::None | Durability::Dsync => None,
    };
    if let Some((asked, instead)) = durable {
        comment(text, &format!("{asked} in flashlag; here {instead}."));
    }
    if let Some(ops) = io.min_ops {
        comment(text, &format!("flashlag continues, up to 4 times as long, for {ops} operations."));
    }
    if io.until == Until::Steady {
        comment(text, "flashlag ends at steady state; fio's rule is another one: only the limits.");
    }
    if io.arrivals.per_second.is_some() {
        comment(text, "flashlag counts from the intended start, fio from the actual one.");
    }
    if io.think.is_some() && io.queue_depth > 1 {
        comment(text, "flashlag applies think time per queue slot; fio pauses the whole job.");
    }
    if let Some(background) = &io.background {
        comment(text, &format!("flashlag runs `{background}` beside it."));
    }
    if io.fresh {
        comment(text, "flashlag writes the file again before it.");
    }
    if io.grown {
        comment(text, "flashlag's file has grown 4 KiB at a time, alternating with a second file.");
    }
}

/// The part of the file that a thread works on.
fn size(io: &Io) -> u64 {
    let (span, block) = (io.span.map_or(0, |span| span.0.0), io.block.0.0.max(1));
    if io.threads <= 1 || io.thread_spans != ThreadSpans::Disjoint {
        return span.max(block);
    }
    let part = span / u64::from(io.threads);
    (part - part % block).max(block)
}

fn direction(operation: IoOperation, pattern: Pattern) -> &'static str {
    match (operation, pattern) {
        (IoOperation::Read, Pattern::Sequential) => "read",
        (IoOperation::Read, Pattern::Random) => "randread",
        (IoOperation::Write, Pattern::Sequential) => "write",
        (IoOperation::Write, Pattern::Random) => "randwrite",
        (IoOperation::Mixed, Pattern::Sequential) => "rw",
        (IoOperation::Mixed, Pattern::Random) => "randrw",
    }
}

fn engine(io: &Io) -> &'static str {
    match io.engine {
        EngineKind::IoUring => "io_uring",
        EngineKind::Null => "null",
        EngineKind::Auto if io.queue_depth > 1 => "io_uring",
        // A scenario with another engine is refused when it is read.
        EngineKind::Auto | EngineKind::Psync | EngineKind::Sqlite | EngineKind::Fio => "psync",
    }
}

fn left_out(step: &Step) -> Option<String> {
    match step {
        Step::Measure { repeat, state, .. } if *repeat > 1 => {
            Some(format!("the tests {repeat} times when {}", state.name()))
        }
        Step::Measure { .. } => None,
        Step::Fill { test, .. } => {
            Some(format!("fill the storage ({test}): fio can't leave a given space free"))
        }
        Step::Delete => Some("delete what the fill wrote".to_owned()),
        Step::Trim => Some("trim the free space".to_owned()),
        Step::Idle { time } => Some(format!("wait {}", time.0)),
    }
}
