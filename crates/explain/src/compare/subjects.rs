//! Which runs are repeats of one another, and what the subjects are called.

use flashlag_schema::{Environment, Reading, Run};

use super::{CompareError, Group, Subject};
use crate::format;

/// Runs on the same device, filesystem and target, set up the same, are one subject. Where that
/// leaves a single subject, each run is its own: before against after.
pub fn subjects(runs: &[Run]) -> Vec<Subject> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (index, run) in runs.iter().enumerate() {
        let same = |group: &&mut Vec<usize>| {
            group
                .first()
                .and_then(|first| runs.get(*first))
                .is_some_and(|first| repeats(first, run))
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(index),
            None => groups.push(vec![index]),
        }
    }
    if groups.len() == 1 {
        groups = (0..runs.len()).map(|index| vec![index]).collect();
    }
    let firsts: Vec<&Run> = groups.iter().filter_map(|group| runs.get(*group.first()?)).collect();
    let names = names(&firsts);
    let named = groups.into_iter().zip(&firsts).zip(names);
    named.map(|((runs, first), name)| Subject { name, about: about(first), runs }).collect()
}

/// The subjects that a person made.
///
/// # Errors
/// Fewer than two; one without runs; a run in none of them, or in two.
pub fn grouped(runs: &[Run], groups: &[Group]) -> Result<Vec<Subject>, CompareError> {
    let mut grouped: Vec<usize> = groups.iter().flat_map(|group| &group.runs).copied().collect();
    grouped.sort_unstable();
    let firsts: Option<Vec<&Run>> =
        groups.iter().map(|group| runs.get(*group.runs.first()?)).collect();
    match firsts {
        Some(firsts) if groups.len() > 1 && grouped.into_iter().eq(0..runs.len()) => {
            let subject = |(group, first): (&Group, &Run)| Subject {
                name: group.name.clone(),
                about: about(first),
                runs: group.runs.clone(),
            };
            Ok(groups.iter().zip(firsts).map(subject).collect())
        }
        _ => Err(CompareError::Groups),
    }
}

/// What must be said of subjects whose runs are no repeats of one another.
pub fn mixed(runs: &[Run], subjects: &[Subject]) -> Option<String> {
    let is_mixed = |subject: &&Subject| {
        let mut of_subject = subject.runs.iter().filter_map(|index| runs.get(*index));
        let first = of_subject.next();
        first.is_some_and(|first| !of_subject.all(|run| repeats(first, run)))
    };
    let names: Vec<String> = subjects.iter().filter(is_mixed).map(|s| s.name.clone()).collect();
    (!names.is_empty()).then(|| {
        format!(
            "Not all runs of {} had the same target and set-up: what that changes counts as how runs \
             differ from one another.",
            format::list(&names)
        )
    })
}

/// What must be said where three runs or more had the same set-up, and so each stands for itself.
pub fn alone(runs: &[Run], subjects: &[Subject]) -> Option<String> {
    let (first, others) = runs.split_first()?;
    let alike = others.iter().all(|run| repeats(first, run));
    (runs.len() > 2 && subjects.len() == runs.len() && alike).then(|| {
        "All these runs had the same set-up, and nothing says which are repeats of which: each \
         stands for itself. To put those after a change against those before it: compare AFTER... \
         --against BEFORE..."
            .to_owned()
    })
}

/// Whether two runs had the same set-up, as far as that was read.
fn repeats(a: &Run, b: &Run) -> bool {
    let (x, y) = (&a.environment, &b.environment);
    a.target == b.target
        && x.software == y.software
        && x.cpu.model == y.cpu.model
        && x.cpu.governor == y.cpu.governor
        && x.filesystem.kind == y.filesystem.kind
        && x.filesystem.options == y.filesystem.options
        && x.filesystem.source == y.filesystem.source
        && x.device.model == y.device.model
        && x.device.name == y.device.name
        && x.device.queue == y.device.queue
        && x.encryption == y.encryption
}

fn text<T: ToString>(reading: &Reading<T>) -> Option<String> {
    reading.value().map(ToString::to_string).filter(|text| !text.trim().is_empty())
}

/// What could tell subjects apart, the best first.
fn attributes(run: &Run) -> [Option<String>; 6] {
    let Environment { software, filesystem, device, .. } = &run.environment;
    [
        text(&software.machine),
        text(&device.model).or_else(|| text(&device.kind)),
        text(&filesystem.kind),
        Some(run.target.name.clone()).filter(|name| !name.is_empty()),
        text(&software.kernel),
        filesystem.options.value().map(|options| options.join(",")),
    ]
}

/// A short name for each, unique: the machine, and what tells it from others of that name.
fn names(runs: &[&Run]) -> Vec<String> {
    let attributes: Vec<_> = runs.iter().map(|run| attributes(run)).collect();
    let first = |given: &[Option<String>; 6]| {
        given.iter().flatten().next().cloned().unwrap_or_else(|| "unnamed".to_owned())
    };
    let mut names: Vec<String> = attributes.iter().map(first).collect();
    let places = attributes.first().map_or(0, |given| given.len());
    for place in 1..places {
        let before = names.clone();
        let of_place: Vec<_> = attributes.iter().map(|given| given.get(place)?.as_ref()).collect();
        for (index, name) in names.iter_mut().enumerate() {
            let mine = of_place[index];
            let alike = |other: &usize| *other != index && before[*other] == before[index];
            let told_apart = (0..runs.len()).filter(alike).any(|other| of_place[other] != mine);
            if let Some(mine) = mine.filter(|mine| told_apart && !name.contains(mine.as_str())) {
                *name = format!("{name}, {mine}");
            }
        }
    }
    let taken = names.clone();
    for (index, name) in names.iter_mut().enumerate() {
        let alike: Vec<usize> = (0..taken.len()).filter(|o| taken[*o] == taken[index]).collect();
        if let Some(at) = alike.iter().position(|other| *other == index)
            && alike.len() > 1
        {
            *name = if alike.len() == taken.len() {
                format!("Run {}", at + 1)
            } else {
                format!("{name} ({})", at + 1)
            };
        }
    }
    names
}

/// `32 GB emmc, f2fs`.
fn about(run: &Run) -> String {
    let Environment { filesystem, device, .. } = &run.environment;
    let size = device.size_bytes.value().map(|size| format::size(*size));
    let storage = [size, text(&device.kind)].into_iter().flatten().collect::<Vec<_>>().join(" ");
    let parts = [Some(storage).filter(|s| !s.is_empty()), text(&filesystem.kind)];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}
