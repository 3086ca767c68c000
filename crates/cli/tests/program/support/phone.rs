//! A stand-in phone with an adb server, and runs of the program under test on it.
#![allow(dead_code, reason = "each test that includes this uses a part")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use flashlag_schema::{Run, RunStatus};
use flashlag_standin::{AdbServer, Builder, Phone};
use tempfile::TempDir;

/// Three tests of two seconds each.
pub const SHORT: &str = r#"
name = "short"
about = "Durable writes, saves, reads."
[[io]]
name = "rand_write_4k"
operation = "write"
pattern = "random"
block = "4KiB"
span = "1MiB"
time = "2s"
durable = "fdatasync"
[[save]]
name = "save_wal"
statement = "insert"
journal = "wal"
synchronous = "full"
saves = 100000
time = "2s"
[[io]]
name = "rand_read_4k"
operation = "read"
pattern = "random"
block = "4KiB"
span = "1MiB"
time = "2s"
[[step]]
measure = ["rand_write_4k", "save_wal", "rand_read_4k"]
state = "new"
"#;
/// How long a run may take here before a test gives up.
const PATIENCE: Duration = Duration::from_secs(150);

/// The folder with the program for a phone of this machine's kind: the program under test itself,
/// whose libraries the stand-in has.
pub fn programs() -> &'static Path {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = TempDir::new().unwrap();
        std::fs::copy(env!("CARGO_BIN_EXE_flashlag"), folder.path().join("flashlag-x86_64"))
            .unwrap();
        folder
    });
    folder.path()
}

/// A phone with an adb server and a folder for results.
pub struct Bench {
    pub phone: Phone,
    pub adb: AdbServer,
    pub serial: String,
    pub home: TempDir,
    pub programs: PathBuf,
}

pub fn pixel() -> Builder {
    Phone::builder().model("pixel4-android13").abis("x86_64")
}

impl Bench {
    /// Connects a phone; `None`, with a visible skip, where a phone can't be made here.
    pub fn of(builder: Builder) -> Option<Bench> {
        if let Some(reason) = builder.lacks() {
            flashlag_need::skip(reason);
            return None;
        }
        let (phone, adb) = (builder.start().unwrap(), AdbServer::start().unwrap());
        let serial = adb.connect(&phone).unwrap();
        let home = TempDir::new().unwrap();
        std::fs::write(home.path().join("short.toml"), SHORT).unwrap();
        let programs = programs().to_owned();
        Some(Bench { phone, adb, serial, home, programs })
    }

    pub fn output(&self) -> PathBuf {
        self.home.path().join("run.json")
    }

    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_flashlag"));
        command.args(words).current_dir(self.home.path()).envs(self.adb.variables());
        command.env("FLASHLAG_PHONE_PROGRAMS", &self.programs).stdin(Stdio::null());
        command
    }

    /// Begins a run, whose messages go to a file.
    pub fn begin(&self, words: &[&str]) -> Child {
        let log = std::fs::File::create(self.home.path().join("log")).unwrap();
        let mut run = self.command(&["run", "-o", "run.json"]);
        run.args(words).stdout(Stdio::null()).stderr(log).spawn().unwrap()
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.home.path().join("log")).unwrap_or_default()
    }

    /// Waits until the run has said something that many times.
    pub fn wait_for(&self, text: &str, times: usize) {
        let until = Instant::now() + PATIENCE;
        while self.log().matches(text).count() < times {
            assert!(Instant::now() < until, "no `{text}` in: {}", self.log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits for the end of a run that is complete, verifies it, and checks that the phone is clean.
    pub fn complete(&self, mut child: Child) -> Run {
        let until = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if Instant::now() > until {
                let _ = child.kill();
                panic!("the run does not end: {}", self.log());
            }
            std::thread::sleep(Duration::from_millis(50));
        };
        // A stand-in on a busy machine is not to be trusted as a benchmark.
        assert!(matches!(status.code(), Some(0 | 3)), "{status}: {}", self.log());
        self.taken()
    }

    /// The run file, complete and verified, of a phone that is clean.
    pub fn taken(&self) -> Run {
        let run = self.stored();
        assert_eq!(run.status, RunStatus::Complete, "{}", self.log());
        let verified = self.command(&["verify", "run.json"]).output().unwrap();
        assert!(verified.status.success(), "{}", text(&verified));
        self.is_clean();
        run
    }

    pub fn stored(&self) -> Run {
        Run::from_json(&std::fs::read_to_string(self.output()).unwrap()).unwrap()
    }

    /// Nothing of flashlag is left, and the settings are the user's own again.
    pub fn is_clean(&self) {
        for folder in ["data/local/tmp", "data/media/0", "sdcard"] {
            let path = self.phone.root().join(folder);
            let left = std::fs::read_dir(&path).into_iter().flatten().flatten();
            let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
            let ours = left.iter().find(|name| name.to_string_lossy().contains("flashlag"));
            assert!(ours.is_none(), "{}: {left:?}", path.display());
        }
        let timeout =
            self.adb.shell(&self.serial, "settings get system screen_off_timeout").unwrap();
        assert_ne!(String::from_utf8_lossy(&timeout.stdout).trim(), "2147483647");
    }

    /// What a command that can't be done says.
    pub fn refused(&self, words: &[&str]) -> String {
        let output = self.command(words).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", text(&output));
        text(&output)
    }
}

pub fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).split_whitespace().collect::<Vec<_>>().join(" ")
}
