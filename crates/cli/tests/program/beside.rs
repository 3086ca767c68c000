//! How long reads take beside a writer without pauses, against closed forms of what is between them:
//! device, queue, elevator.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use flashlag_schema::Run;
use flashlag_spec::profile::{Model, Profile};

/// Reads alone and beside a writer of 1 MiB at depth 1, and the writer alone. Sequential reads have
/// two requests in flight, as the kernel's read-ahead has.
const BESIDE: &str = r#"name = "beside"

[[io]]
name = "random"
operation = "read"
pattern = "random"
block = "4KiB"
span = "100MB"
bytes = "20MB"

[[io]]
name = "sequential"
operation = "read"
pattern = "sequential"
block = "128KiB"
span = "100MB"
bytes = "100MB"
queue_depth = 2

[[io]]
name = "writer"
operation = "write"
pattern = "sequential"
block = "1MiB"
span = "100MB"
bytes = "100MB"

[[io]]
name = "random_beside"
operation = "read"
pattern = "random"
block = "4KiB"
span = "100MB"
time = "20s"
background = "writer"

[[io]]
name = "sequential_beside"
operation = "read"
pattern = "sequential"
block = "128KiB"
span = "100MB"
time = "20s"
queue_depth = 2
background = "writer"

[[step]]
measure = ["random", "sequential", "random_beside", "sequential_beside", "writer"]
state = "new"
"#;

/// Mean times in ms: of a random read alone (`r`) and beside the writer, of a write alone (`w`), of
/// the writer's CPU between its writes (`c`); and how much longer reads take beside it.
struct Took {
    read: f64,
    write: f64,
    between: f64,
    suspend: f64,
    /// Medians of a random read alone and beside the writer.
    medians: [f64; 2],
    random: f64,
    sequential: f64,
}

fn took(home: &Path, profile: &Profile) -> Took {
    let (file, scenario, run) =
        (home.join("profile.toml"), home.join("beside.toml"), home.join("run.json"));
    std::fs::write(&file, profile.to_toml()).unwrap();
    std::fs::write(&scenario, BESIDE).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashlag"));
    command.arg("run").arg(&scenario).arg("--on").arg(format!("sim:{}", file.display()));
    command.arg("--force").arg("--output").arg(&run);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let text = std::fs::read_to_string(&run).unwrap_or_else(|error| panic!("{error}: {said}"));
    let run: Run = serde_json::from_str(&text).unwrap();
    let phase = |name: &str| run.phases.iter().find(|phase| phase.name == name).unwrap();
    let mean = |name: &str| phase(name).latency_ns.mean.unwrap().0 as f64 / 1e6;
    let Model { nand, stack, .. } = profile.model().unwrap();
    let per_kib = stack.per_kib_direct.unwrap_or(stack.per_kib).0.0;
    Took {
        read: mean("random"),
        write: mean("writer"),
        between: (stack.call.0.0 + 1024 * per_kib) as f64 / 1e6,
        suspend: nand.suspend.map_or(0.0, |time| time.0.0 as f64 / 1e6),
        medians: ["random", "random_beside"]
            .map(|name| phase(name).latency_ns.p50.unwrap().0 as f64 / 1e6),
        random: mean("random_beside") / mean("random"),
        sequential: phase("sequential").bytes_per_sec / phase("sequential_beside").bytes_per_sec,
    }
}

/// A closed form of a random read beside the writer, in ms.
struct Form {
    text: &'static str,
    of: fn(&Took) -> f64,
}

/// One command at a time: a read waits for the write before it, and others pass while the writer is
/// on its CPU.
const IN_TURN: Form = Form {
    text: "w / (1/2 + c / r): the command in service, then the writer's pause",
    of: |took| took.write / (0.5 + took.between / took.read),
};
/// What the buffer holds is programmed while the writer is on its CPU, and no read suspends it; or
/// one thread encrypts all the time.
const NO_PAUSE: Form =
    Form { text: "w: the writer leaves no pause to dies or cipher", of: |took| took.write };
/// By medians: the mean holds the controller's stops for what was written.
const SUSPENDED: Form = Form {
    text: "median, r + suspension: the queue is the device's, the program is suspended",
    of: |took| took.medians[0] + took.suspend,
};

/// What was published, each under its own load; none of it was fitted to.
const PUBLISHED: &str = "\
| published: at most, on 2,611 phones (Nguyen et al., MobiSys 2015) | | | 2.9 | | 6.3 |
| published: Nexus 4, 128 MB read beside 128 MB written (the same) | | | | | 6.2 |
| published: Snapdragon 800, CFQ 32.6 MB/s, ROW 106.9 (kernel/msm, d10c111) | | | | | 3.3 with CFQ for 1 with ROW |
";

#[test]
fn reads_beside_a_writer_take_what_device_queue_and_elevator_add_up_to() {
    let home = tempfile::TempDir::new().unwrap();
    let mut table = "| profile, `elevator` | closed form of a random read | so times | simulated | off by | sequential, 128 KiB |\n\
                     |---|---|---|---|---|---|\n"
        .to_owned();
    for (name, form) in [
        ("nexus7-2012", &IN_TURN),
        ("moto-x-2013", &NO_PAUSE),
        ("nexus5-2013", &IN_TURN),
        ("nexus6-2014", &NO_PAUSE),
        ("emmc51-phone", &IN_TURN),
        ("pixel-2016", &SUSPENDED),
        ("pixel4-2019", &SUSPENDED),
    ] {
        let text = flashlag_spec::profile::builtin_profile(name).unwrap();
        let profile = Profile::parse(text).unwrap();
        let took = took(home.path(), &profile);
        let [alone, random] = if form.text.starts_with("median") {
            [took.medians[0], took.medians[1] / took.medians[0]]
        } else {
            [took.read, took.random]
        };
        let expected = (form.of)(&took) / alone;
        let off = 100.0 * (random / expected - 1.0);
        let _ = writeln!(
            table,
            "| {name} | {} | {expected:.1} | {random:.1} | {off:+.0} % | {:.1} |",
            form.text, took.sequential
        );
        assert!(off.abs() < 30.0, "{table}");
    }
    let text = flashlag_spec::profile::builtin_profile("nexus5-2013").unwrap();
    let mut sequential = Vec::new();
    for elevator in ["fifo", "deadline", "cfq", "cfq_idle", "row"] {
        let profile = Profile::parse(text).unwrap().with("stack.elevator", elevator).unwrap();
        let took = took(home.path(), &profile);
        let _ = writeln!(
            table,
            "| nexus5-2013, `{elevator}` | | | {:.1} | | {:.1} |",
            took.random, took.sequential
        );
        sequential.push(took.sequential);
    }
    let [fifo, .., cfq_idle, row] = sequential[..] else { panic!("{table}") };
    // 100 ms of reads, then a turn of two writes of 40 ms; a write among 100 reads.
    assert!((cfq_idle / 1.8 - 1.0).abs() < 0.15 && row < 1.5 && fifo > 10.0, "{table}");
    table += PUBLISHED;
    flashlag_testing::between_marks("docs/model.md", "beside", &format!("\n{table}\n"));
}
