//! The built-in scenarios are files like a user's own, and mistakes are reported with their line.
#![allow(clippy::unwrap_used)]
use flashlag_schema::scenario::{Scenario, Step};

fn builtin(name: &str) -> String {
    let path = format!("{}/../../scenarios/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn every_builtin_scenario_parses() {
    for name in ["quick", "fill", "lifecycle", "sqlite", "soak"] {
        let scenario =
            Scenario::parse(&builtin(name), &[]).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(scenario.name, name);
    }
}

#[test]
fn set_changes_a_setting_and_the_hash() {
    let text = builtin("lifecycle");
    let default = Scenario::parse(&text, &[]).unwrap();
    let changed = Scenario::parse(&text, &[("runs".into(), "5".into())]).unwrap();
    assert_ne!(default.hash(), changed.hash());
    let repeats = changed.steps.iter().filter_map(|step| match step {
        Step::Measure { repeat, .. } => Some(*repeat),
        _ => None,
    });
    assert!(repeats.collect::<Vec<_>>().contains(&5));
}

#[test]
fn the_sqlite_matrix_has_every_cell() {
    let scenario = Scenario::parse(&builtin("sqlite"), &[]).unwrap();
    assert_eq!(scenario.tests.len(), 36);
    assert!(scenario.tests.contains_key("update_wal_normal"));
}

#[test]
fn mistakes_name_their_line_and_what_is_allowed() {
    let text = "name = \"x\"\n\n[[io]]\nname = \"a\"\noperation = \"wirte\"\n";
    let error = Scenario::parse(text, &[]).unwrap_err().to_string();
    assert!(error.starts_with("line 5:") && error.contains("`read` or `write`"), "{error}");
    let error = Scenario::parse(&builtin("quick"), &[("rnus".into(), "3".into())]).unwrap_err();
    assert!(error.to_string().contains("span"), "{error}");
    let typo = builtin("quick").replace("pattern = \"random\"", "patern = \"random\"");
    let error = Scenario::parse(&typo, &[]).unwrap_err().to_string();
    assert!(error.contains("unknown field `patern`"), "{error}");
}

#[test]
fn a_setting_that_does_not_fit_is_named_as_it_was_given_and_no_line_is() {
    let wrong = |scenario: &str, set: &[(&str, &str)]| {
        let set: Vec<_> = set.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
        Scenario::parse(&builtin(scenario), &set).unwrap_err().to_string()
    };
    for (scenario, set, named) in [
        ("quick", &[("span", "banana")][..], "--set span=banana: `banana`"),
        ("quick", &[("durable", "fsync"), ("span", "100")], "--set span=100: `100` has no unit"),
        ("quick", &[("durable", "maybe")], "--set durable=maybe: "),
        ("quick", &[("span", "1B")], "--set span=1B: "),
        ("lifecycle", &[("runs", "many")], "--set runs=many: `many` is not a whole number"),
    ] {
        let error = wrong(scenario, set);
        assert!(error.starts_with(named) && !error.contains("line "), "{scenario}: {error}");
    }
    // A mistake in the user's own file keeps its line, with or without settings.
    let typo = builtin("quick").replace("pattern = \"random\"", "patern = \"random\"");
    let set = [("span".to_owned(), "20MB".to_owned())];
    let error = Scenario::parse(&typo, &set).unwrap_err().to_string();
    assert!(error.starts_with("line "), "{error}");
}
