use std::collections::BTreeSet;

use flashlag_spec::profile::Profile;
use proptest::prelude::*;

use super::*;

const BOTH: &str =
    "profile = [\"nexus7-2012\", \"ufs31-phone\"]\nfilesystem = [\"ext4\", \"f2fs\"]\n";

fn error_of(text: &str) -> String {
    Grid::parse(text).unwrap_err().to_string()
}

fn all(grid: &Grid) -> Vec<Point> {
    (0..grid.points()).map(|index| grid.point(index).unwrap()).collect()
}

#[test]
fn a_grid_has_every_combination_once_and_the_seed_changes_fastest() {
    let text = format!("{BOTH}full = [0, \"50%\", 0.9]\nseed = {{ from = 7, count = 5 }}\n");
    let grid = Grid::parse(&text).unwrap();
    assert_eq!(grid.points(), 2 * 2 * 3 * 5);
    let points = all(&grid);
    let ids: BTreeSet<String> = points.iter().map(Point::id).collect();
    assert_eq!(ids.len(), points.len());
    assert!(grid.point(grid.points()).is_none());
    let seeds: Vec<u64> = points.iter().take(6).map(|point| point.seed).collect();
    assert_eq!(seeds, [7, 8, 9, 10, 11, 7]);
    let first = |point: &Point| (point.profile.clone(), point.filesystem.clone(), point.full);
    assert_eq!(first(&points[0]), ("nexus7-2012".to_owned(), "ext4".to_owned(), 0));
    assert_eq!(first(&points[5]).2, 500_000);
    assert_eq!(first(&points[10]).2, 900_000);
    assert_eq!(first(&points[59]), ("ufs31-phone".to_owned(), "f2fs".to_owned(), 900_000));
}

#[test]
fn lists_of_points_are_products_of_their_own_over_the_keys_above() {
    let text = format!(
        "{BOTH}seed = [1, 2]\n[[points]]\nsize = \"64MiB\"\n\
                        [[points]]\nprofile = \"zero\"\nage = [\"full\", \"12mo\"]\n"
    );
    let grid = Grid::parse(&text).unwrap();
    let points = all(&grid);
    assert_eq!(points.len(), 8 + 8);
    assert!(points[..8].iter().all(|point| point.size == "64MiB" && point.age.is_empty()));
    assert!(points[8..].iter().all(|point| point.profile == "zero" && point.size.is_empty()));
    assert_eq!((points[8].age.as_str(), points[10].age.as_str()), ("full", "aged:12mo"));
}

#[test]
fn points_that_two_lists_have_in_common_are_refused_and_touching_lists_are_not() {
    let lists = |one: &str, two: &str| {
        Grid::parse(&format!("{BOTH}[[points]]\nseed = {one}\n[[points]]\nseed = {two}\n"))
    };
    let range = |from, count| format!("{{ from = {from}, count = {count} }}");
    assert!(lists("[1, 2]", "[3, 4]").is_ok());
    assert!(lists(&range(1, 10), &range(11, 5)).is_ok());
    for (one, two) in [
        ("[1, 2]".to_owned(), "[2, 3]".to_owned()),
        (range(1, 10), range(10, 5)),
        (range(1, 10), "10".to_owned()),
        ("4".to_owned(), range(1, 10)),
    ] {
        let error = lists(&one, &two).unwrap_err();
        assert_eq!(error, GridError::Overlap { first: 1, second: 2 }, "{one} {two}");
    }
}

#[test]
fn a_misspelt_key_or_value_is_refused_by_its_line_or_key_with_what_was_meant() {
    let cases = [
        ("profil = \"zero\"\n", "line 1: no grid has a key `profil`", "did you mean `profile`"),
        ("seed = 1\n\nfilesytem = \"ext4\"\n", "line 3", "did you mean `filesystem`"),
        ("profile = \"nexus7\"\n", "`profile`", "did you mean `nexus7-2012`"),
        ("scenario = \"mikro\"\nprofile = \"zero\"\n", "`scenario`", "did you mean `micro`"),
        ("profile = \"zero\"\nfilesystem = \"ext5\"\n", "`filesystem`", "ext4"),
        ("profile = \"zero\"\noptions = \"nobarier\"\n", "`options`", "nobarrier"),
        ("profile = \"zero\"\nsize = \"big\"\n", "`size`", "big"),
        ("profile = \"zero\"\nage = \"old\"\n", "`age`", "write new, full or 12mo"),
        ("profile = \"zero\"\nfull = \"120%\"\n", "`full`", "from 0% to 99%"),
        ("profile = \"zero\"\nfull = \"x\"\n", "`full`", "from 0% to 99%"),
        ("profile = \"zero\"\nscenario = \"quick\"\nfull = 0.5\n", "`full`", "micro, fill"),
        ("profile = \"zero\"\n[set]\ndurabel = \"none\"\n", "`set.durabel`", "`durable`"),
        ("profile = \"zero\"\n[set]\ndurable = \"maybe\"\n", "`set.durable`", "maybe"),
        (
            "profile = \"nexus7-2012\"\n[parameters]\n\"nand.progam\" = \"1ms\"\n",
            "`parameters.nand.progam`",
            "did you mean `nand.program`",
        ),
        ("profile = \"zero\"\nseed = []\n", "`seed`", "no value"),
        ("profile = \"zero\"\nseed = [3, 3]\n", "`seed`", "3 is given twice"),
        ("profile = \"zero\"\nseed = { from = 1, count = 0 }\n", "`seed`", "give one"),
        ("filesystem = \"ext4\"\n", "`profile`", "missing"),
        ("profile = \"zero\"\n[[points]]\nname = \"x\"\n", "points 1: `name`", "whole grid"),
    ];
    for (text, place, meant) in cases {
        let error = error_of(text);
        assert!(error.contains(place) && error.contains(meant), "{text}\n{error}");
    }
}

#[test]
fn a_value_that_is_spelled_two_ways_is_refused_with_both_spellings() {
    let cases = [
        ("full = [0, 0.5, \"0%\"]\n", "`full`: `0` and `0%` are the same"),
        ("full = [\"50%\", 0.5]\n", "`50%` and `0.5`"),
        (
            "size = [\"512MiB\", \"0.5GiB\"]\n",
            "`size`: `512MiB` and `0.5GiB` are the same for nexus7",
        ),
        (
            "filesystem = [\"\", \"ext4\"]\n",
            "`filesystem`: \"\" (the default) and `ext4` are the same",
        ),
        (
            "filesystem = [\"ext4\", \"ext4,nobarrier\"]\noptions = [\"\", \"nobarrier\"]\n",
            "`ext4,nobarrier` and `ext4,nobarrier`",
        ),
        (
            "options = [\"nobarrier,discard\", \"discard,nobarrier\"]\n",
            "`discard,nobarrier` are the same",
        ),
        ("age = [\"\", \"new\"]\n", "`age`: \"\" (the default) and `new`"),
        ("age = [\"12mo\", \"aged:12mo\"]\n", "`12mo` and `aged:12mo`"),
        ("age = [\"2d\", \"48h\"]\n", "`2d` and `48h`"),
        ("[set]\nspan = [\"1MiB\", \"1024KiB\"]\n", "`set.span`: `1MiB` and `1024KiB`"),
        ("[parameters]\n\"nand.program\" = [\"1ms\", \"1000us\"]\n", "`1ms` and `1000us`"),
    ];
    for (lines, says) in cases {
        let error = error_of(&format!("profile = \"nexus7-2012\"\n{lines}"));
        assert!(error.contains(says) && error.contains("leave one of them out"), "{lines}{error}");
    }
    let profile = flashlag_spec::profile::builtin_profile("nexus7-2012").unwrap();
    let own = Profile::parse(profile).unwrap().model().unwrap().map.capacity.0.0;
    let error = error_of(&format!("profile = \"nexus7-2012\"\nsize = [\"\", \"{own}B\"]\n"));
    assert!(error.contains("\"\" (the default) and"), "{error}");
    for lists in [
        "[[points]]\nsize = \"1GiB\"\n[[points]]\nsize = \"1024MiB\"\n",
        "[[points]]\nfilesystem = \"ext4\"\noptions = \"nobarrier\"\n\
         [[points]]\nfilesystem = \"ext4,nobarrier\"\n",
        "[[points]]\n[[points]]\nfilesystem = \"ext4\"\n",
    ] {
        let error = Grid::parse(&format!("profile = \"nexus7-2012\"\n{lists}")).unwrap_err();
        assert_eq!(error, GridError::Overlap { first: 1, second: 2 }, "{lists}");
    }
}

#[test]
fn values_that_look_alike_and_differ_are_taken() {
    for lines in [
        "size = [\"1GB\", \"1GiB\"]\n",
        "filesystem = [\"\", \"f2fs\", \"ext4,discard\"]\n",
        "age = [\"new\", \"full\", \"1d\"]\n",
        "[set]\nspan = [\"1MiB\", \"1MB\"]\n",
        "[[points]]\nsize = \"1GiB\"\n[[points]]\nsize = \"1GB\"\n",
    ] {
        let grid = Grid::parse(&format!("profile = \"nexus7-2012\"\n{lines}"));
        assert!(grid.is_ok(), "{lines}{grid:?}");
    }
}

#[test]
fn a_word_that_only_one_of_several_profiles_or_filesystems_has_is_taken() {
    let text = format!("{BOTH}options = [\"\", \"atomic\", \"fast_commit\"]\n");
    assert_eq!(Grid::parse(&text).unwrap().points(), 12);
}

#[test]
fn full_devices_are_filled_by_the_scenarios_own_setting_and_leave() {
    let grid = Grid::parse("profile = \"zero\"\nfull = [0, 0.5]\n").unwrap();
    let points = all(&grid);
    assert_eq!(points[0].set, []);
    assert_eq!(points[1].set, [("filled".to_owned(), "true".to_owned())]);
    let command = points[1].command("ext4", Some(flashlag_units::Bytes(4096)));
    let expected = "flashlag run micro --on sim:zero+ext4 --set filled=true --seed 1 --leave 4096B";
    assert_eq!(command, expected);
}

#[test]
fn a_hash_follows_the_values_and_not_their_spelling() {
    let hash = |text: &str| Grid::parse(text).unwrap().hash();
    let plain = hash("profile = \"zero\"\nfull = [0, 0.5]\n");
    assert_eq!(plain, hash("# a comment\nfull = [\"0%\", \"50%\"]\nprofile = [\"zero\"]\n"));
    assert_ne!(plain, hash("profile = \"zero\"\nfull = [0.5, 0]\n"));
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in "[a-z=\"\\[\\]{}0-9,% \n.]{0,80}") {
        let _ = Grid::parse(&text);
        let _ = Grid::parse(&format!("profile = \"zero\"\n{text}"));
    }

    #[test]
    fn points_are_those_of_nested_loops(counts in proptest::collection::vec(1usize..4, 4)) {
        let list = |all: &[&str], count: usize| format!("{:?}", &all[..count]);
        let (profiles, mounts) = (["zero", "sd-a1", "sd-a2"], ["raw", "ext4", "f2fs"]);
        let (ages, seeds) = (["new", "full", "12mo"], [5u64, 1, 9]);
        let text = format!(
            "profile = {}\nfilesystem = {}\nage = {}\nseed = {:?}\n",
            list(&profiles, counts[0]), list(&mounts, counts[1]), list(&ages, counts[2]),
            &seeds[..counts[3]],
        );
        let grid = Grid::parse(&text).unwrap();
        let mut index = 0;
        for profile in &profiles[..counts[0]] {
            for mount in &mounts[..counts[1]] {
                for age in ["", "full", "aged:12mo"].iter().take(counts[2]) {
                    for seed in &seeds[..counts[3]] {
                        let point = grid.point(index).unwrap();
                        prop_assert_eq!(
                            (&*point.profile, &*point.filesystem, &*point.age, point.seed),
                            (*profile, *mount, *age, *seed)
                        );
                        index += 1;
                    }
                }
            }
        }
        prop_assert_eq!(index, grid.points());
    }
}
