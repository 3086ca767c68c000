//! Forecasts of findings on simulated devices, against figures that are derived another way.

use flashlag_predict::change::Situation;
use flashlag_predict::effect::{Device, with_forecasts};
use flashlag_schema::finding::{Counted, Effect, FindingId, ProfileOf};
use flashlag_schema::internals::{FilesystemInternals, Internals};
use flashlag_schema::{DeviceLife, Environment, Run};
use flashlag_spec::Reading;
use flashlag_spec::profile::{Profile, builtin_profile};
use flashlag_units::Bytes;

#[path = "../../examples/simulated/mod.rs"]
mod simulated;

fn device(profile: &str, filesystem: &str) -> Device {
    let profile = Profile::parse(builtin_profile(profile).unwrap()).unwrap();
    let situation = Situation::new(&profile, filesystem).unwrap();
    Device { situation, of: ProfileOf::Named }
}

/// A machine with 60 % of its flash in use.
fn machine(kind: &str, filesystem: &str) -> Environment {
    let mut seen = Environment::default();
    seen.device.kind = Reading::Value(kind.to_owned());
    seen.device.queue.discard_max_bytes = Reading::Value(Bytes::from_mib(1));
    seen.filesystem.kind = Reading::Value(filesystem.to_owned());
    seen.filesystem.options = Reading::Value(vec!["rw".to_owned()]);
    seen.filesystem.total_bytes = Reading::Value(Bytes::from_mib(10_000));
    seen.filesystem.free_bytes = Reading::Value(Bytes::from_mib(4_000));
    seen
}

/// The effect that is forecast of what a set-up shows.
fn effect(environment: Environment, device: &Device, id: FindingId) -> Effect {
    let run = Run { environment, ..flashlag_testing::bare_run(Vec::new()) };
    let mut list = flashlag_explain::set_up(&run.environment);
    list.retain(|finding| finding.id == id);
    assert_eq!(list.len(), 1, "{id:?} is not found");
    let simulator = simulated::Simulated { threads: 2 };
    let found = with_forecasts(&run, list, device, &simulator);
    let finding = found.into_iter().find(|finding| finding.id == id).unwrap();
    finding.effect.value().cloned().unwrap_or_else(|| panic!("{:?}", finding.effect))
}

#[test]
fn reads_of_a_worn_flash_wait_for_the_retries_that_its_profile_has() {
    let mut seen = machine("ufs", "f2fs");
    let life = DeviceLife {
        used_percent_at_most: 90,
        pre_eol: None,
        source: String::new(),
        written_bytes: None,
    };
    seen.device.life = Reading::Value(life);
    let phone = device("ufs31-phone", "f2fs");
    let effect = effect(seen, &phone, FindingId::WornFlash);
    assert_eq!(effect.per, Counted::Reads);
    let model = phone.situation.profile.model().unwrap();
    // Retries grow with the square of the cycles, and each is a read of a page.
    let retries = model.wear.retries * 0.9 * 0.9;
    let expected = model.nand.read.0.as_secs_f64() * retries * 1e3;
    let off = effect.cost_s_per_1000.value / expected - 1.0;
    assert!(off.abs() < 0.15, "{:?} for {expected} s: {off}", effect.cost_s_per_1000);
}

#[test]
fn a_flash_that_was_never_trimmed_waits_more_than_a_trimmed_one_and_less_than_a_full_one() {
    let mut seen = machine("emmc", "ext4");
    seen.internals = Some(Internals {
        trimmed_before_ns: Reading::unavailable("no timer of systemd trims here"),
        ..Internals::default()
    });
    let phone = device("nexus5-2013", "ext4");
    let untrimmed = effect(seen.clone(), &phone, FindingId::NeverTrimmed);
    seen.filesystem.free_bytes = Reading::Value(Bytes::from_mib(300));
    let full = effect(seen, &phone, FindingId::NearlyFull);
    let (trimmed, full) = (untrimmed.fixed_ns.unwrap(), full.now_ns);
    assert!(trimmed.0 * 11 < untrimmed.now_ns.0 * 10, "{untrimmed:?}");
    assert!(untrimmed.now_ns < full, "{untrimmed:?}, {full}");
}

#[test]
fn few_free_segments_are_forecast_by_the_share_of_segments_in_use() {
    let mut seen = machine("emmc", "f2fs");
    let none = || Reading::unavailable("not read");
    seen.internals = Some(Internals {
        filesystem: Reading::Value(FilesystemInternals::F2fs {
            // 5,000 segments of 2 MiB in all.
            free_segments: Reading::Value(500),
            dirty_segments: Reading::unavailable("not read"),
            spare_segments: Reading::Value(250),
            fsync_mode: none(),
            ipu_policy: none(),
            checkpoints: Reading::unavailable("not read"),
            cleanings: Reading::unavailable("not read"),
            lifetime_written_bytes: Reading::unavailable("not read"),
        }),
        ..Internals::default()
    });
    let phone = device("moto-x-2013", "f2fs");
    let few = effect(seen.clone(), &phone, FindingId::FewFreeSegments);
    assert!(few.cost_s_per_1000.value > 0.0, "{few:?}");
    // The same share by bytes.
    seen.filesystem.free_bytes = Reading::Value(Bytes::from_mib(1000));
    let full = effect(seen, &phone, FindingId::NearlyFull);
    assert_eq!((few.now_ns, few.fixed_ns), (full.now_ns, full.fixed_ns));
}
