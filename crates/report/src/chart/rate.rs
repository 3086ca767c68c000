//! Throughput over time, from zero, with changes marked by their numbers.

use flashlag_units::Nanos;
use flashlag_views::format;

use super::series::{change_lines, time_ticks};
use super::svg::{Anchor, Pct, Svg, polyline};

/// The chart: one step for each stretch of time.
pub(crate) struct RatePlot<'a> {
    /// The end of each stretch, and bytes or operations a second in it.
    pub(crate) steps: &'a [(Nanos, f64)],
    /// Bytes or operations of one on the axis.
    pub(crate) unit: f64,
    /// Moments that are marked, each with its number.
    pub(crate) changes: &'a [(Nanos, usize)],
}

impl RatePlot<'_> {
    /// The drawing.
    pub(crate) fn drawing(&self) -> Svg {
        let usable = |rate: f64| if rate.is_finite() { rate.max(0.0) } else { 0.0 };
        let most = self.steps.iter().map(|(_, rate)| usable(*rate)).fold(0.0, f64::max);
        let step = tick_step(most);
        let top = (most / step).ceil().max(1.0) * step;
        let end = self.steps.last().map_or(Nanos::ZERO, |(ends, _)| *ends);
        let mut svg = Svg::new();
        let mut tick = 0.0;
        while tick <= top * 1.001 {
            let y = Pct(100.0 - tick / top * 100.0);
            let class = if tick == 0.0 { "base" } else { "g" };
            svg.line(class, (Pct(0.0), y), (Pct(100.0), y));
            svg.text(
                "ax",
                (Pct(0.0), y),
                (-7.0, 4.0),
                Anchor::End,
                &tick_name(tick / self.unit, step / self.unit),
            );
            tick += step;
        }
        time_ticks(&mut svg, end);
        let x = |at: Nanos| at.0 as f64 / end.0.max(1) as f64 * 100.0;
        let y = |rate: f64| 100.0 - usable(rate) / top * 100.0;
        let mut from = 0.0;
        let corners = self.steps.iter().flat_map(|&(ends, rate)| {
            let begins = std::mem::replace(&mut from, x(ends));
            [(begins, y(rate)), (from, y(rate))]
        });
        let path = polyline(corners.collect::<Vec<_>>());
        svg.stretched(|svg| svg.path("rate", &path));
        change_lines(&mut svg, self.changes, &x);
        svg
    }
}

/// A rate, all of one axis with as many decimals as its step needs.
fn tick_name(tick: f64, step: f64) -> String {
    if tick == 0.0 {
        return "0".to_owned();
    }
    let decimals = (-(step * 1.001).log10().floor()).clamp(0.0, 6.0) as usize;
    match decimals {
        0 => format::count(tick.round() as u64),
        _ => format!("{tick:.decimals$}"),
    }
}

/// 1, 2 or 5 times a power of ten, so that there are two to five ticks.
fn tick_step(most: f64) -> f64 {
    let rough = (most / 4.0).clamp(1.0, 1e18);
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().find(|step| step * power >= rough);
    step.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::{tick_name, tick_step};

    #[test]
    fn ticks_of_one_axis_have_as_many_decimals() {
        let names = |most: f64| {
            let step = tick_step(most);
            (0..5).map(|n| tick_name(f64::from(n) * step / 1e6, step / 1e6)).collect::<Vec<_>>()
        };
        assert_eq!(names(0.018e6), ["0", "0.005", "0.010", "0.015", "0.020"]);
        assert_eq!(names(4.1e6), ["0", "2", "4", "6", "8"]);
        assert_eq!(names(1.9e6), ["0", "0.5", "1.0", "1.5", "2.0"]);
        assert_eq!(names(3_900e6), ["0", "1,000", "2,000", "3,000", "4,000"]);
    }

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(tick_step(172e6), 50e6);
        assert_eq!(tick_step(37e6), 10e6);
        assert_eq!(tick_step(0.0), 1.0);
    }
}
