//! The strip: a row per stage on one latency axis. Dot at the median, thick bar to p99, thin bar to
//! p99.9, diamond at the longest wait.

use flashlag_schema::Lag;
use flashlag_units::Nanos;
use flashlag_views::{Figures, MarkPoint, format};

use super::axis::LatencyAxis;
use super::svg::{Anchor, Pct, Svg};
use crate::markup::Markup;

/// Minimum distance of a median from the left edge, in percent of the axis, with room for its value.
pub(crate) const ROOM_FOR_A_NAME: f64 = 11.0;

/// The style of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StripMarks {
    /// Filled.
    Solid,
    /// Hollow and dashed: a failed check covers it.
    Doubtful,
}

/// The background of every row as two custom properties of the style sheet: zones with decades,
/// and frame lines. A background fills its cell, however high a long name makes the row.
pub fn strip_style(axis: &LatencyAxis) -> Markup {
    let line = |colour: &str, at: f64| {
        format!("linear-gradient(var(--{colour}),var(--{colour})) {}/1px 100% no-repeat", Pct(at))
    };
    let decades = axis.ticks().into_iter().map(|(at, _)| line("grid", at));
    let mut stops = String::from("linear-gradient(90deg");
    let mut from = 0.0;
    for (class, start, end) in axis.zones() {
        if from < start {
            stops += &format!(",transparent {}", Pct(start));
        }
        stops += &format!(",var(--{class}) {} {}", Pct(start), Pct(end));
        from = end;
    }
    let zones: Vec<String> = decades.chain([stops + ")"]).collect();
    let frames: Vec<String> = axis
        .frames()
        .into_iter()
        .map(|(class, at)| match class {
            "f60" => line("ink", at),
            _ => format!(
                "repeating-linear-gradient(var(--rule) 0 2px,transparent 2px 5px) {}/1px 100% no-repeat",
                Pct(at)
            ),
        })
        .collect();
    Markup::drawn(format!(":root{{--zones:{};--frames:{}}}", zones.join(","), frames.join(",")))
}

/// Zones, decades and frame lines over the whole height: the background of all rows, drawn.
pub(crate) fn ground_drawing(axis: &LatencyAxis) -> Svg {
    let mut svg = Svg::new();
    let (top, whole) = (Pct(0.0), Pct(100.0));
    for (class, from, to) in axis.zones() {
        svg.rect(class, Pct(from), Pct(to - from), top, whole);
    }
    for (at, _) in axis.ticks() {
        svg.line("g", (Pct(at), top), (Pct(at), whole));
    }
    for (class, at) in axis.frames() {
        svg.line(class, (Pct(at), top), (Pct(at), whole));
    }
    svg
}

/// The names of zones and frames, above the rows.
pub fn strip_head(axis: &LatencyAxis) -> Markup {
    head_drawing(axis).hidden(36)
}

/// As [`strip_head`], to be placed in another drawing.
pub(crate) fn head_drawing(axis: &LatencyAxis) -> Svg {
    let mut svg = Svg::new();
    let top = Pct(0.0);
    for (class, at) in axis.frames() {
        svg.line(class, (Pct(at), Pct(90.0)), (Pct(at), Pct(100.0)));
    }
    let [(_, late, _), (_, noticed, _), (_, freeze, _)] = axis.zones();
    let inside = "inside one 60 Hz frame";
    svg.text("zn wd", (Pct(late), top), (-7.0, 13.0), Anchor::End, inside);
    svg.text("zn na", (Pct(late), top), (-7.0, 13.0), Anchor::End, "in time");
    svg.text("zn l", (Pct(late), top), (6.0, 13.0), Anchor::Start, "late");
    // Beyond five decades the zones are too narrow for the long name.
    let (long, short) =
        if axis.decades() > 5 { ("notice", "notice") } else { ("you notice", "notice") };
    svg.text("zn l wd", (Pct(noticed), top), (6.0, 13.0), Anchor::Start, long);
    svg.text("zn l na", (Pct(noticed), top), (6.0, 13.0), Anchor::Start, short);
    svg.text("zn l", (Pct(freeze), top), (6.0, 13.0), Anchor::Start, "freeze");
    let [(_, fast), (_, usual), (_, slow)] = axis.frames();
    // On a wide axis the three lines are too close together for three names.
    let side = if axis.decades() > 5 { "fl wd" } else { "fl" };
    svg.text(side, (Pct(fast), top), (-4.0, 29.0), Anchor::End, "120 Hz");
    svg.text("fl b", (Pct(usual), top), (0.0, 29.0), Anchor::Middle, "60 Hz");
    svg.text(side, (Pct(slow), top), (4.0, 29.0), Anchor::Start, "30 Hz");
    svg
}

/// The decades, below the rows.
pub fn strip_axis(axis: &LatencyAxis) -> Markup {
    axis_drawing(axis).hidden(20)
}

/// As [`strip_axis`], to be placed in another drawing.
pub(crate) fn axis_drawing(axis: &LatencyAxis) -> Svg {
    let mut svg = Svg::new();
    for (at, name) in axis.ticks() {
        let anchor = match at {
            0.0 => Anchor::Start,
            100.0 => Anchor::End,
            _ => Anchor::Middle,
        };
        svg.line("tk", (Pct(at), Pct(0.0)), (Pct(at), Pct(20.0)));
        svg.text("ax", (Pct(at), Pct(0.0)), (0.0, 16.0), anchor, &name);
    }
    svg
}

/// One row; `label` is its text alternative.
pub fn strip_row(axis: &LatencyAxis, figures: &Figures, marks: StripMarks, label: &str) -> Markup {
    row_drawing(axis, figures, marks).named(34, &in_words(label, figures))
}

/// As [`strip_row`], to be placed in another drawing.
pub(crate) fn row_drawing(axis: &LatencyAxis, figures: &Figures, marks: StripMarks) -> Svg {
    let mut svg = Svg::new();
    let class = if marks == StripMarks::Doubtful { " class=\"soft\"" } else { "" };
    svg.shape(format_args!("<svg y=\"50%\" overflow=\"visible\"><g{class}>"));
    draw_marks(&mut svg, axis, figures);
    svg.shape(format_args!("</g></svg>"));
    svg
}

/// Bars, diamond, dot and the median's value, at the height of the origin.
fn draw_marks(svg: &mut Svg, axis: &LatencyAxis, figures: &Figures) {
    // Without a p99 (n too small) there is no bar, as in the terminal.
    if let (Some(from), Some(to)) = (figures.p50, figures.p99) {
        if let Some(tail) = figures.p999 {
            two_coloured(svg, axis, "thin", to, tail);
            let (end, class) = (axis.pct(tail), colour(tail));
            svg.shape(format_args!(
                "<line class=\"thin {class}\" x1=\"{end}\" x2=\"{end}\" y1=\"-6\" y2=\"6\"/>"
            ));
        }
        two_coloured(svg, axis, "thick", from, to);
    }
    if let Some(max) = figures.max {
        diamond(svg, axis.pct(max), colour(max));
    }
    if let Some(median) = figures.p50 {
        let (at, class) = (axis.pct(median), colour(median));
        svg.shape(format_args!("<circle class=\"dot {class}\" cx=\"{at}\" r=\"5\"/>"));
        let value = format::time(median);
        // Near the left edge there is no room beside the dot.
        let (moved, anchor) = match at.0 {
            0.0..ROOM_FOR_A_NAME => ((-5.0, -8.0), Anchor::Start),
            _ => ((-9.0, 4.5), Anchor::End),
        };
        svg.text("v", (at, Pct(0.0)), moved, anchor, &value);
    }
}

fn diamond(svg: &mut Svg, at: Pct, class: &str) {
    svg.shape(format_args!(
        "<svg x=\"{at}\" overflow=\"visible\"><path class=\"dia {class}\" d=\"M-4 0L0-4L4 0L0 4Z\"/></svg>"
    ));
}

/// A bar that changes its colour at the frame line.
fn two_coloured(svg: &mut Svg, axis: &LatencyAxis, class: &str, from: Nanos, to: Nanos) {
    let frame = Lag::FRAME_60HZ;
    if from < frame {
        svg.level(&format!("{class} m"), axis.pct(from), axis.pct(to.min(frame)));
    }
    if to > frame {
        svg.level(&format!("{class} l"), axis.pct(from.max(frame)), axis.pct(to));
    }
}

/// The class of a time: in time or late.
fn colour(value: Nanos) -> &'static str {
    if value > Lag::FRAME_60HZ { "l" } else { "m" }
}

fn in_words(label: &str, figures: &Figures) -> String {
    let named = [
        ("median", figures.p50),
        ("p99", figures.p99),
        ("p99.9", figures.p999),
        ("longest", figures.max),
    ];
    if figures.overloaded {
        return format!("{label}: overloaded, n = {}", format::count(figures.n));
    }
    let mut words = label.to_owned() + ":";
    for (name, value) in named {
        match value {
            Some(value) => words += &format!(" {name} {},", format::time(value)),
            None => words += &format!(" {name} unknown, n too small,"),
        }
    }
    words + &format!(" n = {}", format::count(figures.n))
}

/// A published device: hollow dots and bars.
pub(crate) fn mark_row(axis: &LatencyAxis, device: &str, points: &[MarkPoint]) -> Markup {
    let mut svg = Svg::new();
    svg.shape(format_args!("<svg y=\"50%\" overflow=\"visible\">"));
    for (index, point) in points.iter().enumerate() {
        let (from, to) = (axis.pct(point.from), axis.pct(point.to));
        if to.0 - from.0 > 1.5 {
            svg.level("refb", from, to);
        } else {
            svg.shape(format_args!("<circle class=\"ref\" cx=\"{from}\" r=\"4\"/>"));
        }
        // The first of several has its value to the left, the others to the right.
        let left = index == 0 && points.len() > 1 && from.0 > 16.0;
        let (at, moved, anchor) =
            if left { (from, (-8.0, 4.0), Anchor::End) } else { (to, (8.0, 4.0), Anchor::Start) };
        svg.text("rt", (at, Pct(0.0)), moved, anchor, &point.label);
    }
    svg.shape(format_args!("</svg>"));
    let words: Vec<&str> = points.iter().map(|point| point.label.as_str()).collect();
    svg.named(22, &format!("{device}, published: {}", words.join(", ")))
}

/// The key: one row's marks with their names.
pub fn strip_key() -> Markup {
    key_drawing().named(
        40,
        "Key: dot at the median, thick bar to p99, thin bar to p99.9, diamond at the longest",
    )
}

/// As [`strip_key`], to be placed in another drawing.
pub(crate) fn key_drawing() -> Svg {
    let mut svg = Svg::new();
    let names = [(8.0, "median"), (90.0, "p99"), (160.0, "p99.9"), (218.0, "longest")];
    svg.shape(format_args!("<g transform=\"translate(24,10)\">"));
    svg.shape(format_args!(
        "<line class=\"thick k1\" x1=\"8\" x2=\"90\"/><line class=\"thin k1\" x1=\"90\" x2=\"160\"/>\
         <line class=\"thin k1\" x1=\"160\" x2=\"160\" y1=\"-6\" y2=\"6\"/>\
         <path class=\"dia k1\" d=\"M214 0L218-4L222 0L218 4Z\"/><circle class=\"dot k1\" cx=\"8\" r=\"5\"/>"
    ));
    for (x, name) in names {
        svg.shape(format_args!(
            "<text class=\"k\" x=\"{x}\" y=\"22\" text-anchor=\"middle\">{name}</text>"
        ));
    }
    svg.shape(format_args!("</g>"));
    svg
}

#[cfg(test)]
mod tests {
    use super::{LatencyAxis, StripMarks, strip_row};
    use flashlag_testing::sample;
    use flashlag_units::Nanos;
    use flashlag_views::{Figures, strip};

    /// The ends of the bars of that class, the rightmost first.
    fn end_of(drawing: &str, class: &str) -> Option<f64> {
        let of_class = drawing.split("<line class=\"").filter(|line| line.starts_with(class));
        let ends = of_class.filter_map(|line| line.split("x2=\"").nth(1)?.split('%').next());
        ends.map(|end| end.parse().expect("a number")).max_by(f64::total_cmp)
    }

    fn assert_ends(figures: &Figures, what: &str) {
        let values = [figures.p50, figures.p99, figures.p999, figures.max];
        let axis = LatencyAxis::covering(values.into_iter().flatten());
        let drawing = strip_row(&axis, figures, StripMarks::Solid, "row").into_string();
        let near = |end: Option<f64>, value: Option<Nanos>| match (end, value) {
            (Some(end), Some(value)) => (end - axis.at(value)).abs() < 0.01,
            (None, None) => true,
            _ => false,
        };
        // A bar from a median to a p99 that is the same has no length, and is drawn all the same.
        assert!(near(end_of(&drawing, "thick"), figures.p99), "{what}: {figures:?} {drawing}");
        assert!(near(end_of(&drawing, "thin"), figures.p999), "{what}: {figures:?} {drawing}");
    }

    #[test]
    fn every_bar_ends_at_the_figure_that_the_key_names() {
        for (kind, run) in sample::all() {
            for row in strip(&run).groups.iter().flat_map(|group| &group.rows) {
                assert_ends(&row.figures, &format!("{}, {}", kind.name(), row.label));
            }
        }
    }

    /// Nexus 7, deleted: p90 255 ms, n too small for p99. The bar was drawn to 255 ms.
    #[test]
    fn where_n_is_too_small_for_p99_there_is_no_bar() {
        let [p50, p90, max] = [3, 255, 3_300].map(|ms| Some(Nanos::from_millis(ms)));
        assert_ends(&Figures { n: 400, p50, p90, max, ..Figures::default() }, "few values");
    }
}
