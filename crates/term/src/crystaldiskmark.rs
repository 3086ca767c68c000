use flashlag_schema::scenario::Durability;
use flashlag_schema::{Operation, Phase, Run};
use flashlag_units::{Bytes, Nanos};

use crate::plain::durable;
use crate::text::sanitize;

/// The four tests of each stage as the block that CrystalDiskMark prints, with the block size and
/// queue depth that were really used. Sequential before random, reads before writes; MB is 10^6
/// bytes, the time in brackets the mean latency. Phases that are none of the four (saves, fills)
/// are not in it.
pub fn crystaldiskmark(run: &Run) -> String {
    let mut text = format!(
        "flashlag {} in the form of a CrystalDiskMark result; CrystalDiskMark was not run.\n\
         * MB/s = 1,000,000 bytes/s\n\
         * KB = 1000 bytes, KiB = 1024 bytes\n",
        sanitize(&run.flashlag.version)
    );
    let mut done: Vec<(flashlag_schema::State, u32)> = Vec::new();
    for phase in run.phases.iter().filter(|phase| is_test(phase)) {
        let stage = (phase.state, phase.run);
        if !done.contains(&stage) {
            done.push(stage);
            text.push_str(&block(run, stage));
        }
    }
    if done.is_empty() {
        text.push_str("\nThis run has none of the four tests.\n");
    }
    text.push_str(&tail(run));
    text
}

fn is_test(phase: &Phase) -> bool {
    let fills = phase.intervals.iter().any(|interval| interval.filled_bytes.is_some());
    phase.operation != Operation::Save && !fills
}

fn block(run: &Run, stage: (flashlag_schema::State, u32)) -> String {
    let several = run.phases.iter().any(|phase| (phase.state, phase.run) != stage);
    let mut text = String::new();
    if several {
        text += &format!("\n{} {}\n", stage.0.name(), stage.1);
    }
    let sides = [
        ("Read", [Operation::SequentialRead, Operation::RandomRead]),
        ("Write", [Operation::SequentialWrite, Operation::RandomWrite]),
    ];
    for (title, operations) in sides {
        let of_stage = |operation: Operation| {
            let fits = move |phase: &&Phase| {
                (phase.state, phase.run) == stage && phase.operation == operation && is_test(phase)
            };
            run.phases.iter().filter(fits)
        };
        let lines: Vec<String> = operations.into_iter().flat_map(of_stage).map(line).collect();
        if !lines.is_empty() {
            text += &format!("\n[{title}]\n{}", lines.concat());
        }
    }
    text
}

/// `  SEQ  256KiB (Q=  1, T= 1):   245.318 MB/s [    935.8 IOPS] <  1068.50 us>`
fn line(phase: &Phase) -> String {
    let kind = match phase.operation {
        Operation::SequentialRead | Operation::SequentialWrite => "SEQ",
        _ => "RND",
    };
    let mean = phase.latency_ns.mean.map_or_else(
        || "        -".to_owned(),
        |mean| format!("{:9.2}", mean.0 as f64 / Nanos::from_micros(1).0 as f64),
    );
    let durable = match phase.durable {
        Durability::None => String::new(),
        how => format!("  {}", durable(how)),
    };
    format!(
        "  {kind} {:>7} (Q={:3}, T= 1): {:9.3} MB/s [{:9.1} IOPS] <{mean} us>{durable}\n",
        block_size(phase.block_bytes),
        phase.queue_depth,
        phase.bytes_per_sec / 1e6,
        phase.ops_per_sec,
    )
}

fn block_size(bytes: Bytes) -> String {
    match bytes.0 {
        b if b >= 1 << 20 && b.is_multiple_of(1 << 20) => format!("{}MiB", b >> 20),
        b if b >= 1 << 10 && b.is_multiple_of(1 << 10) => format!("{}KiB", b >> 10),
        b => format!("{b}B"),
    }
}

fn tail(run: &Run) -> String {
    let span = run.phases.iter().filter(|phase| is_test(phase)).map(|phase| phase.span_bytes).max();
    let mut text = String::from("\n");
    let mut field = |name: &str, value: &str| {
        text += &format!("{name:>7}: {}\n", sanitize(value));
    };
    field("Profile", &format!("flashlag {}, seed {}", run.scenario.name, run.scenario.seed));
    if let Some(span) = span {
        field("Test", &format!("{} on {}", span, run.target.name));
    }
    let direct = run.phases.iter().filter(|phase| is_test(phase)).all(|phase| phase.direct);
    field("Mode", if direct { "page cache bypassed" } else { "through the page cache" });
    if let Some(started) = &run.started {
        field("Date", started);
    }
    if let Some(system) = run.environment.software.system.value() {
        field("OS", system);
    }
    let durable = run.phases.iter().any(|p| is_test(p) && p.durable != Durability::None);
    if durable {
        text += "\nA write marked with a flush is made durable before the next one begins, which\n\
                 CrystalDiskMark does not ask for: its figure is lower than CrystalDiskMark's.\n";
    }
    if run.trust.verdict == flashlag_schema::Verdict::Untrusted {
        text += "\nNot to be quoted: a trust check failed.\n";
    }
    text
}
