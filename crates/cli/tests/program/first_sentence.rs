//! The first sentence about a run names the worst verdict of its rows: for every built-in scenario, shortened, on
//! every profile and every filesystem, of which each pair has half, with each row's verdict taken from its own
//! histogram.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use flashlag_runner::{BUILTINS, Event, Observer, Request, Target, run};
use flashlag_schema::{Phase, Run, StoredHistogram};
use flashlag_spec::Operation;
use flashlag_spec::profile::Profile;
use flashlag_spec::scenario::Scenario;
use flashlag_units::Bytes;
use flashlag_views::{headline, strip};

struct Silent;

impl Observer for Silent {
    fn event(&mut self, _: Event<'_>) {}
}

/// The scenario with shorter tests: the same tests, of which some have too few values for a percentile.
fn shortened(text: &str) -> String {
    let line = |line: &str| {
        let key = line.split(" = ").next().unwrap_or_default();
        let value = line.split_once(" = ").map(|(_, value)| value).unwrap_or_default();
        let short = match key {
            "time"
                if value.contains("0s\"") || value.contains("8s\"") || value.contains("5s\"") =>
            {
                "\"300ms\""
            }
            "time" if value == "\"30m\"" => "\"3s\"",
            "saves" if value.parse::<u64>().is_ok() => "120",
            "min_ops" => "50",
            "span" if value.starts_with('"') && !value.starts_with("\"$") => "\"16MiB\"",
            "bytes" | "random_bytes" | "limit" if !value.starts_with("\"$") => "\"16MiB\"",
            "statement" if value.starts_with('[') => "[\"insert\"]",
            "at_least" => "\"8MiB\"",
            "runs" => "1",
            _ => return line.to_owned(),
        };
        format!("{key} = {short}")
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// What a frame waits for: from the intended start where there is a schedule.
fn buckets_of(phase: &Phase) -> &StoredHistogram {
    phase.response_histogram.as_ref().unwrap_or(&phase.histogram)
}

/// Counts by the upper bound of their bucket, in nanoseconds: 64 buckets for each power of two from 128 on.
fn buckets(phase: &Phase) -> Vec<(u64, u64)> {
    let stored = buckets_of(phase);
    let upper = |index: u32| match u64::from(index) {
        small @ 0..128 => small,
        index => ((64 + index % 64 + 1) << (index / 64 - 1)) - 1,
    };
    stored.index.iter().zip(&stored.count).map(|(index, count)| (upper(*index), *count)).collect()
}

/// The verdict of a row by its buckets alone, as docs/measuring.md has the rule; an overloaded row has none of these.
fn by_buckets(phase: &Phase) -> &'static str {
    let buckets = buckets(phase);
    let n: u64 = buckets.iter().map(|(_, count)| count).sum();
    let longest = buckets_of(phase).max_ns.0;
    let rank = |thousandths: u64| {
        let wanted = (n * thousandths).div_ceil(1000);
        let mut seen = 0;
        let found = buckets.iter().find(|(_, count)| {
            seen += count;
            seen >= wanted
        });
        found.unwrap().0.min(longest)
    };
    let late: u64 = buckets
        .iter()
        .filter(|(at, _)| (*at).min(longest) > 16_666_667)
        .map(|(_, count)| count)
        .sum();
    match () {
        () if rank(999) >= 1_000_000_000 => "freezes",
        () if late * 10 >= n || rank(990) >= 100_000_000 => "lags",
        () if late * 100 >= n || rank(999) >= 100_000_000 => "hitches",
        () => "smooth",
    }
}

/// Saves, and durable writes of 4 KiB with nothing beside them.
fn is_waited_for(phase: &Phase) -> bool {
    let write = phase.name.starts_with("rand_write_4k") && phase.is_durable_write();
    phase.ops > 0 && (phase.operation == Operation::Save || (write && phase.background.is_none()))
}

/// The word of the worst row: each is judged by its buckets, but for what the picture says is overloaded.
fn worst_word(run: &Run) -> Option<&'static str> {
    const WORDS: [&str; 5] = ["smooth", "hitches", "lags", "freezes", "overloaded"];
    let picture = strip(run);
    let rows = picture.groups.iter().flat_map(|group| &group.rows);
    let rows = rows.filter(|row| run.phases[row.phase].ops > 0);
    let words = rows.map(|row| {
        let phase = &run.phases[row.phase];
        assert!(is_waited_for(phase), "{}", phase.name);
        let word = row.judgement.word();
        if word != "overloaded" {
            assert_eq!(word, by_buckets(phase), "{} of {:?}", phase.name, run.target.name);
        }
        word
    });
    let words: Vec<&str> = words.collect();
    let waited_for = run.phases.iter().filter(|phase| is_waited_for(phase)).count();
    assert_eq!(words.len(), waited_for, "each row that a frame waits for is in the picture");
    WORDS.into_iter().rev().find(|word| words.contains(word))
}

/// The smallest size of the profile that can be simulated, as the refusal of a smaller one names it; a scenario
/// needs some room.
fn smallest(profile: &str) -> u64 {
    let parsed = Target::parse(&format!("sim:{profile}+raw,size=1MiB"));
    let least = parsed.err().and_then(|refused| {
        let refused = refused.to_string();
        refused.split(" need ").nth(1)?.split(' ').next()?.parse::<u64>().ok()
    });
    least.unwrap_or_default().max(384)
}

fn check(profile: &str, filesystem: &str, scenario: &str, text: &str) -> usize {
    let on = format!("sim:{profile}+{filesystem},size={}MiB", smallest(profile));
    let target = Target::parse(&on).unwrap();
    let parsed = Scenario::parse(text, &[]).unwrap();
    let request = Request { leave: Some(Bytes::from_mib(64)), ..Request::new(parsed, target, 7) };
    let run = run(request, &mut Silent).unwrap();
    let said = headline(&run).sentence;
    let Some(worst) = worst_word(&run) else { return 0 };
    let named = said.to_lowercase().split([' ', ',', ';', ':', '.']).any(|word| word == worst);
    assert!(named, "{scenario} on {profile}+{filesystem}: {worst} is in a row, and not in: {said}");
    1
}

/// On each, a scenario runs with every other profile, and each profile with every other scenario.
const FILESYSTEMS: [&str; 4] = ["raw", "ext4", "f2fs", "btrfs"];

/// Scenarios that take long and have rows that others have too, or none that a frame waits for: on some profiles.
const RARELY: [&str; 3] = ["fill", "disk", "soak"];

fn check_all(filesystem: &str) {
    let profiles = flashlag_spec::profile::names();
    let turn = FILESYSTEMS.iter().position(|name| *name == filesystem).unwrap();
    let mut checked = 0;
    let zoned = |name: &str| Profile::find(name).unwrap().is_zoned();
    // F2FS alone is mounted on zones, and reserves more of them than a small device has.
    for (index, profile) in profiles.enumerate().filter(|(_, name)| !zoned(name)) {
        let scenarios = BUILTINS.iter().filter(|builtin| !["app", "card"].contains(&builtin.name));
        for (number, builtin) in scenarios.enumerate() {
            let is_taken = if RARELY.contains(&builtin.name) {
                index % 10 == 0 && (builtin.name != "fill" || filesystem == "raw")
            } else {
                (index + number + turn).is_multiple_of(2)
            };
            if is_taken {
                checked += check(profile, filesystem, builtin.name, &shortened(builtin.text()));
            }
        }
    }
    assert!(checked > 10, "{checked} runs with rows that a frame waits for");
}

#[test]
fn on_ext4_the_first_sentence_names_the_worst_row() {
    check_all("ext4");
}

#[test]
fn on_f2fs_the_first_sentence_names_the_worst_row() {
    check_all("f2fs");
}

#[test]
fn on_btrfs_the_first_sentence_names_the_worst_row() {
    check_all("btrfs");
}

#[test]
fn without_a_filesystem_the_first_sentence_names_the_worst_row() {
    check_all("raw");
}
