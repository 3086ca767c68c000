//! What to do about a finding: the table's sentence, with the names that are known of this machine.

use std::borrow::Cow;

use flashlag_schema::Environment;
use flashlag_schema::finding::{Finding, FindingAction};
use flashlag_spec::Reading;

/// The sentence; a limit is named with its value and its file.
pub(super) fn action(environment: Option<&Environment>, finding: &Finding) -> Cow<'static, str> {
    let mut said: Cow<'static, str> = finding.action.sentence().into();
    if let Some(environment) = environment {
        for (placeholder, name) in names(environment, finding.action) {
            if let Some(name) = name.filter(|_| said.contains(placeholder)) {
                said = said.replace(placeholder, &name).into();
            }
        }
        let root = environment.filesystem.mount_point.value().is_some_and(|at| at == "/");
        if let Some(how) = on_root(finding.action).filter(|_| root) {
            said = format!("{said} {how}").into();
        }
    }
    let of_limits = finding.evidence.iter().filter(|fact| fact.field == "environment.limits.set");
    let limits: Vec<&str> = of_limits.map(|fact| fact.value.as_str()).collect();
    if limits.is_empty() { said } else { format!("{said} It allows {}.", limits.join("; ")).into() }
}

/// The placeholders of the sentences, with what they are here as far as it is known.
fn names(environment: &Environment, action: FindingAction) -> [(&'static str, Option<String>); 3] {
    let filesystem = &environment.filesystem;
    let disk = word(&environment.device.name);
    let device = match action {
        // A command for the card itself, and not for a partition.
        FindingAction::SwitchCacheOn => disk.clone().map(|disk| format!("/dev/{disk}")),
        // The kernel's name for the device that it started from: there is no such file.
        _ => word(&filesystem.source).filter(|it| it.starts_with("/dev/") && it != "/dev/root"),
    };
    [("MOUNTPOINT", word(&filesystem.mount_point)), ("DEVICE", device), ("DISK", disk)]
}

/// A name that stands in a command as it is.
fn word(name: &Reading<String>) -> Option<String> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+:".contains(letter);
    name.value().filter(|name| !name.is_empty() && name.chars().all(plain)).cloned()
}

/// How the root filesystem is changed, if that can't be done while it is mounted.
fn on_root(action: FindingAction) -> Option<&'static str> {
    Some(match action {
        FindingAction::AddJournal | FindingAction::NoFastCommit => {
            "The root filesystem stays mounted while the system runs: do it from another system, a \
             rescue stick or another computer that takes the card."
        }
        FindingAction::CheckFilesystem => {
            "The root filesystem is checked at the next start with the kernel option `fsck.mode=force`."
        }
        FindingAction::JournalMetadataOnly => {
            "For the root filesystem that is the kernel option `rootflags=data=ordered`."
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use flashlag_explain::findings_of;
    use flashlag_testing::sample;

    use super::*;

    fn of(action: FindingAction) -> Finding {
        let all = findings_of(&sample::lifecycle()).list.clone();
        let mut one = all.into_iter().next().expect("a finding of the sample");
        one.action = action;
        one.evidence.clear();
        one
    }

    fn environment(mount: &str, source: &str) -> Environment {
        let mut environment = sample::quick().environment;
        environment.filesystem.mount_point = Reading::Value(mount.to_owned());
        environment.filesystem.source = Reading::Value(source.to_owned());
        environment.device.name = Reading::Value("mmcblk0".to_owned());
        environment
    }

    #[test]
    fn what_is_known_of_the_machine_stands_in_the_command() {
        let said = |mount: &str, source: &str, what: FindingAction| {
            action(Some(&environment(mount, source)), &of(what)).into_owned()
        };
        let journal = said("/data", "/dev/mmcblk0p2", FindingAction::AddJournal);
        assert!(journal.ends_with("`tune2fs -O has_journal /dev/mmcblk0p2`."), "{journal}");
        assert!(said("/data", "x", FindingAction::Trim).contains("`fstrim -v /data`"));
        let cache = said("/data", "/dev/mmcblk0p2", FindingAction::SwitchCacheOn);
        assert!(cache.contains("`mmc cache enable /dev/mmcblk0`"), "{cache}");
        let queue = said("/data", "x", FindingAction::NoScheduler);
        assert!(queue.contains("`/sys/block/mmcblk0/queue/scheduler`"), "{queue}");
        for (mount, source) in [("/a b; c", "/dev/root"), ("$(x)", "overlay")] {
            let unknown = said(mount, source, FindingAction::AddJournal);
            assert!(unknown.ends_with("`tune2fs -O has_journal DEVICE`."), "{unknown}");
            assert!(said(mount, source, FindingAction::Trim).contains("MOUNTPOINT"));
        }
        assert!(action(None, &of(FindingAction::Trim)).contains("MOUNTPOINT"));
    }

    #[test]
    fn what_can_not_be_done_to_a_mounted_root_says_how_it_can() {
        let root = |what| action(Some(&environment("/", "/dev/vda1")), &of(what)).into_owned();
        let journal = root(FindingAction::AddJournal);
        assert!(journal.contains("has_journal /dev/vda1`. The root filesystem stays mounted"));
        // Each action that asks for an unmounted filesystem, or for an option that a remount refuses.
        for what in [
            FindingAction::AddJournal,
            FindingAction::NoFastCommit,
            FindingAction::CheckFilesystem,
            FindingAction::JournalMetadataOnly,
        ] {
            assert!(root(what).contains("oot filesystem"), "{}", root(what));
        }
        assert!(!root(FindingAction::Trim).contains("oot filesystem"));
    }
}
