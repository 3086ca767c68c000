//! What the tests of pages share.
#![allow(dead_code, reason = "each test binary uses its own part")]

use flashlag_report::{Options, comparison_html, html};
use flashlag_schema::Run;
use flashlag_testing::sample;
use flashlag_views::{CompareOptions, Comparison, compare};

/// Every kind of page, by name.
pub fn pages() -> Vec<(String, String)> {
    let mut pages: Vec<(String, String)> = sample::all()
        .iter()
        .map(|(kind, run)| (kind.name().to_owned(), html(run, &Options::default())))
        .collect();
    let runs = [sample::quick(), sample::memory()];
    pages.push(("comparison".to_owned(), comparison_page(&runs)));
    pages.push(("hostile".to_owned(), html(&hostile(&sample::lifecycle()), &hostile_options())));
    pages.push(("empty".to_owned(), html(&empty(), &Options::default())));
    let hostile = [hostile(&sample::quick()), sample::memory()];
    pages.push(("comparison-hostile".to_owned(), comparison_page(&hostile)));
    pages
}

/// The page that compares these runs, whatever their scenarios.
pub fn comparison_page(runs: &[Run]) -> String {
    comparison_html(&compared(runs), runs, &Options::default())
}

fn compared(runs: &[Run]) -> Comparison {
    let force = CompareOptions { force: true, ..CompareOptions::default() };
    compare(runs, &force).expect("two runs, forced")
}

/// What a device could call itself.
pub const HOSTILE: &str = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>&lt;&#0;\u{0}\
    \u{1b}[31m\u{202e}txet\u{2066}\u{200f}\u{feff}</title></style></pre>-->]]>{{ 7*7 }}{% raw %}";

pub fn hostile_options() -> Options {
    Options { run_files: vec![HOSTILE.to_owned()], banner: Some(HOSTILE.to_owned()) }
}

/// The run with every string in it, keys included, replaced by a hostile one. Where that makes it
/// no run any more (names of variants), the string stays.
pub fn hostile(run: &Run) -> Run {
    let original = serde_json::to_value(run).expect("a run is JSON");
    let mut value = original.clone();
    let mut paths = Vec::new();
    collect(&original, &mut Vec::new(), &mut paths);
    assert!(paths.len() > 50, "a run has many strings");
    for path in &paths {
        let Some(place) = at(&mut value, path) else { continue };
        let kept = place.clone();
        *place = HOSTILE.into();
        let fits = serde_json::from_value::<Run>(value.clone()).is_ok();
        if !fits && let Some(place) = at(&mut value, path) {
            *place = kept;
        }
    }
    let mut run: Run = serde_json::from_value(value).expect("checked after each change");
    run.scenario.settings.insert(HOSTILE.to_owned(), HOSTILE.to_owned());
    run
}

enum Key {
    Field(String),
    Index(usize),
}

/// Paths of every string; of a long list the first entry stands for the rest.
fn collect(value: &serde_json::Value, path: &mut Vec<Key>, found: &mut Vec<Vec<Key>>) {
    match value {
        serde_json::Value::String(_) => found.push(path.iter().map(Key::copy).collect()),
        serde_json::Value::Array(items) => {
            for (index, item) in items.iter().enumerate().take(40) {
                path.push(Key::Index(index));
                collect(item, path, found);
                path.pop();
            }
        }
        serde_json::Value::Object(fields) => {
            for (name, item) in fields {
                path.push(Key::Field(name.clone()));
                collect(item, path, found);
                path.pop();
            }
        }
        _ => {}
    }
}

impl Key {
    fn copy(&self) -> Key {
        match self {
            Key::Field(name) => Key::Field(name.clone()),
            Key::Index(index) => Key::Index(*index),
        }
    }
}

fn at<'a>(value: &'a mut serde_json::Value, path: &[Key]) -> Option<&'a mut serde_json::Value> {
    path.iter().try_fold(value, |value, key| match key {
        Key::Field(name) => value.get_mut(name),
        Key::Index(index) => value.get_mut(*index),
    })
}

/// A run that was stopped before its first phase.
pub fn empty() -> Run {
    let mut run = sample::quick();
    run.phases.clear();
    run.trust.checks.clear();
    run.environment = flashlag_schema::Environment::default();
    run.scenario.text.clear();
    run.command.clear();
    run.started = None;
    run
}
