//! What reviewers published of a device stands beside its simulation, and says whose it is.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use flashlag_explain as explain;
use flashlag_explain::sample;
use flashlag_schema::profile::builtin_profile;
use flashlag_schema::{ProfileRecord, Run, TargetKind};

/// The lifecycle sample as if it were of this profile.
fn simulated(profile: &str) -> Run {
    let mut run = sample::lifecycle();
    run.target.kind = TargetKind::Simulated;
    run.target.profile = Some(ProfileRecord {
        name: profile.to_owned(),
        about: String::new(),
        filesystem: "ext4".to_owned(),
        text: builtin_profile(profile).unwrap().to_owned(),
        device_options: Vec::new(),
    });
    run
}

#[test]
fn published_rows_stand_beside_a_simulation_with_their_source_and_how_to_repeat_them() {
    let table = explain::lifecycle(&simulated("nexus7-2012")).unwrap();
    let new = table.rows.first().unwrap();
    let read = new.cells.first().unwrap().as_ref().unwrap();
    assert_eq!(read.published.map(f64::round), Some(25_180_000.0), "{read:?}");
    let note = table.published.unwrap();
    assert!(note.contains("AnandTech 2013"), "{note}");
    assert!(note.contains("`flashlag profiles check nexus7-2012` repeats it"), "{note}");
}

#[test]
fn the_reviewers_own_protocol_is_not_said_to_be_another() {
    let mut run = simulated("nexus7-2012");
    run.scenario.name = "nexus7-2012".to_owned();
    let note = explain::lifecycle(&run).unwrap().published.unwrap();
    assert!(!note.contains("differs"), "{note}");
}

#[test]
fn nothing_published_stands_beside_real_storage_or_a_device_that_nobody_reviewed() {
    let real = sample::lifecycle();
    assert_eq!(explain::lifecycle(&real).unwrap().published, None);
    let unreviewed = explain::lifecycle(&simulated("ufs31-phone")).unwrap();
    assert_eq!(unreviewed.published, None);
}
