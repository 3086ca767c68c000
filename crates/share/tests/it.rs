//! A shared run: nothing private is left, everything measured is.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeSet;

use flashlag_schema::Run;
use flashlag_share::{Shared, shared};
use flashlag_spec::Reading;
use flashlag_testing::{PRIVATE_WORDS, planted, sample};
use serde_json::Value;

/// Text leaves of a value: path, with `[]` for a list, and text.
fn texts(value: &Value, field: &str, found: &mut Vec<(String, String)>) {
    let below =
        |name: &str| if field.is_empty() { name.to_owned() } else { format!("{field}.{name}") };
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(name, member)| texts(member, &below(name), found));
        }
        Value::Array(items) => {
            items.iter().for_each(|item| texts(item, &format!("{field}[]"), found))
        }
        Value::String(text) => found.push((field.to_owned(), text.clone())),
        _ => {}
    }
}

fn all_texts(run: &Run) -> Vec<(String, String)> {
    let mut found = Vec::new();
    texts(&serde_json::to_value(run).unwrap(), "", &mut found);
    found
}

/// A run that names its owner wherever a run of a directory can.
fn private() -> Run {
    let mut run = sample::quick();
    let directory = "/home/ann/acme-prototype".to_owned();
    run.target.name = directory.clone();
    run.target.directory = Some(directory.clone());
    run.command = vec!["flashlag".into(), "run".into(), "--on".into(), directory.clone()];
    run.scenario.settings.insert("fill_dir".into(), "/media/ann/card".into());
    run.scenario.text.push_str("\n# by ann: see /home/ann/acme-prototype/notes\n");
    let filesystem = &mut run.environment.filesystem;
    filesystem.mount_point = Reading::Value("/home/ann".to_owned());
    filesystem.source = Reading::Value("/dev/mapper/acme--vg-home".to_owned());
    let mut options = filesystem.options.value().cloned().unwrap_or_default();
    options.extend(["uid=1000".into(), "subvol=/@ann".into(), "lowerdir=/home/ann/x".into()]);
    filesystem.options = Reading::Value(options);
    run.trust.checks[0].detail = format!(
        "write of {directory}/.flashlag-1/f: it reached acme--vg-home. `ann`s tool` moved the most: 8 MB."
    );
    run.phases[0]
        .notes
        .push("the file /home/ann/acme-prototype/.flashlag-1/f was grown".to_owned());
    run
}

#[test]
fn no_private_text_is_left_anywhere() {
    let Shared { run, .. } = shared(&private()).unwrap();
    let json = run.to_json();
    for word in [
        "/home/",
        "acme",
        "/media",
        "/dev/mapper",
        "uid=1000",
        "subvol",
        "lowerdir",
        "--on",
        "s tool",
    ] {
        assert!(!json.contains(word), "{word} is left: {}", around(&json, word));
    }
}

fn around(text: &str, word: &str) -> String {
    let at = text.find(word).unwrap();
    text[at.saturating_sub(80)..].chars().take(200).collect()
}

#[test]
fn what_was_measured_is_the_same_to_the_last_figure() {
    for (kind, run) in sample::all() {
        let Shared { run: given, .. } = shared(&run).unwrap();
        assert_eq!(given.lag, run.lag, "{kind:?}");
        for (now, before) in given.phases.iter().zip(&run.phases) {
            assert_eq!(now.histogram, before.histogram);
            assert_eq!(
                (now.ops, now.bytes, &now.intervals),
                (before.ops, before.bytes, &before.intervals)
            );
        }
        let found = |run: &Run| flashlag_schema::verify::verify(run).len();
        assert_eq!(found(&given), found(&run), "{kind:?}: as many figures hold");
    }
}

#[test]
fn a_run_that_named_its_owner_verifies_as_before() {
    let mut run = private();
    let scenario = flashlag_spec::scenario::Scenario::parse(&run.scenario.text, &[]).unwrap();
    run.scenario.settings.remove("fill_dir");
    run.scenario.hash = scenario.hash();
    run.seal();
    let found = |run: &Run| flashlag_schema::verify::verify(run);
    assert_eq!(found(&shared(&run).unwrap().run), found(&run));
}

#[test]
fn the_list_of_what_goes_is_the_difference_of_the_two_files() {
    let original = private();
    let Shared { run, removed, .. } = shared(&original).unwrap();
    let (before, after) = (all_texts(&original), all_texts(&run));
    let counted = |all: &[(String, String)], one: &(String, String)| {
        all.iter().filter(|it| *it == one).count()
    };
    let ours = |field: &str| field.starts_with("integrity") || field.starts_with("shared");
    let changed: BTreeSet<String> = before
        .iter()
        .filter(|one| counted(&before, one) != counted(&after, one) && !ours(&one.0))
        .map(|(field, _)| field.clone())
        .collect();
    let listed: BTreeSet<String> = removed.iter().map(|it| it.field.clone()).collect();
    assert_eq!(listed, changed);
    let record = run.shared.unwrap();
    assert_eq!(record.removed.into_iter().collect::<BTreeSet<_>>(), listed);
    assert_eq!(record.original_sha256, original.checksum());
}

#[test]
fn sharing_what_was_shared_changes_nothing() {
    let once = shared(&private()).unwrap().run;
    let twice = shared(&once).unwrap();
    assert_eq!(twice.run.shared, once.shared);
    assert_eq!(twice.run, once, "{:?}", twice.removed);
}

#[test]
fn the_owner_sees_what_somebody_wrote_and_stays() {
    let mut run = private();
    run.label = Some("Ann's board".to_owned());
    let kept = shared(&run).unwrap().kept;
    let of = |field: &str| kept.iter().find(|it| it.field == field).map(|it| it.text.clone());
    assert_eq!(of("label").as_deref(), Some("Ann's board"));
    assert!(of("scenario.text").unwrap().contains("# by PRIVATE: see P"));
}

#[test]
fn every_field_of_free_text_in_the_schema_has_a_rule() {
    let found = flashlag_share::free_text();
    assert!(found.len() > 100, "{found:?}");
    let has_rule = |field: &&String| {
        let field = field.strip_suffix(".unavailable").unwrap_or(field);
        let field_of = |rule: &str| match rule.strip_suffix(".**").or(rule.strip_suffix(".*")) {
            Some(above) => field.starts_with(&format!("{above}.")),
            None => rule == field,
        };
        flashlag_share::rules().iter().any(|rule| field_of(rule.fields))
    };
    let without: Vec<&String> = found.iter().filter(|field| !has_rule(field)).collect();
    assert!(without.is_empty(), "say in rules.rs what becomes of {without:?}");
}

/// The profile of a tablet of the program, with `SECRET` in everything that somebody can write in one.
fn own_profile() -> String {
    let text = flashlag_spec::profile::builtin_profile("nexus7-2012").unwrap();
    let mut profile = flashlag_spec::profile::Profile::parse(text).unwrap();
    profile.name = "SECRET-board".into();
    profile.about = "SECRET board (rev B), 8 GB.".into();
    profile.os = "SECRET OS".into();
    profile.assumptions = vec!["the SECRET datasheet is right".into()];
    profile.checks[0].device = "SECRET-row".into();
    profile.fitted_from = Some(flashlag_spec::profile::FittedFrom {
        run: "/home/ann/SECRET.json".into(),
        verdict: flashlag_spec::Verdict::Trusted,
        doubts: vec!["of the SECRET lab".into()],
        forced: false,
        misfit_percent: 3.0,
    });
    for parameter in profile.parameters.values_mut() {
        parameter.source = "SECRET datasheet, page 7".into();
        parameter.fitted = vec!["SECRET/row".into()];
    }
    let link = profile.parameters.get_mut("host.link").unwrap();
    link.value = "SECRET bus".into();
    link.range = Some(["SECRET".into(), "SECRETS".into()]);
    profile.to_toml()
}

/// A simulated run on that profile.
fn on_own_profile() -> Run {
    let text = own_profile();
    let profile = flashlag_spec::profile::Profile::parse(&text).unwrap();
    let mut run = sample::quick();
    run.target.kind = flashlag_schema::TargetKind::Simulated;
    run.target.name = "sim:/home/ann/SECRET/SECRET-b.toml+ext4,size=1GiB".into();
    run.target.directory = None;
    run.command = vec!["flashlag".into(), "run".into(), run.target.name.clone()];
    run.environment.software.machine = Reading::Value(profile.about.clone());
    run.environment.software.system = Reading::Value(profile.os.clone());
    run.environment.device.model = Reading::Value(profile.about.clone());
    run.phases[0].notes.push("the model of SECRET-b.toml is a SECRET-board".into());
    run.target.profile = Some(flashlag_schema::ProfileRecord {
        name: profile.name,
        about: profile.about,
        filesystem: "ext4,size=1GiB".into(),
        text,
        device_options: Vec::new(),
    });
    run
}

#[test]
fn a_profile_of_ones_own_leaves_its_figures_and_neither_its_path_nor_its_texts() {
    let run = on_own_profile();
    let Shared { run: given, removed, .. } = shared(&run).unwrap();
    let json = given.to_json();
    assert!(!json.contains("SECRET"), "left: {}", around(&json, "SECRET"));
    let (name, text) = {
        let profile = given.target.profile.as_ref().unwrap();
        (profile.name.clone(), profile.text.clone())
    };
    assert_eq!(given.target.name, format!("sim:{name}+ext4,size=1GiB"));
    let model = |text: &str| {
        let profile = flashlag_spec::profile::Profile::parse(text).unwrap();
        let values = profile.parameters.into_iter().filter(|(key, _)| key != "host.link");
        values.map(|(key, parameter)| (key, parameter.value)).collect::<Vec<_>>()
    };
    assert_eq!(model(&text), model(&own_profile()));
    let listed: Vec<&str> = removed.iter().map(|it| it.field.as_str()).collect();
    for field in [
        "environment.device.model",
        "environment.software.machine",
        "environment.software.system",
        "phases[].notes[]",
        "target.name",
        "target.profile.about",
        "target.profile.name",
        "target.profile.text",
    ] {
        assert!(listed.contains(&field), "{field} of {listed:?}");
    }
    assert_eq!(shared(&given).unwrap().run, given, "shared again");
}

#[test]
fn own_profiles_with_other_figures_have_other_names_and_equal_ones_the_same() {
    let named = |run: &Run| shared(run).unwrap().run.target.profile.unwrap().name;
    let run = on_own_profile();
    let (mut renamed, mut changed) = (run.clone(), run.clone());
    let text = |run: &mut Run, from: &str, to: &str| {
        let profile = run.target.profile.as_mut().unwrap();
        assert!(profile.text.contains(from));
        profile.text = profile.text.replace(from, to);
    };
    text(&mut renamed, "SECRET OS", "Another OS");
    let program = flashlag_spec::profile::Profile::parse(&own_profile()).unwrap();
    let program = &program.parameters["nand.erase"].value;
    text(&mut changed, &format!("erase = {{ value = {program}"), "erase = { value = \"9876us\"");
    assert_eq!(named(&run), named(&renamed));
    assert_ne!(named(&run), named(&changed));
}

#[test]
fn of_a_profile_of_the_program_nothing_goes() {
    for name in flashlag_spec::profile::names() {
        let text = flashlag_spec::profile::builtin_profile(name).unwrap();
        let profile = flashlag_spec::profile::Profile::parse(text).unwrap();
        let mut run = sample::quick();
        run.target.name = format!("sim:{name}");
        run.target.profile = Some(flashlag_schema::ProfileRecord {
            name: profile.name.clone(),
            about: profile.about.clone(),
            filesystem: profile.filesystem.clone(),
            text: profile.to_toml(),
            device_options: Vec::new(),
        });
        let given = shared(&run).unwrap().run;
        assert_eq!(given.target.profile, run.target.profile);
        assert_eq!(given.target.name, run.target.name);
    }
}

#[test]
fn a_private_value_planted_in_any_text_of_a_run_is_gone_whole() {
    for (kind, run) in sample::all() {
        let mut tried = 0;
        for (at, changed) in planted(&run, 17) {
            let Ok(given) = shared(&changed) else { continue };
            let json = given.run.to_json();
            for word in PRIVATE_WORDS {
                assert!(
                    !json.contains(word),
                    "{kind:?}, text {at}: {word}: {}",
                    around(&json, word)
                );
            }
            tried += 1;
        }
        assert!(tried > 15, "{kind:?}: {tried}");
    }
}
