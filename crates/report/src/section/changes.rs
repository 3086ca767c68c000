//! What the interval series show: cache exhausted, throttled, periodic stalls, steady state.

use askama::Template;
use flashlag_explain::{changes, changes_heading, format};
use flashlag_schema::{Phase, Run};
use flashlag_units::{Nanos, per_second};

use super::Section;
use crate::chart::RatePlot;
use crate::markup::Markup;

#[derive(Template)]
#[template(path = "section/changes.html")]
struct Body {
    charts: Vec<(String, Markup)>,
    changes: Vec<Row>,
}

struct Row {
    title: String,
    name: &'static str,
    when: String,
    written: String,
    rate: Option<String>,
    period: Option<String>,
    detail: String,
}

/// The section; `None` where no series shows anything.
pub(super) fn section(run: &Run) -> Option<Section> {
    let rows: Vec<Row> = changes(run)
        .into_iter()
        .map(|seen| Row {
            title: seen.title,
            name: seen.name,
            when: format::time(seen.change.t_ns),
            written: format::size(seen.change.written_bytes),
            rate: seen.change.bytes_per_sec.map(|(before, after)| {
                format!("{} to {} MB/s", format::mb_per_s(before), format::mb_per_s(after))
            }),
            period: seen.change.period_ns.map(|period| format!("every {}", format::time(period))),
            detail: seen.change.detail.clone(),
        })
        .collect();
    (!rows.is_empty()).then(|| Section {
        id: "changes",
        name: "Changes",
        heading: changes_heading(run),
        side: vec![
            "Throughput from zero, in MB/s. The numbers in charts are those of this list."
                .to_owned(),
            "Steady: five rounds within 20% of their mean, and a slope within 10% (SNIA)."
                .to_owned(),
        ],
        body: Markup::of(&Body { charts: charts(run), changes: rows }),
    })
}

/// Charts: one for each of the first phases that changed.
const CHARTS: usize = 4;

fn charts(run: &Run) -> Vec<(String, Markup)> {
    let changes = changes(run);
    let mut charts: Vec<(String, Markup)> = Vec::new();
    for (index, phase) in run.phases.iter().enumerate() {
        let numbered = changes.iter().enumerate().filter(|(_, change)| change.phase == index);
        let marks: Vec<(Nanos, usize)> =
            numbered.clone().map(|(number, change)| (change.change.t_ns, number + 1)).collect();
        let steps = steps(phase);
        let Some((_, change)) = numbered.clone().next() else { continue };
        if steps.len() < 2 || charts.len() >= CHARTS {
            continue;
        }
        let rates = || steps.iter().map(|(_, rate)| *rate);
        let (least, most) = (rates().fold(f64::MAX, f64::min), rates().fold(0.0, f64::max));
        let label = format!(
            "{}: throughput over {}, between {} and {} MB/s",
            change.title,
            format::time(phase.elapsed_ns),
            format::mb_per_s(least),
            format::mb_per_s(most)
        );
        let plot = RatePlot { steps: &steps, changes: &marks, height: 160 };
        charts.push((change.title.clone(), plot.draw(&label)));
    }
    charts
}

/// The end of each interval and bytes a second in it.
fn steps(phase: &Phase) -> Vec<(Nanos, f64)> {
    let mut from = Nanos::ZERO;
    let steps = phase.intervals.iter().filter_map(|interval| {
        let rate = per_second(interval.bytes.0, interval.t_ns.since(from))?;
        from = from.max(interval.t_ns);
        Some((interval.t_ns, rate))
    });
    steps.collect()
}
