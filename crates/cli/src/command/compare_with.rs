//! Places runs among those of a table, in words.

use std::fmt::Write;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use flashlag_store::{
    Among, Columns, FEWEST, OVERLOADED, Placed, PlacedFigure, PlacedTest, READER, Rank, Standing,
    place, read_file,
};
use flashlag_units::{Nanos, count};
use flashlag_views::{format, kind_name};

use crate::exit::Exit;
use crate::{own, say};

/// Prints where each run stands among those of a table.
pub fn compare_with(runs: &[PathBuf], table: &Path) -> Result<Exit> {
    let program = own::program()?;
    for run in runs {
        let mine = read_file(Path::new(""), run);
        let reason = mine.run.reason.as_deref().unwrap_or_default();
        if mine.run.standing == Standing::Unreadable {
            bail!("cannot place {}: {reason}", run.display());
        }
        if !mine.is_good() {
            let standing = mine.run.standing.name();
            say::note(&format!(
                "{} does not count itself, so its place means little: {standing}: {reason}",
                run.display()
            ));
        }
        let mut columns = Columns::start(table, &program, &[READER.into()])?;
        let placed = place(&mine, &mut columns)?;
        say::text(&text(&placed, run, table))?;
    }
    Ok(Exit::Done)
}

/// Reads a table for another process of this program.
pub fn be_a_reader(table: &Path) -> Result<Exit> {
    let mut answers = BufWriter::with_capacity(1 << 16, say::pipe("compare --with")?);
    flashlag_store::be_a_reader(table, &mut std::io::stdin().lock(), &mut answers)?;
    Ok(Exit::Done)
}

fn text(placed: &Placed, run: &Path, table: &Path) -> String {
    let all = match placed.runs {
        1 => "the one run".to_owned(),
        many => format!("the {} runs", count(many as u64)),
    };
    let mut text = format!("{} among {all} in {} that count", run.display(), table.display());
    if placed.runs > 0 {
        let known = [
            placed.model.as_ref().map(|model| format!("its model: {model}")),
            placed.class.as_ref().map(|class| format!("its class: {}", kind_name(class))),
            placed.age.as_ref().map(|age| format!("as old: {age}")),
        ];
        known.into_iter().flatten().for_each(|known| text.extend(["\n", &known]));
    }
    text.push('\n');
    if placed.tests.is_empty() {
        text.push_str("\nIt has no test that decides a verdict, and so no place.\n");
    }
    for test in &placed.tests {
        add_test(&mut text, test, placed.age.is_some());
    }
    text
}

/// A test, and a line for each of its figures among each group.
fn add_test(text: &mut String, test: &PlacedTest, is_age_known: bool) {
    let state = Some(test.state.as_str()).filter(|state| *state != "new");
    let words: Vec<&str> =
        [Some(test.title.as_str()), state, test.fill].into_iter().flatten().collect();
    text.extend(["\n", &words.join(", "), "\n"]);
    let alike = match (is_age_known, test.fill.is_some()) {
        (true, true) => Some("as old and as full"),
        (true, false) => Some("as old"),
        (false, true) => Some("as full"),
        (false, false) => None,
    };
    for figure in &test.figures {
        let Some(own) = figure.own_ns else {
            // A write to a string can't fail.
            let _ = writeln!(text, "  {} {}", figure.name, format::TOO_FEW);
            continue;
        };
        let head = match own {
            OVERLOADED if figure.name != "p50" => continue,
            OVERLOADED => "overloaded".to_owned(),
            own => format!("{} {}", figure.name, format::time(Nanos(own))),
        };
        for (at, line) in ranked(figure, alike).iter().enumerate() {
            let head = if at == 0 { head.as_str() } else { "" };
            let _ = writeln!(text, "  {head:<14} {line}");
        }
    }
}

/// The places of a figure, in words: among its model, and among its class where that has too few.
fn ranked(figure: &PlacedFigure, alike: Option<&str>) -> Vec<String> {
    let [model, ..] = figure.ranks;
    let mut lines = Vec::new();
    for (among, rank) in Among::ALL.into_iter().zip(figure.ranks) {
        let (whose, alike) = match among {
            Among::Model => ("of its model", Some("")),
            Among::ModelAlike => ("of its model", alike),
            Among::Class => ("of its class", Some("")),
            Among::ClassAlike => ("of its class", alike),
        };
        let is_class = matches!(among, Among::Class | Among::ClassAlike);
        let Some(alike) = alike.filter(|_| !is_class || model.others < FEWEST) else { continue };
        if rank.others > 0 {
            let whom = format!("{} {whose} {alike}", count(rank.others as u64));
            lines.push(in_words(rank, whom.trim_end()));
        }
    }
    if lines.is_empty() {
        lines.push("there is no other of its model or class".to_owned());
    }
    lines
}

fn in_words(rank: Rank, whom: &str) -> String {
    let Some(percent) = rank.slower_than_percent() else {
        return format!("{}: {whom}", format::TOO_FEW);
    };
    if rank.faster == rank.others {
        format!("slower than all {whom}")
    } else if rank.faster + rank.equal == 0 {
        format!("faster than all {whom}")
    } else {
        format!("slower than {:.0}% of {whom}", percent.clamp(1.0, 99.0))
    }
}
