//! The picture of the first screen: a row per stage on one latency axis, then saves, then published
//! devices, each row with a one-word verdict.

use askama::Template;
use flashlag_schema::Run;
use flashlag_units::Nanos;
use flashlag_views::{
    Cell as Value, Column, Figures, Judgement, LagVerdict, Mark, Missing, RULES, StripRow,
    figure_cell, format, overload, strip,
};

use super::Flag;
use super::figures::{Cell, DENSE, verdict_class};
use crate::chart::{
    LatencyAxis, ROOM_FOR_A_NAME, StripMarks, mark_row, strip_axis, strip_head, strip_key,
    strip_row, strip_style,
};
use crate::markup::Markup;

/// The picture with its key and footnotes.
pub(crate) struct Picture {
    pub(crate) style: Markup,
    pub(crate) body: Markup,
}

#[derive(Template)]
#[template(path = "strip.html")]
pub(crate) struct StripTable {
    /// Whether rows stand close together because there are many.
    pub(crate) dense: bool,
    pub(crate) head: Markup,
    pub(crate) groups: Vec<Group>,
    pub(crate) marks: Vec<MarkRow>,
    pub(crate) axis: Markup,
    pub(crate) key: Markup,
    /// Titles and units of the figures.
    pub(crate) heads: [(&'static str, &'static str); COLUMNS.len()],
    pub(crate) rules: &'static str,
    pub(crate) caveats: Vec<String>,
}

pub(crate) struct Group {
    /// Set in bold before the title; may be empty.
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) rows: Vec<Row>,
}

pub(crate) struct Row {
    pub(crate) label: String,
    pub(crate) flag: Option<Flag>,
    pub(crate) note: Option<String>,
    pub(crate) doubt: bool,
    pub(crate) mini: String,
    pub(crate) svg: Markup,
    pub(crate) cells: Vec<Cell>,
    pub(crate) word: &'static str,
    pub(crate) verdict: &'static str,
}

pub(crate) struct MarkRow {
    pub(crate) device: String,
    pub(crate) svg: Markup,
}

/// The axis of the picture of a run.
pub(crate) fn run_axis(run: &Run) -> LatencyAxis {
    let strip = strip(run);
    let rows = strip.groups.iter().flat_map(|group| &group.rows);
    axis_for(rows.map(|row| &row.figures), &strip.marks)
}

/// The picture of a run.
pub(crate) fn strip_section(run: &Run) -> Picture {
    let strip = strip(run);
    let axis = run_axis(run);
    // If no row is trusted the headline says so; flags on all rows would repeat it.
    let flagged = strip.groups.iter().flat_map(|group| &group.rows).any(StripRow::trusted);
    let groups: Vec<Group> = strip
        .groups
        .iter()
        .map(|group| Group {
            name: String::new(),
            title: group.title.clone(),
            rows: group.rows.iter().map(|row| measured(run, &axis, row, flagged)).collect(),
        })
        .collect();
    // What is overloaded says so in its row.
    let judged = strip.groups.iter().flat_map(|group| &group.rows);
    let judged = judged.filter(|row| row.judgement.verdict() != Some(LagVerdict::Overloaded));
    let judged = judged.map(|row| (row.label.clone(), &row.judgement));
    picture(&axis, groups, &strip.marks, caveats(judged))
}

/// The footnotes of the picture, grouped by text.
pub(crate) fn caveats<'a>(rows: impl Iterator<Item = (String, &'a Judgement)>) -> Vec<String> {
    let mut said: Vec<(String, Vec<String>)> = Vec::new();
    let (mut all, mut few) = (Vec::new(), 0);
    for (label, judgement) in rows {
        all.push(label.clone());
        let text = match judgement {
            Judgement::Judged { verdict: LagVerdict::Overloaded, caveat: Some(caveat) } => {
                format!("{caveat}.")
            }
            Judgement::Judged { caveat: Some(caveat), .. } => {
                few += 1;
                format!("{caveat}.")
            }
            Judgement::NotJudged { failures } => match failures.first() {
                Some(failure) => format!("not judged. Failed check: {}.", failure.claim),
                None => continue,
            },
            _ => continue,
        };
        match said.iter_mut().find(|(known, _)| *known == text) {
            Some((_, labels)) => labels.push(label),
            None => said.push((text, vec![label])),
        }
    }
    if few > MOST_NAMED {
        said.retain(|(text, _)| ["not judged", "overloaded"].iter().any(|it| text.starts_with(it)));
        let rest = "n is too small for a percentile of the rule; judged by the values there are.";
        said.push((rest.to_owned(), vec![format!("{few} rows")]));
    }
    said.iter().map(|(text, labels)| format!("{}: {text}", rows_in_words(labels, &all))).collect()
}

/// The rows of a footnote: `Every row`, `Every row but New`, `33 of 36 rows`, or a few names.
fn rows_in_words(labels: &[String], all: &[String]) -> String {
    let others: Vec<String> = all.iter().filter(|label| !labels.contains(label)).cloned().collect();
    match (labels.len(), all.len()) {
        (some, every) if some == every && some > 1 => "Every row".to_owned(),
        (1..=MOST_NAMED, _) => format::list(labels),
        _ if (1..=2).contains(&others.len()) => format!("Every row but {}", format::list(&others)),
        (some, every) => format!("{some} of {every} rows"),
    }
}

/// Maximum number of named rows, and of footnotes about small samples.
const MOST_NAMED: usize = 4;

/// The axis that covers all rows and marks.
pub(crate) fn axis_for<'a>(rows: impl Iterator<Item = &'a Figures>, marks: &[Mark]) -> LatencyAxis {
    let rows: Vec<&Figures> = rows.collect();
    let measured = rows.iter().flat_map(|f| [f.p50, f.p99, f.p999, f.max]).flatten();
    let published = marks.iter().flat_map(|mark| &mark.points).flat_map(|p| [p.from, p.to]);
    let all: Vec<Nanos> = measured.chain(published).collect();
    let axis = LatencyAxis::covering(all.iter().copied());
    // The values of medians stand to their left: the axis gets another decade if they would not fit.
    let least = rows.iter().filter_map(|figures| figures.p50).min();
    let decade = least.filter(|median| axis.at(*median) < ROOM_FOR_A_NAME);
    LatencyAxis::covering(all.into_iter().chain(decade.map(|median| Nanos(median.0 / 10))))
}

/// The table with its key; empty without rows.
pub(crate) fn picture(
    axis: &LatencyAxis,
    groups: Vec<Group>,
    marks: &[Mark],
    caveats: Vec<String>,
) -> Picture {
    let style = strip_style(axis);
    if groups.is_empty() {
        return Picture { style, body: Markup::default() };
    }
    let table = StripTable {
        dense: groups.iter().map(|group| group.rows.len()).sum::<usize>() > DENSE,
        head: strip_head(axis),
        groups,
        marks: marks
            .iter()
            .map(|mark| MarkRow {
                device: mark.device.clone(),
                svg: mark_row(axis, &mark.device, &mark.points),
            })
            .collect(),
        axis: strip_axis(axis),
        key: strip_key(),
        heads: COLUMNS.map(|column| (column.title(), unit(column))),
        rules: RULES,
        caveats,
    };
    Picture { style, body: Markup::of(&table) }
}

fn measured(run: &Run, axis: &LatencyAxis, row: &StripRow, flagged: bool) -> Row {
    if let Some(overload) = run.phases.get(row.phase).and_then(|phase| overload(run, phase)) {
        return Row { note: row.note.clone(), ..overloaded_row(&row.label, overload.in_words()) };
    }
    let flag = Flag::of(run, row.judgement.failures()).filter(|_| flagged);
    table_row(axis, &row.label, &row.figures, &row.judgement, flag, row.note.clone())
}

/// The columns beside the picture, which has the median.
const COLUMNS: [Column; 4] = [Column::P99, Column::P999, Column::Longest, Column::Late];

fn unit(column: Column) -> &'static str {
    if column == Column::Late { ">\u{2009}16.67 ms" } else { "ms" }
}

/// One row of the table.
pub(crate) fn table_row(
    axis: &LatencyAxis,
    label: &str,
    figures: &Figures,
    judgement: &Judgement,
    flag: Option<Flag>,
    note: Option<String>,
) -> Row {
    let doubt = !judgement.failures().is_empty();
    let marks = if doubt { StripMarks::Doubtful } else { StripMarks::Solid };
    let late = figures.late_share().map_or_else(|| format::NONE.to_owned(), format::share);
    let cell = |column: Column| Cell::of(column, &figure_cell(column, figures, None));
    Row {
        label: label.to_owned(),
        flag,
        note,
        doubt,
        mini: mini(figures, &late),
        svg: strip_row(axis, figures, marks, label),
        cells: COLUMNS.map(cell).into(),
        word: judgement.word(),
        verdict: verdict_class(judgement),
    }
}

/// The remark in place of marks.
#[derive(Template)]
#[template(source = "<span class=\"ov\">{{ words }}</span>", ext = "html")]
struct OverloadedRow {
    words: String,
}

/// The row of an overloaded test, which has no latency: it would depend on the length of the test.
pub(crate) fn overloaded_row(label: &str, words: String) -> Row {
    let none = |column: Column| Cell::of(column, &Value::Missing(Missing::Overloaded));
    Row {
        label: label.to_owned(),
        flag: None,
        note: None,
        doubt: false,
        mini: String::new(),
        svg: Markup::of(&OverloadedRow { words }),
        cells: COLUMNS.map(none).into(),
        word: "overloaded",
        verdict: "freezes",
    }
}

/// The figures of a row on narrow screens.
fn mini(figures: &Figures, late: &str) -> String {
    let named = [
        ("median", figures.p50),
        (Column::P99.title(), figures.p99),
        (Column::P999.title(), figures.p999),
        (Column::Longest.title(), figures.max),
    ];
    let words = |(name, value): (&str, Option<Nanos>)| {
        value.map(|value| format!("{name} {}", format::time(value)))
    };
    let parts: Vec<String> = named.into_iter().filter_map(words).collect();
    format!("{} · late {late}", parts.join(" · "))
}

#[cfg(test)]
mod tests {
    use super::caveats;
    use flashlag_schema::CheckId;
    use flashlag_views::{Failure, Judgement};

    fn denied(claim: &str) -> Judgement {
        let (claim, detail) = (claim.to_owned(), String::new());
        let failure = Failure { id: CheckId::CpuContention, claim, detail, advice: None };
        Judgement::NotJudged { failures: vec![failure] }
    }

    fn notes_of(rows: &[(&str, &Judgement)]) -> Vec<String> {
        caveats(rows.iter().map(|(label, judgement)| ((*label).to_owned(), *judgement)))
    }

    #[test]
    fn thirty_six_rows_of_which_the_same_is_true_are_every_row_not_their_names() {
        let (cpu, nothing) = (denied("The CPU was free"), Judgement::Nothing);
        let names: Vec<String> = (0..36).map(|number| format!("Row {number}")).collect();
        let all: Vec<_> = names.iter().map(|name| (name.as_str(), &cpu)).collect();
        let same = "not judged. Failed check: The CPU was free.";
        assert_eq!(notes_of(&all), [format!("Every row: {same}")]);
        let mut but_one = all.clone();
        but_one[35].1 = &nothing;
        assert_eq!(notes_of(&but_one), [format!("Every row but Row 35: {same}")]);
        let mut some = all.clone();
        some[..20].iter_mut().for_each(|row| row.1 = &nothing);
        assert_eq!(notes_of(&some), [format!("16 of 36 rows: {same}")]);
        assert_eq!(
            notes_of(&[("A", &cpu), ("B", &cpu), ("C", &nothing)]),
            [format!("A and B: {same}")]
        );
    }
}
