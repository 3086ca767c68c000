//! The picture of the first screen: a row per stage on one latency axis, then saves, then published
//! devices, each row with a one-word verdict.

use flashlag_explain::LagVerdict;
use flashlag_schema::Run;

use super::model::{Flag, Picture, PictureGroup, PictureRow};
use crate::format;
use crate::overload::overload;
use crate::strip::{Strip, StripGroup, StripRow, strip};
use crate::table::verdicts_table;
use crate::two_times::two_times;
use crate::verdict::Judgement;

/// The picture of a run.
pub fn picture(run: &Run) -> Picture {
    let strip = strip(run);
    // If no row is trusted the headline says so; flags on all rows would repeat it.
    let flagged = strip.groups.iter().flat_map(|group| &group.rows).any(StripRow::trusted);
    let groups = strip.groups.iter().map(|group| PictureGroup {
        name: String::new(),
        title: group.title.clone(),
        rows: group.rows.iter().map(|one| row(run, one, flagged)).collect(),
    });
    // An overloaded test says so in its row.
    let rows = strip.groups.iter().flat_map(|group| &group.rows);
    let judged = named_rows(&strip).into_iter().zip(rows.map(|row| &row.judgement));
    let judged =
        judged.filter(|(_, judgement)| judgement.verdict() != Some(LagVerdict::Overloaded));
    let mut caveats = caveats(judged);
    caveats.extend(two_times(run, &strip));
    let groups = groups.collect();
    Picture { groups, marks: strip.marks, caveats, table: verdicts_table(run) }
}

fn row(run: &Run, row: &StripRow, flagged: bool) -> PictureRow {
    let overload = run.phases.get(row.phase).and_then(|phase| overload(run, phase));
    let judgement = match overload {
        Some(_) => Judgement::Judged { verdict: LagVerdict::Overloaded, caveat: None },
        None => row.judgement.clone(),
    };
    PictureRow {
        label: row.label.clone(),
        flag: Flag::of(judgement.failures()).filter(|_| flagged),
        note: row.note.clone(),
        figures: row.figures.clone(),
        judgement,
        overload: overload.map(|overload| overload.in_words()),
    }
}

/// The names of all rows for footnotes, in order: the label, and where several rows have the same one also their group,
/// `WAL (SQLite save beside another writer)`.
pub fn named_rows(strip: &Strip) -> Vec<String> {
    let rows =
        || strip.groups.iter().flat_map(|group| group.rows.iter().map(move |row| (group, row)));
    let named = |(group, row): (&StripGroup, &StripRow)| {
        let same = rows().filter(|(_, other)| other.label == row.label).count();
        let title = group.title.split(", ").next().unwrap_or_default();
        if same > 1 { format!("{} ({title})", row.label) } else { row.label.clone() }
    };
    rows().map(named).collect()
}

/// The footnotes of the picture, grouped by text.
pub fn caveats<'a>(rows: impl Iterator<Item = (String, &'a Judgement)>) -> Vec<String> {
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
            Judgement::NotJudged { failures } if failures.is_empty() => continue,
            Judgement::NotJudged { failures } => {
                let claims: Vec<String> =
                    failures.iter().map(|one| one.claim.trim_end_matches('.').to_owned()).collect();
                let check = if claims.len() == 1 { "check" } else { "checks" };
                format!("not judged. Failed {check}: {}.", claims.join("; "))
            }
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

#[cfg(test)]
mod tests {
    use flashlag_schema::CheckId;

    use super::caveats;
    use crate::doubt::Failure;
    use crate::verdict::Judgement;

    fn denied(claim: &str) -> Judgement {
        let (claim, detail) = (claim.to_owned(), String::new());
        let failure =
            Failure { id: CheckId::CpuContention, claim, detail, advice: None, covers_all: false };
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

    #[test]
    fn rows_of_one_label_are_told_apart_by_their_groups() {
        let run = flashlag_testing::sample::quick();
        let names = super::named_rows(&crate::strip(&run));
        assert_eq!(
            names,
            [
                "As found",
                "WAL (SQLite save)",
                "Rollback journal",
                "WAL (SQLite save beside another writer)"
            ]
        );
    }

    #[test]
    fn every_failed_check_of_a_row_is_named() {
        let mut both = denied("The CPU was free");
        if let Judgement::NotJudged { failures } = &mut both {
            let (id, claim) = (CheckId::ForeignIo, "Nothing else used the device.".to_owned());
            failures.push(Failure { id, claim, ..failures[0].clone() });
        }
        let wanted =
            "A: not judged. Failed checks: The CPU was free; Nothing else used the device.";
        assert_eq!(notes_of(&[("A", &both)]), [wanted]);
    }
}
