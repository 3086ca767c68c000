use askama::Template;
use flashlag_schema::Run;
use flashlag_views::{Column, CompareRow, Comparison, Ratio, RatioKind, comparison_table, format};

use crate::Options;
use crate::chart::{RatioAxis, RatioMark, status_icon};
use crate::markup::Markup;
use crate::section::figures::{Frame, table};
use crate::section::{Section, status_name};

#[derive(Template)]
#[template(path = "comparison/ratios.html")]
struct Ratios {
    against: String,
    head: Markup,
    groups: Vec<(String, Vec<RatioRow>)>,
}

struct RatioRow {
    label: String,
    svg: Markup,
    /// Figure, ratio with its interval, whether it differs.
    figures: Vec<(&'static str, String, bool)>,
}

/// The ratios of each side's figures to the first side's, with their intervals.
pub(super) fn ratios(comparison: &Comparison) -> Option<Section> {
    let all = || comparison.rows.iter().flat_map(|row| &row.ratios);
    let drawn = all().filter(|ratio| ratio.kind == RatioKind::P50);
    let ends = drawn.flat_map(|ratio| {
        let (low, high) = ratio.interval.unwrap_or((ratio.ratio, ratio.ratio));
        [ratio.ratio, low, high]
    });
    let axis = RatioAxis::covering(ends);
    let groups: Vec<(String, Vec<RatioRow>)> = comparison
        .rows
        .iter()
        .filter(|row| !row.ratios.is_empty())
        .map(|row| (ratio_title(comparison, row), ratio_rows(comparison, &axis, row)))
        .collect();
    let first = all().next()?;
    let against = name(comparison, first.against).to_owned();
    let axis_note = "A dot with its 95% interval, from resampling, is a median: right of the line \
        it takes longer. Logarithmic; an arrow points to what lies beyond.";
    Some(Section {
        id: "ratios",
        name: "How sure",
        heading: match comparison.subjects.len() {
            2 => format!("{}, as times {against}", name(comparison, first.of)),
            _ => format!("Each, as times {against}"),
        },
        side: vec![
            axis_note.to_owned(),
            "Hollow and grey: no difference is shown, as the interval includes equal or the figures \
             are within 1.6%, which is the resolution of a histogram."
                .to_owned(),
        ],
        body: Markup::of(&Ratios { against, head: axis.head(), groups }),
    })
}

fn name(comparison: &Comparison, index: usize) -> &str {
    comparison.subjects.get(index).map_or("", |subject| subject.name.as_str())
}

/// The row's title, and the side that its ratios are to unless it is the first.
fn ratio_title(comparison: &Comparison, row: &CompareRow) -> String {
    let against = row.ratios.first().map_or(0, |ratio| ratio.against);
    let usual = comparison.rows.iter().flat_map(|row| &row.ratios).next().map(|r| r.against);
    if usual == Some(against) {
        row.title.clone()
    } else {
        format!("{}, as times {}", row.title, name(comparison, against))
    }
}

/// One row for each side with a ratio.
fn ratio_rows(comparison: &Comparison, axis: &RatioAxis, row: &CompareRow) -> Vec<RatioRow> {
    let mut sides: Vec<usize> = row.ratios.iter().map(|ratio| ratio.of).collect();
    sides.dedup();
    let view = |of: usize| {
        let of_side: Vec<&Ratio> = row.ratios.iter().filter(|ratio| ratio.of == of).collect();
        let median = of_side.iter().find(|ratio| ratio.kind == RatioKind::P50);
        let svg = median.map(|ratio| {
            let Ratio { ratio: value, interval, differs, .. } = **ratio;
            let mark = RatioMark { ratio: value, interval, differs };
            axis.row(&mark, &format!("{}, median: {}", row.title, ratio.words))
        });
        let figure = |ratio: &&Ratio| {
            let none = if ratio.interval.is_none() { ratio.doubt() } else { "" };
            (ratio.kind.name(row.operation), format!("{}{none}", ratio.brief), ratio.differs)
        };
        RatioRow {
            label: name(comparison, of).to_owned(),
            svg: svg.unwrap_or_default(),
            figures: of_side.iter().map(figure).collect(),
        }
    };
    sides.into_iter().map(view).collect()
}

/// Columns of the table of every test; the ratios have a section of their own.
const SIDES: [Column; 9] = [
    Column::Speed,
    Column::Rate,
    Column::P50,
    Column::P90,
    Column::P99,
    Column::P999,
    Column::Longest,
    Column::N,
    Column::Verdict,
];

/// Every test of every stage, side by side.
pub(super) fn figures(comparison: &Comparison) -> Option<Section> {
    let model = comparison_table(comparison).select(&SIDES);
    let frame = Frame {
        about: "Every test, side by side",
        caption: "Latency in ms, throughput in MB/s (10⁶ bytes); of saves, saves a second."
            .to_owned(),
        class: "cmp",
        units: false,
    };
    (!model.is_empty()).then(|| Section {
        id: "figures",
        name: "Side by side",
        heading: "Every test, side by side".to_owned(),
        body: table(None, &model, frame),
        side: model.notes,
    })
}

#[derive(Template)]
#[template(path = "comparison/matrix.html")]
struct Matrix {
    caption: &'static str,
    corner: &'static str,
    names: Vec<String>,
    rows: Vec<(String, Vec<MatrixCell>)>,
}

struct MatrixCell {
    of: String,
    status: Option<(Markup, &'static str)>,
    text: String,
}

fn names(comparison: &Comparison) -> Vec<String> {
    comparison.subjects.iter().map(|subject| subject.name.clone()).collect()
}

/// The table of other differences.
pub(super) fn differs(comparison: &Comparison) -> Option<Section> {
    let names = names(comparison);
    let rows: Vec<_> = comparison
        .differs
        .iter()
        .map(|difference| {
            let cells = names.iter().zip(&difference.values).map(|(name, value)| MatrixCell {
                of: name.clone(),
                status: None,
                text: value.clone(),
            });
            (difference.field.clone(), cells.collect())
        })
        .collect();
    let count = rows.len();
    (count > 0).then(|| Section {
        id: "differs",
        name: "What else differs",
        heading: match count {
            1 => "One more thing differs".to_owned(),
            _ => format!("{} more things differ", format::count(count as u64)),
        },
        side: vec!["A difference between the sides may come from any of these.".to_owned()],
        body: Markup::of(&Matrix {
            caption: "What is not the same on every side.",
            corner: "what",
            names,
            rows,
        }),
    })
}

/// The checks that do not pass on every side.
pub(super) fn checks(comparison: &Comparison) -> Option<Section> {
    let names = names(comparison);
    let rows: Vec<_> = comparison
        .checks
        .iter()
        .map(|check| {
            let cells = names.iter().zip(&check.outcomes).map(|(name, outcome)| MatrixCell {
                of: name.clone(),
                status: outcome
                    .as_ref()
                    .map(|(status, _)| (status_icon(*status), status_name(*status))),
                text: outcome.as_ref().map_or_else(|| "not checked".to_owned(), |o| o.1.clone()),
            });
            (check.claim.clone(), cells.collect())
        })
        .collect();
    let heading = match rows.len() {
        0 => "Every check passes on every side".to_owned(),
        1 => "One check does not pass on every side".to_owned(),
        count => format!("{count} checks do not pass on every side"),
    };
    let body = if rows.is_empty() {
        Markup::default()
    } else {
        Markup::of(&Matrix {
            caption: "The worst outcome of each side’s runs, with its evidence.",
            corner: "check",
            names,
            rows,
        })
    };
    let side = vec!["Unknown never counts as a pass.".to_owned()];
    Some(Section { id: "trust", name: "Trust checks", heading, side, body })
}

#[derive(Template)]
#[template(path = "comparison/runs.html")]
struct Runs {
    rows: Vec<(String, Vec<String>)>,
}

/// The compared runs and their commands.
pub(super) fn runs(comparison: &Comparison, runs: &[Run], options: &Options) -> Option<Section> {
    let rows = comparison.subjects.iter().flat_map(|subject| {
        subject.runs.iter().filter_map(|&index| {
            let run = runs.get(index)?;
            let mut facts = vec![format!("flashlag {}", run.flashlag.version)];
            facts.extend(options.run_files.get(index).cloned());
            facts.extend(run.started.clone());
            facts.push(format!("scenario {}, seed {}", run.scenario.name, run.scenario.seed));
            facts.push(format!("scenario hash {}", run.scenario.hash));
            facts.push(run.command.join(" "));
            Some((subject.name.clone(), facts))
        })
    });
    let rows: Vec<_> = rows.collect();
    (!rows.is_empty()).then(|| Section {
        id: "runs",
        name: "Runs",
        heading: "How each side was measured".to_owned(),
        side: Vec::new(),
        body: Markup::of(&Runs { rows }),
    })
}
