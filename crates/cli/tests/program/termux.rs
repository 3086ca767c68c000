//! What a user types in Termux, under Android's filter of system calls for apps (x86_64).
//!
//! The program of these tests is linked to the GNU C library, which makes some calls before any handler can be
//! there, or while signals are blocked. Those are allowed here; musl, with which the programs for phones are
//! built, makes none of them. `scripts/checks` runs such a program under the filter as it is.
#![cfg(target_arch = "x86_64")]
#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};

use crate::support::moments::short_quick;
use flashlag_schema::Run;
use tempfile::TempDir;

/// What the GNU C library calls itself: for its loader, its threads and their restartable sequences.
const OF_GNU: [i64; 4] =
    [libc::SYS_access, libc::SYS_set_robust_list, libc::SYS_rseq, libc::SYS_clone3];

/// This program under the filter of that Android.
fn typed(android: u32, words: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashlag"));
    under(&mut command, android);
    command.args(words).current_dir(folder).output().unwrap()
}

/// Makes a program run under the filter, as all that an app starts does.
fn under(command: &mut Command, android: u32) {
    let program = crate::seccomp_common::filter(android, &OF_GNU);
    // SAFETY: between fork and exec two system calls are made, and nothing is allocated.
    unsafe {
        command.pre_exec(move || {
            seccompiler::apply_filter(&program)
                .map_err(|_| std::io::Error::from_raw_os_error(libc::EPERM))
        });
    }
}

fn said(output: &Output) -> String {
    let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    format!("{:?}\n{out}\n{err}", output.status)
}

#[test]
fn under_androids_filter_a_directory_is_measured_reported_explained_and_verified() {
    for android in [8, 15] {
        let home = TempDir::new().unwrap();
        let at = home.path();
        std::fs::write(at.join("short.toml"), short_quick()).unwrap();
        let words = ["run", "short.toml", "--set", "span=2MB", "-o", "run.json", "--on", "."];
        let run = typed(android, &words, at);
        // A disk that answers from memory is not to be trusted, and none of the machine's business here.
        assert!(matches!(run.status.code(), Some(0 | 3)), "Android {android}: {}", said(&run));
        let text = std::fs::read_to_string(at.join("run.json")).unwrap();
        let phases = Run::from_json(&text).unwrap().phases;
        assert!(phases.len() >= 7 && phases.iter().all(|phase| phase.ops > 0), "{phases:?}");
        for words in [
            &["verify", "run.json"][..],
            &["report", "run.json", "--force", "-o", "run.html"],
            &["explain", "run.json"],
            &["explain", "."],
            &["run", "short.toml", "--on", "sim:emmc51-phone+f2fs", "-q"],
        ] {
            let output = typed(android, words, at);
            assert!(matches!(output.status.code(), Some(0 | 3)), "{words:?}: {}", said(&output));
        }
        let page = std::fs::read_to_string(at.join("run.html")).unwrap();
        assert!(page.contains("</html>"));
    }
}
