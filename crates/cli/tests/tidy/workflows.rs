//! A workflow runs the actions that were read: each by its commit, since a tag can be moved.

use crate::{none, root};

/// What is wrong with a line that names an action, if anything is.
fn unpinned(line: &str) -> bool {
    let Some((_, action)) = line.split_once("uses: ") else { return false };
    let Some((_, commit)) = action.split_once('@') else { return true };
    let (commit, comment) = commit.split_once(" # ").unwrap_or((commit, ""));
    let is_hash = commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    !is_hash || !comment.starts_with('v')
}

#[test]
fn workflows_name_each_action_by_its_commit_and_say_its_version() {
    let (mut named, mut wrong) = (0, Vec::new());
    for folder in [".github/workflows", "packaging", "packaging/results/.github/workflows"] {
        for entry in std::fs::read_dir(root().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|end| end != "yml") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let uses = text.lines().enumerate().filter(|(_, line)| line.contains("uses: "));
            for (at, line) in uses {
                named += 1;
                if unpinned(line) {
                    wrong.push(format!("{}:{}: {}", path.display(), at + 1, line.trim()));
                }
            }
        }
    }
    assert!(named >= 5, "{named} actions");
    none("an action is named as NAME@COMMIT # vVERSION", wrong);
}

#[test]
fn a_tag_a_branch_and_a_commit_without_its_version_are_found() {
    for wrong in ["- uses: a/b@v4", "- uses: a/b", "- uses: a/b@main # v4"] {
        assert!(unpinned(wrong), "{wrong}");
    }
    let commit = "11d5960a326750d5838078e36cf38b85af677262";
    assert!(unpinned(&format!("- uses: a/b@{commit}")));
    assert!(!unpinned(&format!("- uses: a/b@{commit} # v4.4.0")));
    assert!(!unpinned("- run: make checks"));
}
