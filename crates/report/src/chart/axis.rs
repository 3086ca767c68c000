use flashlag_schema::Lag;
use flashlag_units::Nanos;

use super::svg::{Anchor, Pct, Svg};

/// The logarithmic latency axis: whole decades of nanoseconds. From 0.1 ms to 10 s, so that reports can
/// be compared; extended by whole decades only for data beyond, as on storage that answers within
/// microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LatencyAxis {
    low: u32,
    high: u32,
}

/// 0.1 ms and 10 s, as powers of ten in nanoseconds.
const USUAL: LatencyAxis = LatencyAxis { low: 5, high: 10 };
/// 100 ns and 1,000 s: values beyond are drawn at the edge.
const WIDEST: LatencyAxis = LatencyAxis { low: 2, high: 12 };

/// One frame at 30 Hz.
const FRAME_30HZ: Nanos = Nanos(33_333_333);

impl LatencyAxis {
    /// The usual axis, widened until it covers every value.
    pub fn covering(values: impl IntoIterator<Item = Nanos>) -> LatencyAxis {
        values.into_iter().filter(|value| value.0 > 0).fold(USUAL, |axis, value| {
            let decade = value.0.ilog10();
            let beyond = if value.0 > 10u64.pow(decade) { decade + 1 } else { decade };
            LatencyAxis {
                low: axis.low.min(decade.max(WIDEST.low)),
                high: axis.high.max(beyond.min(WIDEST.high)),
            }
        })
    }

    /// The position of a value, 0 to 100; values beyond are at the edge.
    pub(crate) fn at(&self, value: Nanos) -> f64 {
        let decades = f64::from(self.high - self.low);
        let power = (value.0.max(1) as f64).log10() - f64::from(self.low);
        (power / decades * 100.0).clamp(0.0, 100.0)
    }

    /// As [`LatencyAxis::at`], as a position.
    pub(crate) fn pct(&self, value: Nanos) -> Pct {
        Pct(self.at(value))
    }

    /// Number of decades.
    pub(crate) fn decades(&self) -> u32 {
        self.high - self.low
    }

    /// The decades: position and name.
    pub(crate) fn ticks(&self) -> Vec<(f64, String)> {
        let name = |power: u32| match power {
            0..3 => format!("{} ns", 10u64.pow(power)),
            3..5 => format!("{} µs", 10u64.pow(power - 3)),
            5 => "0.1 ms".to_owned(),
            6..9 => format!("{} ms", 10u64.pow(power - 6)),
            _ => format!("{} s", group(10u64.pow(power - 9))),
        };
        (self.low..=self.high)
            .map(|power| (self.at(Nanos(10u64.pow(power))), name(power)))
            .collect()
    }

    /// The text alternative.
    pub fn in_words(&self) -> String {
        let ticks = self.ticks();
        let name = |tick: Option<&(f64, String)>| tick.map(|(_, name)| name.clone());
        let (first, last) = (name(ticks.first()), name(ticks.last()));
        format!("{} to {}", first.unwrap_or_default(), last.unwrap_or_default())
    }

    /// The zones of noticed and frozen waits: class, from, to.
    pub(crate) fn zones(&self) -> [(&'static str, f64, f64); 3] {
        let late = self.at(Lag::FRAME_60HZ);
        let noticed = self.at(flashlag_views::NOTICED);
        let freeze = self.at(flashlag_views::FREEZE);
        [("z2", late, noticed), ("z3", noticed, freeze), ("z4", freeze, 100.0)]
    }

    /// The frame lines: class and position.
    pub(crate) fn frames(&self) -> [(&'static str, f64); 3] {
        [
            ("f", self.at(Lag::FRAME_120HZ)),
            ("f60", self.at(Lag::FRAME_60HZ)),
            ("f", self.at(FRAME_30HZ)),
        ]
    }

    /// Draws zones, decades, frame lines and names for a chart whose latency runs upwards.
    pub(crate) fn draw_upright(&self, svg: &mut Svg) {
        let (left, right) = (Pct(0.0), Pct(100.0));
        for (class, from, to) in self.zones() {
            svg.rect(class, left, right, Pct(100.0 - to), Pct(to - from));
        }
        for (at, name) in self.ticks() {
            let y = Pct(100.0 - at);
            svg.line(if at == 0.0 { "base" } else { "g" }, (left, y), (right, y));
            svg.text("ax", (left, y), (-7.0, 4.0), Anchor::End, &name);
        }
        let y = Pct(100.0 - self.at(Lag::FRAME_60HZ));
        svg.line("f60", (left, y), (right, y));
    }
}

fn group(value: u64) -> String {
    flashlag_views::format::count(value)
}

#[cfg(test)]
mod tests {
    use super::LatencyAxis;
    use flashlag_units::Nanos;

    #[test]
    fn the_axis_is_the_usual_one_where_the_data_fit() {
        let axis = LatencyAxis::covering([Nanos::from_micros(150), Nanos::from_secs(10)]);
        assert_eq!(axis.in_words(), "0.1 ms to 10 s");
        assert_eq!(axis.at(Nanos::from_millis(1)), 20.0);
    }

    #[test]
    fn the_axis_widens_by_whole_decades_and_pins_what_lies_beyond() {
        let axis = LatencyAxis::covering([Nanos::from_micros(25), Nanos::from_secs(11)]);
        assert_eq!(axis.in_words(), "10 µs to 100 s");
        let axis = LatencyAxis::covering([Nanos(1), Nanos::MAX, Nanos(0)]);
        assert_eq!(axis.in_words(), "100 ns to 1,000 s");
        assert_eq!((axis.at(Nanos(0)), axis.at(Nanos::MAX)), (0.0, 100.0));
    }
}
