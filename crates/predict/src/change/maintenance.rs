//! Android's idle maintenance, which trims filesystems.

use flashlag_units::Nanos;

/// The rules by which Android (from 4.3 on) runs fstrim on an unused phone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Maintenance {
    /// Minimum time unused.
    pub untouched: Nanos,
    /// Minimum time since the last maintenance.
    pub every: Nanos,
    /// Minimum battery level on the charger, in percent.
    pub charging: u32,
    /// Minimum battery level off the charger, in percent.
    pub discharging: u32,
}

/// Android's rules.
pub(super) const ANDROID: Maintenance = Maintenance {
    untouched: Nanos::from_secs(3600),
    every: Nanos::from_secs(86_400),
    charging: 30,
    discharging: 80,
};

/// The state of an unused phone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Time unused.
    pub untouched: Nanos,
    /// Time since the last maintenance; `None` before the first.
    pub since_last: Option<Nanos>,
    /// Battery level, in percent.
    pub battery: u32,
    /// Whether the phone is on the charger.
    pub charging: bool,
}

impl Maintenance {
    /// Whether fstrim runs at that moment.
    pub fn runs(&self, moment: Moment) -> bool {
        let least = if moment.charging { self.charging } else { self.discharging };
        moment.untouched > self.untouched
            && moment.since_last.is_none_or(|since| since >= self.every)
            && moment.battery >= least
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn android_trims_once_a_day_when_idle_and_charged_enough() {
        let night = Moment {
            untouched: Nanos::from_secs(7 * 3600),
            since_last: Some(Nanos::from_secs(24 * 3600)),
            battery: 35,
            charging: true,
        };
        assert!(ANDROID.runs(night));
        assert!(ANDROID.runs(Moment { since_last: None, ..night }));
        let refused = [
            Moment { untouched: Nanos::from_secs(3600), ..night },
            Moment { since_last: Some(Nanos::from_secs(23 * 3600)), ..night },
            Moment { battery: 29, ..night },
            Moment { charging: false, ..night },
            Moment { charging: false, battery: 79, ..night },
        ];
        for moment in refused {
            assert!(!ANDROID.runs(moment), "{moment:?}");
        }
        assert!(ANDROID.runs(Moment { charging: false, battery: 80, ..night }));
    }
}
