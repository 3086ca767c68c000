//! Crates import from lower floors only.

use crate::{crate_names, none, root};

/// The house: each crate's floor. A crate appears here when it appears at all.
const FLOORS: [(&str, u32); 39] = [
    ("units", 0),
    ("stats", 0),
    ("spec", 1),
    ("schema", 1),
    ("device", 1),
    ("workload", 1),
    ("seccomp", 1),
    ("engine", 2),
    ("flash", 2),
    ("iostack", 2),
    ("sqlite", 2),
    ("inspect", 2),
    ("trace", 2),
    ("serve", 2),
    ("lab", 2),
    ("android", 2),
    ("trust", 3),
    ("explain", 3),
    ("live", 3),
    ("share", 3),
    ("runner", 4),
    ("predict", 4),
    ("watch", 4),
    ("views", 5),
    ("sweep", 5),
    ("term", 6),
    ("report", 6),
    ("export", 6),
    ("store", 6),
    ("site", 6),
    ("frame", 6),
    ("commands", 7),
    ("cli", 8),
    ("nbd", 8),
    ("python", 8),
    ("page", 8),
    // For tests alone: no product imports it.
    ("testing", 7),
    ("need", 7),
    ("standin", 8),
];

/// Imports within a floor, and why.
const EXCEPTIONS: [(&str, &str, &str); 7] = [
    ("stats", "units", "every latency is a `Nanos`"),
    ("schema", "spec", "a run file records what was asked, in its words"),
    ("workload", "spec", "generators take a scenario's arrivals and patterns as it says them"),
    ("serve", "flash", "what it serves in real time is the simulated flash"),
    ("sqlite", "iostack", "saves through real SQLite run on a modelled filesystem through a VFS"),
    ("site", "store", "what a site shows is the one table of many runs"),
    ("site", "report", "a page of a site has the style and the drawings of a report"),
];

/// Crates for tests alone.
const FOR_TESTS: [&str; 3] = ["testing", "need", "standin"];

fn floor_of(name: &str) -> Option<u32> {
    FLOORS.iter().find(|(known, _)| *known == name).map(|(_, floor)| *floor)
}

/// Names after `flashlag-` in a table of a manifest.
fn ours_in(manifest: &toml::Table, table: &str) -> Vec<String> {
    let Some(table) = manifest.get(table).and_then(|table| table.as_table()) else {
        return Vec::new();
    };
    table.keys().filter_map(|name| name.strip_prefix("flashlag-")).map(str::to_owned).collect()
}

#[test]
fn crates_import_from_lower_floors_only() {
    let mut violations = Vec::new();
    let mut used = Vec::new();
    for name in crate_names() {
        let path = format!("crates/{name}/Cargo.toml");
        let Some(floor) = floor_of(&name) else {
            violations.push(format!("{path}:1: give `{name}` a floor in {}", file!()));
            continue;
        };
        let text = std::fs::read_to_string(root().join(&path)).unwrap();
        let manifest: toml::Table = text.parse().unwrap();
        for table in ["dependencies", "build-dependencies"] {
            for import in ours_in(&manifest, table) {
                let excepted = |(from, to, _): &&(&str, &str, &str)| *from == name && *to == import;
                if let Some(exception) = EXCEPTIONS.iter().find(excepted) {
                    used.push(*exception);
                } else if floor_of(&import).is_none_or(|below| below >= floor) {
                    let needle = format!("flashlag-{import}");
                    let line = text.lines().position(|line| line.starts_with(&needle));
                    violations.push(format!(
                        "{path}:{}: `{name}` is on floor {floor} and may not import `{import}`: \
                         move what it needs to a lower floor",
                        line.map_or(1, |line| line + 1)
                    ));
                }
            }
        }
    }
    for exception in EXCEPTIONS {
        if !used.contains(&exception) {
            let (from, to, _) = exception;
            violations.push(format!("{}: `{from}` imports no `{to}`: remove the line", file!()));
        }
    }
    none("direction of imports", violations);
}

#[test]
fn no_product_depends_on_what_is_for_tests() {
    let depends = |name: &String| {
        let path = format!("crates/{name}/Cargo.toml");
        let manifest: toml::Table =
            std::fs::read_to_string(root().join(&path)).unwrap().parse().unwrap();
        // Dependencies of one platform alone have a table of their own.
        let platforms = manifest.get("target").and_then(|target| target.as_table()).into_iter();
        let platforms = platforms.flat_map(|tables| tables.values().filter_map(|t| t.as_table()));
        let named = ["dependencies", "build-dependencies"];
        let all = platforms.chain([&manifest]).flat_map(|tables| named.map(|t| ours_in(tables, t)));
        let found = all.flatten().find(|import| FOR_TESTS.contains(&import.as_str()));
        found.map(|found| format!("{path}:1: move `flashlag-{found}` to [dev-dependencies]"))
    };
    let products = crate_names().into_iter().filter(|name| !FOR_TESTS.contains(&name.as_str()));
    none("products with test code", products.filter_map(|name| depends(&name)).collect());
}

#[test]
fn no_product_file_is_shared_by_path() {
    let shared = crate::source::Source::all().iter().flat_map(|source| {
        let is_product = source.kind == crate::source::Kind::Product;
        let lines = source.text.lines().enumerate();
        let found = lines.filter(|(_, line)| is_product && line.trim_start().starts_with("#[path"));
        let line = |(line, _): (usize, &str)| {
            format!("{}:{}: import a crate, not a file by its path", source.path, line + 1)
        };
        found.map(line).collect::<Vec<_>>()
    });
    none("files by path", shared.collect());
}
