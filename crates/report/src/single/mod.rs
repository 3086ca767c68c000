//! One chart of a run as a separate file: an SVG that contains its size, its fonts and its colours,
//! for other people's documents and pages.

mod depth;
mod frame;
mod strip;

use flashlag_schema::Run;
use flashlag_units::did_you_mean;
use flashlag_views::page::{
    distributions, numbered_in_words, phase_series, rate_series, series_rule,
};
use flashlag_views::{fill_curves, phase_title};

use crate::chart::Svg;
use crate::draw::{distribution_plot, fill_plot, rate_plot, series_plot};
use frame::Frame;
pub use frame::Theme;

/// A chart that a run has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chart {
    /// The name by which it is requested: `throughput-4k-rand-write`.
    pub name: String,
    /// Its title: `Throughput over time: 4K rand write`.
    pub title: String,
}

/// The name of the first screen's chart.
pub(crate) const STRIP: &str = "strip";

/// The data that a chart is drawn from.
enum Source {
    Strip,
    /// Which distribution plot.
    Latency(usize),
    /// Which fill.
    Fill(usize),
    /// Which phase.
    Throughput(usize),
    Stalls(usize),
    /// Which group of phases.
    Depth(usize),
}

/// Every chart of a run, those of the first screen first.
pub fn charts(run: &Run) -> Vec<Chart> {
    sources(run).into_iter().map(|(chart, _)| chart).collect()
}

/// The run has no chart of that name; `meant` is the one most like it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this run has no chart `{name}`{meant} (`--chart list` prints all of them)")]
pub struct NoChart {
    name: String,
    meant: String,
}

/// One chart of a run by its name.
///
/// # Errors
/// The run has no chart of that name.
pub fn chart_svg(run: &Run, name: &str, theme: Theme) -> Result<String, NoChart> {
    let sources = sources(run);
    let found = sources.iter().find(|(chart, _)| chart.name == name);
    let drawn = found.and_then(|(chart, source)| frame_of(run, chart, source));
    drawn.map(|frame| frame.svg(run, theme)).ok_or_else(|| {
        let names = sources.iter().map(|(chart, _)| chart.name.as_str());
        NoChart { name: name.to_owned(), meant: did_you_mean(name, names) }
    })
}

fn sources(run: &Run) -> Vec<(Chart, Source)> {
    let mut all = Vec::new();
    let mut add = |name: String, title: String, source: Source| {
        let taken = |name: &str| all.iter().any(|(chart, _): &(Chart, _)| chart.name == name);
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        let free = std::iter::once(name.clone()).chain(numbered).find(|name| !taken(name));
        all.push((Chart { name: free.unwrap_or(name), title }, source));
    };
    if !flashlag_views::strip(run).groups.is_empty() {
        add(STRIP.to_owned(), "Latency, with a verdict for each row".to_owned(), Source::Strip);
    }
    for (index, curve) in fill_curves(run).iter().enumerate() {
        let title = format!("Latency by fill level: {}", curve.what);
        add("fill".to_owned(), title, Source::Fill(index));
    }
    for (index, panel) in distributions(run).panels.iter().enumerate() {
        let name = format!("latency-{}", slug(&panel.title));
        add(name, format!("Latency distribution: {}", panel.title), Source::Latency(index));
    }
    for (index, sweep) in depth::sweeps(run).iter().enumerate() {
        let name = format!("depth-{}", slug(&sweep.title));
        add(name, format!("By queue depth: {}", sweep.title), Source::Depth(index));
    }
    for (index, phase) in run.phases.iter().enumerate() {
        let title = phase_title(run, phase);
        if rate_series(run, index).is_some() {
            let name = format!("throughput-{}", slug(&title));
            add(name, format!("Throughput over time: {title}"), Source::Throughput(index));
        }
    }
    for (index, phase) in run.phases.iter().enumerate() {
        let title = phase_title(run, phase);
        if !phase.intervals.is_empty() || !phase.stalls.is_empty() {
            let name = format!("stalls-{}", slug(&title));
            add(name, format!("Waits over time: {title}"), Source::Stalls(index));
        }
    }
    all
}

/// `4k-rand-write-filled-run-3`: letters and digits; everything between them becomes one hyphen.
fn slug(title: &str) -> String {
    let words = title.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let name = words.collect::<Vec<_>>().join("-").to_lowercase();
    if name.is_empty() { "unnamed".to_owned() } else { name }
}

fn frame_of(run: &Run, chart: &Chart, source: &Source) -> Option<Frame> {
    const HEIGHT: u32 = 340;
    let frame = |plot: Svg, words: String, left: f64, right: f64, notes: &[&str]| Frame {
        title: chart.title.clone(),
        notes: notes.iter().map(|note| (*note).to_owned()).collect(),
        words,
        plot,
        margins: (left, right),
        size: (frame::WIDTH, f64::from(HEIGHT)),
    };
    Some(match source {
        Source::Strip => strip::frame(run, &chart.title),
        Source::Latency(index) => {
            let drawn = distributions(run);
            let panel = drawn.panels.get(*index)?;
            let plot = distribution_plot(&drawn, panel, HEIGHT).drawing();
            let across = "Across: the slowest 1 in 10, 1 in 100, and so on. Upwards: how long they \
                          take, at least. Line: one 60 Hz frame.";
            frame(plot, panel.words.clone(), 60.0, 150.0, &[across])
        }
        Source::Fill(index) => {
            let curves = fill_curves(run);
            let curve = curves.get(*index)?;
            let (plot, words) = fill_plot(curve, HEIGHT);
            let of = format!(
                "Across: share of {} in use. Line: one 60 Hz frame.",
                flashlag_views::format::size(curve.total_bytes)
            );
            frame(plot.drawing(), words, 60.0, 130.0, &[&of])
        }
        Source::Throughput(index) => {
            let series = rate_series(run, *index)?;
            let mut notes = vec!["MB/s (10⁶ bytes a second), from zero.".to_owned()];
            notes.extend(numbered_in_words(run, *index));
            Frame { notes, ..frame(rate_plot(&series), series.words, 60.0, 30.0, &[]) }
        }
        Source::Stalls(index) => {
            let series = phase_series(run, *index)?;
            let rule = series_rule([&series]);
            let mut notes = vec![format!("{rule} Shapes: long waits, by what they waited for.")];
            notes.extend(numbered_in_words(run, *index));
            Frame { notes, ..frame(series_plot(&series), series.words, 60.0, 30.0, &[]) }
        }
        Source::Depth(index) => {
            let sweeps = depth::sweeps(run);
            let sweep = sweeps.get(*index)?;
            let how = "Operations a second from zero, and the latency of the slowest 1 in 100.";
            frame(sweep.drawing(), sweep.in_words(), 30.0, 30.0, &[how])
        }
    })
}

#[cfg(test)]
mod tests {
    use super::slug;

    #[test]
    fn names_of_charts_need_no_quotes_in_a_shell() {
        assert_eq!(slug("4K rand write, filled run 3"), "4k-rand-write-filled-run-3");
        assert_eq!(
            slug("SQLite save, WAL, beside another writer"),
            "sqlite-save-wal-beside-another-writer"
        );
        assert_eq!(slug("$(rm -rf /) `x` <b>"), "rm-rf-x-b");
        assert_eq!(slug("…"), "unnamed");
    }
}
