//! Throughput over time, from zero, with changes marked by their numbers.

use flashlag_explain::format;
use flashlag_units::Nanos;

use super::series::{change_lines, time_ticks};
use super::svg::{Anchor, Pct, Svg, polyline};
use crate::markup::Markup;

/// The chart: one step for each stretch of time.
pub(crate) struct RatePlot<'a> {
    /// The end of each stretch and bytes a second in it.
    pub(crate) steps: &'a [(Nanos, f64)],
    /// Moments that are marked, each with its number.
    pub(crate) changes: &'a [(Nanos, usize)],
    pub(crate) height: u32,
}

impl RatePlot<'_> {
    /// The drawing.
    pub(crate) fn draw(&self, label: &str) -> Markup {
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
            let name = if tick == 0.0 { "0".to_owned() } else { format::mb_per_s(tick) };
            svg.text("ax", (Pct(0.0), y), (-7.0, 4.0), Anchor::End, &name);
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
        svg.named(self.height, label)
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
    use super::tick_step;

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(tick_step(172e6), 50e6);
        assert_eq!(tick_step(37e6), 10e6);
        assert_eq!(tick_step(0.0), 1.0);
    }
}
