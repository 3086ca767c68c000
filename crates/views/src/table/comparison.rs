//! Every figure of a comparison, test by test.

use super::build::RowFigures;
use super::model::{Table, TableGroup, TableRow};
use super::{Cell, Column, Missing};
use crate::compare::{CompareRow, CompareSide, Comparison, RatioKind};
use crate::repeats::Spread;

/// Every figure that a view shows of a side; [`Table::select`] picks some of them.
const COLUMNS: [Column; 16] = [
    Column::Runs,
    Column::N,
    Column::P50,
    Column::P90,
    Column::P99,
    Column::P999,
    Column::Longest,
    Column::Late,
    Column::Rate,
    Column::Speed,
    Column::RateSpread,
    Column::Verdict,
    Column::Against,
    Column::Ratio(RatioKind::P50),
    Column::Ratio(RatioKind::P99),
    Column::Ratio(RatioKind::Throughput),
];

/// Every test of a comparison: one group for each [`Comparison::rows`], in the same order, with a
/// row for each side that measured the test. The verdict is empty for operations that no frame
/// waits for; a ratio is empty for the side that the others are compared with.
pub fn comparison_table(comparison: &Comparison) -> Table {
    let columns = COLUMNS.to_vec();
    let group = |row: &CompareRow| {
        let sides = row.sides.iter().enumerate();
        let rows = sides.filter_map(|(index, side)| {
            Some(side_row(comparison, &columns, row, index, side.as_ref()?))
        });
        TableGroup { title: row.title.clone(), rows: rows.collect() }
    };
    let groups = comparison.rows.iter().map(group).collect();
    let repeated = comparison.subjects.iter().any(|subject| subject.runs.len() > 1);
    let note = "A side of several runs: all waits together, the mean of the rates, and after ± \
                the standard deviation between the runs.";
    let notes = repeated.then(|| note.to_owned()).into_iter().collect();
    Table { title: "side", columns, groups, notes }
}

fn side_row(
    comparison: &Comparison,
    columns: &[Column],
    row: &CompareRow,
    index: usize,
    side: &CompareSide,
) -> TableRow {
    let name = |index: usize| {
        comparison.subjects.get(index).map(|subject| subject.name.clone()).unwrap_or_default()
    };
    let measured = RowFigures {
        figures: &side.figures,
        bytes_per_sec: Some(side.bytes_per_sec),
        ops_per_sec: Some(side.ops_per_sec),
        lag: None,
    };
    let spread = |mean: f64| Spread { mean, deviation: side.rate_spread.map(|share| share * mean) };
    let empty = || Cell::Text(String::new());
    let ratios = || row.ratios.iter().filter(|ratio| ratio.of == index);
    let cell = |column: &Column| match column {
        // Rows of a database are no amount of data.
        Column::Speed if !row.operation.moves_bytes() => Cell::Missing(Missing::NotApplicable),
        Column::Speed => Cell::MeanSpeed(spread(side.bytes_per_sec)),
        Column::Rate => Cell::MeanRate(spread(side.ops_per_sec)),
        Column::RateSpread => match side.rate_spread {
            Some(share) => Cell::Percentage(share),
            None => Cell::Missing(Missing::NotApplicable),
        },
        Column::Runs => Cell::Count(side.runs as u64),
        Column::Verdict if row.is_judged(side) => Cell::Verdict(side.judgement.clone()),
        Column::Verdict => empty(),
        Column::Against => {
            Cell::Text(ratios().next().map(|ratio| name(ratio.against)).unwrap_or_default())
        }
        Column::Ratio(kind) => match ratios().find(|ratio| ratio.kind == *kind) {
            Some(ratio) => Cell::Ratio(Box::new(ratio.clone())),
            None => empty(),
        },
        other => measured.cell(*other),
    };
    TableRow {
        label: name(index),
        phase: None,
        is_part: false,
        failures: side.judgement.failures().to_vec(),
        remark: side.overload.map(|overload| overload.beside_the_verdict()),
        cells: columns.iter().map(cell).collect(),
    }
}
