//! The built-in scenarios are files like a user's own, and mistakes are reported with their line.
#![allow(clippy::unwrap_used)]
use flashlag_schema::scenario::{Scenario, Step};

fn builtin(name: &str) -> String {
    let path = format!("{}/../../scenarios/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn every_builtin_scenario_parses() {
    for name in ["quick", "fill", "lifecycle", "sqlite", "soak", "disk"] {
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
fn values_beyond_reason_are_refused_by_name() {
    let refused = |scenario: &str, from: &str, to: &str, name: &str| {
        let text = builtin(scenario).replacen(from, to, 1);
        assert_ne!(text, builtin(scenario));
        let error = Scenario::parse(&text, &[]).unwrap_err().to_string();
        assert!(error.contains(&format!("{name} = ")) && error.contains("at most"), "{error}");
    };
    refused("quick", "rows = 1000", "rows = 9223372036854775807", "rows");
    refused("quick", "saves = 12000", "saves = 9223372036854775807", "saves");
    refused("quick", "min_saves = 1000", "min_saves = 9223372036854775807", "min_saves");
    refused("quick", "min_ops = 1000", "min_ops = 9223372036854775807", "min_ops");
    refused("quick", "time = \"12s\"", "time = \"200000h\"", "time");
    let idle = Scenario::parse(&builtin("lifecycle"), &[("idle".into(), "200000h".into())]);
    assert!(idle.unwrap_err().to_string().contains("idle = "));
    Scenario::parse(&builtin("lifecycle"), &[("idle".into(), "87600h".into())]).unwrap();
}

#[test]
fn mistakes_name_their_line_and_what_is_allowed() {
    let text = "name = \"x\"\n\n[[io]]\nname = \"a\"\noperation = \"wirte\"\n";
    let error = Scenario::parse(text, &[]).unwrap_err().to_string();
    assert!(
        error.starts_with("line 5:") && error.ends_with("`mixed`; did you mean `write`?"),
        "{error}"
    );
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

/// A scenario with one `[[io]]` that has these lines besides what it needs.
fn with(lines: &str) -> Result<Scenario, String> {
    let text = format!(
        "name = \"x\"\n[[io]]\nname = \"t\"\npattern = \"random\"\nblock = \"4KiB\"\n\
         span = \"100MB\"\ntime = \"1s\"\n{lines}\n[[step]]\nmeasure = [\"t\"]\n"
    );
    Scenario::parse(&text, &[]).map_err(|error| error.to_string())
}

#[test]
fn a_mixed_test_has_a_share_of_reads_and_two_results() {
    let mixed = "operation = \"mixed\"\nread_percent = 70\n";
    let scenario = with(mixed).unwrap();
    assert_eq!(scenario.tests["t"].phase_names(), ["t_read", "t_write"]);
    for (lines, said) in [
        ("operation = \"mixed\"", "needs read_percent"),
        ("operation = \"mixed\"\nread_percent = 0", "1 to 99"),
        ("operation = \"mixed\"\nread_percent = 100", "1 to 99"),
        ("operation = \"read\"\nread_percent = 70", "belongs to operation = \"mixed\""),
        (&format!("{mixed}until = \"steady\""), "reads or writes alone"),
        (&format!("{mixed}background = \"t\""), "no background"),
    ] {
        let error = with(lines).unwrap_err();
        assert!(error.contains(said), "{error}");
    }
    let twice = with(&format!(
        "{mixed}[[io]]\nname = \"t_read\"\noperation = \"read\"\npattern = \"random\"\nblock = \"4KiB\""
    ));
    assert!(twice.unwrap_err().contains("also a result of `t`"));
}

#[test]
fn threads_are_bounded_and_each_has_a_block_of_its_own() {
    let threads = |more: &str| with(&format!("operation = \"read\"\n{more}"));
    assert!(threads("threads = 64").is_ok());
    for (lines, said) in [
        ("threads = 0", "must be 1 to 64"),
        ("threads = 65", "must be 1 to 64"),
        ("threads = 64\nqueue_depth = 32", "must be 1024 at most"),
        ("threads = 2\nuntil = \"steady\"", "needs threads = 1"),
    ] {
        let error = threads(lines).unwrap_err();
        assert!(error.contains(said), "{error}");
    }
    let narrow = threads("threads = 4").unwrap().text.replace("100MB", "12KiB");
    let error = Scenario::parse(&narrow, &[]).unwrap_err().to_string();
    assert!(error.contains("less than one block"), "{error}");
}

#[test]
fn scenarios_from_before_threads_and_mixtures_keep_their_hash() {
    let plain = with("operation = \"read\"").unwrap();
    let said = with("operation = \"read\"\nthreads = 1\nthread_spans = \"disjoint\"").unwrap();
    assert_eq!(plain.hash(), said.hash());
    assert_ne!(plain.hash(), with("operation = \"read\"\nthreads = 2").unwrap().hash());
    let json = serde_json::to_string(&plain.tests["t"]).unwrap();
    assert!(!json.contains("threads") && !json.contains("read_percent"), "{json}");
}
