//! Charge, power and heat between the tests of a run: recorded, waited for, and kept within limits.

use flashlag_schema::{ConditionLimits, Conditions, Power};
use flashlag_units::Nanos;

use super::{Work, World};
use crate::events::{Event, Observer};

/// Interval between two readings of the temperature, while the device cools.
const LOOK: Nanos = Nanos::from_secs(5);
/// The longest wait for the device to cool.
const LONGEST_WAIT: Nanos = Nanos::from_secs(30 * 60);

impl<W: World> Work<W> {
    /// Reads the conditions before a test, waits until the device is cool enough if that was
    /// requested, and records them. Returns why the test must not begin, if a limit is crossed.
    pub(super) fn look_at_conditions(&mut self, observer: &mut dyn Observer) -> Option<String> {
        let limits = self.request.limits;
        let mut now = self.world.conditions()?;
        if let Some(limit) = limits.cool_to_millicelsius {
            now = self.cool(now, limit, observer);
        }
        let crossed = crossed(limits, &now);
        now.other_io = self.world.other_io();
        self.run.conditions.push(now);
        crossed
    }

    /// Records the conditions at the end of the run.
    pub(super) fn note_conditions(&mut self) {
        let other_io = |now| Conditions { other_io: self.world.other_io(), ..now };
        self.run.conditions.extend(self.world.conditions().map(other_io));
    }

    /// Waits until the battery is not warmer than `limit`.
    fn cool(&mut self, mut now: Conditions, limit: i64, observer: &mut dyn Observer) -> Conditions {
        let until = self.world.now().plus(LONGEST_WAIT);
        let mut announced = false;
        while let Some(warmth) = now.battery_millicelsius.value().copied()
            && warmth > limit
            && !self.stopped()
        {
            if self.world.now() >= until {
                observer.event(Event::Note(&format!(
                    "not waited longer: after 30 min the battery is at {}, above {}",
                    degrees(warmth),
                    degrees(limit)
                )));
                return now;
            }
            if !announced {
                announced = true;
                let (is, wanted) = (degrees(warmth), degrees(limit));
                let text = format!("the battery is at {is}: waiting until it is at {wanted}");
                observer.event(Event::Note(&text));
                observer.event(Event::Preparing("waiting for the device to cool"));
            }
            self.world.idle(LOOK, &self.controls.stop);
            let Some(next) = self.world.conditions() else { return now };
            now = next;
        }
        if let Some(reason) = now.battery_millicelsius.reason()
            && self.run.conditions.is_empty()
        {
            observer.event(Event::Note(&format!("not waited for cooling: {reason}")));
        }
        now
    }
}

/// Which limit is crossed, and what to do.
fn crossed(limits: ConditionLimits, now: &Conditions) -> Option<String> {
    let charge = now.battery_percent.value().copied().zip(limits.battery_percent);
    let on_battery = now.power.value() == Some(&Power::Battery);
    if let Some((charge, limit)) = charge.filter(|(charge, limit)| charge < limit && on_battery) {
        return Some(format!(
            "the battery is at {charge}%, below {limit}%, and is not being charged: charge the device, \
             then resume the run (--min-battery sets the limit)"
        ));
    }
    let warmth = now.battery_millicelsius.value().copied().zip(limits.hottest_millicelsius);
    let (warmth, limit) = warmth.filter(|(warmth, limit)| warmth > limit)?;
    Some(format!(
        "the battery is at {}, above {}: let the device cool, then resume the run (--max-temperature \
         sets the limit, --cool-to waits before each test)",
        degrees(warmth),
        degrees(limit)
    ))
}

/// `38.5 °C`.
fn degrees(millicelsius: i64) -> String {
    format!("{:.1} °C", millicelsius as f64 / 1000.0)
}

#[cfg(test)]
mod tests {
    use flashlag_spec::Reading;

    use super::*;

    fn at(percent: u8, power: Power, millicelsius: i64) -> Conditions {
        Conditions {
            battery_percent: Reading::Value(percent),
            power: Reading::Value(power),
            battery_millicelsius: Reading::Value(millicelsius),
            ..Conditions::default()
        }
    }

    const LIMITS: ConditionLimits = ConditionLimits {
        battery_percent: Some(15),
        hottest_millicelsius: Some(45_000),
        cool_to_millicelsius: None,
    };

    #[test]
    fn a_low_battery_ends_the_run_only_where_it_is_not_charged_and_heat_always() {
        let end = |now: &Conditions| crossed(LIMITS, now);
        assert_eq!(end(&at(15, Power::Battery, 45_000)), None);
        assert!(end(&at(14, Power::Battery, 30_000)).unwrap().contains("at 14%, below 15%"));
        assert_eq!(end(&at(1, Power::Usb, 30_000)), None);
        let hot = end(&at(90, Power::Usb, 45_100)).unwrap();
        assert!(hot.contains("at 45.1 °C, above 45.0 °C"), "{hot}");
        assert_eq!(crossed(ConditionLimits::default(), &at(1, Power::Battery, 90_000)), None);
    }

    #[test]
    fn what_can_not_be_read_ends_nothing() {
        assert_eq!(crossed(LIMITS, &Conditions::default()), None);
        let unknown = Conditions { power: Reading::default(), ..at(1, Power::Battery, 30_000) };
        assert_eq!(crossed(LIMITS, &unknown), None);
    }
}
