//! Percentiles by fill level, with latency upwards on the logarithmic axis. Lines are named at their
//! right end.

use flashlag_schema::Lag;
use flashlag_units::Nanos;

use super::axis::LatencyAxis;
use super::labels::spread;
use super::svg::{Anchor, Pct, Svg, dots, polyline};
use crate::markup::Markup;

/// The dashes of a line, which identify it; its colour shows in time or late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stroke {
    Thin,
    Bold,
    Dashed,
    Dotted,
}

impl Stroke {
    fn class(self) -> &'static str {
        match self {
            Stroke::Thin => "c",
            Stroke::Bold => "c bold",
            Stroke::Dashed => "c dash",
            Stroke::Dotted => "c dots",
        }
    }
}

/// One line: points from left to right, `(x in percent, latency)`.
#[derive(Clone, Debug)]
pub(crate) struct Curve {
    pub(crate) label: String,
    pub(crate) stroke: Stroke,
    pub(crate) points: Vec<(f64, Nanos)>,
    /// The same points; each ends where a level has no value, so that no line crosses it.
    pub(crate) lines: Vec<Vec<(f64, Nanos)>>,
}

/// The least distance of two names, in pixels.
const LABEL_GAP: f64 = 15.0;

/// Percentiles by fill level.
pub(crate) struct FillPlot {
    axis: LatencyAxis,
    height: u32,
    /// Left and right edge, as shares of the storage in use.
    from: f64,
    to: f64,
    curves: Vec<Curve>,
}

impl FillPlot {
    /// A plot from one share of the storage in use to another.
    pub(crate) fn new(axis: LatencyAxis, from: f64, to: f64, height: u32) -> FillPlot {
        let from = (from.clamp(0.0, 1.0) * 10.0).floor() / 10.0;
        let to = ((to.clamp(0.0, 1.0) * 10.0).ceil() / 10.0).max(from + 0.1);
        FillPlot { axis, height, from, to, curves: Vec::new() }
    }

    /// Adds a percentile at each level.
    pub(crate) fn add(&mut self, label: String, stroke: Stroke, levels: &[(f64, Option<Nanos>)]) {
        let place = |share: f64| (share - self.from) / (self.to - self.from) * 100.0;
        let known = levels.split(|(_, value)| value.is_none());
        let lines = known.filter(|line| !line.is_empty()).map(|line| {
            let points = line.iter().filter_map(|&(share, value)| Some((place(share), value?)));
            points.collect()
        });
        let lines: Vec<Vec<(f64, Nanos)>> = lines.collect();
        if !lines.is_empty() {
            self.curves.push(Curve { label, stroke, points: lines.concat(), lines });
        }
    }

    /// The drawing, within a page.
    pub(crate) fn draw(&self, label: &str) -> Markup {
        self.drawing().named(self.height, label)
    }

    /// The drawing.
    pub(crate) fn drawing(&self) -> Svg {
        let mut svg = Svg::new();
        self.axis.draw_upright(&mut svg);
        let tenths = ((self.to - self.from) * 10.0).round().max(1.0) as u32;
        let step = if tenths > 5 { 2 } else { 1 };
        for tenth in (0..=tenths).step_by(step) {
            let x = Pct(f64::from(tenth) / f64::from(tenths) * 100.0);
            let share = self.from + f64::from(tenth) / 10.0;
            let name = flashlag_views::format::share(share);
            svg.line("g", (x, Pct(0.0)), (x, Pct(100.0)));
            // Room on both sides keeps names near their lines.
            svg.text("ax", (x, Pct(100.0)), (0.0, 17.0), Anchor::Middle, &name);
        }
        draw_curves(&mut svg, &self.axis, self.height, &self.curves);
        for curve in &self.curves {
            let at = |&(x, value): &(f64, Nanos)| (x, 100.0 - self.axis.at(value));
            svg.stretched(|svg| svg.path("pt", &dots(curve.points.iter().map(at))));
        }
        svg
    }
}

/// Lines in two colours, and their names at the right.
fn draw_curves(svg: &mut Svg, axis: &LatencyAxis, height: u32, curves: &[Curve]) {
    let y = |value: Nanos| 100.0 - axis.at(value);
    svg.stretched(|svg| {
        for curve in curves {
            for (late, piece) in curve.lines.iter().flat_map(|line| pieces(line)) {
                let colour = if late { "l" } else { "m" };
                let class = format!("{} {colour}", curve.stroke.class());
                svg.path(&class, &polyline(piece.iter().map(|&(x, value)| (x, y(value)))));
            }
        }
    });
    let short = curves.iter().filter_map(|curve| curve.points.last()).filter(|(x, _)| *x < 99.0);
    for &(x, value) in short {
        svg.line("lead", (Pct(x), Pct(y(value))), (Pct(100.0), Pct(y(value))));
    }
    let height = f64::from(height);
    let ends: Vec<(f64, Nanos)> = curves.iter().filter_map(|c| c.points.last().copied()).collect();
    let wanted: Vec<f64> = ends.iter().map(|&(_, value)| y(value) / 100.0 * height).collect();
    for ((curve, end), top) in curves.iter().zip(&ends).zip(spread(&wanted, LABEL_GAP, height)) {
        let class = if end.1 > Lag::FRAME_60HZ { "dl l" } else { "dl m" };
        svg.text(
            class,
            (Pct(100.0), Pct(0.0)),
            (8.0, top.round() + 4.0),
            Anchor::Start,
            &curve.label,
        );
    }
}

/// A line cut where it crosses the frame line, each piece late or not. A line that runs along it
/// counts as in time.
fn pieces(points: &[(f64, Nanos)]) -> Vec<(bool, Vec<(f64, Nanos)>)> {
    let frame = Lag::FRAME_60HZ;
    let mut pieces: Vec<(bool, Vec<(f64, Nanos)>)> = Vec::new();
    for &point in points {
        let late = point.1 > frame;
        match pieces.last_mut() {
            Some((was, piece)) if *was == late => piece.push(point),
            Some((_, piece)) => {
                let before = piece.last().copied().unwrap_or(point);
                let crossing = (crossing(before, point), frame);
                piece.push(crossing);
                pieces.push((late, vec![crossing, point]));
            }
            None => pieces.push((late, vec![point])),
        }
    }
    pieces
}

/// Where the straight line (on the logarithmic axis) between two points crosses the frame line.
fn crossing(a: (f64, Nanos), b: (f64, Nanos)) -> f64 {
    let log = |value: Nanos| (value.0.max(1) as f64).ln();
    let (from, to, frame) = (log(a.1), log(b.1), log(Lag::FRAME_60HZ));
    let share = if to == from { 0.0 } else { ((frame - from) / (to - from)).clamp(0.0, 1.0) };
    a.0 + (b.0 - a.0) * share
}

#[cfg(test)]
mod tests {
    use super::{FillPlot, LatencyAxis, Stroke};
    use flashlag_units::Nanos;

    #[test]
    fn no_line_crosses_a_level_without_a_value() {
        let mut plot = FillPlot::new(LatencyAxis::covering([]), 0.0, 1.0, 260);
        let known = Some(Nanos::from_millis(5));
        let levels = [(0.1, known), (0.2, known), (0.3, None), (0.4, known), (0.5, known)];
        plot.add("p99.9".to_owned(), Stroke::Dashed, &levels);
        let drawn = plot.drawing().bare().into_string();
        let lines: Vec<&str> = drawn.split("class=\"c dash m\" d=\"").skip(1).collect();
        assert_eq!(lines.len(), 2, "{drawn}");
        assert!(lines[0].starts_with("M100 ") && lines[0].contains("L200 "), "{}", lines[0]);
        assert!(lines[1].starts_with("M400 ") && lines[1].contains("L500 "), "{}", lines[1]);
        let dots = drawn.split("class=\"pt\" d=\"").nth(1).and_then(|rest| rest.split('"').next());
        assert_eq!(dots.map(|dots| dots.matches("h0").count()), Some(4));
    }
}
