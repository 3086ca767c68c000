//! The page of a comparison: the picture by test, the ratios with their intervals, all figures, and what
//! else differs.

use flashlag_schema::Run;
use flashlag_units::InOrder;

use super::model::{
    Block, FiguresTable, Lede, Matrix, MatrixCell, Page, Picture, PictureGroup, PictureRow,
    RatioRow, Ratios, Section, TableKind,
};
use crate::compare::{CompareRow, Comparison, Ratio, RatioKind};
use crate::format;
use crate::table::{Column, Table, comparison_table};

/// The page of a comparison; `runs` are those that it was made of, in the same order, and `run_files` the
/// names of their files.
pub fn comparison_page(comparison: &Comparison, runs: &[Run], run_files: &[String]) -> Page {
    let (sentence, ledes) = first_words(comparison);
    let sections = [
        ratios(comparison),
        Some(figures(comparison)).filter(|_| !comparison.rows.is_empty()),
        differs(comparison),
        Some(checks(comparison)),
        how_measured(comparison, runs, run_files),
    ];
    Page {
        title: format!("{}: how their storage lags", names(comparison).join(", ")),
        meta: meta(comparison, runs),
        sentence,
        ledes,
        picture: picture(comparison),
        sections: sections.into_iter().flatten().collect(),
        footer: String::new(),
    }
}

fn names(comparison: &Comparison) -> Vec<String> {
    comparison.subjects.iter().map(|subject| subject.name.clone()).collect()
}

fn name(comparison: &Comparison, index: usize) -> &str {
    comparison.subjects.get(index).map_or("", |subject| subject.name.as_str())
}

/// The leading sentences: which side is faster, the verdict of each, the largest difference, sizes,
/// trust and warnings.
fn first_words(comparison: &Comparison) -> (String, Vec<Lede>) {
    let (sentence, verdict) = if comparison.faster.is_empty() {
        (comparison.sentence.clone(), None)
    } else {
        (comparison.faster.clone(), Some(&comparison.sentence))
    };
    let plain = verdict.into_iter().chain([&comparison.largest]).filter(|text| !text.is_empty());
    let mut ledes: Vec<Lede> = plain.map(|text| Lede::plain(text)).collect();
    if !comparison.more.is_empty() {
        ledes.push(Lede { lead: Some("How big?"), ..Lede::plain(&comparison.more) });
    }
    ledes.push(Lede { lead: Some("Can you believe it?"), ..Lede::plain(&comparison.believe) });
    ledes.extend(comparison.warnings.iter().map(|warning| Lede::plain(warning)));
    (sentence, ledes)
}

/// The number of runs, and their dates.
fn meta(comparison: &Comparison, runs: &[Run]) -> Vec<String> {
    let count: usize = comparison.subjects.iter().map(|subject| subject.runs.len()).sum();
    let sides = comparison.subjects.len();
    let mut meta = vec!["Comparison".to_owned(), format!("{sides} sides, {count} runs")];
    let mut scenarios: Vec<&str> = runs.iter().map(|run| run.scenario.name.as_str()).collect();
    scenarios.dedup();
    meta.extend((!scenarios.is_empty()).then(|| scenarios.join(", ")));
    let mut days: Vec<&str> =
        runs.iter().filter_map(|run| run.started.as_deref()?.split('T').next()).collect();
    days.order();
    days.dedup();
    match days.as_slice() {
        [] => {}
        [day] => meta.push((*day).to_owned()),
        [first, .., last] => meta.push(format!("{first} to {last}")),
    }
    meta
}

/// The picture: a group of rows for each test, with a row for each subject.
fn picture(comparison: &Comparison) -> Picture {
    let rows: Vec<&CompareRow> = comparison.rows.iter().filter(|row| row.in_strip).collect();
    let groups = rows.iter().map(|row| {
        let sides = comparison.subjects.iter().zip(&row.sides);
        let rows = sides.filter_map(|(subject, side)| {
            let side = side.as_ref()?;
            Some(PictureRow {
                label: subject.name.clone(),
                flag: None,
                note: None,
                figures: side.figures.clone(),
                judgement: side.judgement.clone(),
                overload: side.overload.as_ref().map(|overload| overload.beside_the_verdict()),
            })
        });
        PictureGroup { name: row.title.clone(), title: String::new(), rows: rows.collect() }
    });
    let groups: Vec<PictureGroup> = groups.filter(|group| !group.rows.is_empty()).collect();
    let judged = rows.iter().flat_map(|row| row.sides.iter().flatten());
    let caveats = match judged.filter(|side| side.judgement.is_of_few()).count() {
        0 => Vec::new(),
        few => vec![format!(
            "{}: n is too small for a percentile of the rule; judged by the values there are.",
            format::plural(few, "row", "rows")
        )],
    };
    // The figures of every test follow in a table of their own.
    Picture { groups, marks: Vec::new(), caveats, table: Table::default() }
}

/// The ratios of each side's figures to the first side's, with their intervals.
fn ratios(comparison: &Comparison) -> Option<Section> {
    let rows = || comparison.rows.iter().filter(|row| !row.ratios.is_empty());
    let first = rows().flat_map(|row| &row.ratios).next()?;
    let against = name(comparison, first.against).to_owned();
    let group = |row: &CompareRow| {
        (ratio_title(comparison, row, first.against), ratio_rows(comparison, row))
    };
    let groups = rows().map(group).collect();
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
        blocks: vec![Block::Ratios(Ratios { against, groups })],
    })
}

/// The row's title, and the side that its ratios refer to unless it is the usual one.
fn ratio_title(comparison: &Comparison, row: &CompareRow, usual: usize) -> String {
    let against = row.ratios.first().map_or(0, |ratio| ratio.against);
    if usual == against {
        row.title.clone()
    } else {
        format!("{}, as times {}", row.title, name(comparison, against))
    }
}

/// One row for each side with a ratio.
fn ratio_rows(comparison: &Comparison, row: &CompareRow) -> Vec<RatioRow> {
    let mut sides: Vec<usize> = row.ratios.iter().map(|ratio| ratio.of).collect();
    sides.dedup();
    let view = |of: usize| {
        let of_side: Vec<&Ratio> = row.ratios.iter().filter(|ratio| ratio.of == of).collect();
        let median = of_side.iter().find(|ratio| ratio.kind == RatioKind::P50);
        let figure = |ratio: &&Ratio| {
            let none = if ratio.interval.is_none() { ratio.doubt() } else { "" };
            (ratio.kind.name(row.operation), format!("{}{none}", ratio.brief), ratio.differs)
        };
        RatioRow {
            label: name(comparison, of).to_owned(),
            words: format!("{}, median", row.title),
            median: median.map(|ratio| (*ratio).clone()),
            figures: of_side.iter().map(figure).collect(),
        }
    };
    sides.into_iter().map(view).collect()
}

/// Every figure of a side, and its ratios to another one.
const SIDES: [Column; 14] = [
    Column::Speed,
    Column::Rate,
    Column::P50,
    Column::P90,
    Column::P99,
    Column::P999,
    Column::Longest,
    Column::Late,
    Column::N,
    Column::Verdict,
    Column::Against,
    Column::Ratio(RatioKind::P50),
    Column::Ratio(RatioKind::P99),
    Column::Ratio(RatioKind::Throughput),
];

/// Every test of every stage, side by side.
fn figures(comparison: &Comparison) -> Section {
    let mut table = comparison_table(comparison).select(&SIDES);
    let side = std::mem::take(&mut table.notes);
    let caption = "Latency in ms, throughput in MB/s (10⁶ bytes); of saves, saves a second.";
    let missing = missing(comparison);
    let note =
        (!missing.is_empty()).then_some(Block::Note(Some("Not measured."), missing.join(" ")));
    let kind = TableKind::Sides;
    let table = Block::Table(FiguresTable { table, kind, caption: caption.to_owned() });
    Section {
        id: "figures",
        name: "Side by side",
        heading: "Every test, side by side".to_owned(),
        side,
        blocks: [table].into_iter().chain(note).collect(),
    }
}

/// Maximum number of a side's tests that are named; of more, only the number is printed.
const NAMED: usize = 6;

/// The tests that each side lacks: `Board S: 4K rand read and 4K rand write.`
fn missing(comparison: &Comparison) -> Vec<String> {
    let all = comparison.rows.len();
    let of = |(index, name): (usize, String)| {
        let lacks = |row: &&CompareRow| row.sides.get(index).is_some_and(Option::is_none);
        let tests = comparison.rows.iter().filter(lacks).map(|row| row.title.clone());
        let tests: Vec<String> = tests.collect();
        match tests.len() {
            0 => None,
            many if many > NAMED => Some(format!("{name}: {many} of {all} tests.")),
            _ => Some(format!("{name}: {}.", format::list(&tests))),
        }
    };
    names(comparison).into_iter().enumerate().filter_map(of).collect()
}

/// The table of other differences.
fn differs(comparison: &Comparison) -> Option<Section> {
    let rows = comparison.differs.iter().map(|difference| {
        let cell = |text: &String| MatrixCell { status: None, text: text.clone() };
        (difference.field.clone(), difference.values.iter().map(cell).collect())
    });
    let rows: Vec<(String, Vec<MatrixCell>)> = rows.collect();
    let caption = "What is not the same on every side.";
    let heading = match rows.len() {
        0 => return None,
        1 => "One more thing differs".to_owned(),
        count => format!("{} more things differ", format::count(count as u64)),
    };
    Some(Section {
        id: "differs",
        name: "What else differs",
        heading,
        side: vec!["A difference between the sides may come from any of these.".to_owned()],
        blocks: vec![matrix(comparison, "what", caption, rows)],
    })
}

fn matrix(
    comparison: &Comparison,
    corner: &'static str,
    caption: &'static str,
    rows: Vec<(String, Vec<MatrixCell>)>,
) -> Block {
    Block::Matrix(Matrix { caption, corner, names: names(comparison), rows })
}

/// The checks that do not pass on every side.
fn checks(comparison: &Comparison) -> Section {
    let rows = comparison.checks.iter().map(|check| {
        let cells = check.outcomes.iter().map(|outcome| match outcome {
            Some((status, text)) => MatrixCell { status: Some(*status), text: text.clone() },
            None => MatrixCell { status: None, text: "not checked".to_owned() },
        });
        (check.claim.clone(), cells.collect())
    });
    let rows: Vec<(String, Vec<MatrixCell>)> = rows.collect();
    let caption = "The worst outcome of each side’s runs, with its evidence.";
    let (heading, blocks) = match rows.len() {
        0 => ("Every check passes on every side".to_owned(), Vec::new()),
        count => {
            let heading = match count {
                1 => "One check fails or is unknown on at least one side".to_owned(),
                count => format!("{count} checks fail or are unknown on at least one side"),
            };
            (heading, vec![matrix(comparison, "check", caption, rows)])
        }
    };
    let side = vec!["Unknown never counts as a pass.".to_owned()];
    Section { id: "trust", name: "Trust checks", heading, side, blocks }
}

/// The compared runs and their commands.
fn how_measured(comparison: &Comparison, runs: &[Run], run_files: &[String]) -> Option<Section> {
    let rows = comparison.subjects.iter().flat_map(|subject| {
        subject.runs.iter().filter_map(|&index| {
            let run = runs.get(index)?;
            let mut facts = vec![format!("flashlag {}", run.flashlag.version)];
            facts.extend(run_files.get(index).cloned());
            facts.extend(run.started.clone());
            facts.push(format!("scenario {}, seed {}", run.scenario.name, run.scenario.seed));
            facts.push(format!("scenario hash {}", run.scenario.hash));
            facts.push(run.command.join(" "));
            Some((subject.name.clone(), facts))
        })
    });
    let rows: Vec<(String, Vec<String>)> = rows.collect();
    (!rows.is_empty()).then(|| Section {
        id: "runs",
        name: "Runs",
        heading: "How each side was measured".to_owned(),
        side: Vec::new(),
        blocks: vec![Block::Named(rows)],
    })
}
