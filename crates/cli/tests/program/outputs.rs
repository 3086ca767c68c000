//! Where results go: nothing that is not this program's, or that took a measurement to make, is
//! overwritten by accident.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

const TINY: &str = include_str!("support/tiny.toml");

struct Scene {
    home: TempDir,
}

impl Scene {
    fn new() -> Scene {
        let home = TempDir::new().unwrap();
        fs::create_dir(home.path().join("here")).unwrap();
        fs::write(home.path().join("tiny.toml"), TINY).unwrap();
        Scene { home }
    }

    fn here(&self) -> PathBuf {
        self.home.path().join("here")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.here().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_flashlag"));
        command.args(arguments).current_dir(self.here()).stdout(Stdio::null());
        command.stderr(Stdio::piped());
        command
    }

    fn flashlag(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let output: Output = self.command(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        (output.status.code(), said.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    fn run(&self, more: &[&str]) -> (Option<i32>, String) {
        self.flashlag(&[&["run", "../tiny.toml", "--on", "sim:zero", "-q"], more].concat())
    }

    fn names(&self) -> BTreeSet<String> {
        let entries = fs::read_dir(self.here()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

fn is_run(path: &Path) -> bool {
    fs::read_to_string(path).unwrap().contains("\"flashlag.run/1\"")
}

#[test]
fn what_is_no_regular_file_is_never_replaced_by_a_run_not_even_by_force() {
    let scene = Scene::new();
    let fifo = scene.path("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &fifo,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from(0o600),
        0,
    )
    .unwrap();
    fs::write(scene.path("target"), "mine").unwrap();
    symlink("target", scene.path("link.json")).unwrap();
    fs::create_dir(scene.path("folder")).unwrap();
    let before = scene.names();
    for (output, kind) in [
        ("pipe", "named pipe"),
        ("link.json", "symbolic link to target"),
        ("folder", "is a directory"),
        ("/dev/null", "device node"),
        ("/dev/full", "device node"),
        ("/dev/stdout", "symbolic link"),
    ] {
        for force in [&[][..], &["--force"]] {
            let (code, said) = scene.run(&[&["-o", output], force].concat());
            assert_eq!(code, Some(2), "{output}: {said}");
            assert!(said.contains(kind) && said.contains("give"), "{output}: {said}");
        }
        let page = ["-o", "run.json", "--report", output];
        let (code, said) = scene.run(&page);
        assert_eq!(code, Some(2), "{output} as a report: {said}");
    }
    let (_, said) = scene.run(&["-o", "/dev/stdout"]);
    assert!(said.contains("flashlag report FILE --format json"), "{said}");
    let (_, said) = scene.flashlag(&["report", "none.json", "-o", "/dev/stdout"]);
    assert!(said.contains("leave -o out"), "{said}");
    assert_eq!(scene.names(), before, "something was left");
    assert!(fs::symlink_metadata(&fifo).unwrap().file_type().is_fifo());
    assert!(fs::symlink_metadata("/dev/null").unwrap().file_type().is_char_device());
    assert!(!Path::new("/dev/null.html").exists());
    assert_eq!(fs::read_to_string(scene.path("target")).unwrap(), "mine");
}

#[test]
fn a_device_node_survives_root() {
    let scene = Scene::new();
    let null = scene.path("mynull");
    let kind = rustix::fs::FileType::CharacterDevice;
    let device = rustix::fs::makedev(1, 3);
    let mode = rustix::fs::Mode::from(0o666);
    if rustix::fs::mknodat(rustix::fs::CWD, &null, kind, mode, device).is_err() {
        return flashlag_need::skip("only root makes device nodes");
    }
    let (code, said) = scene.run(&["-o", "mynull"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(fs::symlink_metadata(&null).unwrap().file_type().is_char_device());
    assert!(!scene.path("mynull.html").exists());
}

#[test]
fn a_file_that_is_no_run_is_kept_without_force() {
    let scene = Scene::new();
    fs::write(scene.path("keep.txt"), "a letter").unwrap();
    let (code, said) = scene.run(&["-o", "keep.txt"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("no run file") && said.contains("--force"), "{said}");
    assert_eq!(fs::read_to_string(scene.path("keep.txt")).unwrap(), "a letter");
    let (code, said) = scene.run(&["-o", "keep.txt", "--force"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(is_run(&scene.path("keep.txt")));
}

#[test]
fn a_finished_run_is_not_overwritten_without_force() {
    let scene = Scene::new();
    assert_eq!(scene.run(&["-o", "run.json", "--seed", "1"]).0, Some(0));
    let first = fs::read(scene.path("run.json")).unwrap();
    let (code, said) = scene.run(&["-o", "run.json", "--seed", "2"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("finished run of tiny") && said.contains("--force"), "{said}");
    assert!(fs::read(scene.path("run.json")).unwrap() == first);
    assert_eq!(scene.run(&["-o", "run.json", "--seed", "2", "--force"]).0, Some(0));
    assert!(fs::read(scene.path("run.json")).unwrap() != first);
}

#[test]
fn the_report_is_never_the_run_file() {
    let scene = Scene::new();
    let (code, said) = scene.run(&["-o", "result.html"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("-o result.json --report result.html"), "{said}");
    let (code, said) = scene.run(&["-o", "same", "--report", "../here/same"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("--report same.html"), "{said}");
    assert_eq!(scene.names(), BTreeSet::new());
}

#[test]
fn a_page_of_the_users_is_kept_and_a_report_of_ours_is_made_again() {
    let scene = Scene::new();
    fs::write(scene.path("index.html"), "<!doctype html><title>My site</title>").unwrap();
    let (code, said) = scene.run(&["-o", "index.json"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("index.html") && said.contains("no report"), "{said}");
    assert!(fs::read_to_string(scene.path("index.html")).unwrap().contains("My site"));
    assert!(!scene.path("index.json").exists(), "found before the run");
    assert_eq!(scene.run(&["-o", "run.json"]).0, Some(0));
    fs::remove_file(scene.path("run.json")).unwrap();
    assert_eq!(scene.run(&["-o", "run.json"]).0, Some(0), "its own page is replaced");
}

#[test]
fn temporaries_follow_no_link_and_touch_no_file_of_the_users() {
    let scene = Scene::new();
    fs::write(scene.home.path().join("secret"), "secret").unwrap();
    symlink("../secret", scene.path("r.json.flashlag-tmp")).unwrap();
    fs::write(scene.path("s.json.flashlag-tmp"), "mine").unwrap();
    for name in ["r.json", "s.json"] {
        let (code, said) = scene.run(&["-o", name]);
        assert_eq!(code, Some(0), "{said}");
    }
    assert_eq!(fs::read_to_string(scene.home.path().join("secret")).unwrap(), "secret");
    assert_eq!(fs::read_to_string(scene.path("s.json.flashlag-tmp")).unwrap(), "mine");
    assert!(scene.path("r.json.flashlag-tmp").symlink_metadata().unwrap().is_symlink());
    let (code, _) = scene.flashlag(&["clean", "."]);
    assert_eq!(code, Some(0));
    assert_eq!(scene.names().len(), 6, "{:?}", scene.names());
}

#[test]
fn runs_side_by_side_in_one_directory_each_keep_their_result() {
    const RUNS: usize = 32;
    for (output, name) in [(&[][..], "flashlag-run-tiny-"), (&["-o", "same.json"], "same")] {
        let scene = Scene::new();
        let arguments = [&["run", "../tiny.toml", "--on", "sim:zero", "-q"], output].concat();
        let all = (1..=RUNS).map(|seed| {
            let mut command = scene.command(&arguments);
            command.args(["--seed", &seed.to_string()]).spawn().unwrap()
        });
        let all: Vec<_> = all.collect();
        let mut stored = BTreeSet::new();
        for child in all {
            let output = child.wait_with_output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            // A run that begins when another has ended finds its file, and is refused before.
            if output.status.code() == Some(2) && said.contains("of tiny (") {
                assert!(name == "same", "{said}");
                continue;
            }
            assert_eq!(output.status.code(), Some(0), "{said}");
            let data = said.lines().find_map(|line| line.strip_prefix("Data    ")).unwrap();
            assert!(data.starts_with(name) && is_run(&scene.path(data)), "{said}");
            assert!(stored.insert(data.to_owned()), "{data} is two runs'");
        }
        let seeds = stored.iter().map(|file| {
            let text = fs::read_to_string(scene.path(file)).unwrap();
            let seed = text.split("\"seed\": ").nth(1).unwrap();
            seed.split([',', '\n']).next().unwrap().trim().to_owned()
        });
        assert_eq!(seeds.collect::<BTreeSet<_>>().len(), stored.len(), "a run is there twice");
        let files = scene.names();
        assert!(files.iter().all(|file| !file.ends_with("-tmp")), "{files:?}");
        assert_eq!(files.len(), stored.len() * 2, "a run file and a page each: {files:?}");
        assert!(name == "same" || stored.len() == RUNS);
    }
}

#[test]
fn a_lost_or_unwritable_folder_of_results_is_found_before_anything_is_done() {
    let scene = Scene::new();
    for arguments in
        [&["-o", "gone/run.json"][..], &["--report", "gone/x.html"], &["-o", "run.json/x"]]
    {
        let (code, said) = scene.run(arguments);
        assert_eq!(code, Some(2), "{arguments:?}: {said}");
        assert!(said.contains("cannot write") && said.contains("directory"), "{said}");
    }
    assert_eq!(scene.names(), BTreeSet::new(), "nothing was measured");
    if rustix::process::geteuid().is_root() {
        return; // Root may write anywhere.
    }
    fs::create_dir(scene.path("closed")).unwrap();
    fs::set_permissions(scene.path("closed"), PermissionsExt::from_mode(0o500)).unwrap();
    let (code, said) = scene.run(&["-o", "closed/run.json"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("Permission denied"), "{said}");
}

#[test]
fn what_is_made_from_a_run_never_replaces_it_or_another_file() {
    let scene = Scene::new();
    assert_eq!(scene.run(&["-o", "a.json"]).0, Some(0));
    assert_eq!(scene.run(&["-o", "b.json", "--seed", "2"]).0, Some(0));
    let run = fs::read(scene.path("a.json")).unwrap();
    std::os::unix::fs::symlink("a.json", scene.path("link.json")).unwrap();
    fs::write(scene.path("notes.csv"), "my own").unwrap();
    fs::write(scene.path("mine.toml"), "my own").unwrap();
    for arguments in [
        &["report", "a.json", "-o", "a.json"][..],
        &["report", "a.json", "--force", "-o", "../here/a.json"],
        &["report", "b.json", "-o", "a.json"],
        &["report", "link.json", "--force", "--format", "csv", "-o", "a.json"],
        &["compare", "link.json", "b.json", "--force", "--format", "json", "-o", "a.json"],
        &["run", "../tiny.toml", "--on", "sim:zero", "-o", "-"],
        &["report", "a.json", "-o", "notes.csv"],
        &["compare", "a.json", "b.json", "--report", "a.json"],
        &["compare", "a.json", "b.json", "--report", "notes.csv"],
        &["fit", "a.json", "-o", "mine.toml"],
        &["fit", "a.json", "-o", "a.json"],
    ] {
        let (code, said) = scene.flashlag(arguments);
        assert_eq!(code, Some(2), "{arguments:?}: {said}");
    }
    assert!(fs::read(scene.path("a.json")).unwrap() == run);
    for name in ["notes.csv", "mine.toml"] {
        assert_eq!(fs::read_to_string(scene.path(name)).unwrap(), "my own");
    }
    let (code, said) = scene.flashlag(&["report", "a.json", "-o", "notes.csv", "--force"]);
    assert_eq!(code, Some(0), "{said}");
}
