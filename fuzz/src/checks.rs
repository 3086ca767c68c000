//! What must hold of every parser for every input: it returns, and what it took it takes again.

use flashlag_export::{Format, fio};
use flashlag_report::Options;
use flashlag_schema::Run;
use flashlag_schema::verify::verify_text;
use flashlag_serve::{Command, Listen, Settings};
use flashlag_spec::scenario::Scenario;
use flashlag_spec::target::{DeviceSpec, Kind, MountSpec};
use flashlag_term::Style;
use flashlag_trace::{
    Columns, ImportOptions, InputFormat, add_up, import_by, with_frames, write_trace,
};
use flashlag_units::{Bytes, Nanos};
use flashlag_views::Threshold;

/// A check of one parser on one input.
pub type Check = fn(&str);

/// All of them, by the name of their target and of the folder with their seeds.
pub const CHECKS: [(&str, Check); 9] = [
    ("units", units),
    ("scenario", scenario),
    ("run_file", run_file),
    ("fio", fio_json),
    ("fail_if", fail_if),
    ("device", device),
    ("target", target),
    ("trace", trace),
    ("history", history),
];

/// Sizes and durations: what was parsed is printed, and its exact number parses to itself.
pub fn units(text: &str) {
    if let Ok(bytes) = text.parse::<Bytes>() {
        assert!(!bytes.to_string().is_empty());
        assert_eq!(format!("{}B", bytes.0).parse(), Ok(bytes), "of {text:?}");
    }
    if let Ok(nanos) = text.parse::<Nanos>() {
        assert!(!nanos.to_string().is_empty());
        assert_eq!(format!("{}ns", nanos.0).parse(), Ok(nanos), "of {text:?}");
    }
}

/// Scenario files: the same text is the same scenario, and each `--set` is taken or refused.
pub fn scenario(text: &str) {
    let scenario = match Scenario::parse(text, &[]) {
        Ok(scenario) => scenario,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let again = Scenario::parse(text, &[]).map(|again| again.hash());
    assert_eq!(again.ok(), Some(scenario.hash()), "of {text:?}");
    for (key, value) in &scenario.settings {
        for value in [value.as_str(), "", "0", "x", "-1", "\"$a"] {
            let _ = Scenario::parse(text, &[(key.clone(), value.to_owned())]);
        }
    }
}

/// Run files: what was read is written and read as the same, and every view can show it.
pub fn run_file(text: &str) {
    let _ = verify_text(text);
    if let Ok(run) = Run::from_json(text) {
        let again = Run::from_json(&run.to_json());
        assert_eq!(again.ok().as_ref(), Some(&run), "a run that was written is another when read");
        views(&run);
    }
}

/// fio's json+: an imported run can be shown, and exported and imported again.
pub fn fio_json(text: &str) {
    let _ = fio::looks_like_fio(text);
    let Ok(run) = fio::import(text) else { return };
    views(&run);
    if let Ok(exported) = fio::export(&run) {
        let again = fio::import(&exported);
        assert!(again.is_ok(), "exported, then refused: {:?}", again.err());
    }
}

/// `--fail-if` thresholds.
pub fn fail_if(text: &str) {
    match text.parse::<Threshold>() {
        Ok(threshold) => {
            for run in runs() {
                let _ = threshold.evaluate(run);
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Commands, settings and addresses of a served device: what parses is printed as what parses again.
pub fn device(text: &str) {
    if let Ok(command) = serde_json::from_str::<Command>(text) {
        let line = serde_json::to_string(&command).unwrap_or_default();
        assert_eq!(serde_json::from_str::<Command>(&line).ok(), Some(command), "of {text:?}");
    }
    for (key, value) in text.lines().filter_map(|line| line.split_once('=')) {
        let mut settings = Settings::default();
        if settings.set(key, value).is_ok() {
            let mut again = Settings::default();
            for word in settings.arguments() {
                let (key, value) = word.split_once('=').unwrap_or_default();
                assert!(again.set(key, value).is_ok(), "{word:?} of {text:?}");
            }
            assert_eq!(again, settings, "of {text:?}");
        }
    }
    if let Ok(listen) = text.parse::<Listen>() {
        assert!(listen.uri().bytes().all(|byte| byte.is_ascii_graphic()), "of {text:?}");
    }
}

/// Targets: a parsed target prints as a text that parses to the same, and its mount is taken by the
/// kinds that have a meaning for it.
pub fn target(text: &str) {
    match DeviceSpec::parse(text) {
        Ok(Some(device)) => {
            let again = DeviceSpec::parse(&device.to_string());
            assert_eq!(again, Ok(Some(device.clone())), "of {text:?}");
            assert!(
                device.mount.is_none_or(|mount| mount.check(device.kind).is_ok()),
                "of {text:?}"
            );
        }
        Ok(None) => {}
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    for kind in Kind::ALL {
        let Ok(mount) = MountSpec::parse(kind, text) else { continue };
        assert_eq!(MountSpec::parse(kind, &mount.to_string()), Ok(mount), "of {text:?}");
    }
}

/// Traces of other tools, as text and, with a character for each byte, as bytes: what was taken can be
/// added up and shown, and is read again as the same after it was stored.
pub fn trace(text: &str) {
    let bytes: Vec<u8> = text.chars().map(|letter| letter as u32 as u8).collect();
    if let Ok(columns) = text.parse::<Columns>() {
        assert_eq!(columns.to_string().parse(), Ok(columns), "of {text:?}");
    }
    if let Ok(columns) = "time:s,op,offset:bytes,size:4KiB,latency:us".parse() {
        let _ =
            import_by(text.as_bytes(), &ImportOptions { columns: Some(columns), ..at_most(None) });
    }
    for file in [text.as_bytes(), &bytes] {
        for format in InputFormat::ALL.map(Some).into_iter().chain([None]) {
            let Ok(imported) = import_by(file, &at_most(format)) else { continue };
            // Beside itself it is what it was: its frames are those of the same clock.
            let ledger = match with_frames(imported.trace.clone(), &imported.trace) {
                Ok(together) => add_up(&together),
                Err(_) => add_up(&imported.trace),
            };
            let shown = flashlag_term::trace(&ledger, Style::PLAIN, true);
            assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
            let stored = write_trace(Vec::new(), &imported.trace).unwrap_or_default();
            let again = import_by(&stored[..], &at_most(Some(InputFormat::Stored)));
            assert_eq!(again.ok().map(|again| again.trace), Some(imported.trace), "of {text:?}");
        }
    }
}

fn at_most(format: Option<InputFormat>) -> ImportOptions {
    ImportOptions { format, most_events: 10_000, ..ImportOptions::default() }
}

/// Every view of a run. None may fail whatever the figures are.
fn views(run: &Run) {
    for style in [Style::PLAIN, Style { width: 40, color: true, unicode: false }] {
        let _ = flashlag_term::summary_in_full(run, style);
        let _ = flashlag_term::trust(run, style);
    }
    let _ = flashlag_report::html(run, &Options::default());
    for format in Format::ALL {
        let _ = format.write_run(run);
    }
}

/// The runs among the seeds, for what needs one.
fn runs() -> &'static [Run] {
    static RUNS: std::sync::OnceLock<Vec<Run>> = std::sync::OnceLock::new();
    RUNS.get_or_init(|| {
        let texts = [
            include_str!("../seeds/run_file/memory.json"),
            include_str!("../seeds/run_file/sqlite.json"),
        ];
        texts.iter().filter_map(|text| Run::from_json(text).ok()).collect()
    })
}

/// Histories, a byte for each character, as a file and as what its records hold: any bytes are read, and what was
/// read can be shown.
pub fn history(text: &str) {
    let bytes: Vec<u8> = text.chars().map(|letter| letter as u8).collect();
    for bytes in [flashlag_watch::book::holding(&bytes), bytes] {
        let mut history = flashlag_watch::book::read_from(&bytes);
        flashlag_watch::trend::analyse(&mut history);
        assert!(serde_json::to_string(&history).is_ok());
        for style in [Style::PLAIN, Style { color: true, unicode: true, ..Style::PLAIN }] {
            let _ = flashlag_term::history(&history, style, true);
        }
        let _ = flashlag_report::history_html(&history);
        let _ = flashlag_export::history_markdown(&history);
        let _ = flashlag_export::history_csv(&history);
    }
}
