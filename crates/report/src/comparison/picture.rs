use flashlag_views::{CompareRow, Comparison, format};

use crate::section::figures::verdict_class;
use crate::section::first::{Group, Picture, Row, axis_for, overloaded_row, picture, table_row};

/// The picture: a group of rows for each test, with a row for each subject, on one axis.
pub(super) fn picture_of(comparison: &Comparison) -> Picture {
    let rows: Vec<&CompareRow> = comparison.rows.iter().filter(|row| row.in_strip).collect();
    let sides = rows.iter().flat_map(|row| row.sides.iter().flatten());
    let kept = sides.filter(|side| side.overload.is_none());
    let axis = axis_for(kept.map(|side| &side.figures), &[]);
    let groups = rows.iter().map(|row| {
        let sides = comparison.subjects.iter().zip(&row.sides);
        let rows = sides.filter_map(|(subject, side)| {
            let side = side.as_ref()?;
            Some(match &side.overload {
                Some(overload) => Row {
                    word: side.judgement.word(),
                    verdict: verdict_class(&side.judgement),
                    ..overloaded_row(&subject.name, overload.beside_the_verdict())
                },
                None => table_row(&axis, &subject.name, &side.figures, &side.judgement, None, None),
            })
        });
        Group { name: row.title.clone(), title: String::new(), rows: rows.collect() }
    });
    let groups: Vec<Group> = groups.filter(|group| !group.rows.is_empty()).collect();
    let judgements = rows.iter().flat_map(|row| row.sides.iter().flatten());
    let few = judgements.filter(|side| side.judgement.is_of_few()).count();
    let said = match few {
        0 => Vec::new(),
        few => vec![format!(
            "{}: n is too small for a percentile of the rule; judged by the values there are.",
            format::plural(few, "row", "rows")
        )],
    };
    picture(&axis, groups, &[], said)
}
