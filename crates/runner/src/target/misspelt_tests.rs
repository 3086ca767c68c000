use proptest::prelude::*;

use super::misspelt::misspelt;
use super::*;

/// Misspelt targets, the message for each, and the target that was meant.
const MISSPELT: &[(&str, &str, &str)] = &[
    (
        "sim:nexus7-2012,size=4GiB",
        "a plus and the filesystem stand after the profile, and a comma before each option",
        "sim:nexus7-2012+ext4,size=4GiB",
    ),
    ("sim:nexus7-2012+size=4GiB", "no filesystem", "sim:nexus7-2012+ext4,size=4GiB"),
    ("sim:moto-z-2016,fuse", "no filesystem", "sim:moto-z-2016+f2fs,nobarrier,encrypt,fuse"),
    ("lab:pixel-2016", "no filesystem", "lab:pixel-2016+ext4,fuse,encrypt"),
    ("lab:moto-x-2013", "no filesystem", "lab:moto-x-2013+f2fs"),
    (
        "sim:nexus7-2012:ext4",
        "a plus stands before the filesystem \"ext4\", not \":\"",
        "sim:nexus7-2012+ext4",
    ),
    ("sim:nexus7-2012/ext4", "not \"/\"", "sim:nexus7-2012+ext4"),
    ("sim:nexus7-2012,ext4", "not \",\"", "sim:nexus7-2012+ext4"),
    ("sim:nexus7-2012 ext4", "not \" \"", "sim:nexus7-2012+ext4"),
    (
        "sim:nexus7-2012+ext4 size=4GiB",
        "a comma stands before the option \"size=4GiB\", not \" \"",
        "sim:nexus7-2012+ext4,size=4GiB",
    ),
    ("sim:nexus7-2012+ext4+size=4GiB", "not \"+\"", "sim:nexus7-2012+ext4,size=4GiB"),
    ("sim:nexus7-2012+ext4;size=4GiB", "not \";\"", "sim:nexus7-2012+ext4,size=4GiB"),
    ("sim:nexus7-2012+ext4:size=4GiB", "not \":\"", "sim:nexus7-2012+ext4,size=4GiB"),
    ("sim:nexus7-2012+size=4GiB,ext4", "the order is", "sim:nexus7-2012+ext4,size=4GiB"),
    ("sim:ext4+nexus7-2012,size=4GiB", "the order is", "sim:nexus7-2012+ext4,size=4GiB"),
    ("sim:nexus7-2012+ext4,", "nothing follows a \",\"", "sim:nexus7-2012+ext4"),
    ("sim:nexus7-2012+ext4,,fuse", "nothing follows a \",\"", "sim:nexus7-2012+ext4,fuse"),
    ("sim:nexus7-2012+", "nothing follows a \"+\"", "sim:nexus7-2012"),
    (
        "sim:nexus7-2012+ext4,size=4GiB,size=4GiB",
        "\"size=4GiB\" is given twice",
        "sim:nexus7-2012+ext4,size=4GiB",
    ),
    ("sim:nexus7-2012+ext4,nobarier", "no option \"nobarier\"", "sim:nexus7-2012+ext4,nobarrier"),
    ("sim:nexus7-2012+ext4,sise=4GiB", "no option \"sise=4GiB\"", "sim:nexus7-2012+ext4,size=4GiB"),
    ("sim:nexus7-2012+ext4,size:4GiB", "no option \"size:4GiB\"", "sim:nexus7-2012+ext4,size=4GiB"),
    ("sim:nexus7-2012+ext4,size =4gib", "no option", "sim:nexus7-2012+ext4,size=4GiB"),
    ("sim:nexus7-2012+ext4,SIZE=4GiB", "no option \"SIZE=4GiB\"", "sim:nexus7-2012+ext4,size=4GiB"),
    ("sim:nexus7-2012+ext4,barrier=0", "no option \"barrier=0\"", "sim:nexus7-2012+ext4,nobarrier"),
    ("lab:zero+f2fs,fsync_mode=stric", "no option", "lab:zero+f2fs,fsync_mode=strict"),
    ("lab:zero+ext4,timescale=4", "no option \"timescale=4\"", "lab:zero+ext4,time-scale=4"),
    ("sim:nexus7-2012+EXT4", "no filesystem \"EXT4\"", "sim:nexus7-2012+ext4"),
    ("sim:nexus7-2012+f2sf", "no filesystem \"f2sf\"", "sim:nexus7-2012+f2fs"),
    ("sim:NEXUS7-2012+ext4", "no profile \"NEXUS7-2012\"", "sim:nexus7-2012+ext4"),
    ("sim:nexus7+ext4", "no profile \"nexus7\"", "sim:nexus7-2012+ext4"),
    ("sim:nexus7_2012", "no profile \"nexus7_2012\"", "sim:nexus7-2012"),
    ("sim: nexus7-2012 + ext4, size=4GiB", "no space stands", "sim:nexus7-2012+ext4,size=4GiB"),
    ("SIM:nexus7-2012+ext4", "no kind of target is called \"SIM:\"", "sim:nexus7-2012+ext4"),
    ("simm:nexus7-2012", "no kind of target is called \"simm:\"", "sim:nexus7-2012"),
    ("simulated:nexus7-2012", "no kind of target is called \"simulated:\"", "sim:nexus7-2012"),
    ("sim=nexus7-2012", "a colon stands after \"sim\"", "sim:nexus7-2012"),
    ("sim nexus7-2012+ext4", "a colon stands after \"sim\"", "sim:nexus7-2012+ext4"),
    ("sim://nexus7-2012", "is written KIND:PROFILE", "sim:nexus7-2012"),
    ("nexus7-2012+ext4,size=4GiB", "begins with sim:", "sim:nexus7-2012+ext4,size=4GiB"),
    ("nexus7-2012", "begins with sim:", "sim:nexus7-2012"),
    ("nexus7-2012+xfs", "begins with sim:", "lab:nexus7-2012+xfs"),
    ("ADB:0A1B2C", "no kind of target is called \"ADB:\"", "adb:0A1B2C"),
    ("adb", "a colon stands after \"adb\"", "adb:"),
    (
        "Sim:Nexus7-2012:Ext4;Size=4gb",
        "no kind of target is called \"Sim:\"; there is no profile \"Nexus7-2012\"",
        "sim:nexus7-2012+ext4,size=4GB",
    ),
];

#[test]
fn a_misspelt_target_is_refused_with_what_is_wrong_and_the_target_that_was_meant() {
    for (text, wrong, meant) in MISSPELT {
        let error = Target::parse(text).unwrap_err().to_string();
        assert!(error.contains(wrong), "{text}: {error}");
        let (_, hint) = error.rsplit_once("did you mean `").unwrap_or_else(|| panic!("{error}"));
        let suggested = hint.strip_suffix("`?").unwrap_or_else(|| panic!("{error}"));
        assert_eq!(suggested, *meant, "{text}");
        let target = Target::parse(suggested).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(target.name(), *meant);
    }
}

#[test]
fn where_it_is_not_clear_what_was_meant_the_error_says_what_is_there() {
    for (text, said) in [
        ("+ext4,size=4GiB", "write sim:PROFILE+ext4,size=4GiB; `flashlag profiles` lists"),
        ("sim:+ext4", "write sim:PROFILE+ext4"),
        ("sim:", "write sim:PROFILE;"),
        ("sim", "write sim:PROFILE;"),
        ("lab:", "write lab:PROFILE+FS;"),
        ("sim:nexus7-2012+ext4,size=", "size=4GB or size=4GiB"),
        ("sim:nexus7-2012+ext4,size", "needs a value: size=SIZE"),
        ("sim:nexus7-2012+f2fs,fsync_mode", "fsync_mode=posix or fsync_mode=strict or"),
        ("sim:nexus7-2012+ext4,size=4G", "size=4GB or size=4GiB"),
        ("sim:nexus7-2012+ext4,size=4GiB,size=8GiB", "\"size=4GiB\" and \"size=8GiB\" are one"),
        ("sim:nexus7-2012+ext4,f2fs", "no option \"f2fs\""),
        ("sim:nexus7-2012+ntfs", "there are raw, ext4, f2fs and btrfs"),
        ("sim:nexus7-2012+ext4,colour=red", "there are barrier, nobarrier"),
        ("sim:nexus+ext4", "did you mean `nexus7-2012`, `nexus5-2013` or `nexus6-2014`?"),
        ("lab:zero", "names no filesystem"),
        ("usb:nexus7-2012", "there are a directory, sim:"),
    ] {
        let error = Target::parse(text).unwrap_err().to_string();
        assert!(error.contains(said), "{text}: {error}");
        assert!(!error.contains("did you mean `sim:"), "{text}: {error}");
    }
}

#[test]
fn the_path_of_a_directory_that_is_missing_is_no_misspelt_target() {
    for path in ["/mnt/nexus7-2012+ext4", "./sim", "nexus7-2012-copy", "simulations", "ext4", ""] {
        assert!(matches!(Target::parse(path), Ok(Target::Directory(_))), "{path}");
    }
}

proptest! {
    #[test]
    fn what_is_suggested_for_any_text_is_taken(
        words in prop::collection::vec(
            prop::sample::select(vec![
                "sim", "lab", "adb", ":", "+", ",", " ", ";", "/", "=", "nexus7-2012", "zero", "ext4",
                "F2FS", "xfs", "size", "4GiB", "state=full", "nobarier", "fuse", "é", "x.toml",
            ]),
            0..12,
        )
    ) {
        let text = words.concat();
        if let Some(TargetError::Misspelt { meant, .. }) = misspelt(&text) {
            prop_assert!(Target::parse(&meant).is_ok(), "{text}: {meant}");
            prop_assert_ne!(meant, text);
        }
    }
}
