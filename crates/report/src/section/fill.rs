//! Percentiles by fill level.

use askama::Template;
use flashlag_schema::Run;
use flashlag_units::Nanos;
use flashlag_views::{FillCurve, FillLevel, fill_curves, fill_table, format};

use super::figures::{Frame, table};
use super::{Flag, Section};
use crate::chart::{FillPlot, LatencyAxis, Stroke};
use crate::markup::Markup;

#[derive(Template)]
#[template(path = "section/fill.html")]
struct Body {
    curves: Vec<Curve>,
}

struct Curve {
    what: String,
    of: String,
    flag: Option<Flag>,
    svg: Markup,
    table: Markup,
    notes: Vec<String>,
}

/// The section; `None` without a fill.
pub(super) fn section(run: &Run) -> Option<Section> {
    let curves = fill_curves(run);
    let heading = curves.first()?.heading.clone();
    let body = Body { curves: curves.iter().map(|curve| view(run, curve)).collect() };
    Some(Section {
        id: "fill",
        name: "Fill level",
        heading,
        side: vec![
            "Latency axis logarithmic, fill level linear. Points are measured levels.".to_owned(),
        ],
        body: Markup::of(&body),
    })
}

fn view(run: &Run, curve: &FillCurve) -> Curve {
    let model = fill_table(run, curve);
    let frame = Frame {
        about: "Figures by fill level",
        caption: "Latency in ms at each level.".to_owned(),
        class: "fold",
        units: false,
    };
    Curve {
        what: curve.what.clone(),
        of: format::size(curve.total_bytes),
        flag: Flag::of(run, &curve.failures),
        svg: draw(curve),
        table: table(Some(run), &model, frame),
        notes: model.notes,
    }
}

fn draw(curve: &FillCurve) -> Markup {
    let (plot, words) = plot(curve, 260);
    plot.draw(&words)
}

/// The plot with its text alternative.
pub(crate) fn plot(curve: &FillCurve, height: u32) -> (FillPlot, String) {
    let levels = &curve.levels;
    let times =
        levels.iter().flat_map(|l| [l.figures.p50, l.figures.p99, l.figures.p999, l.figures.max]);
    let axis = LatencyAxis::covering(times.flatten());
    let (from, to) = match (levels.first(), levels.last()) {
        (Some(first), Some(last)) => (first.full, last.full),
        _ => (0.0, 1.0),
    };
    let mut plot = FillPlot::new(axis, from, to, height);
    let mut words = format!("{} by fill level.", curve.what);
    type Of = fn(&FillLevel) -> Option<Nanos>;
    let lines: [(&str, Stroke, Of); 4] = [
        ("p99.9", Stroke::Dashed, |level| level.figures.p999),
        ("p99", Stroke::Bold, |level| level.figures.p99),
        ("p90", Stroke::Dotted, |level| level.figures.p90),
        ("median", Stroke::Thin, |level| level.figures.p50),
    ];
    for (name, stroke, of) in lines {
        let points: Vec<(f64, Nanos)> =
            levels.iter().filter_map(|level| Some((level.full, of(level)?))).collect();
        if let (Some(&(at, first)), Some(&(end, last))) = (points.first(), points.last()) {
            let (first, last) = (format::time(first), format::time(last));
            words += &format!(
                " {name}: {first} at {}, {last} at {}.",
                format::share(at),
                format::share(end)
            );
            // A line that ends early would have its name at a level without a value.
            if points.len() > 1 && Some(end) == levels.last().map(|level| level.full) {
                plot.add(format!("{name} {last}"), stroke, &points);
            }
        }
    }
    (plot, words)
}
