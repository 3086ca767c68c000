//! The name of a device under test: a label, or without one a short name of the machine, the
//! profile or the disk; and what distinguishes equal names.

use flashlag_schema::internals::FilesystemInternals;
use flashlag_schema::{Environment, Run, TargetKind};
use flashlag_spec::Reading;

use super::kind_name;
use crate::format;

/// A longer name is cut after a word.
const LONGEST: usize = 32;

/// The name of a run's device: its label (`--label`), or without one a short name: `Nexus 5` for a
/// simulated one, the machine's or the disk's own, `virtio disk at /data`.
pub fn device_name(run: &Run) -> String {
    let label = run.label.as_deref().map(str::trim).filter(|label| !label.is_empty());
    match label {
        Some(label) => label.to_owned(),
        None => unlabelled(run),
    }
}

fn unlabelled(run: &Run) -> String {
    if let Some(profile) = &run.target.profile {
        return whole_words(&of_profile(&profile.name, &profile.about), LONGEST);
    }
    let environment = &run.environment;
    let machine = match environment.software.virtualized.value() {
        // A hypervisor's machine says nothing about the storage below it; a phone is known by its
        // name.
        Some(true) if run.target.kind != TargetKind::Phone => None,
        _ => text(&environment.software.machine),
    };
    let known = machine.or_else(|| text(&environment.device.model));
    let known = known.map(|known| whole_words(known.trim(), LONGEST));
    known.or_else(|| disk(run)).unwrap_or_else(|| match run.target.name.trim() {
        "" => "unnamed".to_owned(),
        name => name.to_owned(),
    })
}

/// `Nexus 5` of `Nexus 5 (2013), 16 GB: Snapdragon 800, …`; the profile's own name where its
/// description begins like a sentence.
fn of_profile(name: &str, about: &str) -> String {
    let end = about.find(['(', ',', ':', '.']).unwrap_or(about.len());
    let short = about[..end].trim();
    if short.is_empty() || short.starts_with("A ") { name.to_owned() } else { short.to_owned() }
}

/// `virtio disk at /data`.
fn disk(run: &Run) -> Option<String> {
    let Environment { device, filesystem, .. } = &run.environment;
    let kind = text(&device.kind)?;
    let at = match run.target.kind {
        TargetKind::Path | TargetKind::Phone => {
            place(run).or_else(|| text(&filesystem.mount_point))
        }
        _ => None,
    };
    let disk = format!("{} disk", kind_name(&kind));
    Some(at.map_or_else(|| disk.clone(), |at| format!("{disk} at {at}")))
}

/// The directory, unless it only says that it was the current one.
fn place(run: &Run) -> Option<String> {
    let directory = run.target.directory.as_deref()?.trim().trim_start_matches("./");
    (!matches!(directory, "" | "." | "..")).then(|| directory.to_owned())
}

fn text<T: ToString>(reading: &Reading<T>) -> Option<String> {
    reading.value().map(ToString::to_string).filter(|text| !text.trim().is_empty())
}

/// At most `most` characters, cut after a word and never within one.
fn whole_words(name: &str, most: usize) -> String {
    let name = name.trim_end_matches(['.', ',', ':', ' ']);
    if name.chars().count() <= most {
        return name.to_owned();
    }
    let mut kept = String::new();
    for word in name.split_whitespace() {
        let longer = kept.chars().count() + 1 + word.chars().count();
        if !kept.is_empty() && longer > most {
            break;
        }
        if !kept.is_empty() {
            kept.push(' ');
        }
        kept.push_str(word);
    }
    kept.trim_end_matches(['.', ',', ':', '(', ' ']).to_owned()
}

/// The name of a run's filesystem. The kernel calls every drive that a FUSE daemon serves `fuseblk`.
pub fn filesystem_name(run: &Run) -> Option<String> {
    let internals = run.environment.internals.as_ref();
    match internals.and_then(|internals| internals.filesystem.value()) {
        Some(FilesystemInternals::Portable { format, by_fuse: true, .. }) => {
            Some(format!("{} by FUSE", format.name()))
        }
        _ => text(&run.environment.filesystem.kind),
    }
}

/// Properties that may distinguish devices of one name, the best first.
fn attributes(run: &Run) -> [Option<String>; 7] {
    let Environment { software, filesystem, device, .. } = &run.environment;
    let profile = run.target.profile.as_ref();
    let state = profile.map(|profile| profile.device_options.join(", "));
    let size = device.size_bytes.value().map(|size| format::size(*size));
    [
        filesystem_name(run),
        state.filter(|state| !state.is_empty()),
        profile.map(|profile| profile.name.clone()).or_else(|| text(&device.model)),
        size,
        place(run),
        text(&software.kernel),
        text(&filesystem.source),
    ]
}

/// A name for each run, unique: the short name, and what distinguishes it from equal ones: the
/// filesystem, its options, the state, the model, the file.
pub(crate) fn device_names(runs: &[&Run], files: &[String]) -> Vec<String> {
    let mut names: Vec<Name> =
        runs.iter().map(|run| Name { own: device_name(run), more: Vec::new() }).collect();
    let attributes: Vec<_> = runs.iter().map(|run| attributes(run)).collect();
    let options: Vec<Vec<String>> = runs.iter().map(|run| options(run)).collect();
    let place = |place: usize| -> Vec<Option<String>> {
        attributes.iter().map(|given| given.get(place).cloned().flatten()).collect()
    };
    tell_apart(&mut names, &place(0));
    let own = differing(&names, &options);
    tell_apart(&mut names, &own);
    for rest in 1..attributes.first().map_or(0, |given| given.len()) {
        tell_apart(&mut names, &place(rest));
    }
    let files: Vec<Option<String>> = (0..runs.len()).map(|at| files.get(at).cloned()).collect();
    tell_apart(&mut names, &files);
    number(&mut names);
    names.iter().map(Name::in_words).collect()
}

/// A short name with a distinction in parentheses, since names stand in lists.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Name {
    own: String,
    more: Vec<String>,
}

impl Name {
    /// `Nexus 5 (f2fs, discard)`.
    fn in_words(&self) -> String {
        match self.more.as_slice() {
            [] => self.own.clone(),
            more => format!("{} ({})", self.own, more.join(", ")),
        }
    }
}

fn options(run: &Run) -> Vec<String> {
    run.environment.filesystem.options.value().cloned().unwrap_or_default()
}

/// For each, the mount options that others of its name lack: `nobarrier`; without any, those that
/// it lacks: `without nobarrier`.
fn differing(names: &[Name], options: &[Vec<String>]) -> Vec<Option<String>> {
    let alike = |at: usize| (0..names.len()).filter(move |other| names[*other] == names[at]);
    let own = |at: usize| {
        let common = |option: &&String| alike(at).all(|other| options[other].contains(option));
        let own: Vec<&str> =
            options[at].iter().filter(|option| !common(option)).map(String::as_str).collect();
        let others = alike(at).flat_map(|other| &options[other]);
        let missing = others.filter(|option| !options[at].contains(option)).map(String::as_str);
        match (own.is_empty(), missing.take(2).collect::<Vec<_>>()) {
            (false, _) => Some(own.join(",")),
            (true, missing) if !missing.is_empty() => {
                Some(format!("without {}", missing.join(",")))
            }
            _ => None,
        }
    };
    (0..names.len()).map(own).collect()
}

/// Adds to each name a property that distinguishes it from equal names.
fn tell_apart(names: &mut [Name], by: &[Option<String>]) {
    let before = names.to_vec();
    for (index, name) in names.iter_mut().enumerate() {
        let Some(mine) = by.get(index).and_then(Option::as_ref) else { continue };
        let mut alike = (0..before.len()).filter(|other| before[*other] == before[index]);
        let told_apart =
            alike.any(|other| by.get(other).is_none_or(|by| by.as_ref() != Some(mine)));
        if told_apart && !name.in_words().contains(mine.as_str()) {
            name.more.push(mine.clone());
        }
    }
}

/// Numbers names that nothing distinguishes.
fn number(names: &mut [Name]) {
    let taken = names.to_vec();
    for (index, name) in names.iter_mut().enumerate() {
        let alike: Vec<usize> = (0..taken.len()).filter(|o| taken[*o] == taken[index]).collect();
        let at = alike.iter().position(|other| *other == index).unwrap_or(0) + 1;
        if alike.len() > 1 {
            if alike.len() == taken.len() {
                *name = Name { own: format!("Run {at}"), more: Vec::new() }
            } else {
                name.more.push(at.to_string())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlag_schema::internals::{Internals, PortableFormat, Unsynced};
    use flashlag_spec::profile::Profile;

    use flashlag_testing::sample;

    fn simulated(name: &str, about: &str) -> Run {
        let mut run = sample::quick();
        run.target.profile = Some(flashlag_schema::ProfileRecord {
            name: name.to_owned(),
            about: about.to_owned(),
            filesystem: "ext4".to_owned(),
            text: String::new(),
            device_options: Vec::new(),
        });
        run.environment.software.machine = Reading::Value(about.to_owned());
        run
    }

    fn on_a_disk(directory: &str) -> Run {
        let mut run = sample::quick();
        run.environment.software.machine = Reading::Value("Standard PC (i440FX)".to_owned());
        run.environment.software.virtualized = Reading::Value(true);
        run.environment.device.model = Reading::unavailable("none");
        run.environment.device.kind = Reading::Value("virtio".to_owned());
        run.target.directory = Some(directory.to_owned());
        run
    }

    #[test]
    fn a_device_has_a_short_name_and_no_sentence() {
        let names = [
            ("nexus5-2013", "Nexus 5 (2013), 16 GB: Snapdragon 800, eMMC 4.5.", "Nexus 5"),
            ("sd-a1", "SanDisk Extreme Pro A1, 32 GB: a good card.", "SanDisk Extreme Pro A1"),
            ("ufs21-phone", "A phone of 2018: 64 GB of UFS 2.1, TLC.", "ufs21-phone"),
        ];
        for (profile, about, name) in names {
            assert_eq!(device_name(&simulated(profile, about)), name);
        }
        assert_eq!(device_name(&on_a_disk("mnt/card")), "virtio disk at mnt/card");
        assert_eq!(device_name(&on_a_disk(".")), "virtio disk at /data");
    }

    #[test]
    fn every_profile_of_the_program_has_a_name_of_at_most_32_characters() {
        for name in flashlag_spec::profile::names() {
            let text = flashlag_spec::profile::builtin_profile(name).expect("listed");
            let profile = Profile::parse(text).expect("a profile of ours");
            let named = device_name(&simulated(name, &profile.about));
            assert!(named.chars().count() <= LONGEST && !named.ends_with('.'), "{named}");
        }
    }

    #[test]
    fn a_label_is_the_name_everywhere() {
        let mut run = simulated("nexus5-2013", "Nexus 5 (2013), 16 GB.");
        run.label = Some("Card A".to_owned());
        assert_eq!(device_name(&run), "Card A");
        let other = simulated("nexus5-2013", "Nexus 5 (2013), 16 GB.");
        assert_eq!(device_names(&[&run, &other], &[]), ["Card A", "Nexus 5"]);
    }

    #[test]
    fn a_drive_served_by_a_daemon_is_named_by_its_format_and_not_as_the_kernel_calls_all_of_them() {
        let mut run = simulated("n5", "Nexus 5");
        run.environment.filesystem.kind = Reading::Value("fuseblk".to_owned());
        assert_eq!(filesystem_name(&run).as_deref(), Some("fuseblk"));
        let filesystem = Reading::Value(FilesystemInternals::Portable {
            format: PortableFormat::Exfat,
            by_fuse: true,
            unsynced: Unsynced::Later,
        });
        run.environment.internals = Some(Internals { filesystem, ..Internals::default() });
        assert_eq!(filesystem_name(&run).as_deref(), Some("exFAT by FUSE"));
    }

    #[test]
    fn devices_of_one_name_are_told_apart_by_what_differs() {
        let (a, mut b) = (simulated("n5", "Nexus 5"), simulated("n5", "Nexus 5"));
        let files = ["before".to_owned(), "after".to_owned()];
        assert_eq!(device_names(&[&a, &b], &files), ["Nexus 5 (before)", "Nexus 5 (after)"]);
        assert_eq!(device_names(&[&a, &b], &[]), ["Run 1", "Run 2"]);
        let mut mounted = options(&a);
        mounted.push("nobarrier".to_owned());
        b.environment.filesystem.options = Reading::Value(mounted);
        let names = ["Nexus 5 (without nobarrier)", "Nexus 5 (nobarrier)"];
        assert_eq!(device_names(&[&a, &b], &files), names);
        b.environment.filesystem.kind = Reading::Value("ext4".to_owned());
        let names = device_names(&[&a, &b], &files);
        assert_eq!(names, ["Nexus 5 (f2fs)", "Nexus 5 (ext4)"]);
    }

    #[test]
    fn a_long_name_ends_with_a_whole_word() {
        let long = "Samsung Electronics Portable Solid State Drive of some Kind";
        let short = whole_words(long, LONGEST);
        assert!(short.len() <= LONGEST && long.starts_with(&format!("{short} ")), "{short}");
        assert_eq!(whole_words("Nexus 5.", LONGEST), "Nexus 5");
    }
}
