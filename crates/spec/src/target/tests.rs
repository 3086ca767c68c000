use std::collections::HashSet;

use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::*;

fn error_of(text: &str) -> String {
    DeviceSpec::parse(text).unwrap_err().to_string()
}

/// Values that an option with a value can have.
fn values(row: &OptionRow) -> &'static [&'static str] {
    match row.value {
        None => &[""],
        Some("SIZE") => &["4GB", "2000MiB", "1B"],
        Some("STATE") => &["new", "full", "aged:12mo", "aged:90s"],
        Some(_) => &["10", "0.5", "1000000"],
    }
}

/// Options that apply there, with values, in any order, each once.
fn words(kind: Kind, filesystem: FilesystemKind) -> impl Strategy<Value = Vec<String>> {
    let rows = OPTIONS.iter().filter(|row| row.filesystems(kind).contains(&filesystem));
    let all: Vec<String> = rows
        .flat_map(|row| {
            values(row).iter().map(|value| match row.value {
                Some(_) => format!("{}={value}", row.word),
                None => row.word.to_owned(),
            })
        })
        .collect();
    let most = all.len();
    subsequence(all, 0..=most).prop_shuffle().prop_map(|mut words| {
        let mut names = HashSet::new();
        words.retain(|word| names.insert(table::name_of(word).to_owned()));
        words
    })
}

fn targets() -> impl Strategy<Value = (Kind, FilesystemKind, Vec<String>)> {
    let places: Vec<_> = Kind::ALL
        .into_iter()
        .flat_map(|kind| FilesystemKind::of(kind).iter().map(move |one| (kind, *one)))
        .collect();
    select(places)
        .prop_flat_map(|(kind, filesystem)| (Just(kind), Just(filesystem), words(kind, filesystem)))
}

proptest! {
    #[test]
    fn a_target_prints_as_it_was_written_and_reads_back_as_the_same(
        (kind, filesystem, words) in targets(),
        space in select(vec!["", " "]),
    ) {
        let list: String = words.iter().map(|word| format!(",{space}{word}{space}")).collect();
        let text = format!("{kind}:zero+{filesystem}{list}");
        let device = DeviceSpec::parse(&text).unwrap().unwrap();
        let mount = device.mount.clone().unwrap();
        prop_assert_eq!(mount.options.len(), words.len());
        prop_assert_eq!(mount.check(kind), Ok(()));
        // The word that another is an alias of.
        let written = text.replace(' ', "").replace("encrypt=aes-xts", "encrypt");
        prop_assert_eq!(device.to_string(), written);
        prop_assert_eq!(DeviceSpec::parse(&device.to_string()), Ok(Some(device)));
    }

    #[test]
    fn the_stack_is_the_mount_without_the_options_of_the_device(
        (kind, filesystem, words) in targets(),
    ) {
        let text = format!("{filesystem},{}", words.join(","));
        let Ok(mount) = MountSpec::parse(kind, text.trim_end_matches(',')) else {
            return Err(TestCaseError::fail(text));
        };
        let of_device = ["host", "size=", "state=", "time-scale=", "fill-time-scale="];
        let kept = words.iter().filter(|word| !of_device.iter().any(|one| word.starts_with(one)));
        let expected: String = kept.map(|word| format!(",{word}")).collect();
        let expected = format!("{filesystem}{expected}").replace("encrypt=aes-xts", "encrypt");
        prop_assert_eq!(mount.stack().to_string(), expected);
    }
}

#[test]
fn an_option_is_taken_where_the_table_has_it_and_refused_elsewhere_with_the_targets_that_have_it() {
    for row in &OPTIONS {
        let word = match row.value {
            Some(_) => format!("{}={}", row.word, values(row)[0]),
            None => row.word.to_owned(),
        };
        for kind in Kind::ALL {
            for filesystem in FilesystemKind::of(kind) {
                let text = format!("{kind}:zero+{filesystem},{word}");
                let parsed = DeviceSpec::parse(&text);
                if row.filesystems(kind).contains(filesystem) {
                    assert!(parsed.is_ok(), "{text}: {parsed:?}");
                    continue;
                }
                let error = parsed.unwrap_err().to_string();
                let of = match row.filesystems(kind) {
                    [] => row.filesystems(kind.other()),
                    of => of,
                };
                assert!(error.contains(row.word), "{text}: {error}");
                assert!(of.iter().all(|one| error.contains(one.name())), "{text}: {error}");
            }
        }
    }
}

#[test]
fn every_word_is_in_the_table_once_and_has_a_meaning_somewhere() {
    for row in &OPTIONS {
        assert_eq!(
            OPTIONS.iter().filter(|other| other.word == row.word).count(),
            1,
            "{}",
            row.word
        );
        assert!(!row.sim.is_empty() || !row.lab.is_empty(), "{}", row.word);
        let known = |kind| FilesystemKind::of(kind);
        assert!(row.sim.iter().all(|one| known(Kind::Sim).contains(one)), "{}", row.word);
        assert!(row.lab.iter().all(|one| known(Kind::Lab).contains(one)), "{}", row.word);
    }
}

#[test]
fn a_message_lists_every_option_of_its_kind_and_none_of_the_other() {
    for (kind, text) in [(Kind::Sim, "sim:zero+ext4,qq"), (Kind::Lab, "lab:zero+ext4,qq")] {
        let error = error_of(text);
        let listed: Vec<&str> = error.split([',', ' ', ';']).collect();
        for row in &OPTIONS {
            let expected = !row.filesystems(kind).is_empty();
            assert_eq!(listed.contains(&row.usage().as_str()), expected, "{}: {error}", row.word);
        }
    }
}

#[test]
fn an_option_is_there_once_but_for_the_layers_of_the_lab() {
    for (text, said) in [
        ("sim:zero+ext4,size=4GB,size=8GB", "\"size=4GB\" and \"size=8GB\" are one option"),
        (
            "lab:zero+f2fs,fsync_mode=strict,discard,fsync_mode=posix",
            "\"fsync_mode=posix\" are one",
        ),
        ("sim:zero+ext4,fuse,fuse", "\"fuse\" and \"fuse\" are one option"),
    ] {
        assert!(error_of(text).contains(said), "{text}: {}", error_of(text));
    }
    // Options apply in their order: of two that exclude each other, the later one counts.
    for text in ["lab:zero+ext4,overlay,bind,overlay", "sim:zero+ext4,barrier,nobarrier"] {
        assert_eq!(DeviceSpec::parse(text).unwrap().unwrap().to_string(), text);
    }
}

#[test]
fn an_option_without_its_value_is_answered_with_the_values_that_it_takes() {
    for (text, usages) in [
        ("sim:zero+ext4,size", "needs a value: size=SIZE"),
        ("lab:zero+f2fs,background_gc", "background_gc=on or background_gc=off"),
    ] {
        assert!(error_of(text).ends_with(usages), "{text}: {}", error_of(text));
    }
}

#[test]
fn a_mistyped_word_is_answered_with_the_one_that_was_meant() {
    for (text, meant) in [
        ("sim:zero+ext4,nobarier", "`nobarrier`"),
        ("sim:zero+ext4,siez=4GB", "`size=SIZE`"),
        ("lab:zero+ext4,data=jurnal", "`data=journal`"),
        ("lab:zero+ext4,timescale=4", "`time-scale=N`"),
        ("sim:zero+f2sf", "`f2fs`"),
        ("lab:zero+nilfs", "`nilfs2`"),
        ("simm:zero", "`sim`"),
    ] {
        let error = error_of(text);
        assert!(error.contains(&format!("did you mean {meant}?")), "{text}: {error}");
    }
}

#[test]
fn what_only_the_other_kind_has_is_said() {
    let cases = [
        ("sim:zero+xfs", "lab: has xfs"),
        ("lab:zero+raw", "sim: has raw"),
        ("sim:zero+ext4,data=journal", "sim: has no option \"data=journal\"; lab: has it (ext4)"),
        ("lab:zero+f2fs,noipu", "lab: has no option \"noipu\"; sim: has it (f2fs)"),
        ("sim:zero+ext4,rootdir", "ext4 has no option \"rootdir\"; f2fs has"),
        (
            "lab:zero+xfs,nobarrier",
            "xfs has no option \"nobarrier\"; ext4, f2fs, btrfs and nilfs2 have",
        ),
    ];
    for (text, said) in cases {
        let error = error_of(text);
        assert!(error.contains(said), "{text}: {error}");
    }
}

#[test]
fn values_are_refused_with_their_option_and_what_to_write() {
    for (option, said) in [
        ("size=big", "\"size=big\": no size"),
        ("state=old", "new, full or aged:12mo"),
        ("time-scale=fast", "a number"),
        ("time-scale=0", "not between"),
        ("fill-time-scale=-1", "not between"),
    ] {
        let error = error_of(&format!("lab:zero+ext4,{option}"));
        assert!(error.contains(said), "{option}: {error}");
    }
}

#[test]
fn kinds_that_do_not_exist_are_refused_and_paths_are_directories() {
    assert!(error_of("adb:SERIAL").contains("is a phone, which has no profile"));
    assert!(error_of("usb:x").contains("sim:PROFILE"));
    for path in ["/mnt/a:b", "./sim:x/..", "here", "", ":"] {
        assert_eq!(DeviceSpec::parse(path), Ok(None), "{path}");
    }
    let sim = DeviceSpec::parse("sim:my.toml").unwrap().unwrap();
    assert_eq!((sim.kind, sim.profile.as_str(), sim.mount), (Kind::Sim, "my.toml", None));
}
