//! Grouping runs into subjects, and the subjects' names.

use flashlag_schema::{Environment, Run, RunStatus};
use flashlag_spec::Reading;
use flashlag_units::InOrder;

use super::model::{CompareError, CompareOptions, Group, Subject};
use crate::format;
use crate::naming::{device_name, device_names, kind_name};

/// Runs on the same device, filesystem and target, set up the same, are one subject. Where that
/// leaves a single subject, each run is its own: before against after.
pub fn subjects(runs: &[Run], options: &CompareOptions) -> Vec<Subject> {
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
    let files: Vec<String> = groups
        .iter()
        .map(|group| group.first().and_then(|first| options.files.get(*first)).cloned())
        .map(Option::unwrap_or_default)
        .collect();
    let names = device_names(&firsts, &files);
    let named = groups.into_iter().zip(&firsts).zip(names);
    named.map(|((runs, first), name)| Subject { name, about: about(first), runs }).collect()
}

/// The subjects that a person made.
///
/// # Errors
/// There are fewer than two groups, one has no runs, or a run is in none of them or in two.
pub fn grouped(runs: &[Run], options: &CompareOptions) -> Result<Vec<Subject>, CompareError> {
    let groups = &options.groups;
    let mut grouped: Vec<usize> = groups.iter().flat_map(|group| &group.runs).copied().collect();
    grouped.order();
    let firsts: Option<Vec<&Run>> =
        groups.iter().map(|group| runs.get(*group.runs.first()?)).collect();
    match firsts {
        Some(firsts) if groups.len() > 1 && grouped.into_iter().eq(0..runs.len()) => {
            let own = own_names(runs, groups);
            let named = |place: usize, group: &Group| {
                let own = own.as_ref().and_then(|own| own.get(place)).cloned();
                common_label(runs, group).or(own).unwrap_or_else(|| group.name.clone())
            };
            let subject = |(place, (group, first)): (usize, (&Group, &Run))| Subject {
                name: named(place, group),
                about: about(first),
                runs: group.runs.clone(),
            };
            let mut subjects: Vec<Subject> =
                groups.iter().zip(firsts).enumerate().map(subject).collect();
            tell_apart(&mut subjects, groups);
            Ok(subjects)
        }
        _ => Err(CompareError::Groups),
    }
}

/// Sides that share a name get the names of their groups, or without these a number.
fn tell_apart(subjects: &mut [Subject], groups: &[Group]) {
    for by_number in [false, true] {
        let names: Vec<String> = subjects.iter().map(|subject| subject.name.clone()).collect();
        for (place, (subject, group)) in subjects.iter_mut().zip(groups).enumerate() {
            let alike = names.iter().filter(|name| **name == subject.name).count() > 1;
            if alike && by_number {
                subject.name = format!("{} ({})", subject.name, place + 1);
            } else if alike && group.name != subject.name {
                subject.name = format!("{} ({})", subject.name, group.name);
            }
        }
    }
}

/// The warning about sides with a single run.
pub fn singles(subjects: &[Subject]) -> Option<String> {
    let single = |subject: &&Subject| subject.runs.len() == 1;
    let names: Vec<String> = subjects.iter().filter(single).map(|s| s.name.clone()).collect();
    let repeat = "Repeat each (run --runs 3), and give all the files.";
    Some(match names.len() {
        0 => return None,
        all if all == subjects.len() => format!(
            "One run each: the intervals say how a run varies within itself, not how runs differ \
             from one another. {repeat}"
        ),
        1 => format!(
            "{} has a single run: how runs of it differ is not known, and is taken to be as on the \
             other sides, or as that run varies within itself, whichever is more. {repeat}",
            names[0]
        ),
        _ => format!(
            "{} have a single run each: how runs of them differ is not known, and is taken to be as \
             on the other sides, or as a run varies within itself, whichever is more. {repeat}",
            format::list(&names)
        ),
    })
}

/// The warning about incomplete runs and runs whose tests were cut short.
pub fn unfinished(runs: &[Run], subjects: &[Subject], files: &[String]) -> Option<String> {
    let mut stopped: Vec<String> = Vec::new();
    for subject in subjects {
        for (place, index) in subject.runs.iter().enumerate() {
            let Some(run) = runs.get(*index) else { continue };
            let name = match files.get(*index) {
                Some(file) => file.clone(),
                None if subject.runs.len() == 1 => subject.name.clone(),
                None => format!("run {} of {}", place + 1, subject.name),
            };
            let how = match &run.status {
                RunStatus::Complete => None,
                RunStatus::Interrupted { .. } => Some("was stopped before its end".to_owned()),
                RunStatus::Running { .. } => Some("is incomplete".to_owned()),
                RunStatus::Failed { .. } => Some("was ended by an error".to_owned()),
            };
            let cut = match run.phases.iter().filter(|phase| phase.cut_short).count() {
                0 => None,
                cut => Some(format::plural(cut, "test cut short", "tests cut short")),
            };
            let said = match (how, cut) {
                (None, None) => continue,
                (Some(how), None) => format!("{name} {how}"),
                (None, Some(cut)) => format!("{name} has {cut}"),
                (Some(how), Some(cut)) => format!("{name} {how}, with {cut}"),
            };
            stopped.push(said);
        }
    }
    (!stopped.is_empty()).then(|| {
        format!(
            "Not all runs are whole: {}. What they did not measure is missing on their sides.",
            stopped.join("; ")
        )
    })
}

/// The first two runs that are the same run: a copy, or a simulation made again with one seed.
pub fn same(runs: &[Run]) -> Option<(usize, usize)> {
    let is_same = |a: &Run, b: &Run| {
        let (first, second) = (&a.scenario, &b.scenario);
        (&first.hash, first.seed) == (&second.hash, second.seed)
            && a.target == b.target
            && a.environment == b.environment
            && a.started == b.started
            && a.phases == b.phases
            && !a.phases.is_empty()
    };
    let pairs = (0..runs.len()).flat_map(|second| (0..second).map(move |first| (first, second)));
    pairs.into_iter().find(|(first, second)| is_same(&runs[*first], &runs[*second]))
}

/// The warning about different seeds.
pub fn seeds(runs: &[Run], subjects: &[Subject]) -> Option<String> {
    let of_subject = |subject: &Subject| {
        let runs = subject.runs.iter().filter_map(|index| runs.get(*index));
        let mut seeds: Vec<u64> = runs.map(|run| run.scenario.seed).collect();
        seeds.sort_unstable();
        seeds.dedup();
        seeds
    };
    let mut all = subjects.iter().map(of_subject);
    let first = all.next()?;
    (!all.all(|seeds| seeds == first))
        .then(|| "The seeds differ, so the addresses do too.".to_owned())
}

/// The warning about subjects whose runs are not repeats.
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

/// The warning about three or more runs of one set-up that were not grouped.
pub fn alone(runs: &[Run], subjects: &[Subject]) -> Option<String> {
    let (first, others) = runs.split_first()?;
    let alike = others.iter().all(|run| repeats(first, run));
    (runs.len() > 2 && subjects.len() == runs.len() && alike).then(|| {
        "All these runs had the same set-up, and it is not known which are repeats of which, so \
         each is a side of its own. To compare those after a change with those before it: compare \
         AFTER... --against BEFORE..."
            .to_owned()
    })
}

/// Whether two runs had the same set-up, as far as that was read.
fn repeats(a: &Run, b: &Run) -> bool {
    let (x, y) = (&a.environment, &b.environment);
    a.target == b.target
        && a.label == b.label
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

/// The devices' names, if each group has one device and no two share a name.
fn own_names(runs: &[Run], groups: &[Group]) -> Option<Vec<String>> {
    let name = |group: &Group| {
        let mut names = group.runs.iter().map(|index| Some(device_name(runs.get(*index)?)));
        let first = names.next()??;
        names.all(|name| name.as_ref() == Some(&first)).then_some(first)
    };
    let names: Vec<String> = groups.iter().map(name).collect::<Option<_>>()?;
    let unique = (0..names.len()).all(|at| !names[..at].contains(&names[at]));
    unique.then_some(names)
}

/// The label that every run of a group has.
fn common_label(runs: &[Run], group: &Group) -> Option<String> {
    let mut labels = group.runs.iter().map(|index| runs.get(*index)?.label.clone());
    let first = labels.next()??;
    labels.all(|label| label.as_ref() == Some(&first)).then_some(first)
}

/// Gives the subjects the names that a person gave: one for each subject, or one for each run, if
/// runs of a subject have the same.
///
/// # Errors
/// The number of labels matches neither subjects nor runs.
pub fn label(subjects: &mut [Subject], runs: usize, labels: &[String]) -> Result<(), CompareError> {
    let by_subject = labels.len() == subjects.len();
    if labels.is_empty() {
        return Ok(());
    }
    let same = |subject: &Subject| {
        let first = subject.runs.first().and_then(|first| labels.get(*first));
        subject.runs.iter().all(|run| labels.get(*run) == first)
    };
    let by_run = labels.len() == runs && subjects.iter().all(same);
    if !by_subject && !by_run {
        let (given, subjects) = (labels.len(), subjects.len());
        return Err(CompareError::Labels { given, subjects, runs });
    }
    for (place, subject) in subjects.iter_mut().enumerate() {
        let at = if by_subject { Some(place) } else { subject.runs.first().copied() };
        if let Some(label) = at.and_then(|at| labels.get(at)) {
            subject.name.clone_from(label);
        }
    }
    let twice = (0..subjects.len()).find(|at| {
        let name = |subject: &Subject| subject.name == subjects[*at].name;
        subjects[..*at].iter().any(name)
    });
    match twice.and_then(|at| subjects.get(at)) {
        Some(subject) => Err(CompareError::LabelTwice { label: subject.name.clone() }),
        None => Ok(()),
    }
}

fn text<T: ToString>(reading: &Reading<T>) -> Option<String> {
    reading.value().map(ToString::to_string).filter(|text| !text.trim().is_empty())
}

/// `32 GB eMMC, f2fs`.
fn about(run: &Run) -> String {
    let Environment { filesystem, device, .. } = &run.environment;
    let size = device.size_bytes.value().map(|size| format::size(*size));
    let kind = text(&device.kind).map(|kind| kind_name(&kind).to_owned());
    let storage = [size, kind].into_iter().flatten().collect::<Vec<_>>().join(" ");
    let parts = [Some(storage).filter(|s| !s.is_empty()), text(&filesystem.kind)];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}
