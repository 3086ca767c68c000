//! `docs/scenario-reference.md` and `docs/profile-reference.md` list every key of those files,
//! `docs/target-reference.md` every option of a target, and `profiles/README.md` every built-in profile, in step with
//! what reads them; so do the lists that the program carries. To write them anew:
//! `FLASHLAG_UPDATE_DOCS=1 cargo test -p flashlag-spec --test it reference`.

use flashlag_spec::profile::Profile;
use flashlag_spec::scenario::Scenario;
use flashlag_spec::target::{FilesystemKind, Kind, options_as_markdown};
use flashlag_spec::{PROFILE_KEYS, SCENARIO_KEYS};

use crate::keys::{KeyTable, as_lines, as_markdown, profile_keys, scenario_keys};

const KEYS: [&str; 2] =
    ["<!-- keys: begin (generated from the schema) -->\n", "<!-- keys: end -->\n"];
const TARGET_OPTIONS: [&str; 2] = [
    "<!-- options: begin (generated from the list in the program) -->\n",
    "<!-- options: end -->\n",
];

fn in_step(file: &str, [begin, end]: [&str; 2], list: &str) {
    let path = format!("{}/../../docs/{file}", env!("CARGO_MANIFEST_DIR"));
    let document = std::fs::read_to_string(&path).unwrap();
    let (head, rest) = document.split_once(begin).expect("the mark of the list's begin");
    let (listed, tail) = rest.split_once(end).expect("the mark of the list's end");
    let now = format!("\n{list}");
    if std::env::var_os("FLASHLAG_UPDATE_DOCS").is_some() {
        std::fs::write(&path, format!("{head}{begin}{now}{end}{tail}")).unwrap();
    } else {
        assert!(listed == now, "{file} is not in step: see the head of this test");
    }
}

#[test]
fn the_documents_list_every_key_as_the_schema_has_it() {
    in_step("scenario-reference.md", KEYS, &as_markdown(&scenario_keys()));
    in_step("profile-reference.md", KEYS, &as_markdown(&profile_keys()));
}

#[test]
fn the_keys_that_the_program_lists_are_those_that_its_types_read() {
    let keys =
        [("scenario", &SCENARIO_KEYS, scenario_keys()), ("profile", &PROFILE_KEYS, profile_keys())];
    for (name, carried, tables) in keys {
        let listed = as_lines(&tables);
        if std::env::var_os("FLASHLAG_UPDATE_DOCS").is_some() {
            let path = format!("{}/generated/{name}-keys.txt", env!("CARGO_MANIFEST_DIR"));
            std::fs::write(path, listed).unwrap();
        } else {
            assert!(
                **carried == *listed,
                "{name}-keys.txt is not in step: see the head of this file"
            );
        }
    }
}

#[test]
fn the_documents_list_every_option_of_a_target() {
    in_step("target-reference.md", TARGET_OPTIONS, &format!("{}\n", options_as_markdown()));
}

/// The built-in profiles, and how many of their published rows hold by `profiles/standing.csv`.
fn profile_table() -> String {
    let path = format!("{}/../../profiles/standing.csv", env!("CARGO_MANIFEST_DIR"));
    let standing = std::fs::read_to_string(path).unwrap();
    let mut table =
        "| profile | what it is | published rows that hold |\n|---|---|---|\n".to_owned();
    for name in flashlag_spec::profile::names() {
        let about = Profile::find(name).unwrap().about;
        let line = standing.lines().find(|line| line.split(',').next() == Some(name));
        let cells: Vec<&str> = line.unwrap_or_default().split(',').collect();
        let hold = match cells.as_slice() {
            [_, rows, _, within] => format!("{within} of {rows}"),
            _ => "none published".to_owned(),
        };
        table += &format!("| `{name}` | {about} | {hold} |\n");
    }
    table
}

#[test]
fn the_readme_of_the_profiles_lists_every_profile() {
    let made = format!("\n\n{}\n", profile_table());
    flashlag_testing::between_marks("profiles/README.md", "profiles", &made);
}

#[test]
fn the_documents_name_every_filesystem_of_a_target() {
    let path = format!("{}/../../docs/target-reference.md", env!("CARGO_MANIFEST_DIR"));
    let document = std::fs::read_to_string(&path).unwrap();
    for kind in Kind::ALL {
        let row = document.lines().find(|line| line.contains(&format!("`{kind}:PROFILE"))).unwrap();
        for filesystem in FilesystemKind::of(kind) {
            assert!(row.contains(&format!("`{filesystem}`")), "{kind}: {filesystem}");
        }
    }
}

#[test]
fn every_key_says_what_it_takes_and_what_it_means() {
    for table in scenario_keys().iter().chain(&profile_keys()) {
        assert!(!table.about.is_empty(), "{}", table.name);
        for key in &table.keys {
            assert!(key.meaning.len() > 5, "{} {}", table.name, key.name);
            // A parameter's value is of its own type.
            let whole = key.name == "value" || !key.takes.contains("any value");
            assert!(whole, "{} {}: {}", table.name, key.name, key.takes);
        }
    }
}

fn keys_of(tables: &[KeyTable], name: &str) -> Vec<String> {
    let table = tables.iter().find(|table| table.name == name).unwrap();
    let mut keys: Vec<String> = table.keys.iter().map(|key| key.name.clone()).collect();
    keys.sort();
    keys
}

/// The names that an error of the TOML reader offers in place of an unknown one.
fn offered(error: &str) -> Vec<String> {
    let (_, list) = error.split_once("expected").unwrap();
    let list = list.split(';').next().unwrap();
    let mut names: Vec<String> = list.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    names.sort();
    names
}

#[test]
fn the_reference_has_exactly_the_keys_that_the_reader_takes() {
    let tables = scenario_keys();
    for name in ["card", "io", "replay", "require", "save", "step"] {
        let text = format!("name = \"x\"\n[[{name}]]\nno_such_key = 1\n");
        let error = Scenario::parse(&text, &[]).unwrap_err().to_string();
        assert_eq!(keys_of(&tables, &format!("[[{name}]]")), offered(&error), "{error}");
    }
    let error = Scenario::parse("name = \"x\"\nno_such_key = 1\n", &[]).unwrap_err().to_string();
    let mut head = keys_of(&tables, "");
    head.extend(["card", "io", "replay", "require", "save", "step"].map(str::to_owned));
    head.sort();
    assert_eq!(head, offered(&error), "{error}");
}

#[test]
fn the_reference_has_every_parameter_of_every_profile() {
    let tables = profile_keys();
    let known = |key: &str| {
        let (section, name) = key.rsplit_once('.').unwrap();
        let table = tables.iter().find(|table| table.name == format!("[{section}]"));
        table.is_some_and(|table| table.keys.iter().any(|key| key.name == name))
    };
    for name in flashlag_spec::profile::names() {
        for key in Profile::find(name).unwrap().parameters.keys() {
            assert!(known(key), "{name}: {key}");
        }
    }
}

/// A scenario with one `[[io]]` that has these lines besides what it needs.
fn with(lines: &str) -> Result<Scenario, String> {
    let text = format!(
        "name = \"x\"\n[[io]]\nname = \"t\"\noperation = \"read\"\npattern = \"random\"\n\
         block = \"4KiB\"\nspan = \"100MB\"\ntime = \"1s\"\n{lines}\n\
         [[step]]\nmeasure = [\"t\"]\n"
    );
    Scenario::parse(&text, &[]).map_err(|error| error.to_string())
}

#[test]
fn defaults_are_what_the_reference_says() {
    let tables = scenario_keys();
    let io = tables.iter().find(|table| table.name == "[[io]]").unwrap();
    let default = |name: &str| {
        let key = io.keys.iter().find(|key| key.name == name).unwrap();
        key.default.clone()
    };
    assert_eq!(default("name"), None);
    let implicit = with("").unwrap();
    let mut given = String::new();
    for name in ["queue_depth", "threads", "direct", "fresh", "grown", "prepares"] {
        given += &format!("{name} = {}\n", default(name).unwrap());
    }
    for name in ["durable", "engine", "until", "thread_spans"] {
        given += &format!("{name} = \"{}\"\n", default(name).unwrap());
    }
    assert_eq!(with(&given).unwrap().hash(), implicit.hash());
}

#[test]
fn ranges_are_what_the_reference_says() {
    let tables = scenario_keys();
    let io = tables.iter().find(|table| table.name == "[[io]]").unwrap();
    let mut checked = 0;
    for key in &io.keys {
        let Some((_, range)) = key.takes.split_once("a whole number, ") else { continue };
        let (least, most) = range.split_once(" to ").unwrap();
        let (least, most): (u64, u64) = (least.parse().unwrap(), most.parse().unwrap());
        let mixed = if key.name == "read_percent" { "mixed" } else { "read" };
        let given = |value: u64| {
            let text = format!("{} = {value}\n", key.name);
            let text = format!(
                "name = \"x\"\n[[io]]\nname = \"t\"\noperation = \"{mixed}\"\n\
                 pattern = \"random\"\nblock = \"4KiB\"\nspan = \"100MB\"\ntime = \"1s\"\n{text}\
                 [[step]]\nmeasure = [\"t\"]\n"
            );
            Scenario::parse(&text, &[])
        };
        assert!(given(least).is_ok() && given(most).is_ok(), "{}: {:?}", key.name, given(most));
        assert!(given(least - 1).is_err() && given(most + 1).is_err(), "{}", key.name);
        checked += 1;
    }
    assert_eq!(checked, 3);
}

#[test]
fn the_lines_for_a_terminal_have_every_key_of_the_document() {
    for tables in [scenario_keys(), profile_keys()] {
        let lines = as_lines(&tables);
        for table in &tables {
            for key in &table.keys {
                assert!(lines.contains(&format!("  {}  (", key.name)), "{}", key.name);
            }
        }
    }
}
