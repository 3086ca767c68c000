//! The plugin in a real nbdkit, started as programs start it.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common::{launch, start};
use flashlag_serve::{Launch, Settings};

#[test]
fn a_device_starts_answers_and_leaves_nothing_behind() {
    let Some(running) = start(Settings::of("nexus5-2013")) else { return };
    let stats = running.control().unwrap().stat().unwrap();
    assert_eq!(stats.profile, "nexus5-2013");
    assert_eq!(stats.host.writes, 0);
    let folder = running.control_socket().parent().unwrap().to_owned();
    assert!(folder.is_dir());
    running.stop().unwrap();
    assert!(!folder.exists());
}

#[test]
fn what_is_wrong_is_said_before_anything_is_served() {
    if start(Settings::of("zero")).is_none() {
        return;
    }
    let refuse = |launch: &Launch| launch.start().unwrap_err().to_string();
    let unknown = refuse(&launch(Settings::of("nexus-9000")));
    assert!(unknown.contains("nexus-9000") && unknown.contains("flashlag profiles"), "{unknown}");
    let mut small = Settings::of("nexus5-2013");
    small.size = Some(flashlag_units::Bytes::from_mib(1));
    let small = refuse(&launch(small));
    assert!(small.contains("too small") && small.contains("MiB at least"), "{small}");
}
