use askama::Template;
use flashlag_explain::{CompareRow, Comparison, Ratio, RatioKind, format};
use flashlag_schema::Run;

use crate::Options;
use crate::chart::{RatioAxis, RatioMark, status_icon};
use crate::markup::Markup;
use crate::section::{Cell, Section, status_name};

#[derive(Template)]
#[template(path = "comparison/ratios.html")]
struct Ratios {
    head: Markup,
    groups: Vec<(String, Vec<RatioRow>)>,
}

struct RatioRow {
    label: String,
    svg: Markup,
    words: String,
    differs: bool,
}

fn kind_name(kind: RatioKind) -> &'static str {
    match kind {
        RatioKind::P50 => "median",
        RatioKind::P99 => "p99",
        RatioKind::Throughput => "throughput",
    }
}

/// How sure the differences are.
pub(super) fn ratios(comparison: &Comparison) -> Option<Section> {
    let all = comparison.rows.iter().flat_map(|row| &row.ratios);
    let ends = all.flat_map(|ratio| {
        let (low, high) = ratio.interval.unwrap_or((ratio.ratio, ratio.ratio));
        [ratio.ratio, low, high]
    });
    let axis = RatioAxis::covering(ends);
    let groups: Vec<(String, Vec<RatioRow>)> = comparison
        .rows
        .iter()
        .filter(|row| !row.ratios.is_empty())
        .map(|row| (row.title.clone(), ratio_rows(comparison, &axis, row)))
        .collect();
    let shown = comparison.rows.iter().flat_map(|row| &row.ratios);
    let (differ, count) = (shown.clone().filter(|ratio| ratio.differs).count(), shown.count());
    (!groups.is_empty()).then(|| Section {
        id: "ratios",
        name: "How sure",
        heading: format!("{differ} of {count} figures differ by more than chance"),
        side: vec![
            "A ratio with its 95% interval, from resampling. Logarithmic; the line is equal."
                .to_owned(),
            "Hollow and dashed: the interval includes equal, so no difference is shown.".to_owned(),
        ],
        body: Markup::of(&Ratios { head: axis.head(), groups }),
    })
}

fn ratio_rows(comparison: &Comparison, axis: &RatioAxis, row: &CompareRow) -> Vec<RatioRow> {
    let name =
        |index: usize| comparison.subjects.get(index).map_or("", |subject| subject.name.as_str());
    let several = comparison.subjects.len() > 2;
    let view = |ratio: &Ratio| {
        let kind = kind_name(ratio.kind);
        let pair = format!("{kind}, {} to {}", name(ratio.of), name(ratio.against));
        let mark =
            RatioMark { ratio: ratio.ratio, interval: ratio.interval, differs: ratio.differs };
        RatioRow {
            svg: axis.row(&mark, &format!("{}, {pair}: {}", row.title, ratio.words)),
            label: if several { pair } else { kind.to_owned() },
            words: ratio.words.clone(),
            differs: ratio.differs,
        }
    };
    row.ratios.iter().map(view).collect()
}

#[derive(Template)]
#[template(path = "comparison/figures.html")]
struct Figures {
    groups: Vec<(String, Vec<FigureRow>)>,
}

struct FigureRow {
    name: String,
    doubt: bool,
    n: String,
    mb: String,
    ops: String,
    cells: Vec<Cell>,
    word: &'static str,
    verdict: &'static str,
}

/// Every test of every stage, side by side.
pub(super) fn figures(comparison: &Comparison) -> Option<Section> {
    let groups = comparison.rows.iter().map(|row| {
        let sides = comparison.subjects.iter().zip(&row.sides);
        let rows = sides.filter_map(|(subject, side)| {
            let side = side.as_ref()?;
            Some(FigureRow {
                name: subject.name.clone(),
                doubt: !side.judgement.failures().is_empty(),
                n: format::count(side.figures.n),
                mb: format::mb_per_s(side.bytes_per_sec),
                ops: format::per_second(side.ops_per_sec),
                cells: crate::section::percentile_cells(&side.figures),
                word: side.judgement.word(),
                verdict: crate::section::first::verdict_class(&side.judgement),
            })
        });
        (row.title.clone(), rows.collect::<Vec<_>>())
    });
    let groups: Vec<_> = groups.filter(|(_, rows)| !rows.is_empty()).collect();
    (!groups.is_empty()).then(|| Section {
        id: "figures",
        name: "Side by side",
        heading: "Every test, side by side".to_owned(),
        side: vec!["Repeats of one side are put together.".to_owned()],
        body: Markup::of(&Figures { groups }),
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

/// What else differs.
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

/// The checks that do not all pass.
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
    let body = match rows.is_empty() {
        true => Markup::default(),
        false => Markup::of(&Matrix {
            caption: "The worst outcome of each side’s runs, with its evidence.",
            corner: "check",
            names,
            rows,
        }),
    };
    let side = vec!["Unknown never counts as a pass.".to_owned()];
    Some(Section { id: "trust", name: "Trust checks", heading, side, body })
}

#[derive(Template)]
#[template(path = "comparison/runs.html")]
struct Runs {
    rows: Vec<(String, Vec<String>)>,
}

/// Which runs were compared, and how each was made.
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
