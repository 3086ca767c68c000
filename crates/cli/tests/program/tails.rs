//! How far the slow operations of simulated devices are from their median: each profile's durable
//! writes, the Pixel 4's tests beside the percentiles that fio printed on it, and two traces beside
//! what their phones took.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write;
use std::process::Command;

use flashlag_schema::{LatencySummary, Run};
use flashlag_units::Nanos;

/// The run of a command's words after `run`, whose file is written to `file`.
fn run(words: &[&str], file: &std::path::Path) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashlag"));
    let output = command.arg("run").args(words).arg("--output").arg(file).output().unwrap();
    assert!(output.status.code().is_some(), "{words:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{error}: {said}"));
    serde_json::from_str(&text).unwrap()
}

/// The p50, p90, p99 and p99.9 of a profile's durable 4 KiB writes, in ms.
fn durable(home: &std::path::Path, profile: &str) -> [f64; 4] {
    let protocol =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../profiles/protocols/fio-durable-4k.toml");
    let on = format!("sim:{profile}");
    let run = run(&[protocol, "--on", &on], &home.join(format!("{profile}.json")));
    let latency = &run.phases.last().unwrap().latency_ns;
    [latency.p50, latency.p90, latency.p99, latency.p999]
        .map(|at| at.unwrap_or_else(|| panic!("{profile}: too few writes")).0 as f64 / 1e6)
}

/// The source of what a profile says of its controller's own work.
fn housekeeping_from(profile: &str) -> String {
    let text = flashlag_spec::profile::builtin_profile(profile).unwrap();
    let line = text.lines().find(|line| line.starts_with("housekeeping = ")).unwrap();
    let source = line.rsplit_once("source = \"").unwrap().1;
    source.split(['"', ':']).next().unwrap().trim_end_matches(", by").to_owned()
}

/// No device of these classes has one time for a durable write, and none here has.
#[test]
fn every_profile_has_a_tail_and_the_table_says_which() {
    let home = tempfile::TempDir::new().unwrap();
    let mut table =
        "| profile | p50, ms | p90 / p50 | p99 / p50 | p99.9 / p50 | housekeeping from |\n\
         |---|---|---|---|---|---|\n"
            .to_owned();
    for profile in flashlag_spec::profile::names().filter(|name| *name != "zero") {
        let [p50, p90, p99, p999] = durable(home.path(), profile);
        assert!(p90 / p50 > 1.05, "{profile}: {p50} {p90}");
        assert!(p99 / p90 > 1.04, "{profile}: {p90} {p99}");
        assert!(p999 / p99 > 1.03, "{profile}: {p99} {p999}");
        let [p90, p99, p999] = [p90, p99, p999].map(|at| at / p50);
        let from = housekeeping_from(profile);
        let _ =
            writeln!(table, "| {profile} | {p50:.3} | {p90:.2} | {p99:.2} | {p999:.2} | {from} |");
    }
    flashlag_testing::between_marks("docs/model.md", "tails", &format!("\n{table}\n"));
}

/// Reads of a file when it was just written, an hour later, when the write cache is empty, a month and a
/// year later.
const DRAWER: &str = r#"
name = "drawer"
[[io]]
name = "seq_read_256k"
operation = "read"
pattern = "sequential"
block = "256KiB"
span = "100MB"
bytes = "100MB"
[[io]]
name = "rand_read_4k"
operation = "read"
pattern = "random"
block = "4KiB"
span = "100MB"
bytes = "8MB"
[[step]]
measure = ["*"]
state = "new"
[[step]]
idle = "1h"
[[step]]
measure = ["*"]
state = "idle"
[[step]]
idle = "719h"
[[step]]
measure = ["*"]
state = "idle"
[[step]]
idle = "335d"
[[step]]
measure = ["*"]
state = "idle"
"#;

#[test]
fn what_a_month_and_a_year_in_a_drawer_do_to_reads() {
    let home = tempfile::TempDir::new().unwrap();
    let scenario = home.path().join("drawer.toml");
    std::fs::write(&scenario, DRAWER).unwrap();
    let mut table =
        "| profile | 4 KiB, p50: at once | after an hour | a month | a year | 256 KiB in \
                     a row: at once | an hour | a month | a year |\n\
                     |---|---|---|---|---|---|---|---|---|\n"
            .to_owned();
    for (profile, ages) in [
        ("emmc51-phone", true),
        ("ufs31-phone", true),
        ("ufs40-phone", true),
        ("nexus7-2012", false),
    ] {
        let on = format!("sim:{profile}");
        let file = home.path().join(format!("{profile}.json"));
        let run = run(&[scenario.to_str().unwrap(), "--on", &on], &file);
        let of = |name: &str| {
            let phases = run.phases.iter().filter(|phase| phase.name == name);
            let figures: Vec<(f64, f64)> = phases
                .map(|phase| {
                    let p50 = phase.latency_ns.p50.unwrap().0 as f64 / 1e3;
                    (p50, phase.bytes_per_sec / 1e6)
                })
                .collect();
            <[(f64, f64); 4]>::try_from(figures).unwrap()
        };
        let (small, large) =
            (of("rand_read_4k").map(|of| of.0), of("seq_read_256k").map(|of| of.1));
        assert_eq!(small[3] > small[1] * 1.05, ages, "{profile}: {small:?}");
        assert!(small.is_sorted(), "{profile}: {small:?}");
        let small = small.map(|us| format!("{us:.0} us")).join(" | ");
        let large = large.map(|rate| format!("{rate:.0} MB/s")).join(" | ");
        let _ = writeln!(table, "| {profile} | {small} | {large} |");
    }
    flashlag_testing::between_marks("docs/model.md", "drawer", &format!("\n{table}\n"));
}

/// A row of the table of replays, in ms.
fn replayed(what: &str, who: &str, took: &LatencySummary) -> String {
    let ms = |at: Option<Nanos>| match at.map(|at| at.0 as f64 / 1e6) {
        None => "-".to_owned(),
        Some(ms) if ms < 1.0 => format!("{ms:.3}"),
        Some(ms) => format!("{ms:.1}"),
    };
    let row = [took.p50, took.p90, took.p99, took.max, took.mean].map(ms).join(" | ");
    format!("| {what} | {who} | {row} |\n")
}

/// Nothing of the model was chosen by these requests.
#[test]
fn what_two_traces_took_on_their_phones_and_here() {
    let mut table = "| trace, `--on` | | p50 | p90 | p99 | longest | mean |\n\
                     |---|---|---|---|---|---|---|\n"
        .to_owned();
    let traces = [
        ("Facebook", "pixel4/blktrace-facebook.txt.gz", "sim:pixel4-2019", &[][..]),
        // From the driver's submission on: without what the driver takes.
        (
            "Messaging",
            "nexus5-messaging-service-times.csv",
            "sim:nexus5-2013+raw",
            &["stack.issue=0us", "stack.complete=0us"][..],
        ),
    ];
    let home = tempfile::TempDir::new().unwrap();
    for (app, file, on, parameters) in traces {
        let Some(trace) = flashlag_need::public_trace(file) else { return };
        let trace = format!("trace={}", trace.display());
        let mut words = vec!["app", "--on", on, "--set", &trace];
        words.extend(parameters.iter().flat_map(|parameter| ["--parameter", *parameter]));
        let run = run(&words, &home.path().join(format!("{app}.json")));
        for phase in &run.phases {
            // The six syncs have no time in the trace.
            let Some(traced) = phase.replay.as_ref().and_then(|of| of.traced_ns.as_ref()) else {
                continue;
            };
            let kind = phase.name.trim_start_matches("replay_");
            let without = if parameters.is_empty() { "" } else { ", without the driver's time" };
            let what = format!("{app}, {} {kind}s, `{on}`{without}", phase.ops);
            table += &replayed(&what, "phone", traced);
            let from_the_intended_start = phase.response_ns.as_ref().unwrap_or(&phase.latency_ns);
            table += &replayed("", "model", from_the_intended_start);
        }
    }
    assert_eq!(table.lines().count(), 8, "{table}");
    flashlag_testing::between_marks("docs/model.md", "replays", &format!("\n{table}\n"));
}

/// Ratios of the Pixel 4's percentiles, as published and as simulated, from what `profiles check`
/// prints: `2021, depth 1   write_4k_d1*   0.304  p90 ms   0.281 …`.
fn ratios(said: &str) -> Vec<(String, String, f64, f64)> {
    let mut found: Vec<(String, String, f64, f64)> = Vec::new();
    let mut median = (String::new(), 1.0, 1.0);
    for line in said.lines().filter(|line| line.starts_with("2021")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some(unit) = words.iter().position(|word| word.starts_with('p') && word.len() < 6)
        else {
            continue;
        };
        let number = |at: usize| words[at].parse::<f64>().unwrap();
        let (test, published, simulated) =
            (words[unit - 2].trim_end_matches('*'), number(unit - 1), number(unit + 2));
        if words[unit] == "p50" {
            median = (test.to_owned(), published, simulated);
        } else if median.0 == test {
            let (published, simulated) = (published / median.1, simulated / median.2);
            found.push((test.to_owned(), words[unit].to_owned(), published, simulated));
        }
    }
    found
}

/// Those that are off by more than 30 %, of which the document says why.
const OFF: [(&str, &str); 5] = [
    ("read_64k_d1", "p99"),
    ("read_64k_d1", "p99.9"),
    ("write_4k_d1", "p99.9"),
    ("write_4k_d16", "p99"),
    ("write_64k_d16", "p99.9"),
];

#[test]
fn the_ratios_of_the_pixel_4_are_within_30_percent_of_what_fio_printed() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashlag"));
    let output = command.args(["profiles", "check", "pixel4-2019"]).output().unwrap();
    let found = ratios(&String::from_utf8(output.stdout).unwrap());
    assert_eq!(found.len(), 34);
    let mut table = "| test | ratio | phone | model | off by |\n|---|---|---|---|---|\n".to_owned();
    let mut off_by_more = Vec::new();
    for (test, percentile, phone, model) in &found {
        let off = 100.0 * (model / phone - 1.0);
        if off.abs() > 30.0 {
            off_by_more.push((test.as_str(), percentile.as_str()));
        }
        let _ = writeln!(
            table,
            "| {test} | {percentile} / p50 | {phone:.2} | {model:.2} | {off:+.0} % |"
        );
    }
    assert_eq!(off_by_more, OFF, "{table}");
    flashlag_testing::between_marks("docs/model.md", "ratios", &format!("\n{table}\n"));
}
