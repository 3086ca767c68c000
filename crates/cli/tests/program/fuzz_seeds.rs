//! Every parser, and every view of what it takes, over the fuzzers' seeds and thousands of
//! mutations of them: none panics. The same checks run under libFuzzer in `fuzz/`.
//!
//! `FLASHLAG_FUZZ_SEED` and `FLASHLAG_FUZZ_ROUNDS` choose other mutations.
#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use crate::checks::{CHECKS, Check};

/// Rounds for each parser. Views of a run in a build without optimization are slow.
const ROUNDS: [(&str, u64); 9] = [
    ("units", 20_000),
    ("scenario", 1_500),
    ("run_file", 800),
    ("fio", 800),
    ("fail_if", 10_000),
    ("device", 20_000),
    ("target", 20_000),
    ("trace", 1_500),
    ("history", 150),
];
/// No input grows beyond this.
const LONGEST: usize = 64 << 10;

/// What parsers trip over, put in at random places.
const TOKENS: &[&str] = &[
    "0",
    "-1",
    "1e308",
    "-0.0",
    "1e-320",
    "18446744073709551615",
    "18446744073709551616",
    "9223372036854775808",
    "NaN",
    "null",
    "true",
    "\"\"",
    "\"$",
    "[]",
    "{}",
    "[",
    "{",
    "}",
    "]",
    "\"",
    "\\",
    "\u{feff}",
    "\u{202e}",
    "\0",
    "\n",
    "µs",
    "ü",
    "💾",
    "MB",
    "KiB",
    "ns",
    ".",
    ",",
    ":",
    "=",
    "$",
    "*",
    ">",
    "{journal}",
    "[[io]]\n",
    "[[step]]\n",
    "\"index\":[0,0]",
    "\"count\":[18446744073709551615]",
    "\"unavailable\"",
    "\"p99\":null",
];

/// SplitMix64 (Steele, Lea and Flood, 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    /// A range within `length`, mostly short.
    fn range(&mut self, length: usize) -> std::ops::Range<usize> {
        let start = self.below(length + 1);
        let most = if self.below(4) == 0 { length - start } else { (length - start).min(16) };
        start..start + self.below(most + 1)
    }
}

/// One to four changes of a seed.
fn mutated(seeds: &[Vec<u8>], random: &mut Random) -> String {
    let mut bytes = seeds[random.below(seeds.len())].clone();
    for _ in 0..=random.below(4) {
        mutate(&mut bytes, seeds, random);
        bytes.truncate(LONGEST);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn mutate(bytes: &mut Vec<u8>, seeds: &[Vec<u8>], random: &mut Random) {
    match random.below(8) {
        0 if !bytes.is_empty() => {
            let at = random.below(bytes.len());
            bytes[at] ^= 1 << random.below(8);
        }
        1 => bytes.truncate(random.below(bytes.len() + 1)),
        2 => drop(bytes.drain(random.range(bytes.len()))),
        3 => {
            let copy = bytes[random.range(bytes.len())].to_vec();
            let at = random.below(bytes.len() + 1);
            bytes.splice(at..at, copy);
        }
        4 => {
            let other = &seeds[random.below(seeds.len())];
            let piece = other[random.range(other.len())].to_vec();
            bytes.splice(random.range(bytes.len()), piece);
        }
        5 => {
            let token = TOKENS[random.below(TOKENS.len())];
            bytes.splice(random.range(bytes.len()), token.bytes());
        }
        // A number for a number leaves the rest valid: it reaches furthest.
        _ => replace_number(bytes, random),
    }
}

fn replace_number(bytes: &mut Vec<u8>, random: &mut Random) {
    let starts: Vec<usize> = (0..bytes.len())
        .filter(|&at| {
            let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
            digit(at) && (at == 0 || !digit(at - 1))
        })
        .collect();
    let Some(&start) = starts.get(random.below(starts.len())) else { return };
    let digits = bytes[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = match random.below(4) {
        0 => TOKENS[random.below(8)].to_owned(),
        1 => (random.next() >> random.below(64)).to_string(),
        2 => random.below(100).to_string(),
        _ => (1u64 << random.below(64)).to_string(),
    };
    bytes.splice(start..start + digits, number.bytes());
}

fn seeds_of(name: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(name);
    let entries = std::fs::read_dir(&folder).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let read = |path: PathBuf| (path.clone(), std::fs::read(path).unwrap());
    paths.into_iter().map(read).collect()
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Runs a check on every seed and on mutations of them.
fn survives(name: &str) {
    let (_, check) = *CHECKS.iter().find(|(known, _)| *known == name).unwrap();
    let seeds = seeds_of(name);
    for (path, seed) in &seeds {
        hold(check, &String::from_utf8_lossy(seed), &path.display().to_string());
    }
    let texts: Vec<Vec<u8>> = seeds.into_iter().map(|(_, text)| text).collect();
    let default = ROUNDS.iter().find(|(known, _)| *known == name).map_or(1000, |(_, most)| *most);
    let rounds = setting("FLASHLAG_FUZZ_ROUNDS", default);
    let first = setting("FLASHLAG_FUZZ_SEED", 1);
    for seed in first..first + rounds {
        let text = mutated(&texts, &mut Random(seed));
        hold(check, &text, &format!("FLASHLAG_FUZZ_SEED={seed} FLASHLAG_FUZZ_ROUNDS=1"));
    }
}

fn hold(check: Check, text: &str, seed: &str) {
    if catch_unwind(|| check(text)).is_err() {
        let shown: String = text.chars().take(2000).collect();
        panic!("{seed} panics on {} bytes: {shown:?}", text.len());
    }
}

#[test]
fn no_quantity_panics() {
    survives("units");
}

#[test]
fn no_scenario_file_panics() {
    survives("scenario");
}

#[test]
fn no_run_file_panics_in_any_view() {
    survives("run_file");
}

#[test]
fn no_fio_file_panics_in_any_view() {
    survives("fio");
}

#[test]
fn no_threshold_panics() {
    survives("fail_if");
}

#[test]
fn no_command_to_a_device_panics() {
    survives("device");
}

#[test]
fn no_target_panics_and_each_prints_as_what_it_parses_to() {
    survives("target");
}

#[test]
fn no_trace_of_another_tool_panics_in_any_view() {
    survives("trace");
}

#[test]
fn no_history_panics_in_any_view() {
    survives("history");
}

#[test]
fn the_seeds_reach_behind_the_parsers() {
    for (_, text) in seeds_of("run_file") {
        flashlag_schema::Run::from_json(std::str::from_utf8(&text).unwrap()).unwrap();
    }
    for (_, text) in seeds_of("fio") {
        flashlag_export::fio::import(std::str::from_utf8(&text).unwrap()).unwrap();
    }
    for (_, text) in seeds_of("scenario") {
        flashlag_spec::scenario::Scenario::parse(std::str::from_utf8(&text).unwrap(), &[]).unwrap();
    }
    for (path, text) in seeds_of("trace") {
        let text: Vec<u8> = if path.ends_with("perfetto") {
            String::from_utf8(text).unwrap().chars().map(|letter| letter as u8).collect()
        } else {
            text
        };
        let trace = flashlag_trace::import(&text[..], None).unwrap().trace;
        assert!(trace.events.len() + trace.tasks.len() > 0, "{}", path.display());
        assert_eq!(trace.source.damaged, 0, "{}", path.display());
    }
    for (path, text) in seeds_of("history") {
        let bytes: Vec<u8> =
            String::from_utf8(text).unwrap().chars().map(|letter| letter as u8).collect();
        let history = flashlag_watch::book::read_from(&bytes);
        assert!(!history.spans.is_empty() && !history.incidents.is_empty(), "{}", path.display());
    }
    for (_, text) in seeds_of("fail_if") {
        std::str::from_utf8(&text).unwrap().parse::<flashlag_views::Threshold>().unwrap();
    }
}

#[test]
fn deep_nesting_is_refused_and_does_not_exhaust_the_stack() {
    for open in ["[", "{\"a\":", "a = [", "[a.", "a.", "{", "\"$"] {
        let deep = open.repeat(100_000);
        for (name, check) in CHECKS {
            hold(check, &deep, &format!("{open:?} × 100,000 in {name}"));
        }
    }
}
