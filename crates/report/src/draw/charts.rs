//! Blocks that are charts: throughput and stalls over time, distributions, levels of a fill.

use askama::Template;
use flashlag_schema::StallCause;
use flashlag_units::Nanos;
use flashlag_views::page::{
    Distributions, Flag, NamedCause, Panel, PhaseSeries, RateSeries, Waited,
};
use flashlag_views::{FillCurve, FillLevel, cause_name, format};

use super::flagged;
use crate::chart::{
    DistributionPlot, FillPlot, Kind, LatencyAxis, Layers, RatePlot, SeriesMark, SeriesPlot,
    Stroke, Svg, cause_mark, swatch,
};
use crate::markup::Markup;

/// Charts side by side, each with its title.
#[derive(Template)]
#[template(path = "block/panels.html")]
struct Panels<'a> {
    class: &'static str,
    /// Title, chart, names of what is not drawn.
    panels: Vec<(&'a str, Markup, String)>,
}

/// The height of a chart over time.
const HEIGHT: u32 = 150;

pub(super) fn rates(series: &[RateSeries]) -> Markup {
    let panel = |one: &'_ RateSeries| rate_plot(one).named(HEIGHT, &one.words);
    let panels = series.iter().map(|one| (one.title.as_str(), panel(one), String::new())).collect();
    Markup::of(&Panels { class: "upright bare marked", panels })
}

pub(crate) fn rate_plot(series: &RateSeries) -> Svg {
    RatePlot { steps: &series.steps, unit: series.unit.one(), changes: &series.changes }.drawing()
}

pub(super) fn distributions(drawn: &Distributions) -> Markup {
    let panel = |panel: &'_ Panel| distribution_plot(drawn, panel, 200).draw(&panel.words);
    let left_out = |panel: &Panel| match panel.left_out.as_slice() {
        [] => String::new(),
        names => format!("Not drawn: {}.", format::list(names)),
    };
    let panels = drawn.panels.iter();
    let panels = panels.map(|one| (one.title.as_str(), panel(one), left_out(one))).collect();
    Markup::of(&Panels { class: "upright", panels })
}

pub(crate) fn distribution_plot(
    drawn: &Distributions,
    panel: &Panel,
    height: u32,
) -> DistributionPlot {
    let axis = LatencyAxis::covering(drawn.ends.iter().copied());
    let mut plot = DistributionPlot::new(axis, panel.most, height);
    for curve in &panel.curves {
        plot.add(curve.name.clone(), SeriesMark::nth(curve.mark), &curve.histogram);
    }
    plot
}

#[derive(Template)]
#[template(path = "block/stalls.html")]
struct Stalls<'a> {
    charts: Vec<Chart<'a>>,
    key: Vec<(Markup, String)>,
}

struct Chart<'a> {
    title: &'a str,
    flag: Markup,
    svg: Markup,
    longest: &'a [String],
    /// What its operations waited for over time, with a key.
    layers: Option<(Markup, Vec<(Markup, String)>)>,
}

pub(super) fn stalls(series: &[PhaseSeries], causes: &[NamedCause]) -> Markup {
    let charts = series.iter().map(|one| Chart {
        title: &one.title,
        flag: flagged(one.flag.as_ref()),
        svg: series_plot(one).named(HEIGHT, &one.words),
        longest: &one.longest,
        layers: layers(&one.waited),
    });
    let kinds = Kind::ALL.into_iter();
    let kinds = kinds.filter(|kind| causes.iter().any(|(cause, _)| Kind::of(*cause) == *kind));
    let key = kinds.map(|kind| (cause_mark(kind), kind_in_words(kind, causes)));
    Markup::of(&Stalls { charts: charts.collect(), key: key.collect() })
}

pub(crate) fn series_plot(series: &PhaseSeries) -> Svg {
    let PhaseSeries { medians, points, stalls, changes, .. } = series;
    let usual = medians.iter().map(|stretch| stretch.median);
    let longest = points.iter().filter_map(|point| point.longest);
    let all = usual.chain(longest).chain(stalls.iter().map(|stall| stall.length));
    SeriesPlot { axis: LatencyAxis::covering(all), medians, points, stalls, changes }.drawing()
}

/// The layers of a phase with their key, from the top.
fn layers(waited: &Waited) -> Option<(Markup, Vec<(Markup, String)>)> {
    let layers = Layers::of(&waited.parts)?;
    let named = layers.key().into_iter().map(|(kind, share)| {
        (kind, format!("{} {}", kind_in_words(kind, &waited.causes), format::share(share)))
    });
    let named: Vec<(Kind, String)> = named.collect();
    let words: Vec<&str> = named.iter().map(|(_, words)| words.as_str()).collect();
    let label = format!("{}: {}", waited.words, words.join(", "));
    let drawing = layers.drawing().named(56, &label);
    Some((drawing, named.into_iter().map(|(kind, words)| (swatch(kind), words)).collect()))
}

/// The causes of a kind, as far as they occur.
fn kind_in_words(kind: Kind, causes: &[NamedCause]) -> String {
    match kind {
        Kind::Storage => return "blocked on storage".to_owned(),
        Kind::Cpu => return "waiting for a CPU".to_owned(),
        Kind::Unknown if causes.iter().any(|(cause, _)| *cause == StallCause::Stopped) => {
            return "the program itself was stopped, several things, or unknown".to_owned();
        }
        Kind::Unknown => return "several things, or unknown".to_owned(),
        Kind::Executing
        | Kind::Filesystem
        | Kind::OtherIo
        | Kind::WakeUp
        | Kind::WriteCache
        | Kind::Flash => {}
    }
    let mut names: Vec<String> = Vec::new();
    for (_, name) in causes.iter().filter(|(cause, _)| Kind::of(*cause) == kind) {
        let name = if *name == cause_name(StallCause::Executing) {
            "executing".to_owned()
        } else {
            (*name).to_owned()
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    format::list(&names)
}

#[derive(Template)]
#[template(path = "block/fill.html")]
struct Fill<'a> {
    what: &'a str,
    of: String,
    flag: Markup,
    svg: Markup,
}

pub(super) fn fill(curve: &FillCurve, flag: Option<&Flag>) -> Markup {
    let (plot, words) = fill_plot(curve, 260);
    Markup::of(&Fill {
        what: &curve.what,
        of: format::size(curve.total_bytes),
        flag: flagged(flag),
        svg: plot.draw(&words),
    })
}

/// The plot with its text alternative.
pub(crate) fn fill_plot(curve: &FillCurve, height: u32) -> (FillPlot, String) {
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
        let all: Vec<(f64, Option<Nanos>)> =
            levels.iter().map(|level| (level.full, of(level))).collect();
        let points: Vec<(f64, Nanos)> =
            all.iter().filter_map(|&(full, value)| Some((full, value?))).collect();
        if let (Some(&(at, first)), Some(&(end, last))) = (points.first(), points.last()) {
            let (first, last) = (format::time(first), format::time(last));
            words += &format!(
                " {name}: {first} at {}, {last} at {}.",
                format::share(at),
                format::share(end)
            );
            // A line that ends early would have its name at a level without a value.
            if points.len() > 1 && Some(end) == levels.last().map(|level| level.full) {
                plot.add(format!("{name} {last}"), stroke, &all);
            }
        }
    }
    (plot, words)
}
