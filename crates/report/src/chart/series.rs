//! A phase over time: the median as stairs, the longest wait of each pixel column as a dot, stalls
//! marked by cause. The number of marks is bounded; each shows the longest of the stalls that it
//! stands for, so that no long stall disappears.

use std::collections::BTreeMap;

use flashlag_schema::Lag;
use flashlag_units::Nanos;
use flashlag_views::format;
use flashlag_views::page::{SeriesMedian, SeriesPoint, SeriesStall};

use super::axis::LatencyAxis;
use super::cause::{Kind, shape};
use super::svg::{Anchor, Pct, Svg, dots, stairs};

/// The chart.
pub(crate) struct SeriesPlot<'a> {
    pub(crate) axis: LatencyAxis,
    pub(crate) medians: &'a [SeriesMedian],
    pub(crate) points: &'a [SeriesPoint],
    pub(crate) stalls: &'a [SeriesStall],
    /// Moments that are marked with a line, each with its number.
    pub(crate) changes: &'a [(Nanos, usize)],
}

/// Up to this many stalls each has a shape of its own; beyond it the short ones are dots.
const SHAPES: usize = 120;
/// Marks are kept for this many columns.
const COLUMNS: f64 = 320.0;

impl SeriesPlot<'_> {
    /// The drawing.
    pub(crate) fn drawing(&self) -> Svg {
        let end = self.end();
        let x = |at: Nanos| at.0 as f64 / end.0.max(1) as f64 * 100.0;
        let mut svg = Svg::new();
        self.axis.draw_upright(&mut svg);
        time_ticks(&mut svg, end);
        svg.stretched(|svg| {
            self.draw_longest(svg, &x);
            let medians: String = self.median_pieces(&x).into_iter().map(stairs).collect();
            if !medians.is_empty() {
                svg.path("mdl", &medians);
            }
            self.draw_stall_dots(svg, &x);
        });
        self.draw_long_stalls(&mut svg, &x);
        change_lines(&mut svg, self.changes, &x);
        svg
    }

    fn y(&self, value: Nanos) -> f64 {
        100.0 - self.axis.at(value)
    }

    /// Minimum length of a stall with a shape.
    fn shaped_from(&self) -> Nanos {
        if self.stalls.len() <= SHAPES { Nanos::ZERO } else { flashlag_views::FREEZE }
    }

    fn end(&self) -> Nanos {
        let ends = self.points.iter().map(|point| point.ends);
        let ends = ends.chain(self.medians.iter().map(|stretch| stretch.ends));
        ends.chain(self.stalls.iter().map(|stall| stall.at)).max().unwrap_or_default()
    }

    /// The medians as level pieces over their stretches, without a line over a gap between two. Of
    /// the stretches that end in one column, the last is kept.
    fn median_pieces(&self, x: &impl Fn(Nanos) -> f64) -> Vec<Vec<(f64, f64)>> {
        let mut pieces: Vec<Vec<(f64, f64)>> = Vec::new();
        let mut before: Option<(Nanos, u32)> = None;
        for stretch in self.medians {
            let (mut begins, ends, y) = (x(stretch.from), x(stretch.ends), self.y(stretch.median));
            let here = column(ends);
            let goes_on = before.is_some_and(|(ended, _)| ended == stretch.from);
            match pieces.last_mut().filter(|_| goes_on) {
                Some(piece) => {
                    if before.is_some_and(|(_, column)| column == here) {
                        piece.pop();
                        begins = piece.pop().map_or(begins, |(begins, _)| begins);
                    }
                    piece.extend([(begins, y), (ends, y)]);
                }
                None => pieces.push(vec![(begins, y), (ends, y)]),
            }
            before = Some((stretch.ends, here));
        }
        pieces
    }

    /// The longest wait of each stretch: two paths, in time and late.
    fn draw_longest(&self, svg: &mut Svg, x: &impl Fn(Nanos) -> f64) {
        let mut kept: BTreeMap<u32, (f64, Nanos)> = BTreeMap::new();
        for point in self.points {
            let (place, Some(longest)) = (x(point.ends), point.longest) else { continue };
            let best = kept.entry(column(place)).or_insert((place, longest));
            if longest > best.1 {
                *best = (place, longest);
            }
        }
        for (class, late) in [("sc m", false), ("sc l", true)] {
            let marks = kept.values().filter(|(_, value)| (*value > Lag::FRAME_60HZ) == late);
            svg.path(class, &dots(marks.map(|&(x, value)| (x, self.y(value)))));
        }
    }

    /// Short stalls of many, a dot each.
    fn draw_stall_dots(&self, svg: &mut Svg, x: &impl Fn(Nanos) -> f64) {
        for (class, stalls) in self.kept(x, |stall| stall.length < self.shaped_from()) {
            let marks = stalls.iter().map(|stall| (x(stall.at), self.y(stall.length)));
            svg.path(&format!("sc {class}"), &dots(marks));
        }
    }

    /// The other stalls, a mark each, its shape by cause; the longest with its length.
    fn draw_long_stalls(&self, svg: &mut Svg, x: &impl Fn(Nanos) -> f64) {
        let long = self.kept(x, |stall| stall.length >= self.shaped_from());
        for (class, stalls) in &long {
            for stall in stalls {
                let (x, y) = (Pct(x(stall.at)), Pct(self.y(stall.length)));
                let shape = shape(class);
                svg.shape(format_args!(
                    "<svg x=\"{x}\" y=\"{y}\" overflow=\"visible\"><path class=\"st {class}\" d=\"{shape}\"/></svg>"
                ));
            }
        }
        let longest = long.values().flatten().max_by_key(|stall| stall.length);
        if let Some(stall) = longest {
            let place = x(stall.at);
            let (dx, anchor) =
                if place > 85.0 { (-9.0, Anchor::End) } else { (9.0, Anchor::Start) };
            let at = (Pct(place), Pct(self.y(stall.length)));
            svg.text("v", at, (dx, 4.0), anchor, &format::time(stall.length));
        }
    }

    /// Stalls by the class of their cause, the longest of each column.
    fn kept(
        &self,
        x: &impl Fn(Nanos) -> f64,
        of: impl Fn(&SeriesStall) -> bool,
    ) -> BTreeMap<&'static str, Vec<SeriesStall>> {
        let mut kept: BTreeMap<(&'static str, u32), SeriesStall> = BTreeMap::new();
        for stall in self.stalls.iter().filter(|stall| of(stall)) {
            let best =
                kept.entry((Kind::of(stall.cause).class(), column(x(stall.at)))).or_insert(*stall);
            if stall.length > best.length {
                *best = *stall;
            }
        }
        let mut by_cause: BTreeMap<&'static str, Vec<SeriesStall>> = BTreeMap::new();
        for ((class, _), stall) in kept {
            by_cause.entry(class).or_default().push(stall);
        }
        by_cause
    }
}

/// Lines at the moments of changes, with their numbers above the drawing, where nothing else is;
/// numbers that would touch stand at the first of their lines together.
pub(super) fn change_lines(svg: &mut Svg, changes: &[(Nanos, usize)], x: &impl Fn(Nanos) -> f64) {
    let mut groups: Vec<(f64, Vec<String>)> = Vec::new();
    for &(at, number) in changes {
        let place = x(at).clamp(0.0, 100.0);
        svg.line("chg", (Pct(place), Pct(0.0)), (Pct(place), Pct(100.0)));
        match groups.last_mut() {
            Some((first, names)) if place - *first < NUMBER_WIDTH * names.len() as f64 => {
                names.push(number.to_string());
            }
            _ => groups.push((place, vec![number.to_string()])),
        }
    }
    for (place, names) in groups {
        let anchor = if place > 90.0 { Anchor::End } else { Anchor::Start };
        svg.text("fl b", (Pct(place), Pct(0.0)), (0.0, -4.0), anchor, &names.join(", "));
    }
}

/// The width that the number of a change takes in a narrow chart, in percent.
const NUMBER_WIDTH: f64 = 6.0;

fn column(x: f64) -> u32 {
    (x.clamp(0.0, 100.0) / 100.0 * COLUMNS).floor() as u32
}

/// Round moments below the chart.
pub(super) fn time_ticks(svg: &mut Svg, end: Nanos) {
    const STEPS: [u64; 16] =
        [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14_400, 43_200];
    let seconds = end.as_secs_f64();
    let step = STEPS.into_iter().find(|step| seconds / *step as f64 <= 6.0).unwrap_or(86_400);
    // A chart of one phase needs no ticks beyond a year of seconds.
    let count = ((seconds / step as f64).floor() as u64).min(400);
    for tick in 0..=count {
        let x = Pct((tick * step) as f64 / seconds.max(1e-9) * 100.0);
        if !(0.0..=100.0).contains(&x.0) {
            continue;
        }
        let anchor = match x.0 {
            0.0 => Anchor::Start,
            97.0.. => Anchor::End,
            _ => Anchor::Middle,
        };
        svg.line("g", (x, Pct(0.0)), (x, Pct(100.0)));
        svg.text("ax", (x, Pct(100.0)), (0.0, 17.0), anchor, &tick_name(tick * step, step));
    }
}

fn tick_name(seconds: u64, step: u64) -> String {
    match step {
        _ if seconds == 0 => "0".to_owned(),
        3600.. => format!("{} h", seconds / 3600),
        60.. => format!("{} min", seconds / 60),
        _ => format!("{seconds} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::{LatencyAxis, SeriesMedian, SeriesPlot, SeriesStall};
    use crate::chart::testing::corners;
    use flashlag_schema::StallCause;
    use flashlag_units::Nanos;

    #[test]
    fn the_longest_stall_of_a_crowd_is_drawn_with_its_length() {
        let stall = |index: u64| SeriesStall {
            at: Nanos::from_millis(index),
            length: Nanos::from_millis(if index == 5123 { 8_200 } else { 1_000 + index % 97 }),
            cause: StallCause::Storage,
        };
        let stalls: Vec<_> = (0..10_000).map(stall).collect();
        let axis = LatencyAxis::covering([]);
        let plot = SeriesPlot { axis, medians: &[], points: &[], stalls: &stalls, changes: &[] };
        let drawn = plot.drawing().bare().into_string();
        assert!(drawn.contains(">8.2 s<"), "the longest is missing");
        assert!(drawn.matches("<path class=\"st").count() <= 321, "too many marks");
    }

    /// The path of the medians of stretches `(from, ends, median)` in seconds and milliseconds.
    fn median_path(medians: &[(u64, u64, u64)]) -> Option<String> {
        let medians = medians.iter().map(|&(from, ends, median)| SeriesMedian {
            from: Nanos::from_secs(from),
            ends: Nanos::from_secs(ends),
            median: Nanos::from_millis(median),
        });
        let medians: Vec<SeriesMedian> = medians.collect();
        let axis = LatencyAxis::covering([]);
        let plot = SeriesPlot { axis, medians: &medians, points: &[], stalls: &[], changes: &[] };
        let drawn = plot.drawing().bare().into_string();
        let path = drawn.split("class=\"mdl\" d=\"").nth(1)?;
        path.split('"').next().map(str::to_owned)
    }

    #[test]
    fn a_median_is_drawn_over_its_own_stretch_and_no_line_crosses_a_gap() {
        let path = median_path(&[(2, 4, 10), (4, 6, 30), (8, 10, 10)]).expect("a line");
        let pieces: Vec<&str> = path.split('M').filter(|piece| !piece.is_empty()).collect();
        assert_eq!(pieces.len(), 2, "{path}");
        let places = |piece: &str| corners(&format!("M{piece}"));
        let first = places(pieces[0]);
        let across: Vec<f64> = first.iter().map(|corner| corner.0).collect();
        assert_eq!(across, [200.0, 400.0, 400.0, 600.0], "{path}");
        assert!(first[0].1 == first[1].1 && first[1].1 > first[2].1, "{path}");
        let last = places(pieces[1]);
        assert_eq!((last[0].0, last[last.len() - 1].0), (800.0, 1000.0), "{path}");
        assert_eq!(median_path(&[]), None, "nothing is drawn where nothing is known");
    }

    #[test]
    fn many_medians_take_no_more_than_one_step_a_column() {
        let medians: Vec<_> = (0..5_000).map(|at| (at, at + 1, 10 + at % 7)).collect();
        let path = median_path(&medians).expect("a line");
        assert!(corners(&path).len() <= 2 * 321, "{}", path.len());
    }
}
