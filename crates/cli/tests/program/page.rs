//! The page of `make page` gives the figures of the program, to the digit: in headless Chromium, beside the
//! command that the page itself names.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// What is chosen, and what the page must say where it has no figures.
fn choices() -> Vec<(Value, Option<&'static str>)> {
    let of = |device: &str, filesystem: &str, barriers: bool, full: u32, months: u32| {
        json!({ "device": device, "filesystem": filesystem, "barriers": barriers,
                "full": full.to_string(), "months": months.to_string() })
    };
    vec![
        (of("pixel-2016", "ext4", true, 0, 0), None),
        (of("pixel-2016", "ext4", false, 90, 6), None),
        (of("nexus5-2013", "f2fs", true, 50, 3), None),
        (of("moto-x-2013", "f2fs", true, 95, 6), None),
        (of("nexus7-2012", "ext4", true, 95, 0), None),
        (of("ufs21-phone", "f2fs", true, 0, 24), None),
        (of("sd-a1", "btrfs", true, 70, 0), None),
        (of("zero", "raw", true, 0, 0), None),
        (of("nexus5-2013", "ext4", true, 0, 48), Some("worn out by then")),
        (of("sd-c10", "ext4", true, 0, 6), Some("no aged state")),
        // What was refused is forgotten.
        (of("nexus5-2013", "ext4", true, 0, 6), None),
    ]
}

/// Choices whose change is forecast, and what is said where it is not.
fn forecasts() -> Vec<(Value, Option<&'static str>)> {
    let of = |device: &str, filesystem: &str, barriers: bool, full: u32, months: u32| {
        json!({ "device": device, "filesystem": filesystem, "barriers": barriers, "forecast": true,
                "full": full.to_string(), "months": months.to_string() })
    };
    vec![
        (of("pixel-2016", "f2fs", false, 0, 0), None),
        (of("nexus5-2013", "ext4", true, 90, 0), None),
        (of("nexus5-2013", "ext4", true, 0, 0), Some("as it was sold, new and empty")),
        (of("nexus5-2013", "ext4", true, 50, 3), Some("--change age=3mo")),
    ]
}

/// What a command of the page prints, line by line, without the widths of columns: as wide as the page, whose
/// sentences break there, and as wide as its table needs with the saves, which the page has not.
fn printed_by(command: &str) -> Vec<String> {
    let printed = |columns: &str| {
        let mut words = command.split(' ');
        assert_eq!(words.next(), Some("flashlag"));
        let mut program = Command::new(env!("CARGO_BIN_EXE_flashlag"));
        program.args(words).env("COLUMNS", columns).env("LC_ALL", "C.UTF-8");
        let done = program.output().unwrap();
        assert!(done.status.success(), "{command}: {}", String::from_utf8_lossy(&done.stderr));
        lines(&String::from_utf8(done.stdout).unwrap())
    };
    [printed("80"), printed("99")].concat()
}

fn lines(text: &str) -> Vec<String> {
    let plain = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    text.lines().map(plain).filter(|line| !line.is_empty()).collect()
}

/// Whether a line is another, of which a wider column may have cut the label.
fn is_line(line: &str, other: &str) -> bool {
    other == line
        || other
            .split_once('…')
            .is_some_and(|(label, figures)| line.starts_with(label) && line.ends_with(figures))
}

/// The page says nothing that the program does not, and has its durable writes and reads.
fn assert_forecast(answer: &Value, choice: &Value) {
    let command = answer["forecast_command"].as_str().unwrap();
    let (here, there) = (lines(answer["forecast"].as_str().unwrap()), printed_by(command));
    for line in &here {
        // Of saves the program may say more.
        let is_said =
            there.iter().any(|other| is_line(line, other)) || line.starts_with("no figure changes");
        assert!(is_said, "{choice}: “{line}” is not in {there:#?}");
    }
    for begins in ["as it is", "4K rand write", "256K seq read"] {
        assert!(here.iter().any(|line| line.starts_with(begins)), "{choice}: {here:#?}");
    }
    for change in command.split_once("--change ").unwrap().1.split(',') {
        assert!(here.iter().any(|line| line == change), "{choice}: no {change} in {here:#?}");
    }
}

/// Builds the page; `None` where Rust has no target for it, after a visible skip.
fn page() -> Option<PathBuf> {
    let built = Command::new(format!("{ROOT}/scripts/page")).output().unwrap();
    let (out, err) =
        (String::from_utf8_lossy(&built.stdout), String::from_utf8_lossy(&built.stderr));
    match built.status.code() {
        Some(0) => {}
        Some(77) => {
            flashlag_need::skip(err.trim());
            return None;
        }
        _ => panic!("{out}{err}"),
    }
    Some(PathBuf::from(out.rsplit_once(": ").unwrap().0.split(": ").next().unwrap()))
}

/// The run file that the command on the page makes.
fn run_of(command: &str) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let mut words = command.split(' ');
    assert_eq!(words.next(), Some("flashlag"));
    let done = Command::new(env!("CARGO_BIN_EXE_flashlag"))
        .args(words)
        .args(["-q", "-o", "run.json"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(done.status.success(), "{command}: {}", String::from_utf8_lossy(&done.stderr));
    let text = std::fs::read_to_string(folder.path().join("run.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// A run without what differs between two that measured the same: who asked, and the sums over it.
fn measured(mut run: Value) -> Value {
    for own in ["command", "flashlag", "integrity"] {
        run.as_object_mut().unwrap().remove(own);
    }
    run
}

/// The first key at which two values differ.
fn difference(a: &Value, b: &Value, at: &str) -> Option<String> {
    match (a, b) {
        (Value::Object(one), Value::Object(other)) => {
            let keys = one.keys().chain(other.keys());
            keys.filter_map(|key| difference(&a[key], &b[key], &format!("{at}.{key}"))).next()
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            let both = one.iter().zip(other).enumerate();
            both.filter_map(|(index, (a, b))| difference(a, b, &format!("{at}[{index}]"))).next()
        }
        _ => (a != b).then(|| format!("{at}: {a} on the page, {b} by the program")),
    }
}

/// Milliseconds as every view prints them.
fn printed(ns: &Value) -> String {
    let value = ns.as_u64().map(flashlag_units::Nanos);
    flashlag_views::format::ms_of(value, 10_240)
}

/// `make checks`: the page compiles for minutes.
#[test]
#[ignore = "minutes: make checks"]
fn the_page_gives_the_programs_figures_to_the_digit() {
    let Some(page) = page() else { return };
    let choices = [choices(), forecasts()].concat();
    let checked = Command::new("python3")
        .arg(format!("{ROOT}/scripts/page_check.py"))
        .arg(&page)
        .args(choices.iter().map(|(choice, _)| choice.to_string()))
        .output()
        .unwrap();
    let err = String::from_utf8_lossy(&checked.stderr);
    if checked.status.code() == Some(77) {
        return flashlag_need::skip(err.trim());
    }
    assert!(checked.status.success(), "{err}");
    let out = String::from_utf8(checked.stdout).unwrap();
    let answers: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), choices.len());
    let mut seen = Vec::new();
    for (answer, (choice, refusal)) in answers.iter().zip(&choices) {
        if choice["forecast"] == true {
            match refusal {
                Some(refusal) => {
                    let said = answer["forecast"].as_str().unwrap();
                    assert!(said.contains(refusal), "{choice}: {said}");
                }
                None => assert_forecast(answer, choice),
            }
            continue;
        }
        if let Some(refusal) = refusal {
            let said = answer["refused"].as_str().unwrap_or_default();
            assert!(said.contains(refusal), "{choice}: {answer}");
            assert!(answer["figures"].is_null(), "{choice}: old figures beside a refusal");
            continue;
        }
        let run = run_of(answer["command"].as_str().unwrap());
        let latency = &run["phases"].as_array().unwrap().last().unwrap()["latency_ns"];
        let figures: Vec<&str> = answer["figures"].as_array().unwrap()[..5]
            .iter()
            .map(|row| row[1].as_str().unwrap())
            .collect();
        let wanted = ["p50", "p90", "p99", "p999", "max"].map(|key| printed(&latency[key]));
        assert_eq!(figures, wanted, "{choice}");
        let whole: flashlag_schema::Run = serde_json::from_value(run.clone()).unwrap();
        assert_eq!(answer["sentence"], flashlag_views::headline(&whole).sentence, "{choice}");
        let differs = difference(&measured(answer["run"].clone()), &measured(run), "run");
        assert_eq!(differs, None, "{choice}");
        seen.push(figures.join(" "));
    }
    seen.sort();
    seen.dedup();
    assert!(seen.len() >= 8, "the choices make no difference: {seen:#?}");
}
