//! Runs that do not count, with the reason.

use askama::Template;
use flashlag_report::parts::Markup;
use flashlag_store::Standing;
use flashlag_views::format;

use crate::frame::Page;
use crate::model::Site;
use crate::{Options, words};

/// Most files to list for each reason.
const MOST: usize = 2000;

#[derive(Template)]
#[template(path = "apart.html")]
struct Body {
    heading: String,
    groups: Vec<Group>,
}

struct Group {
    id: &'static str,
    heading: String,
    about: &'static str,
    rows: Vec<Line>,
    more: Option<String>,
}

struct Line {
    file: String,
    device: String,
    reason: String,
}

/// Why a run does not count, as a sentence.
fn about(standing: Standing) -> Option<(&'static str, &'static str)> {
    Some(match standing {
        Standing::Good => return None,
        Standing::Copy => (
            "Copies",
            "The same measurement is in another file, which counts. Nothing is wrong with these.",
        ),
        Standing::Untrusted => (
            "Untrusted",
            "A check of the run itself failed: its figures are not those of the storage alone.",
        ),
        Standing::Unverified => (
            "Unverified",
            "The figures do not follow from the histograms in the file, or the file was changed.",
        ),
        Standing::Unreadable => {
            ("Unreadable", "No run file, or one of another version of the format.")
        }
    })
}

/// The page of runs that do not count.
pub(crate) fn page(site: &Site<'_>, options: &Options) -> String {
    let worst_first = Standing::ALL.into_iter().rev();
    let groups: Vec<Group> = worst_first.filter_map(|standing| group(site, standing)).collect();
    let heading = heading(site);
    let page = Page {
        title: "Files set apart, and why".to_owned(),
        root: "",
        style: Markup::default(),
        body: Markup::of(&Body { heading, groups }),
        script: None,
    };
    page.html(site, options)
}

/// How many files do not count, by reason: every page links to this number.
fn heading(site: &Site<'_>) -> String {
    let mut reasons: Vec<String> = Vec::new();
    for standing in Standing::ALL.into_iter().rev().filter(|it| *it != Standing::Good) {
        let count = site.count(standing);
        match standing {
            _ if count == 0 => {}
            Standing::Copy => reasons.push(words::counted_as(count, "copy", "copies")),
            _ => reasons.push(format!("{} {}", format::count(count as u64), standing.name())),
        }
    }
    match site.apart.len() {
        0 => "Every file counts: nothing is set apart.".to_owned(),
        1 => format!("1 file is set apart: {}.", reasons.join(", ")),
        many => format!("{} are set apart: {}.", words::counted(many, "file"), reasons.join(", ")),
    }
}

fn group(site: &Site<'_>, standing: Standing) -> Option<Group> {
    let (name, about) = about(standing)?;
    let all = site.apart.iter().map(|at| &site.entries[*at].run);
    let all: Vec<_> = all.filter(|run| run.standing == standing).collect();
    let line = |run: &&flashlag_store::RunRow| Line {
        file: run.file.clone(),
        device: run.facts.as_ref().map_or_else(|| format::NONE.to_owned(), |it| it.device.clone()),
        reason: run.reason.clone().unwrap_or_default(),
    };
    let more = all.len().saturating_sub(MOST);
    (!all.is_empty()).then(|| Group {
        id: standing.name(),
        heading: format!("{name}: {}", words::counted(all.len(), "file")),
        about,
        rows: all.iter().take(MOST).map(line).collect(),
        more: (more > 0).then(|| format!("{} more are in the data.", format::count(more as u64))),
    })
}
