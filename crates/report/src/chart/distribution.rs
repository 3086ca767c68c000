//! The percentile plot: how long the longest 1 in 10, 1 in 100, 1 in 1,000 take. It is the
//! complementary distribution on two logarithmic axes, with latency upwards, drawn as steps like
//! the histogram: a straight line between two buckets would show waits that never happened.

use flashlag_stats::Histogram;
use flashlag_units::Nanos;
use flashlag_views::format;

use super::axis::LatencyAxis;
use super::labels::spread;
use super::mark::SeriesMark;
use super::svg::{Anchor, Pct, Svg, stairs};
use crate::markup::Markup;

/// The least distance of two names, in pixels.
const LABEL_GAP: f64 = 15.0;

/// The plot.
pub struct DistributionPlot {
    axis: LatencyAxis,
    /// The right edge: 1 in 10 to this power.
    powers: f64,
    height: u32,
    curves: Vec<Stairs>,
}

/// One distribution.
struct Stairs {
    label: String,
    mark: SeriesMark,
    /// The start of each bucket, in percent from the left, with its latency.
    steps: Vec<(f64, Nanos)>,
    /// The place of its longest value.
    end: (f64, Nanos),
}

impl DistributionPlot {
    /// A plot for distributions of at most `most` values.
    pub fn new(axis: LatencyAxis, most: u64, height: u32) -> DistributionPlot {
        let powers = (most.max(1) as f64).log10().clamp(2.0, 8.0);
        DistributionPlot { axis, powers, height, curves: Vec::new() }
    }

    /// Adds a distribution.
    pub fn add(&mut self, label: String, mark: SeriesMark, histogram: &Histogram) {
        let n = histogram.count();
        let (Some(shortest), Some(longest)) = (histogram.min(), histogram.max()) else { return };
        let mut before = 0u64;
        let steps = histogram.occupied().map(|(index, count)| {
            // The values from this bucket on are the longest one in this many.
            let one_in = n as f64 / n.saturating_sub(before).max(1) as f64;
            before = before.saturating_add(count);
            // A bucket's middle stands for its values, as in every percentile of the run file.
            let value = Histogram::middle_of(index as usize).max(shortest).min(longest);
            (self.place(one_in), value)
        });
        let steps: Vec<(f64, Nanos)> = steps.collect();
        let end = (self.place(n as f64), longest);
        self.curves.push(Stairs { label, mark, steps, end });
    }

    /// The position of the longest 1 in `n`, in percent.
    fn place(&self, one_in: f64) -> f64 {
        (one_in.max(1.0).log10() / self.powers * 100.0).clamp(0.0, 100.0)
    }

    /// The drawing, within a page.
    pub fn draw(&self, label: &str) -> Markup {
        self.drawing().named(self.height, label)
    }

    /// The drawing.
    pub(crate) fn drawing(&self) -> Svg {
        let mut svg = Svg::new();
        self.axis.draw_upright(&mut svg);
        self.draw_powers(&mut svg);
        let y = |value: Nanos| 100.0 - self.axis.at(value);
        svg.stretched(|svg| {
            for curve in &self.curves {
                let corners = curve.corners().map(|(x, value)| (x, y(value)));
                svg.path(&format!("c {}", curve.mark.class()), &stairs(corners));
            }
        });
        for curve in self.curves.iter().filter(|curve| curve.end.0 < 99.0) {
            let height = Pct(y(curve.end.1));
            svg.line("lead", (Pct(curve.end.0), height), (Pct(100.0), height));
        }
        for curve in &self.curves {
            for x in self.marked(curve) {
                curve.mark.draw(&mut svg, Pct(x), Pct(y(curve.at(x))));
            }
        }
        self.draw_names(&mut svg);
        svg
    }

    /// `all`, `1 in 10`, `1 in 100`: as many as there is room for.
    fn draw_powers(&self, svg: &mut Svg) {
        let foot = Pct(100.0);
        let last = self.powers.floor() as u32;
        for power in 1..=last {
            let x = Pct(f64::from(power) / self.powers * 100.0);
            svg.line("g", (x, Pct(0.0)), (x, foot));
            // As much room as the names take at 1400 px, and at 360 without those of class `wd`.
            let class = match (self.powers, power) {
                (3.0..3.9, 2) => "ax wd",
                (..3.9, _) | (..4.3, 1 | 3) => "ax",
                (..4.3, _) => "ax wd",
                (..6.3, 1 | 3 | 5) | (6.3.., 1 | 4 | 7) => "ax",
                _ => continue,
            };
            let name = format!("1 in {}", format::count(10u64.pow(power)));
            svg.text(class, (x, foot), (0.0, 17.0), Anchor::Middle, &name);
        }
        svg.text("ax", (Pct(0.0), foot), (0.0, 17.0), Anchor::Start, "all");
    }

    /// The places of a curve's marks: one in each power of ten, different for each curve, so that
    /// overlapping curves are both visible.
    fn marked(&self, curve: &Stairs) -> Vec<f64> {
        let from = 0.3 + 0.17 * curve.mark.index() as f64;
        let places = (0..8u32).map(|power| (f64::from(power) + from) / self.powers * 100.0);
        places.filter(|x| *x < curve.end.0).collect()
    }

    /// The curves' names with their marks at the right.
    fn draw_names(&self, svg: &mut Svg) {
        let height = f64::from(self.height);
        let wanted: Vec<f64> = self
            .curves
            .iter()
            .map(|curve| (100.0 - self.axis.at(curve.end.1)) / 100.0 * height)
            .collect();
        for (curve, top) in self.curves.iter().zip(spread(&wanted, LABEL_GAP, height)) {
            let middle = Pct(top / height * 100.0);
            curve.mark.draw_beside(svg, Pct(100.0), middle, 10.0);
            let class = format!("dl {}", curve.mark.class());
            svg.text(&class, (Pct(100.0), middle), (19.0, 4.0), Anchor::Start, &curve.label);
        }
    }
}

impl Stairs {
    /// Every corner, from left to right.
    fn corners(&self) -> impl Iterator<Item = (f64, Nanos)> + '_ {
        let first = self.steps.first().copied();
        let risers = self.steps.windows(2).flat_map(|pair| match pair {
            [from, to] => [(to.0, from.1), *to],
            _ => [self.end; 2],
        });
        let last = self.steps.last().map(|last| (self.end.0, last.1));
        first.into_iter().chain(risers).chain(last).chain([self.end])
    }

    /// The latency at a place.
    fn at(&self, x: f64) -> Nanos {
        let begun = self.steps.partition_point(|step| step.0 < x).saturating_sub(1);
        self.steps.get(begun).map_or(self.end.1, |step| step.1)
    }
}

#[cfg(test)]
mod tests {
    use super::{DistributionPlot, LatencyAxis, SeriesMark};
    use crate::chart::testing::{Corner, corners, draws};
    use flashlag_schema::Lag;
    use flashlag_stats::Histogram;
    use flashlag_units::Nanos;

    /// The corners of the drawn stairs, in thousandths of the drawing.
    fn corners_of(histogram: &Histogram) -> Vec<Corner> {
        let mut plot = DistributionPlot::new(LatencyAxis::covering([]), histogram.count(), 230);
        plot.add("a".to_owned(), SeriesMark::nth(0), histogram);
        let drawing = plot.draw("a").into_string();
        let path = drawing.split("class=\"c s0\" d=\"").nth(1).expect("a curve");
        corners(path.split('"').next().expect("its path"))
    }

    /// The buckets' middles and counts, longest first: what the drawing is checked against.
    fn longest_first(histogram: &Histogram) -> Vec<(Nanos, u64)> {
        let buckets = histogram.occupied();
        let middles = buckets.map(|(index, count)| (Histogram::middle_of(index as usize), count));
        let mut all: Vec<(Nanos, u64)> = middles.collect();
        all.reverse();
        all
    }

    fn place(n: u64, one_in: f64) -> f64 {
        one_in.log10() / (n as f64).log10().clamp(2.0, 8.0) * 1000.0
    }

    fn height(value: Nanos) -> f64 {
        1000.0 - LatencyAxis::covering([]).at(value) * 10.0
    }

    /// The stairs' height right before `x`, and the heights that they reach within `off` of it.
    fn height_at(stairs: &[Corner], x: f64, off: f64) -> (f64, f64) {
        let spans = stairs.windows(2).filter(|pair| pair[0].0 <= x + off && pair[1].0 >= x - off);
        let heights = spans.flat_map(|pair| [pair[0].1, pair[1].1]);
        heights.fold((f64::MAX, f64::MIN), |(low, high), y| (low.min(y), high.max(y)))
    }

    /// A distribution with few or many buckets, all within the axis.
    fn histogram(seed: u64) -> Histogram {
        let mut next = draws(seed);
        let mut histogram = Histogram::new();
        let shapes = 1 + next() % 40;
        let values: Vec<u64> = (0..shapes)
            .map(|_| (100_000.0 * 10f64.powf((next() % 4_900) as f64 / 1000.0)) as u64)
            .collect();
        for _ in 0..100 + next() % 20_000 {
            // Half of all values in the first, so that steps are as high as they get.
            let index = if next().is_multiple_of(2) { 0 } else { next() % shapes };
            histogram.record(Nanos(values[index as usize]));
        }
        histogram
    }

    #[test]
    fn the_curve_crosses_the_frame_line_where_late_waits_begin() {
        for seed in 0..60 {
            let histogram = histogram(seed);
            let n = histogram.count();
            let late: u64 = longest_first(&histogram)
                .iter()
                .filter(|(middle, _)| *middle > Lag::FRAME_60HZ)
                .map(|(_, count)| count)
                .sum();
            let frame = height(Lag::FRAME_60HZ);
            let stairs = corners_of(&histogram);
            // Upwards is towards 0.
            let crossing = stairs.windows(2).find(|pair| pair[0].1 > frame && pair[1].1 < frame);
            match (late, crossing) {
                (0, crossing) => assert!(crossing.is_none(), "seed {seed}: nothing is late"),
                (late, None) => assert!(late == n, "seed {seed}: {late} of {n} late, not drawn"),
                (late, Some(pair)) => {
                    let wanted = place(n, n as f64 / late as f64);
                    assert_eq!(pair[0].0, pair[1].0, "seed {seed}: a riser is upright");
                    assert!((pair[0].0 - wanted).abs() <= 1.0, "seed {seed}: {pair:?}, {wanted}");
                }
            }
        }
    }

    #[test]
    fn the_curve_shows_the_longest_1_in_10_100_and_1000_as_the_histogram_has_them() {
        for seed in 0..60 {
            let histogram = histogram(seed);
            let n = histogram.count();
            let stairs = corners_of(&histogram);
            for one_in in [10u64, 100, 1_000].into_iter().filter(|one_in| *one_in < n) {
                // The shortest of the longest 1 in `n`, counted from the long end.
                let wanted = n.div_ceil(one_in);
                let mut seen = 0;
                let value = longest_first(&histogram).into_iter().find_map(|(middle, count)| {
                    seen += count;
                    (seen >= wanted).then_some(middle)
                });
                let value = value.expect("there are as many");
                let wanted = height(value.min(histogram.max().expect("it has values")));
                let (top, foot) = height_at(&stairs, place(n, one_in as f64), 1.0);
                assert!(
                    top - 1.0 <= wanted && wanted <= foot + 1.0,
                    "seed {seed}, 1 in {one_in}: {wanted} is not within {top} to {foot}"
                );
                // No more than one riser passes there.
                let level = stairs
                    .windows(2)
                    .any(|pair| pair[0].1 == pair[1].1 && (pair[0].1 - wanted).abs() <= 1.0);
                assert!(level || wanted == top, "seed {seed}, 1 in {one_in}: no step at {wanted}");
            }
        }
    }

    /// Nexus 7 as simulated: 8.4% of writes take 34 ms or longer, the others 3.4 ms. A straight
    /// line between the two crosses the frame line at 1 in 5 and shows 34 ms at 1 in 10.
    #[test]
    fn two_values_make_one_step_not_a_slope() {
        let mut histogram = Histogram::new();
        (0..916).for_each(|_| histogram.record(Nanos::from_micros(3_400)));
        (0..84).for_each(|_| histogram.record(Nanos::from_millis(34)));
        let stairs = corners_of(&histogram);
        let [short, long] = [3_400, 34_000].map(|us| height(Nanos::from_micros(us)));
        let at = place(1000, 1000.0 / 84.0);
        assert_eq!(stairs.len(), 4, "{stairs:?}");
        for (corner, wanted) in
            stairs.iter().zip([(0.0, short), (at, short), (at, long), (1000.0, long)])
        {
            let near = |a: f64, b: f64| (a - b).abs() <= 3.0;
            assert!(near(corner.0, wanted.0) && near(corner.1, wanted.1), "{corner:?} {wanted:?}");
        }
    }

    #[test]
    fn every_power_of_ten_that_is_named_is_named_in_full() {
        for n in [100, 5_000, 18_000, 250_000, 90_000_000] {
            let plot = DistributionPlot::new(LatencyAxis::covering([]), n, 230);
            let drawing = plot.drawing().bare().into_string();
            let names: Vec<&str> =
                drawing.split("</text>").filter_map(|t| t.rsplit('>').next()).collect();
            let bare = |name: &&str| name.chars().all(|c| c.is_ascii_digit() || c == ',');
            assert!(!names.iter().any(|name| !name.is_empty() && bare(name)), "{names:?}");
            assert!(names.contains(&"1 in 10"));
        }
    }
}
