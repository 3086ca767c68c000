use flashlag_explain::{CompareRow, Comparison, marks};

use crate::section::first::{Group, Picture, axis_for, caveats, picture as table, table_row};

/// A group of rows for each subject, on one axis.
pub(super) fn picture(comparison: &Comparison) -> Picture {
    let rows: Vec<&CompareRow> = comparison.rows.iter().filter(|row| row.in_strip).collect();
    let marks = marks();
    let sides = rows.iter().flat_map(|row| row.sides.iter().flatten());
    let axis = axis_for(sides.map(|side| &side.figures), &marks);
    let groups = comparison.subjects.iter().enumerate().map(|(index, subject)| {
        let sides = rows.iter().filter_map(|row| Some((*row, row.sides.get(index)?.as_ref()?)));
        let rows = sides.map(|(row, side)| {
            table_row(&axis, &row.title, &side.figures, &side.judgement, None, None)
        });
        Group { name: subject.name.clone(), title: subject.about.clone(), rows: rows.collect() }
    });
    let groups: Vec<Group> = groups.filter(|group| !group.rows.is_empty()).collect();
    let judged = rows.iter().flat_map(|row| {
        let sides = comparison.subjects.iter().zip(&row.sides);
        sides.filter_map(|(subject, side)| {
            Some((format!("{}, {}", subject.name, row.title), &side.as_ref()?.judgement))
        })
    });
    table(&axis, groups, &marks, caveats(judged))
}
