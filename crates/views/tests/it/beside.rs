//! What is said of a simulation: that it is one, how its model fares, and what reviewers measured
//! on the device, beside their own protocol only.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use flashlag_schema::{ProfileRecord, Run, TargetKind};
use flashlag_spec::Reading;
use flashlag_spec::profile::{Profile, builtin_profile, builtin_protocol};
use flashlag_spec::scenario::{Durability, Scenario};
use flashlag_testing::sample;
use flashlag_units::Bytes;
use flashlag_views as explain;

/// The lifecycle sample as if it were of this profile.
fn simulated(profile: &str) -> Run {
    let mut run = sample::lifecycle();
    let text = builtin_profile(profile).unwrap().to_owned();
    run.target.kind = TargetKind::Simulated;
    run.target.profile = Some(ProfileRecord {
        name: profile.to_owned(),
        about: Profile::parse(&text).unwrap().about,
        filesystem: "ext4".to_owned(),
        text,
        device_options: Vec::new(),
    });
    run
}

/// The same as the Nexus 7's reviewers went about it.
fn by_protocol(settings: &[(String, String)]) -> Run {
    let mut run = simulated("nexus7-2012");
    let text = builtin_protocol("nexus7-2012").unwrap();
    let scenario = Scenario::parse(text, settings).unwrap();
    (run.scenario.name, run.scenario.hash) = (scenario.name.clone(), scenario.hash());
    run.options.leave_bytes = Bytes::from_mb(20);
    run
}

fn published_cells(run: &Run) -> Vec<f64> {
    let table = explain::lifecycle(run).unwrap();
    let cells = table.rows.iter().flat_map(|row| row.cells.iter().flatten());
    cells.filter_map(|cell| cell.published).collect()
}

#[test]
fn no_published_row_stands_beside_another_protocol_and_the_note_says_how_to_run_theirs() {
    let run = simulated("nexus7-2012");
    assert_eq!(run.scenario.name, "lifecycle");
    assert_eq!(published_cells(&run), [0.0; 0]);
    let note = explain::lifecycle(&run).unwrap().published.unwrap();
    let command = "`flashlag run lifecycle --on sim:nexus7-2012 --set protocol=published`";
    assert!(note.contains(command), "{note}");
}

#[test]
fn published_rows_stand_beside_the_reviewers_own_protocol_with_their_source() {
    let run = by_protocol(&[]);
    let table = explain::lifecycle(&run).unwrap();
    let read = table.rows[0].cells[0].as_ref().unwrap();
    assert_eq!(read.published.map(f64::round), Some(25_180_000.0), "{read:?}");
    let note = table.published.unwrap();
    assert!(note.contains("AnandTech 2013"), "{note}");
    assert!(published_cells(&run).len() > 8);
}

#[test]
fn another_durability_filesystem_free_space_or_setting_is_another_protocol() {
    let differing = |key: &str, value: &str| by_protocol(&[(key.to_owned(), value.to_owned())]);
    let mut runs = vec![differing("durable", "fdatasync"), differing("limit", "50MB")];
    let mut on_f2fs = by_protocol(&[]);
    on_f2fs.target.profile.as_mut().unwrap().filesystem = "f2fs".to_owned();
    let mut fuller = by_protocol(&[]);
    fuller.options.leave_bytes = Bytes::from_mb(300);
    runs.extend([on_f2fs, fuller]);
    for run in runs {
        assert_eq!(published_cells(&run), [0.0; 0], "{}", run.scenario.hash);
    }
}

#[test]
fn nothing_published_stands_beside_real_storage_or_a_device_that_nobody_reviewed() {
    let real = sample::lifecycle();
    assert_eq!(explain::lifecycle(&real).unwrap().published, None);
    let unreviewed = explain::lifecycle(&simulated("ufs31-phone")).unwrap();
    assert_eq!(unreviewed.published, None);
}

fn with_durable(mut run: Run, durable: Durability) -> Run {
    for phase in run.phases.iter_mut().filter(|phase| phase.durable != Durability::None) {
        phase.durable = durable;
    }
    run
}

#[test]
fn figures_of_other_devices_are_of_writes_made_durable_alike_and_never_of_this_device() {
    let writes = |run: &Run| -> Vec<String> {
        let places = explain::places(run).into_iter();
        let writes = places.filter(|place| run.phases[place.phase].is_durable_write());
        writes.map(|place| format!("{} {}", place.title, place.sentence)).collect()
    };
    let other = with_durable(simulated("nexus7-2012"), Durability::Fdatasync);
    assert_eq!((explain::strip(&other).marks.len(), writes(&other).len()), (0, 0));
    let alike = with_durable(simulated("nexus7-2012"), Durability::Fsync);
    let marks = explain::strip(&alike).marks;
    assert!(!marks.is_empty() && marks.iter().all(|mark| !mark.device.contains("Nexus 7")));
    assert!(!writes(&alike).is_empty());
    assert!(explain::places(&alike).iter().all(|place| !place.sentence.contains("Nexus 7")));
    let real = with_durable(sample::lifecycle(), Durability::Fsync);
    assert!(explain::strip(&real).marks.iter().any(|mark| mark.device.contains("Nexus 7")));
}

#[test]
fn a_full_device_is_not_placed_among_new_ones() {
    let run = with_durable(sample::lifecycle(), Durability::Fsync);
    for place in explain::places(&run) {
        let state = run.phases[place.phase].state;
        for row in [place.slower, place.faster].into_iter().flatten() {
            let same = match state {
                flashlag_spec::State::New => row.condition == "new",
                _ => row.condition.starts_with("filled"),
            };
            assert!(same || row.condition == "-", "{}: {}", place.title, row.condition);
        }
    }
}

#[test]
fn a_simulation_says_that_it_is_one_and_how_its_profile_fares_instead_of_yes() {
    let said = |run: &Run| explain::headline(run);
    let nexus = said(&simulated("nexus7-2012"));
    assert!(nexus.sentence.starts_with("Simulated Nexus 7 (2012): "), "{}", nexus.sentence);
    let held = explain::standings().iter().find(|one| one.profile == "nexus7-2012").unwrap();
    let model = format!("It is a model: {} of {} published rows within 20%", held.near, held.rows);
    for text in [nexus.believe.answer, nexus.believe.sentence, nexus.believe.statement] {
        assert!(text.starts_with(&model), "{text}");
    }
    let nobody = said(&simulated("ufs31-phone"));
    assert!(nobody.sentence.starts_with("Simulated phone of 2020: "), "{}", nobody.sentence);
    assert!(nobody.believe.sentence.contains("unchecked model"), "{}", nobody.believe.sentence);
    let mut own = simulated("nexus7-2012");
    let record = own.target.profile.as_mut().unwrap();
    record.text =
        Profile::parse(&record.text).unwrap().with("nand.read", "90us").unwrap().to_toml();
    let own = said(&own).believe.sentence;
    assert!(own.contains("not compared") && !own.contains("within 20%"), "{own}");
    assert!(!said(&sample::lifecycle()).sentence.contains("imulated"));
}

#[test]
fn a_simulation_cost_no_device_anything() {
    let mut run = simulated("nexus7-2012");
    run.wear.life_percent = Reading::Value(0.01);
    let cost = explain::cost(&run);
    assert!(cost.contains("0.01% of a modelled device's life"), "{cost}");
    assert!(cost.contains(" simulated, ") && cost.contains("no storage was touched"), "{cost}");
    assert!(!cost.contains("Wrote") && !cost.contains("the block device"), "{cost}");
    assert!(explain::cost(&sample::lifecycle()).starts_with("Wrote "));
}

#[test]
fn the_profile_that_a_run_stores_is_the_built_in_one_again() {
    for standing in explain::standings() {
        let profile = Profile::parse(builtin_profile(&standing.profile).unwrap()).unwrap();
        assert_eq!(Profile::parse(&profile.to_toml()).unwrap(), profile);
        assert!(!profile.checks.is_empty() && standing.near <= standing.rows);
    }
}

#[test]
fn a_model_is_held_against_rows_of_the_filesystem_they_were_measured_on() {
    let believe = |filesystem: &str| {
        let mut run = simulated("nexus7-2012");
        run.target.profile.as_mut().unwrap().filesystem = filesystem.to_owned();
        explain::headline(&run).believe.sentence
    };
    assert!(believe("ext4").contains("published rows within 20%"), "{}", believe("ext4"));
    assert!(!believe("ext4").contains("no published rows"), "{}", believe("ext4"));
    let elsewhere = believe("f2fs");
    assert!(
        elsewhere.contains("on ext4; nothing was published for this filesystem"),
        "{elsewhere}"
    );
}

#[test]
fn the_filesystems_named_as_published_on_are_those_of_the_profiles_rows_and_never_the_runs_own() {
    for name in flashlag_spec::profile::names() {
        let text = builtin_profile(name).unwrap();
        let checks = text.split("[[check]]").skip(1).map(|check| {
            let own = check.split("\n[").next().unwrap();
            let word = |text: &str| {
                let line = text.lines().find(|line| line.starts_with("filesystem = "));
                line.map(|line| line.split('"').nth(1).unwrap().to_owned())
            };
            word(own).unwrap_or_else(|| word(text).unwrap())
        });
        let mut on: Vec<String> = checks.collect();
        on.sort();
        on.dedup();
        for filesystem in ["raw", "ext4", "f2fs", "f2fs,nobarrier", "btrfs"] {
            let mut run = simulated(name);
            run.target.profile.as_mut().unwrap().filesystem = filesystem.to_owned();
            let said = explain::headline(&run).believe.sentence;
            let published = on.iter().any(|one| one == filesystem);
            assert_eq!(
                said.contains("nothing was published for this filesystem"),
                !published && !on.is_empty(),
                "{name} on {filesystem}: {said}"
            );
            if let Some((_, named)) = said.split_once("within 20%, on ") {
                let named = named.split(';').next().unwrap().replace(" and ", ", ");
                assert_eq!(named, on.join(", "), "{name} on {filesystem}: {said}");
            }
        }
    }
}
