//! The page of a run.

use flashlag_explain::LagVerdict;
use flashlag_schema::{Run, RunStatus, TargetKind};

use super::model::{Block, Lede, Link, Page, Section, Term};
use super::picture::picture;
use super::reproduce::duration;
use super::{
    card, changes, distribution, environment, figures, findings, reproduce, required, stalls, trust,
};
use crate::format;
use crate::headline::{Believe, NoVerdict, headline};
use crate::layered::{Layered, layered};
use crate::lifecycle::{Lifecycle, lifecycle, sizes};
use crate::marks::{MARKS_NOTE, marks_beside};
use crate::naming::{device_name, filesystem_name, kind_name};
use crate::outline::for_people;
use crate::place::places;
use crate::replayed::{REPLAY_RULE, replayed_traces};
use crate::strip::{StripRow, strip};
use crate::waits::waits;

/// The page of one run; `run_files` are the names of the files with the raw data.
pub fn run_page(run: &Run, run_files: &[String]) -> Page {
    let (sentence, ledes) = said(run);
    Page {
        title: format!("{}: how its storage lags", device_name(run)),
        meta: meta(run),
        sentence,
        ledes,
        picture: picture(run),
        sections: sections(run, run_files),
        footer: format!("flashlag {}, run file format {}.", run.flashlag.version, run.schema),
    }
}

/// The line above the headline, most important first.
pub fn meta(run: &Run) -> Vec<String> {
    let mut parts = vec![device_name(run)];
    parts.extend(storage(run));
    parts.extend(filesystem_name(run));
    parts.extend(run.environment.software.system.value().cloned());
    let day = run.started.as_deref().map(|started| started.split('T').next().unwrap_or(started));
    let day = day.map(|day| format!(", {day}")).unwrap_or_default();
    let took = duration(run).map(|took| format!(", {}", format::time(took))).unwrap_or_default();
    parts.push(format!("{} run{day}{took}", run.scenario.name));
    parts.extend(status(run));
    if run.target.kind == TargetKind::Imported {
        parts.push("imported from another tool’s results".to_owned());
    }
    parts
}

/// `128 GB eMMC`.
pub fn storage(run: &Run) -> Option<String> {
    let device = &run.environment.device;
    let size = device.size_bytes.value().map(|size| format::size(*size));
    let kind = device.kind.value().map(|kind| kind_name(kind).to_owned());
    let words: Vec<String> = size.into_iter().chain(kind).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// How an incomplete run ended.
fn status(run: &Run) -> Option<String> {
    let at = |step: &u32| format!("before step {}", u64::from(*step) + 1);
    match &run.status {
        RunStatus::Complete => None,
        RunStatus::Running { next_step } => Some(format!("unfinished, {}", at(next_step))),
        RunStatus::Interrupted { next_step } => Some(format!("stopped {}", at(next_step))),
        RunStatus::Failed { next_step, .. } => Some(format!("failed {}", at(next_step))),
    }
}

/// The headline's sentence and what qualifies it.
fn said(run: &Run) -> (String, Vec<Lede>) {
    let headline = headline(run);
    let mut ledes = Vec::new();
    let failed = headline.no_verdict.as_ref().map(NoVerdict::failed_checks);
    ledes.extend(failed.map(|text| Lede::plain(&text)));
    if !headline.more.is_empty() {
        ledes.push(Lede::plain(&headline.more));
    }
    let fix = headline.no_verdict.as_ref().map(|why| why.fix.clone());
    if let Some(text) = fix.filter(|fix| !fix.is_empty()) {
        ledes.push(Lede { lead: Some("What to do:"), text, link: None });
    }
    if headline.no_verdict.is_none()
        && let Some(text) = layered(run).and_then(|layered| layered.sentence())
    {
        let more = Link { section: "layers", text: "Layer by layer.".to_owned(), says: false };
        ledes.push(Lede { lead: Some("What it waited for:"), text, link: Some(more) });
    }
    ledes.extend(advice(run));
    ledes.push(believe(&headline.believe));
    (headline.sentence, ledes)
}

/// The fix of the costliest cause, if a row lags.
fn advice(run: &Run) -> Option<Lede> {
    let verdicts = strip(run);
    let rows = verdicts.groups.iter().flat_map(|group| &group.rows);
    let lags = |row: &&StripRow| row.judgement.verdict().is_some_and(|it| it > LagVerdict::Smooth);
    rows.clone().find(lags)?;
    let found = crate::findings(run);
    let first = found.causes.first()?;
    let text = match found.causes.len() {
        1 => "How that was measured.".to_owned(),
        2 => "Both causes, with what each costs.".to_owned(),
        many => format!("All {many} causes, with what each costs."),
    };
    let more = Link { section: "findings", text, says: false };
    Some(Lede { lead: Some("What to do:"), text: first.advice(), link: Some(more) })
}

/// `Yes, except the Idle row: 9 checks pass …`, the counts as a link to the checks.
fn believe(believe: &Believe) -> Lede {
    let sentence = &believe.sentence;
    let (text, link) = match sentence.split_once(believe.counts.as_str()) {
        Some((before, after)) if !believe.counts.is_empty() && after.len() <= 1 => {
            let text = format!("{}{after}", believe.counts);
            let counts = Link { section: "trust", text, says: true };
            (before.trim_end().to_owned(), Some(counts))
        }
        _ => (sentence.clone(), None),
    };
    Lede { lead: Some("Can you believe it?"), text, link }
}

/// Every section that this run has data for, in order.
fn sections(run: &Run, run_files: &[String]) -> Vec<Section> {
    let over_time = || [changes::section(run), stalls::section(run)];
    // A run without rows for the picture is about changes over time.
    let ([first, second], [third, fourth]) = if strip(run).groups.is_empty() {
        (over_time(), [None, None])
    } else {
        ([None, None], over_time())
    };
    // The advice and the findings come before their details.
    let sections = [
        card::section(run),
        required::section(run),
        layers(run),
        findings::section(run),
        figures::tests(run),
        replay(run),
        first,
        second,
        stages(run),
        by_size(run),
        figures::fills(run),
        third,
        figures::saves(run),
        distribution::section(run),
        fourth,
        where_waits_go(run),
        required::others(run),
        Some(trust::section(run)),
        Some(environment::section(run)),
        Some(reproduce::section(run, run_files)),
        published(run),
    ];
    sections.into_iter().flatten().collect()
}

/// One save or write, layer by layer; `None` where neither bytes nor times are known.
fn layers(run: &Run) -> Option<Section> {
    let layered = layered(run)?;
    let Layered { one, .. } = &layered;
    let heading =
        layered.sentence().unwrap_or_else(|| format!("What each layer writes for a {one}"));
    Some(Section {
        id: "layers",
        name: "Layer by layer",
        heading: heading.trim_end_matches('.').to_owned(),
        side: vec![
            "Bytes that each layer passes on, and time waited in it, for one operation on average; \
             the bars are shares of the largest and of the whole wait."
                .to_owned(),
        ],
        blocks: vec![Block::Layers(layered)],
    })
}

/// The trace that was replayed; `None` where none was.
fn replay(run: &Run) -> Option<Section> {
    let traces = replayed_traces(run);
    let heading = match traces.as_slice() {
        [] => return None,
        [only] => only.sentence.clone(),
        several => format!("A trace was replayed {} times", several.len()),
    };
    let several = traces.len() > 1;
    let mut terms = Vec::new();
    for (index, trace) in traces.into_iter().enumerate() {
        if several {
            let sentence = format!("{}.", trace.sentence);
            terms.push(Term::new(format!("Replay {}", index + 1), sentence));
        }
        if !trace.traced.is_empty() {
            terms.push(Term::new("Where it was traced", trace.traced));
        }
        let hash = Term::new("SHA-256 of the trace", trace.sha256);
        terms.push(Term { is_code: true, ..hash });
        terms.extend(trace.notes.into_iter().map(|note| Term::new("Note", note)));
    }
    Some(Section {
        id: "replay",
        name: "Replayed trace",
        heading: heading.trim_end_matches('.').to_owned(),
        side: vec![REPLAY_RULE.to_owned()],
        blocks: vec![Block::Terms(terms)],
    })
}

fn for_readers(run: &Run, table: Lifecycle) -> Lifecycle {
    let published = table.published.map(|note| for_people(run, &note));
    Lifecycle { published, ..table }
}

/// The reviewers' table: stages by tests; `None` for a run of one stage.
fn stages(run: &Run) -> Option<Section> {
    let table = for_readers(run, lifecycle(run)?);
    let order = "The reviewers’ order: measure new, fill, measure, delete, trim, measure.";
    Some(Section {
        id: "lifecycle",
        name: "Lifecycle",
        heading: table.heading.clone(),
        side: vec![order.to_owned()],
        blocks: vec![Block::Lifecycle(table)],
    })
}

/// Durable writes by size; `None` without them, or for a run of one stage.
fn by_size(run: &Run) -> Option<Section> {
    lifecycle(run)?;
    let table = for_readers(run, sizes(run)?);
    Some(Section {
        id: "sizes",
        name: "Sizes",
        heading: table.heading.clone(),
        side: vec![
            "A device writes whole units: where the time of a durable write steps up, one more is \
             written."
                .to_owned(),
        ],
        blocks: vec![Block::Lifecycle(table)],
    })
}

/// The parts of a wait: on the CPU, waiting for one, blocked on storage; `None` if no wait was split.
fn where_waits_go(run: &Run) -> Option<Section> {
    let waits = waits(run)?;
    Some(Section {
        id: "waits",
        name: "Where the wait goes",
        heading: waits.heading.clone(),
        side: vec![
            "The scheduler’s account of the measuring thread: running, runnable but waiting for a \
             CPU, and the rest."
                .to_owned(),
        ],
        blocks: vec![Block::Waits(waits)],
    })
}

/// Published figures with their sources, and the rank of this run among them.
fn published(run: &Run) -> Option<Section> {
    let places = places(run).into_iter();
    let places = places.map(|it| Term { aside: it.caveat, ..Term::new(it.title, it.sentence) });
    let marks = marks_beside(run).into_iter().map(|mark| {
        let figures: Vec<String> = mark.points.into_iter().map(|point| point.label).collect();
        let figures = format!("{}.", figures.join(", "));
        let aside = format!("{}. {}", mark.source, mark.note);
        Term { aside, ..Term::new(mark.device, figures) }
    });
    let (places, marks): (Vec<Term>, Vec<Term>) = (places.collect(), marks.collect());
    let blocks = match (places.is_empty(), marks.is_empty()) {
        (true, true) => return None,
        (false, false) => vec![
            Block::Terms(places),
            Block::Title("The figures in the picture"),
            Block::Terms(marks),
        ],
        _ => vec![Block::Terms(places.into_iter().chain(marks).collect())],
    };
    Some(Section {
        id: "published",
        name: "Published figures",
        heading: "How it compares with published devices".to_owned(),
        side: vec![MARKS_NOTE.to_owned()],
        blocks,
    })
}
