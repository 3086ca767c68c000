//! What is said of captured machines: right, short, and different for each.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use flashlag_inspect::{Root, environment};
use flashlag_schema::Environment;
use flashlag_term::Style;
use flashlag_term::explain::set_up;
use flashlag_views::advice;

/// The captured machines, and a directory on each.
const MACHINES: [(&str, &str); 10] = [
    ("android-ext4", "/data/local/tmp"),
    ("android-ext4", "/storage/emulated/0"),
    ("android-emmc", "/storage/emulated/0"),
    ("android-ufs", "/data/local/tmp"),
    ("raspberry-pi-sd", "/home/pi"),
    ("laptop-nvme-btrfs", "/home/user/project"),
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

#[test]
fn captured_machines_are_explained() {
    for (name, directory) in MACHINES {
        let page = set_up(directory, &seen(name, directory), plain(80), true);
        insta::assert_snapshot!(format!("{name}{}", directory.replace(['/', ' '], "-")), page);
    }
}

#[test]
fn advice_on_different_machines_differs_and_fits_a_screen() {
    let mut all = Vec::new();
    for (name, directory) in MACHINES {
        let given: Vec<_> = advice(&seen(name, directory)).advice;
        assert!(given.len() <= 5, "{name}: {} pieces", given.len());
        all.push(given.into_iter().map(|one| one.id).collect::<Vec<_>>());
    }
    let kinds: std::collections::HashSet<_> = all.iter().collect();
    assert!(kinds.len() >= 8, "{all:?}");
}

#[test]
fn every_line_fits_every_width() {
    for (name, directory) in MACHINES {
        for width in [Style::NARROWEST, 60, 80, 120] {
            let page = set_up(directory, &seen(name, directory), plain(width), true);
            let long = page.lines().find(|line| line.chars().count() > width);
            assert_eq!(long, None, "{name} at {width}");
        }
    }
}
