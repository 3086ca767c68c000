//! The built-in scenarios are files like a user's own, and mistakes are reported with their line.
use flashlag_spec::scenario::{Scenario, Step};

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
fn a_file_that_grew_is_measured_and_neither_filled_nor_written_beside_a_test() {
    let grown = "operation = \"write\"\ngrown = true\n";
    let scenario = with(grown).unwrap();
    assert!(matches!(&scenario.tests["t"], flashlag_spec::scenario::Test::Io(io) if io.grown));
    let same = with(&grown.replace("true", "false")).unwrap();
    assert_eq!(same.hash(), with("operation = \"write\"").unwrap().hash());
    let beside = "[[io]]\nname = \"b\"\noperation = \"read\"\npattern = \"random\"\nblock = \"4KiB\"\nbackground = \"t\"\n";
    let fill = "[[step]]\nfill = \"t\"\n";
    for more in [beside, fill] {
        assert!(with(&format!("operation = \"write\"\n{more}")).is_ok(), "{more}");
        let error = with(&format!("{grown}{more}")).unwrap_err();
        assert!(error.contains("must not be of a file that grew"), "{error}");
    }
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

/// A scenario with one `[[save]]` that has these lines besides what it needs.
fn saving(lines: &str) -> Result<Scenario, String> {
    let text = format!(
        "name = \"x\"\n[[save]]\nname = \"t\"\njournal = \"wal\"\nsaves = 10\n{lines}\n\
         [[step]]\nmeasure = [\"*\"]\n"
    );
    Scenario::parse(&text, &[]).map_err(|error| error.to_string())
}

#[test]
fn scenarios_from_before_think_times_statements_and_the_call_keep_their_hash() {
    let plain = saving("").unwrap();
    let given = saving("statements = 1\nsync_call = \"fdatasync\"").unwrap();
    assert_eq!(plain.hash(), given.hash());
    let json = serde_json::to_string(&plain.tests["t"]).unwrap();
    for key in ["think", "statements", "sync_call"] {
        assert!(!json.contains(key), "{json}");
    }
    for lines in ["statements = 2", "sync_call = \"fsync\"", "think = \"5ms\""] {
        assert_ne!(plain.hash(), saving(lines).unwrap().hash(), "{lines}");
    }
    let io = with("operation = \"read\"").unwrap();
    assert_ne!(io.hash(), with("operation = \"read\"\nthink = \"5ms\"").unwrap().hash());
    assert!(!serde_json::to_string(&io.tests["t"]).unwrap().contains("think"));
}

#[test]
fn each_call_of_a_list_makes_a_test_of_its_own() {
    let text = "name = \"x\"\n[[save]]\nname = \"save_{sync_call}\"\njournal = \"wal\"\nsaves = 1\n\
                sync_call = [\"fdatasync\", \"fsync\"]\n[[step]]\nmeasure = [\"*\"]\n";
    let scenario = Scenario::parse(text, &[]).unwrap();
    let names: Vec<&String> = scenario.tests.keys().collect();
    assert_eq!(names, ["save_fdatasync", "save_fsync"]);
}

#[test]
fn think_times_and_statements_that_mean_nothing_are_refused_with_the_reason() {
    let paced = "think = \"5ms\"\narrivals = { per_second = 5.0 }";
    for (lines, said) in [
        (paced, "belongs to a closed loop"),
        ("think = \"200000h\"", "ten years"),
        ("statements = 0", "1 to 10000"),
        ("sync_call = \"sync\"", "not a word that this key takes"),
        ("statements = 10001", "1 to 10000"),
        ("statement = \"delete\"\nstatements = 501", "at most half of rows"),
        ("statement = \"delete\"\nrows = 3\nstatements = 3", "at most half of rows"),
    ] {
        let error = saving(lines).unwrap_err();
        assert!(error.contains(said), "{lines}: {error}");
    }
    assert!(saving("think = \"0s\"\narrivals = { per_second = 5.0 }").is_ok());
    assert!(saving("statement = \"delete\"\nrows = 3\nstatements = 2").is_ok());
    let error = with(&format!("operation = \"read\"\n{paced}")).unwrap_err();
    assert!(error.contains("belongs to a closed loop"), "{error}");
    let fill = "name = \"x\"\n[[io]]\nname = \"f\"\noperation = \"write\"\n\
                pattern = \"sequential\"\nblock = \"1MiB\"\nthink = \"1ms\"\n[[step]]\nfill = \"f\"\n";
    let error = Scenario::parse(fill, &[]).unwrap_err().to_string();
    assert!(error.contains("have no think"), "{error}");
}

#[test]
fn saves_are_left_out_by_when_and_unless() {
    let text = "name = \"x\"\n[settings]\nphone = false\njournal = \"wal\"\n\
                [[save]]\nname = \"own\"\nunless = \"$phone\"\njournal = \"$journal\"\nsaves = 1\n\
                [[save]]\nname = \"as_a_phone\"\nwhen = \"$phone\"\njournal = \"persist\"\nsaves = 1\n\
                [[step]]\nmeasure = [\"*\"]\n";
    let with = |set: &[(&str, &str)]| {
        let set: Vec<_> =
            set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let scenario = Scenario::parse(text, &set).map_err(|error| error.to_string())?;
        Ok::<_, String>(scenario.tests.into_keys().collect::<Vec<_>>())
    };
    assert_eq!(with(&[]).unwrap(), ["own"]);
    assert_eq!(with(&[("phone", "true")]).unwrap(), ["as_a_phone"]);
    assert_eq!(with(&[("journal", "off"), ("phone", "false")]).unwrap(), ["own"]);
    let error = with(&[("journal", "off"), ("phone", "true")]).unwrap_err();
    assert_eq!(
        error,
        "--set journal=off: no test that is left uses `journal`: each that does is left out by \
         `unless = \"$phone\"`"
    );
    // All settings in force may be given again, as a guest is given them.
    assert_eq!(with(&[("journal", "wal"), ("phone", "true")]).unwrap(), ["as_a_phone"]);
    assert!(with(&[("phone", "yes")]).unwrap_err().contains("true or false"));
}

#[test]
fn atomic_writes_and_limits_of_journals_that_mean_nothing_are_refused_with_the_reason() {
    let rolled_back = |lines: &str| {
        let text = format!(
            "name = \"x\"\n[[save]]\nname = \"t\"\njournal = \"persist\"\nsaves = 10\n{lines}\n\
             [[step]]\nmeasure = [\"*\"]\n"
        );
        Scenario::parse(&text, &[]).map_err(|error| error.to_string())
    };
    for (refused, said) in [
        (saving("atomic = true"), "replaces a rollback journal"),
        (saving("wal_autocheckpoint = 0"), "1 to 1000"),
        (saving("wal_autocheckpoint = 1001"), "1 to 1000"),
        (saving("journal_size_limit = \"2TiB\""), "1 TiB at most"),
        (rolled_back("wal_autocheckpoint = 100"), "belongs to journal"),
    ] {
        let error = refused.unwrap_err();
        assert!(error.contains(said), "{error}");
    }
    let plain = rolled_back("").unwrap();
    let json = serde_json::to_string(&plain.tests["t"]).unwrap();
    for (key, lines) in
        [("atomic", "atomic = true"), ("journal_size_limit", "journal_size_limit = \"512KiB\"")]
    {
        assert!(!json.contains(key), "{json}");
        assert_ne!(plain.hash(), rolled_back(lines).unwrap().hash(), "{lines}");
    }
    let (log, checkpointed) = (saving("").unwrap(), saving("wal_autocheckpoint = 100").unwrap());
    assert_ne!(log.hash(), checkpointed.hash());
    assert_eq!(saving("atomic = false").unwrap().tests.len(), 1);
}

/// A scenario with one `[[save]]` of this kind that has these lines besides what it needs.
fn saving_a_file(kind: &str, lines: &str) -> Result<Scenario, String> {
    let text = format!(
        "name = \"x\"\n[[save]]\nname = \"t\"\nkind = {kind}\nsaves = 10\n{lines}\n\
         [[step]]\nmeasure = [\"*\"]\n"
    );
    Scenario::parse(&text, &[]).map_err(|error| error.to_string())
}

#[test]
fn saves_of_files_that_mean_nothing_are_refused_with_the_reason() {
    let prefs = "\"shared-preferences\"";
    for (kind, lines, said) in [
        ("\"prefs\"", "", "not a word that this key takes"),
        ("\"sqlite\"", "", "needs a journal"),
        ("\"sqlite\"", "journal = \"wal\"\nsize = \"1kB\"", "size belongs to kind = \"shared-pref"),
        (prefs, "journal = \"wal\"", "journal belongs to kind = \"sqlite\""),
        (prefs, "rows = 10", "rows belongs to kind = \"sqlite\""),
        (prefs, "size = \"0B\"", "size = 0 B must be 1 B to 64 MB"),
        (prefs, "size = \"65MB\"", "must be 1 B to 64 MB"),
        (prefs, "change = \"20kB\"", "change = 20 kB must be 1 B to size, 10 kB"),
        (prefs, "changes = 0", "changes = 0 must be 1 to 1000"),
        (prefs, "android = 17", "android = 17 must be 1 to 16"),
        (prefs, "call = \"save\"", "not a word that this key takes"),
        (prefs, "sync_directory = true", "sync_directory belongs to kind = \"rename\""),
        (prefs, "think = \"5ms\"\narrivals = { per_second = 5.0 }", "belongs to a closed loop"),
        ("\"datastore\"", "call = \"apply\"", "call belongs to kind = \"shared-preferences\""),
        (
            "\"append-log\"",
            "android = 8",
            "android belongs to kind = \"shared-preferences\", \"dat",
        ),
        ("\"rename\"", "file = \"x\"", "unknown field `file`"),
    ] {
        let error = saving_a_file(kind, lines).unwrap_err();
        assert!(error.contains(said) && error.lines().count() == 1, "{kind} {lines}: {error}");
    }
    let endless =
        "name = \"x\"\n[[save]]\nname = \"t\"\nkind = \"rename\"\n[[step]]\nmeasure = [\"*\"]\n";
    let error = Scenario::parse(endless, &[]).unwrap_err().to_string();
    assert!(error.contains("needs saves or time"), "{error}");
}

#[test]
fn each_kind_and_call_of_a_list_makes_a_test_of_its_own_with_defaults_that_fit_it() {
    use flashlag_spec::scenario::{FileKind, PrefsCall, Test};
    use flashlag_units::Bytes;

    let text = "name = \"x\"\n[[save]]\nname = \"{kind}\"\nsaves = 1\n\
                kind = [\"atomic-file\", \"append-log\"]\n\
                [[save]]\nname = \"{kind}_{call}\"\nsaves = 1\nkind = \"shared-preferences\"\n\
                call = [\"commit\", \"apply\"]\n[[step]]\nmeasure = [\"*\"]\n";
    let scenario = Scenario::parse(text, &[]).unwrap();
    let of = |name: &str| match &scenario.tests[name] {
        Test::FileSave(save) => (save.kind, save.call, save.size.0, save.change.0, save.changes),
        other => panic!("{other:?}"),
    };
    let (kb, hundred) = (Bytes(10_000), Bytes(100));
    let commit = PrefsCall::Commit;
    assert_eq!(of("atomic_file"), (FileKind::AtomicFile, commit, kb, hundred, 1));
    assert_eq!(of("append_log"), (FileKind::AppendLog, commit, Bytes::from_mib(4), hundred, 1));
    let prefs = FileKind::SharedPreferences;
    assert_eq!(of("shared_preferences_apply"), (prefs, PrefsCall::Apply, kb, hundred, 1));
    assert_eq!(of("shared_preferences_commit"), (prefs, commit, kb, hundred, 1));
    assert_eq!(scenario.tests.len(), 4);
}
