//! The repository of results that `packaging/results` is a template of: what its README and its workflow run takes a
//! good contribution and refuses a bad one.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use flashlag_testing::sample;

fn template() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/results")
}

/// The files of the template, relative to it.
fn files() -> Vec<PathBuf> {
    let (mut folders, mut found) = (vec![template()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path.strip_prefix(template()).unwrap().to_owned());
            }
        }
    }
    found.sort();
    found
}

/// A new repository, made of the template.
fn repository() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    for file in files() {
        std::fs::create_dir_all(home.path().join(&file).parent().unwrap()).unwrap();
        std::fs::copy(template().join(&file), home.path().join(&file)).unwrap();
    }
    home
}

/// Runs a line of a file of the repository that begins with these words, as a shell would there.
fn run(home: &Path, file: &str, begin: &str) -> Output {
    let text = std::fs::read_to_string(home.join(file)).unwrap();
    let line = text.lines().map(str::trim).find(|line| line.starts_with(begin));
    let line = line.unwrap_or_else(|| panic!("{file} has no line that begins with {begin}"));
    let program = Path::new(env!("CARGO_BIN_EXE_flashlag"));
    let path =
        format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    shell
        .args(["-c", line])
        .current_dir(home)
        .env("PATH", path)
        .env("GITHUB_REPOSITORY", "ours/results");
    shell.output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn a_good_contribution_goes_in_and_becomes_a_site_and_a_bad_one_is_refused_with_the_reason() {
    const WORKFLOW: &str = ".github/workflows/results.yml";
    let home = repository();
    let at = home.path();
    std::fs::write(at.join("mine.json"), sample::quick().to_json()).unwrap();
    let shared = run(at, "README.md", "flashlag share mine.json");
    assert!(!at.join("mine-shared.json").exists(), "nobody said yes: {}", said(&shared));
    let program = env!("CARGO_BIN_EXE_flashlag");
    let yes = Command::new(program)
        .args(["share", "mine.json", "--yes"])
        .current_dir(at)
        .output()
        .unwrap();
    assert!(yes.status.success(), "{}", said(&yes));
    assert!(run(at, "README.md", "cp mine-shared.json runs/").status.success());
    for file in [WORKFLOW, "README.md"] {
        let checked = run(at, file, "flashlag site --check runs");
        assert!(checked.status.success(), "{}", said(&checked));
        assert!(said(&checked).contains("1 of 1 files may go in"), "{}", said(&checked));
    }
    let made = run(at, WORKFLOW, "flashlag site runs -o site");
    assert!(made.status.success(), "{}", said(&made));
    assert!(std::fs::read_to_string(at.join("site/index.html")).unwrap().contains("ours/results"));
    // A run as it was measured has paths in it.
    std::fs::write(at.join("runs/whole.json"), sample::soak().to_json()).unwrap();
    let checked = run(at, WORKFLOW, "flashlag site --check runs");
    assert_eq!(checked.status.code(), Some(1), "{}", said(&checked));
    assert!(
        said(&checked).contains("whole.json is not what `flashlag share` writes"),
        "{}",
        said(&checked)
    );
    assert!(said(&checked).contains("1 of 2 files may go in"), "{}", said(&checked));
}

#[test]
fn what_the_readme_says_of_a_pull_request_holds() {
    let readme = std::fs::read_to_string(template().join("README.md")).unwrap();
    let most = format!("at most {}", flashlag_store::MOST_TAKEN);
    assert!(readme.split_whitespace().collect::<Vec<_>>().join(" ").contains(&most), "{most}");
    let workflow = template().join(".github/workflows/results.yml");
    let workflow = std::fs::read_to_string(workflow).unwrap();
    // What comes from a fork runs without a right to write, and without the token on the disk.
    let (before, site) = workflow.split_once("\n  site:\n").unwrap();
    assert!(before.contains("\npermissions:\n  contents: read\n") && !before.contains("write"));
    assert!(site.contains("if: github.ref == 'refs/heads/main'"), "{site}");
    assert_eq!(
        workflow.matches("actions/checkout@").count(),
        workflow.matches("persist-credentials: false").count()
    );
}

#[test]
fn packages_contain_the_template() {
    let root = template().join("../..");
    let text = |file: &str| std::fs::read_to_string(root.join(file)).unwrap();
    assert!(text("scripts/release").contains("packaging/results \"$share/doc/flashlag\""));
    let packages = text("packaging/nfpm.yaml");
    assert!(packages.contains("dst: /usr/share/doc/flashlag/results, type: tree, packager: deb"));
    for file in files() {
        let named = format!(
            "dst: /usr/share/doc/flashlag/results/{}, type: doc, packager: rpm",
            file.display()
        );
        assert!(packages.contains(&named), "{named}");
    }
    let expected = [".github/workflows/results.yml", "README.md", "runs/README.md"];
    assert_eq!(files(), expected.map(PathBuf::from));
}
