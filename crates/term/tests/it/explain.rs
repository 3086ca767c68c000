//! What is said of captured machines: right, short, and different for each.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use flashlag_inspect::{Root, environment};
use flashlag_schema::Environment;
use flashlag_schema::finding::FindingId;
use flashlag_term::Style;
use flashlag_term::explain::{explained, set_up};

/// The captured machines, and a directory on each.
const MACHINES: [(&str, &str); 11] = [
    ("android-ext4", "/data/local/tmp"),
    ("android-ext4", "/storage/emulated/0"),
    ("android-emmc", "/storage/emulated/0"),
    ("android-ufs", "/data/local/tmp"),
    ("raspberry-pi-sd", "/home/pi"),
    ("laptop-nvme-btrfs", "/home/user/project"),
    ("laptop-luks-lvm", "/home/user"),
    ("vm-virtio", "/var/lib/db"),
    ("container-overlay", "/srv"),
    ("container-overlay", "/var/lib/db"),
    ("loop-on-ext4", "/mnt/my image/test"),
];

fn plain(width: usize) -> Style {
    Style { color: false, unicode: true, width }
}

fn seen(name: &str, directory: &str) -> Environment {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let tree = fixtures.join(format!("sysfs-{name}"));
    environment(&Root::captured(tree), Path::new(directory))
}

fn page(name: &str, directory: &str, width: usize) -> String {
    let seen = seen(name, directory);
    let found = flashlag_explain::set_up(&seen);
    set_up(directory, &seen, &found, plain(width), true)
}

#[test]
fn captured_machines_are_explained() {
    for (name, directory) in MACHINES {
        let page = page(name, directory, 80);
        insta::assert_snapshot!(format!("{name}{}", directory.replace(['/', ' '], "-")), page);
    }
}

/// What must be found on each captured machine, and nothing else may be.
const FOUND: [(&str, &str, &[FindingId]); 11] = [
    ("android-ext4", "/data/local/tmp", &[FindingId::SoftwareEncryption]),
    (
        "android-ext4",
        "/storage/emulated/0",
        &[FindingId::FuseOnPath, FindingId::SoftwareEncryption],
    ),
    ("android-emmc", "/storage/emulated/0", &[FindingId::FuseOnPath]),
    (
        "android-ufs",
        "/data/local/tmp",
        &[FindingId::NoBarrier, FindingId::FewFreeSegments, FindingId::WriteBoosterOff],
    ),
    (
        "raspberry-pi-sd",
        "/home/pi",
        &[FindingId::NeverTrimmed, FindingId::NoAppClass, FindingId::Swapping],
    ),
    ("laptop-nvme-btrfs", "/home/user/project", &[]),
    ("laptop-luks-lvm", "/home/user", &[FindingId::NeverTrimmed, FindingId::FastCommit]),
    ("vm-virtio", "/var/lib/db", &[FindingId::VirtualDisk]),
    ("container-overlay", "/srv", &[FindingId::Overlay]),
    ("container-overlay", "/var/lib/db", &[FindingId::DiscardOnDelete, FindingId::Scheduler]),
    ("loop-on-ext4", "/mnt/my image/test", &[FindingId::NeverTrimmed, FindingId::LoopDevice]),
];

#[test]
fn each_captured_machine_gets_its_own_advice_and_no_other() {
    for (name, directory, wanted) in FOUND {
        let found = flashlag_explain::set_up(&seen(name, directory));
        let found: Vec<FindingId> = found.into_iter().map(|one| one.id).collect();
        assert_eq!(found, wanted, "{name}{directory}");
    }
}

#[test]
fn a_good_run_on_a_good_laptop_has_nothing_to_change() {
    use flashlag_schema::Phase;
    use flashlag_spec::{Operation, State};
    let phase = |name: &str, operation, us: u64| -> Phase {
        let mut waits = flashlag_stats::Histogram::new();
        (0..2_000).for_each(|n| waits.record(flashlag_units::Nanos::from_micros(us + n % 7)));
        flashlag_testing::closed_loop_phase(name, State::New, operation, &waits)
    };
    let mut run = flashlag_testing::bare_run(vec![
        phase("save_wal", Operation::Save, 250),
        phase("rand_read_4k", Operation::RandomRead, 80),
    ]);
    run.environment = seen("laptop-nvme-btrfs", "/home/user");
    let found = flashlag_explain::findings(&run).list;
    assert_eq!(found, []);
    let page = explained(&run, &found, plain(80), true);
    assert!(page.contains("Nothing to change."), "{page}");
    assert!(page.contains("Smooth"), "{page}");
}

#[test]
fn a_healthy_machine_gets_nothing_to_change() {
    let page = page("laptop-nvme-btrfs", "/home/user/project", 80);
    assert!(page.contains("Nothing to change in the set-up."), "{page}");
}

#[test]
fn every_line_fits_every_width() {
    for (name, directory) in MACHINES {
        for width in [Style::NARROWEST, 60, 80, 120] {
            let page = page(name, directory, width);
            let long = page.lines().find(|line| line.chars().count() > width);
            assert_eq!(long, None, "{name} at {width}");
        }
    }
}

#[test]
fn a_run_is_explained_in_five_sentences_at_every_width() {
    for run in [flashlag_testing::sample::lifecycle(), flashlag_testing::sample::quick()] {
        let found = flashlag_explain::findings(&run).list;
        let story = flashlag_views::story(&run, &found);
        assert_eq!(story.sentences().len(), 5, "{story:?}");
        for width in [Style::NARROWEST, 60, 80, 120] {
            for full in [false, true] {
                let page = explained(&run, &found, plain(width), full);
                let long = page.lines().find(|line| line.chars().count() > width);
                assert_eq!(long, None, "at {width}");
            }
        }
        insta::assert_snapshot!(
            format!("run-{}", run.scenario.name),
            explained(&run, &found, plain(80), false)
        );
    }
}
