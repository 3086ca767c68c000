//! Age and fill level of a device, as far as a run file knows them.

use flashlag_schema::{Phase, Run, TargetKind};
use flashlag_spec::State;
use flashlag_spec::profile::StorageKind;
use flashlag_units::ratio;

/// The age of a device. Virtual: `new`, or the requested age (`aged:12mo`, `full`). Real: the share
/// of its rated life that it reports as used; otherwise nothing.
pub(super) fn age(run: &Run) -> Option<String> {
    if matches!(run.target.kind, TargetKind::Simulated | TargetKind::Lab) {
        let options = run.target.profile.iter().flat_map(|profile| &profile.device_options);
        let state = options.filter_map(|option| option.strip_prefix("state=")).next_back();
        return Some(state.unwrap_or("new").to_owned());
    }
    let life = run.environment.device.life.value()?;
    Some(format!("up to {}% of life used", life.used_percent_at_most))
}

/// The kind of the device; for a simulated one, what its profile models.
pub(super) fn kind(run: &Run) -> Option<String> {
    let profile = run.target.profile.as_ref();
    let modelled = profile.and_then(|profile| StorageKind::in_text(&profile.text));
    modelled
        .map(|kind| kind.name().to_owned())
        .or_else(|| run.environment.device.kind.value().cloned())
}

/// The fill level of the filesystem before the run, in percent.
pub(super) fn found_filled_percent(run: &Run) -> Option<f64> {
    let filesystem = &run.environment.filesystem;
    let (total, free) = (filesystem.total_bytes.value()?.0, filesystem.free_bytes.value()?.0);
    ratio(total.checked_sub(free)?, total).map(rounded)
}

/// The fill level of the filesystem during a phase, in percent. While a fill is in place, it is
/// everything but what the fill left free; otherwise it is as before the run.
pub(super) fn filled_percent(run: &Run, phase: &Phase) -> Option<f64> {
    if phase.state != State::Filled {
        return found_filled_percent(run);
    }
    let total = run.environment.filesystem.total_bytes.value()?.0;
    let left = run.options.leave_bytes.0.min(total);
    ratio(total - left, total).map(rounded)
}

/// To a tenth of a percent: the value is no more precise.
fn rounded(share: f64) -> f64 {
    (share * 1000.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlag_testing::sample;
    use flashlag_units::Bytes;

    #[test]
    fn a_phase_after_a_fill_is_as_full_as_the_fill_left_it_and_others_as_found() {
        let mut run = sample::lifecycle();
        run.environment.filesystem.total_bytes = flashlag_spec::Reading::Value(Bytes(1000));
        run.environment.filesystem.free_bytes = flashlag_spec::Reading::Value(Bytes(750));
        run.options.leave_bytes = Bytes(50);
        for phase in &run.phases {
            let wanted = if phase.state == State::Filled { 95.0 } else { 25.0 };
            assert_eq!(filled_percent(&run, phase), Some(wanted), "{}", phase.label());
        }
    }

    #[test]
    fn every_profile_names_its_kind_of_storage_and_its_description_names_no_other() {
        let named = [("eMMC", "emmc"), ("UFS", "ufs"), ("SD", "sd"), ("NVMe", "nvme")];
        for name in flashlag_spec::profile::names() {
            let text = flashlag_spec::profile::builtin_profile(name).unwrap();
            let profile = flashlag_spec::profile::Profile::parse(text).unwrap();
            let mut run = sample::quick();
            run.environment.device.kind = flashlag_spec::Reading::Value("simulated".to_owned());
            run.target.profile = Some(flashlag_schema::ProfileRecord {
                name: name.to_owned(),
                about: profile.about.clone(),
                filesystem: String::new(),
                text: profile.to_toml(),
                device_options: Vec::new(),
            });
            let kind = kind(&run).unwrap();
            assert_ne!(kind, "simulated", "{name}");
            let said = named.iter().find(|(word, _)| profile.about.contains(word));
            assert!(said.is_none_or(|(_, said)| kind == *said), "{name}: {}", profile.about);
        }
    }

    #[test]
    fn a_real_device_is_as_old_as_it_reports_and_a_simulated_one_as_asked() {
        let mut run = sample::quick();
        run.target.kind = TargetKind::Path;
        assert_eq!(age(&run).as_deref(), Some("up to 40% of life used"));
        run.environment.device.life = flashlag_spec::Reading::unavailable("not reported");
        assert_eq!(age(&run), None);
        run.target.kind = TargetKind::Simulated;
        assert_eq!(age(&run).as_deref(), Some("new"));
    }
}
