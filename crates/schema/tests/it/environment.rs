//! What a machine's options, levels and limits mean.

use flashlag_schema::trace::TraceTask;
use flashlag_schema::{ConditionLimits, Filesystem, Lag, OtherIo, QuotaOf, Throttling};
use flashlag_spec::Reading;
use flashlag_stats::Histogram;
use flashlag_units::{Bytes, Nanos};

fn mounted(options: &[&str]) -> Filesystem {
    let options = options.iter().map(|option| (*option).to_owned()).collect();
    Filesystem { options: Reading::Value(options), ..Filesystem::default() }
}

#[test]
fn the_option_that_keeps_syncs_from_flushing_is_found_in_each_filesystems_words() {
    for option in ["nobarrier", "barrier=0", "barrier=none", "fsync_mode=nobarrier"] {
        assert_eq!(mounted(&["rw", option, "noatime"]).option_without_flush(), Some(option));
    }
    for options in [&["rw", "barrier"][..], &["barrier=1"], &["fsync_mode=posix"], &[]] {
        assert_eq!(mounted(options).option_without_flush(), None, "{options:?}");
    }
    assert_eq!(Filesystem::default().option_without_flush(), None, "options can't be read");
}

#[test]
fn a_layer_is_above_a_filesystem_unless_it_lies_below_it() {
    let layers = ["fuse", "ext4 below loop0", "overlay"].map(str::to_owned).to_vec();
    let filesystem = Filesystem { layers, ..Filesystem::default() };
    assert_eq!(filesystem.above().collect::<Vec<_>>(), ["fuse", "overlay"]);
}

#[test]
fn each_kind_of_quota_has_the_command_that_shows_it() {
    for (of, program) in [
        (QuotaOf::User, "quota -s"),
        (QuotaOf::Group, "quota -g -s"),
        (QuotaOf::Project, "repquota -P -s -a"),
        (QuotaOf::Subvolume, "btrfs qgroup show -r"),
    ] {
        assert_eq!(of.command(), program);
    }
}

/// `Temperature.ThrottlingSeverity` of Android.
#[test]
fn androids_levels_of_throttling_are_seven() {
    let levels: Vec<_> = (0..=7).map(Throttling::of_number).collect();
    let expected = [
        Throttling::None,
        Throttling::Light,
        Throttling::Moderate,
        Throttling::Severe,
        Throttling::Critical,
        Throttling::Emergency,
        Throttling::Shutdown,
    ];
    assert_eq!(levels[..7], expected.map(Some));
    assert_eq!(levels[7], None);
}

#[test]
fn limits_are_none_only_if_neither_is_set() {
    assert!(ConditionLimits::default().is_none());
    let charge = ConditionLimits { battery_percent: Some(20), ..ConditionLimits::default() };
    assert!(!charge.is_none());
}

#[test]
fn the_io_of_others_is_summed_by_direction() {
    let io = |read, write| OtherIo { read_bytes: Bytes(read), write_bytes: Bytes(write) };
    assert_eq!(io(1, 20).plus(io(300, 4_000)), io(301, 4_020));
    assert_eq!(io(u64::MAX, 0).plus(io(1, 0)), io(u64::MAX, 0));
}

#[test]
fn saves_are_late_by_each_limit_that_they_exceed() {
    let mut latency = Histogram::new();
    for ms in [1, 9, 12, 20, 200, 1_000, 10_000] {
        latency.record(Nanos::from_millis(ms));
    }
    let lag = Lag {
        saves: 7,
        over_120hz: 6,
        over_90hz: 5,
        over_60hz: 4,
        over_100ms: 3,
        over_700ms: 2,
        over_5s: 1,
    };
    assert_eq!(Lag::of(&latency), lag);
    let twice = Lag {
        saves: 14,
        over_120hz: 12,
        over_90hz: 10,
        over_60hz: 8,
        over_100ms: 6,
        over_700ms: 4,
        over_5s: 2,
    };
    assert_eq!(lag.plus(lag), twice);
}

#[test]
fn a_thread_is_its_processs_main_one_if_the_ids_are_equal_and_known() {
    let task = |tid, pid| TraceTask { tid, pid, ..TraceTask::default() };
    assert_eq!(task(Some(7), Some(7)).is_main(), Some(true));
    assert_eq!(task(Some(8), Some(7)).is_main(), Some(false));
    assert_eq!(task(None, Some(7)).is_main(), None);
    assert_eq!(task(Some(7), None).is_main(), None);
}
