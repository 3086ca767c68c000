//! Sites of run files: figures, hostile files, what is set apart, and what is written where.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::path::Path;

use flashlag_schema::Run;
use flashlag_site::{Options, WriteSiteError, write_site};
use flashlag_store::read_folder;
use flashlag_testing::{PRIVATE_WORDS, planted, sample};
use serde_json::Value;

fn put(folder: &Path, name: &str, run: &Run) {
    std::fs::write(folder.join(name), run.to_json()).unwrap();
}

/// The site of a folder, as its files by path.
fn site_of(runs: &Path) -> BTreeMap<String, String> {
    let to = tempfile::tempdir().unwrap();
    write_site(to.path(), &read_folder(runs).unwrap(), &Options::default()).unwrap();
    pages_in(to.path())
}

fn pages_in(folder: &Path) -> BTreeMap<String, String> {
    let mut pages = BTreeMap::new();
    for part in ["", "device", "data"] {
        let Ok(entries) = std::fs::read_dir(folder.join(part)) else { continue };
        for path in entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()) {
            let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
            pages.insert(name, String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned());
        }
    }
    pages
}

/// Texts of the cells of each row of a page's tables, without tags.
fn rows_of(page: &str) -> Vec<Vec<String>> {
    let cells = |row: &str| -> Vec<String> {
        let cells = row.split("<t").skip(1).filter(|cell| cell.starts_with(['d', 'h']));
        let text = |cell: &str| -> String {
            let inner = cell.split("</t").next().unwrap();
            let parts = inner.split('<').skip(1).filter_map(|part| part.split_once('>'));
            let begin = inner.split_once('>').map_or("", |(_, text)| text);
            let begin = begin.split('<').next().unwrap();
            let all = begin.to_owned() + &parts.map(|(_, text)| text).collect::<String>();
            all.replace('\u{a0}', " ")
        };
        cells.map(text).collect()
    };
    page.split("<tr").skip(1).map(cells).collect()
}

/// Milliseconds as the pages print them, from nanoseconds.
fn ms(nanos: u64) -> String {
    let millis = nanos as f64 / 1e6;
    match millis {
        v if v < 0.0995 => format!("{v:.3}"),
        v if v < 0.995 => format!("{v:.2}"),
        v if v < 9.95 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

/// The value of rank ⌈p·n⌉ among buckets of stored histograms: each bucket's value is its middle, as in
/// fio's documentation, within the least and the greatest value.
fn percentile(histograms: &[&Value], share: f64) -> u64 {
    let mut buckets: BTreeMap<u64, u64> = BTreeMap::new();
    for histogram in histograms {
        let list = |name: &str| -> Vec<u64> {
            histogram[name].as_array().unwrap().iter().map(|it| it.as_u64().unwrap()).collect()
        };
        for (at, count) in list("index").into_iter().zip(list("count")) {
            *buckets.entry(at).or_default() += count;
        }
    }
    let bound = |name: &str| -> Vec<u64> {
        histograms.iter().map(|it| it[name].as_u64().unwrap()).collect()
    };
    let (least, most) =
        (*bound("min_ns").iter().min().unwrap(), *bound("max_ns").iter().max().unwrap());
    let count: u64 = buckets.values().sum();
    let rank = (share * count as f64).ceil() as u64;
    let mut seen = 0;
    let middle = buckets.into_iter().find_map(|(at, count)| {
        seen += count;
        let (power, place) = if at < 128 { (0, at) } else { (at / 64 - 1, 64 + at % 64) };
        let middle = (place << power) + if power > 0 { 1 << (power - 1) } else { 0 };
        (seen >= rank).then_some(middle)
    });
    middle.unwrap().clamp(least, most)
}

#[test]
fn the_figures_of_a_row_follow_from_the_histograms_of_all_its_runs() {
    let folder = tempfile::tempdir().unwrap();
    let mut files = Vec::new();
    for (index, run) in [sample::quick(), sample::quick(), sample::quick()].into_iter().enumerate()
    {
        // As three measurements: each in its own time, with waits of its own.
        let mut run = run;
        for phase in &mut run.phases {
            phase.began_ns.0 += index as u64;
        }
        run.seal();
        let name = format!("{index}.json");
        put(folder.path(), &name, &run);
        let text = std::fs::read_to_string(folder.path().join(name)).unwrap();
        files.push(serde_json::from_str::<Value>(&text).unwrap());
    }
    let pages = site_of(folder.path());
    let rows = rows_of(&pages["index.html"]);
    let row = rows.iter().find(|row| row.len() == 14 && row[0] == "Sample Tablet T").unwrap();
    let phases = files.iter().flat_map(|file| file["phases"].as_array().unwrap());
    let writes: Vec<&Value> = phases
        .filter(|phase| phase["name"] == "rand_write_4k")
        .map(|it| &it["histogram"])
        .collect();
    assert_eq!(writes.len(), 3);
    assert_eq!(row[6], "3");
    assert_eq!(row[8], ms(percentile(&writes, 0.5)));
    assert_eq!(row[9], ms(percentile(&writes, 0.99)));
    assert_eq!(row[10], ms(percentile(&writes, 0.999)));
    // The same on the page of the device, and in the data for comparing.
    let device = rows_of(&pages["device/sample-tablet-t.html"]);
    let p99 = ms(percentile(&writes, 0.99));
    assert!(device.iter().any(|row| row.len() > 8 && row[2] == p99), "{p99}: {device:?}");
    let data = pages["compare.html"].split("id=\"data\">").nth(1).unwrap();
    let data: Value = serde_json::from_str(data.split("</script>").next().unwrap()).unwrap();
    let test = data["tests"].as_array().unwrap().iter();
    let test = test.clone().position(|name| name.as_str().unwrap().starts_with("4K rand write"));
    let subject = &data["subjects"][0];
    let of_test = subject[3].as_array().unwrap().iter().find(|it| it[0] == test.unwrap()).unwrap();
    assert_eq!(of_test[2][2].as_u64(), Some(percentile(&writes, 0.99)));
    assert_eq!(data["subjects"].as_array().unwrap().len(), 4, "a row and its three runs");
}

#[test]
fn every_figure_of_a_table_has_its_unit_in_its_cell_or_at_the_head_of_its_column() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "a.json", &sample::quick());
    put(folder.path(), "b.json", &sample::sqlite());
    let pages = site_of(folder.path());
    let mut seen = 0;
    for (path, page) in pages.iter().filter(|(path, _)| path.ends_with(".html")) {
        for table in page.split("<table").skip(1).map(|it| it.split("</table>").next().unwrap()) {
            let rows = rows_of(table);
            let Some((head, rows)) = rows.split_first() else { continue };
            for (at, cell) in rows.iter().flat_map(|row| row.iter().enumerate()) {
                if !cell.starts_with(|c: char| c.is_ascii_digit()) || at == 0 {
                    continue;
                }
                let column = head.get(at).map_or("", String::as_str);
                let of_itself = ["runs", "n", "began", "age", "fill"].contains(&column);
                let named = column.ends_with(" ms") || cell.ends_with(['%', 'B']);
                assert!(of_itself || named, "{path}: {cell} below {column:?}");
                seen += 1;
            }
        }
    }
    assert!(seen > 40, "{seen} figures");
}

#[test]
fn a_row_of_one_run_has_the_verdicts_and_figures_that_the_run_file_has() {
    let folder = tempfile::tempdir().unwrap();
    let run = sample::quick();
    put(folder.path(), "a.json", &run);
    let pages = site_of(folder.path());
    let phase = run.phases.iter().find(|phase| phase.name == "rand_write_4k").unwrap();
    let rows = rows_of(&pages["index.html"]);
    let row = rows.iter().find(|row| row.len() == 14 && row[0] == "Sample Tablet T").unwrap();
    assert_eq!(row[1..6], ["eMMC", "32 GB", "f2fs", "up to 40% of life used", "under 50% full"]);
    assert_eq!(row[9], ms(phase.latency_ns.p99.unwrap().0));
    let strip = flashlag_views::strip(&run);
    let rows_of_strip = strip.groups.iter().flat_map(|group| &group.rows);
    let worst = rows_of_strip.filter_map(|row| row.judgement.verdict()).max().unwrap();
    assert_eq!(row[7], worst.name());
}

#[test]
fn nothing_of_a_hostile_run_file_becomes_markup_or_runs() {
    let folder = tempfile::tempdir().unwrap();
    let mark = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)></title></style>{{ 7*7 }}\u{202e}";
    let mut run = sample::quick();
    run.label = Some(mark.to_owned());
    run.scenario.name = mark.to_owned();
    run.environment.filesystem.kind = flashlag_spec::Reading::Value(mark.repeat(20_000));
    run.environment.device.kind = flashlag_spec::Reading::Value(mark.to_owned());
    run.environment.software.system = flashlag_spec::Reading::Value(mark.to_owned());
    for phase in &mut run.phases {
        phase.name = mark.to_owned();
    }
    run.seal();
    put(folder.path(), "<img src=x onerror=alert(3)>.json", &run);
    let mut good = sample::sqlite();
    good.label = Some(mark.to_owned());
    flashlag_explain::attach(&mut good);
    good.seal();
    put(folder.path(), "a<b>'\".json", &good);
    std::fs::write(folder.path().join("c.json"), format!("{{\"schema\": {}}}", Value::from(mark)))
        .unwrap();
    let entries = read_folder(folder.path()).unwrap();
    assert!(entries.iter().any(|entry| entry.is_good()), "one of them is on every page");
    let pages = site_of(folder.path());
    let mut checked = 0;
    for (path, page) in pages.iter().filter(|(path, _)| path.ends_with(".html")) {
        for bad in ["<img", "<script>alert", "\u{202e}", "</title></style>"] {
            assert!(!page.contains(bad), "{path}: {bad}");
        }
        assert!(page.len() < 300_000, "{path}: {} bytes", page.len());
        let scripts = page.matches("<script").count();
        let own = if path == "index.html" || path == "compare.html" { 2 } else { 0 };
        assert_eq!(scripts, own, "{path}");
        assert_eq!(page.contains("script-src &#39;sha256-"), own > 0, "{path}");
        checked += 1;
    }
    assert!(checked >= 4, "{checked} pages");
}

#[test]
fn a_private_value_in_any_text_of_a_run_is_in_no_file_of_a_site_or_store() {
    let [runs, site, store] = std::array::from_fn(|_| tempfile::tempdir().unwrap());
    for (kind, run) in [("quick", sample::quick()), ("sqlite", sample::sqlite())] {
        for (number, (_, mut run)) in planted(&run, 29).into_iter().enumerate() {
            // A setting that its scenario does not have makes a run unverified; the others stay good.
            if number % 2 == 0 {
                let trace = run.scenario.settings.remove("trace").unwrap();
                run = Run::from_json(&run.to_json().replace(&trace, "x")).unwrap();
            }
            // No copy of another.
            run.phases.iter_mut().for_each(|phase| phase.began_ns.0 += number as u64);
            flashlag_explain::attach(&mut run);
            run.seal();
            put(runs.path(), &format!("{kind}-{number}.json"), &run);
        }
    }
    let entries = read_folder(runs.path()).unwrap();
    let good = entries.iter().filter(|entry| entry.is_good()).count();
    let reasons: Vec<_> = entries.iter().map(|entry| &entry.run.reason).collect();
    assert!(good > 15, "{good} of {}: {reasons:?}", entries.len());
    write_site(site.path(), &entries, &Options::default()).unwrap();
    let paths: Vec<_> = entries.iter().map(|entry| runs.path().join(&entry.run.file)).collect();
    let mut opened = flashlag_store::Store::open(store.path().to_str().unwrap()).unwrap();
    opened.add(&paths).unwrap();
    drop(opened);
    let mut read = pages_in(site.path());
    // The run files in the store are the owner's own; what is made of them is for others.
    let made = pages_in(store.path()).into_iter().filter(|(name, _)| !name.ends_with(".json"));
    read.extend(made);
    assert!(read.keys().any(|name| name.ends_with(".parquet")), "{:?}", read.keys());
    assert!(read.values().any(|text| text.starts_with("SQLite format 3")), "{:?}", read.keys());
    for (name, text) in &read {
        for word in PRIVATE_WORDS {
            let at = text.find(word);
            let around = at.map(|at| text[..at].chars().rev().take(99).collect::<String>());
            assert!(at.is_none(), "{word} in {name}, before it (backwards): {around:?}");
        }
    }
}

#[test]
fn what_does_not_count_is_set_apart_with_its_reason_and_in_no_figure() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "good.json", &sample::quick());
    put(folder.path(), "copy.json", &sample::quick());
    put(folder.path(), "doubtful.json", &sample::memory());
    std::fs::write(folder.path().join("old.json"), "{\"schema\": \"flashlag.run/0\"}").unwrap();
    let pages = site_of(folder.path());
    let apart = rows_of(&pages["apart.html"]);
    let reason = |file: &str| {
        let row = apart.iter().find(|row| row.first().is_some_and(|it| it == file));
        row.unwrap_or_else(|| panic!("{file}: {apart:?}"))[2].clone()
    };
    assert!(reason("old.json").contains("its schema is flashlag.run/0"));
    assert!(reason("doubtful.json").contains("failed check"));
    assert!(reason("good.json").contains("the same measurement as copy.json"));
    let index = &pages["index.html"];
    assert!(index.contains("1 device, 1 run") && !index.contains("Sample Board"), "{index}");
    let csv = &pages["data/runs.csv"];
    assert_eq!(csv.lines().count(), 5, "a head and every file: {csv}");
}

#[test]
fn runs_whose_saves_differ_in_kind_are_rows_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let set_ups: [(&str, &[&str], &[&str]); 4] = [
        ("plain", &["rw"], &[]),
        ("unflushed", &["rw", "fsync_mode=nobarrier"], &[]),
        ("fuse", &["rw"], &["fuse", "f2fs below loop0"]),
        ("both", &["nobarrier"], &["fuse"]),
    ];
    for (index, (name, options, layers)) in set_ups.into_iter().enumerate() {
        let mut run = sample::quick();
        let filesystem = &mut run.environment.filesystem;
        filesystem.kind = flashlag_spec::Reading::Value("f2fs".to_owned());
        let options = options.iter().map(|option| (*option).to_owned());
        filesystem.options = flashlag_spec::Reading::Value(options.collect());
        filesystem.layers = layers.iter().map(|layer| (*layer).to_owned()).collect();
        run.phases.iter_mut().for_each(|phase| phase.began_ns.0 += index as u64);
        run.seal();
        put(folder.path(), &format!("{name}.json"), &run);
    }
    let index = &site_of(folder.path())["index.html"];
    let rows = rows_of(index).into_iter().skip(1);
    let mut filesystems: Vec<String> = rows.map(|row| row[3].clone()).collect();
    filesystems.sort();
    filesystems.dedup();
    let expected =
        ["f2fs", "f2fs, fsync_mode=nobarrier", "f2fs, fuse above", "f2fs, nobarrier, fuse above"];
    assert_eq!(filesystems, expected);
    let pages = site_of(folder.path());
    let (_, device) = pages.iter().find(|(path, _)| path.starts_with("device/")).unwrap();
    for (name, expected) in [("plain", "f2fs"), ("both", "f2fs, nobarrier, fuse above")] {
        let file = format!("{name}.json");
        let row = rows_of(device).into_iter().find(|row| row.first() == Some(&file)).unwrap();
        assert_eq!(row[2], expected);
    }
    assert!(index.contains("the power can take it"));
    for unflushed in ["unflushed.json", "both.json"] {
        std::fs::remove_file(folder.path().join(unflushed)).unwrap();
    }
    assert!(!site_of(folder.path())["index.html"].contains("the power can take it"));
}

#[test]
fn every_page_says_the_same_number_for_what_is_set_apart_and_the_rows_are_as_many() {
    let folder = tempfile::tempdir().unwrap();
    let claims = |count: usize, heading: &str| {
        let entries = read_folder(folder.path()).unwrap();
        let pages = site_of(folder.path());
        for (path, page) in pages.iter().filter(|(path, _)| path.ends_with(".html")) {
            assert!(page.contains(&format!("Set apart: {count}<")), "{path}");
        }
        let page = &pages["apart.html"];
        assert!(page.contains(&format!("<h1>{heading}</h1>")), "{heading} is not in {page}");
        let rows = rows_of(page).into_iter().filter(|row| row[0].ends_with(".json")).count();
        assert_eq!(rows, count);
        let good = entries.iter().filter(|entry| entry.is_good()).count();
        assert_eq!(good + count, entries.len());
    };
    put(folder.path(), "a.json", &sample::quick());
    claims(0, "Every file counts: nothing is set apart.");
    put(folder.path(), "b.json", &sample::quick());
    claims(1, "1 file is set apart: 1 copy.");
    std::fs::write(folder.path().join("c.json"), "{}").unwrap();
    claims(2, "2 files are set apart: 1 unreadable, 1 copy.");
    std::fs::write(folder.path().join("d.json"), "{}").unwrap();
    claims(3, "3 files are set apart: 2 unreadable, 1 copy.");
    put(folder.path(), "e.json", &sample::memory());
    put(folder.path(), "f.json", &sample::quick());
    claims(5, "5 files are set apart: 2 unreadable, 1 untrusted, 2 copies.");
}

#[test]
fn a_site_replaces_a_site_and_nothing_else() {
    let (runs, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    put(runs.path(), "a.json", &sample::quick());
    let make = |to: &Path| write_site(to, &read_folder(runs.path()).unwrap(), &Options::default());
    make(to.path()).unwrap();
    assert!(to.path().join("device/sample-tablet-t.html").exists());
    std::fs::write(to.path().join("notes.txt"), "mine").unwrap();
    let mut other = sample::quick();
    other.label = Some("Card A".to_owned());
    other.seal();
    put(runs.path(), "a.json", &other);
    assert_eq!(make(to.path()).unwrap().removed, 1);
    assert!(!to.path().join("device/sample-tablet-t.html").exists());
    assert!(to.path().join("device/card-a.html").exists());
    assert_eq!(std::fs::read_to_string(to.path().join("notes.txt")).unwrap(), "mine");
    let foreign = tempfile::tempdir().unwrap();
    std::fs::write(foreign.path().join("thesis.txt"), "mine").unwrap();
    assert!(matches!(make(foreign.path()), Err(WriteSiteError::Foreign(_))));
    assert_eq!(std::fs::read_dir(foreign.path()).unwrap().count(), 1);
}

#[cfg(unix)]
#[test]
fn nothing_is_written_or_removed_behind_a_symbolic_link_in_an_earlier_site() {
    let (runs, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    put(runs.path(), "a.json", &sample::quick());
    let entries = read_folder(runs.path()).unwrap();
    write_site(to.path(), &entries, &Options::default()).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    for folder in ["device", "data"] {
        let within = to.path().join(folder);
        let names: Vec<_> =
            std::fs::read_dir(&within).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        std::fs::remove_dir_all(&within).unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), &within).unwrap();
        names.iter().for_each(|name| std::fs::write(elsewhere.path().join(name), "mine").unwrap());
        let error = write_site(to.path(), &entries, &Options::default()).unwrap_err().to_string();
        assert!(error.contains("is a symbolic link: remove it"), "{error}");
        for name in names {
            let path = elsewhere.path().join(name);
            assert_eq!(std::fs::read_to_string(path).unwrap(), "mine");
        }
        std::fs::remove_file(&within).unwrap();
        write_site(to.path(), &entries, &Options::default()).unwrap();
    }
}
