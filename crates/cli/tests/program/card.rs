//! `flashlag run card` on made-up cards, each a block device of its own with a filesystem of the kernel's.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "a test that skips says so")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::engine_common::loop_mount::{LoopMount, run};
use crate::support::program::{flashlag, has, plugin};

/// A served device below a loop device below an ext4, taken down in that order.
struct MadeUpCard {
    folder: TempDir,
    served: Option<Child>,
    fuse: Option<Child>,
    loop_device: Option<String>,
    mounted: bool,
}

impl MadeUpCard {
    /// A card of `mebibytes` that is honest until a fault is set.
    fn new(mebibytes: u64) -> Result<MadeUpCard, String> {
        if !rustix::process::geteuid().is_root() {
            return Err("mounting an image needs root".to_owned());
        }
        let needed = ["nbdkit", "nbdfuse", "losetup", "mkfs.ext4"];
        if let Some(missing) = needed.into_iter().find(|program| !has(program)) {
            return Err(format!("{missing} is not installed"));
        }
        let plugin = plugin().ok_or("there is no plugin (cargo build -p flashlag-nbd)")?;
        let folder = TempDir::new().map_err(|error| error.to_string())?;
        let mut card =
            MadeUpCard { folder, served: None, fuse: None, loop_device: None, mounted: false };
        card.serve(mebibytes, &plugin)?;
        card.mount()?;
        Ok(card)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn serve(&mut self, mebibytes: u64, plugin: &Path) -> Result<(), String> {
        let listen = format!("unix:{}", self.path("nbd").display());
        let size = format!("{mebibytes}MiB");
        let mut command = Command::new(flashlag());
        command.args(["device", "zero", "--size", &size, "--listen", &listen, "--control"]);
        command.arg(self.path("control")).env("FLASHLAG_NBD_PLUGIN", plugin);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        self.served = Some(command.spawn().map_err(|error| error.to_string())?);
        self.wait_for("the device", |card| card.path("control").exists())?;
        std::fs::write(self.path("disk"), "").map_err(|error| error.to_string())?;
        let uri = format!("nbd+unix:///?socket={}", self.path("nbd").display());
        let mut command = Command::new("nbdfuse");
        command.arg(self.path("disk")).arg(uri).stdout(Stdio::null()).stderr(Stdio::null());
        self.fuse = Some(command.spawn().map_err(|error| error.to_string())?);
        let served = |card: &MadeUpCard| {
            std::fs::metadata(card.path("disk")).is_ok_and(|disk| disk.len() == mebibytes << 20)
        };
        self.wait_for("nbdfuse", served)
    }

    fn wait_for(&self, what: &str, there: impl Fn(&MadeUpCard) -> bool) -> Result<(), String> {
        let until = Instant::now() + Duration::from_secs(60);
        while !there(self) {
            if Instant::now() > until {
                return Err(format!("{what} did not come within a minute"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    fn mount(&mut self) -> Result<(), String> {
        let disk = self.path("disk");
        let output =
            run(Command::new("losetup").args(["--find", "--show", "--direct-io=on"]).arg(disk))?;
        let device = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        self.loop_device = Some(device.clone());
        let arguments = ["-q", "-F", "-b", "4096", "-m", "0", "-E", "lazy_itable_init=0"];
        run(Command::new("mkfs.ext4").args(arguments).arg(&device))?;
        std::fs::create_dir_all(self.path("mnt")).map_err(|error| error.to_string())?;
        run(Command::new("mount").args(["-t", "ext4", &device]).arg(self.path("mnt")))?;
        self.mounted = true;
        Ok(())
    }

    /// Sets a fault by the program.
    fn fault(&self, words: &[&str]) {
        let mut command = Command::new(flashlag());
        command.args(["device", "fault"]).args(words).arg(self.path("control"));
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
    }

    fn check(&self, more: &[&str]) -> Checked {
        checked(&self.path("mnt"), self.folder.path(), more)
    }
}

impl Drop for MadeUpCard {
    fn drop(&mut self) {
        if self.mounted {
            let _ = run(Command::new("umount").arg("-l").arg(self.path("mnt")));
        }
        if let Some(device) = &self.loop_device {
            let _ = run(Command::new("losetup").args(["--detach", device]));
        }
        let _ = run(Command::new("fusermount3").arg("-uz").arg(self.path("disk")));
        for process in [&mut self.fuse, &mut self.served].into_iter().flatten() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// What the program said and stored.
struct Checked {
    said: String,
    run: Value,
}

impl Checked {
    fn card(&self) -> &Value {
        &self.run["cards"][0]
    }

    fn bytes(&self, pointer: &str) -> u64 {
        self.card().pointer(pointer).and_then(Value::as_u64).unwrap_or_default()
    }

    /// The verdict's kind in the run file, and the first words of its sentence on the screen.
    fn assert(&self, kind: &str, sentence: &str) {
        assert_eq!(self.card()["verdict"]["kind"], kind, "{}\n{}", self.said, self.card());
        assert!(self.said.contains(sentence), "no “{sentence}” in\n{}", self.said);
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn command(on: &Path, home: &Path, more: &[&str]) -> Output {
    let mut command = Command::new(flashlag());
    command.args(["run", "card", "--yes", "--on"]).arg(on).arg("-o").arg(home.join("run.json"));
    command.args(more).current_dir(home).env("COLUMNS", "400").output().unwrap()
}

fn checked(on: &Path, home: &Path, more: &[&str]) -> Checked {
    let output = command(on, home, more);
    let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
    let stored = std::fs::read(home.join("run.json"));
    let stored = stored.unwrap_or_else(|error| panic!("{error}: {said}"));
    Checked { said, run: serde_json::from_slice(&stored).unwrap() }
}

const QUICK: &[&str] = &["--set", "quick=true", "--set", "places=16"];

#[test]
fn a_card_that_wraps_is_fake_and_holds_what_lies_between_equal_addresses() {
    let card = flashlag_need::or_skip!(MadeUpCard::new(112));
    card.fault(&["wrap", "--offset", "32MiB"]);
    let checked = card.check(&[]);
    checked.assert("fake", "Fake: about 3");
    let repeats = checked.bytes("/repeats_after") >> 20;
    assert!((30..=34).contains(&repeats), "{repeats}: {}", checked.card());
    drop(card);
    // Of a few places it is not known how far apart their like would be.
    let card = flashlag_need::or_skip!(MadeUpCard::new(112));
    card.fault(&["wrap", "--offset", "32MiB"]);
    card.check(QUICK).assert("fake", "Fake: it holds less than the");
}

#[test]
fn a_card_that_drops_writes_is_fake_whatever_its_reads_give() {
    for (fault, reads) in
        [("lose-zeros", "zeros"), ("lose-ones", "0xff"), ("lose-noise", "something else")]
    {
        let card = flashlag_need::or_skip!(MadeUpCard::new(112));
        card.fault(&[fault, "--offset", "40MiB"]);
        let more = if fault == "lose-ones" { QUICK } else { &[] };
        let checked = card.check(more);
        if more.is_empty() {
            checked.assert("fake", "Fake: about ");
            let holds = checked.bytes("/verdict/holds_bytes") >> 20;
            assert!((36..=44).contains(&holds), "{holds}: {}", checked.card());
            assert!(checked.said.contains(reads), "{}", checked.said);
        } else {
            checked.assert("fake", "Fake: it holds less than the");
        }
    }
}

#[test]
fn a_card_that_takes_no_more_writes_and_one_that_loses_them_are_told_apart() {
    let card = flashlag_need::or_skip!(MadeUpCard::new(112));
    card.fault(&["read-only", "--after", "20MiB"]);
    let checked = card.check(&[]);
    checked.assert("read_only", "Read-only: it refused every write after");
    let written = checked.bytes("/written_bytes") >> 20;
    assert!((8..=20).contains(&written), "{written}");
    drop(card);
    let card = flashlag_need::or_skip!(MadeUpCard::new(112));
    card.fault(&["lose-old"]);
    card.check(QUICK).assert("keeps_old", "it accepts writes");
}

#[test]
fn a_bad_area_is_damage_and_said_with_its_size() {
    let card = flashlag_need::or_skip!(MadeUpCard::new(112));
    card.fault(&["flip", "--offset", "64MiB", "--length", "16KiB"]);
    let checked = card.check(&[]);
    checked.assert("damaged", "have flipped bits");
    assert_eq!(checked.bytes("/lost/flipped"), 16 << 10, "{}", checked.card());
    drop(card);
    let card = flashlag_need::or_skip!(MadeUpCard::new(112));
    card.fault(&["read", "--offset", "64MiB", "--length", "16KiB"]);
    let checked = card.check(&[]);
    checked.assert("damaged", "can not be read");
    assert_eq!(checked.bytes("/lost/unreadable"), 16 << 10, "{}", checked.card());
}

#[test]
fn an_honest_card_is_genuine_to_its_last_byte_and_left_as_it_was() {
    let card = flashlag_need::or_skip!(MadeUpCard::new(112));
    std::fs::write(card.path("mnt/photo.jpg"), "mine").unwrap();
    let whole = card.check(&[]);
    whole.assert("genuine", "Genuine: every one of");
    assert_eq!(whole.bytes("/proven_bytes"), whole.bytes("/written_bytes"));
    assert!(whole.bytes("/written_bytes") > 70 << 20, "{}", whole.card());
    assert_eq!(whole.bytes("/cached_bytes"), 0, "{}", whole.card());
    let report = std::fs::read_to_string(card.path("run.html")).unwrap();
    assert!(report.contains("Genuine: every one of"));
    let quick = card.check(&[QUICK, &["--force"]].concat());
    quick.assert("nothing_found", "No fake found: each of 16 places over");
    assert!(quick.bytes("/reached/to") > 60 << 20, "{}", quick.card());
    let names =
        std::fs::read_dir(card.path("mnt")).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.collect();
    names.sort();
    assert_eq!(names, ["lost+found", "photo.jpg"]);
    assert_eq!(std::fs::read(card.path("mnt/photo.jpg")).unwrap(), b"mine");
}

#[test]
fn a_card_that_was_taken_out_is_read_by_the_next_part_and_only_if_it_is_the_same() {
    let mut card = flashlag_need::or_skip!(MadeUpCard::new(112));
    let set = ["--set", "take_out=true"];
    let first = card.check(&set);
    first.assert("unfinished", "take it out and put it in again");
    assert_eq!(first.run["status"]["kind"], "interrupted");
    run(Command::new("umount").arg(card.path("mnt"))).unwrap();
    card.mounted = false;
    // Another card, or one that lost everything.
    let resumed = [&set[..], &["--resume"]].concat();
    let other = card.path("other");
    std::fs::create_dir(&other).unwrap();
    let refused = command(&other, card.folder.path(), &resumed);
    let device = card.loop_device.clone().unwrap();
    run(Command::new("mount").args(["-t", "ext4", &device]).arg(card.path("mnt"))).unwrap();
    card.mounted = true;
    let second = card.check(&resumed);
    second.assert("genuine", "Genuine: every one of");
    assert_eq!(second.card()["resumed"], true);
    let left = std::fs::read_dir(card.path("mnt")).unwrap().count();
    assert_eq!(left, 1, "lost+found alone");
    assert!(
        text(&refused.stderr).contains("nothing of what that run wrote"),
        "{}",
        text(&refused.stderr)
    );
}

#[test]
fn what_has_no_data_or_no_room_is_no_card() {
    let home = TempDir::new().unwrap();
    let simulated = command(Path::new("sim:nexus5-2013+ext4"), home.path(), &[]);
    // Refused before the run begins: there is no run file.
    assert_eq!(simulated.status.code(), Some(2));
    assert!(!home.path().join("run.json").exists());
    assert!(
        text(&simulated.stderr).contains("a model keeps no data"),
        "{}",
        text(&simulated.stderr)
    );
    let few = command(home.path(), home.path(), &["--set", "places=3"]);
    assert!(text(&few.stderr).contains("8 to 65536"), "{}", text(&few.stderr));
}

/// Kills a run as soon as its file says so. Returns the card in that file.
fn killed_when(card: &MadeUpCard, there: impl Fn(&Value) -> bool) -> Value {
    let mut command = Command::new(flashlag());
    command.args(["run", "card", "--yes", "--on"]).arg(card.path("mnt"));
    command.args(["-o", "run.json", "--force"]).current_dir(card.folder.path());
    let mut run = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    let stored = || -> Option<Value> {
        serde_json::from_slice(&std::fs::read(card.path("run.json")).ok()?).ok()
    };
    while !stored().is_some_and(|stored| there(&stored["cards"][0])) {
        assert!(run.try_wait().unwrap().is_none(), "it ended before it was killed");
        assert!(Instant::now() < until, "not within a minute");
        std::thread::sleep(Duration::from_millis(1));
    }
    run.kill().unwrap();
    run.wait().unwrap();
    stored().unwrap()
}

#[test]
fn a_killed_run_goes_on_behind_what_was_synced_and_says_the_same() {
    let mut card = flashlag_need::or_skip!(MadeUpCard::new(112));
    card.fault(&["wrap", "--offset", "32MiB"]);
    let whole = card.check(&[]);
    whole.assert("fake", "Fake: about 3");
    drop(card);
    card = flashlag_need::or_skip!(MadeUpCard::new(112));
    card.fault(&["wrap", "--offset", "32MiB"]);
    // Killed while it writes, then while it reads or judges.
    let killed = killed_when(&card, |check| check["files"].as_u64() >= Some(20));
    assert_eq!(killed["cards"][0]["is_written"], false, "killed too late: {killed}");
    let left = |check: &Value| {
        let of = |key: &str| check[key].as_u64().unwrap_or_default();
        of("span_bytes") - of("written_bytes")
    };
    let left = left(&killed["cards"][0]);
    let again = card.check(&["--resume"]);
    again.assert("fake", "Fake: about 3");
    let written: Vec<u64> = again.run["phases"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|phase| phase["operation"] == "sequential_write")
        .filter_map(|phase| phase["bytes"].as_u64())
        .collect();
    assert!(left > 0 && written == [left], "{left} were left, and {written:?} written");
    let bytes = |pointer: &str| again.bytes(pointer);
    assert_eq!(bytes("/checked_bytes"), bytes("/written_bytes"));
    assert_eq!(bytes("/written_bytes"), whole.bytes("/written_bytes"));
    let holds = |one: &Checked| one.bytes("/verdict/holds_bytes");
    assert!(holds(&again).abs_diff(holds(&whole)) <= 2 << 20, "{} {}", again.card(), whole.card());
    assert_eq!(std::fs::read_dir(card.path("mnt")).unwrap().count(), 1, "lost+found alone");
}

#[test]
fn a_run_that_is_killed_while_it_reads_writes_nothing_again() {
    let card = flashlag_need::or_skip!(MadeUpCard::new(112));
    let killed = killed_when(&card, |check| check["is_written"] == true);
    assert_ne!(killed["status"]["kind"], "complete", "killed too late");
    let again = card.check(&["--resume"]);
    again.assert("genuine", "Genuine: every one of");
    assert_eq!(again.bytes("/proven_bytes"), again.bytes("/written_bytes"));
    let writes = again.run["phases"].as_array().unwrap();
    let writes = writes.iter().filter(|phase| phase["operation"] == "sequential_write");
    assert_eq!(writes.count(), 1, "{}", again.run["phases"]);
}

#[test]
fn a_card_with_a_filesystem_that_cards_have_is_proven_to_its_last_byte() {
    let mut reasons = Vec::new();
    let mut proven = 0;
    for kind in ["vfat", "exfat", "exfat-fuse", "ntfs-3g"] {
        let card = match LoopMount::portable(48, kind, "") {
            Ok(card) => card,
            Err(reason) => {
                reasons.push(reason);
                continue;
            }
        };
        let home = TempDir::new().unwrap();
        std::fs::write(card.path().join("photo.jpg"), "mine").unwrap();
        let whole = checked(card.path(), home.path(), &[]);
        // Where reads can't go past a daemon's page cache, nothing is proven, and that is said.
        let verdict = whole.card()["verdict"]["kind"].as_str().unwrap().to_owned();
        assert!(matches!(verdict.as_str(), "genuine" | "unproven"), "{kind}: {}", whole.said);
        assert_eq!(whole.bytes("/proven_bytes"), whole.bytes("/written_bytes"), "{kind}");
        assert!(whole.bytes("/written_bytes") > 30 << 20, "{kind}: {}", whole.card());
        assert_eq!(std::fs::read(card.path().join("photo.jpg")).unwrap(), b"mine");
        assert_eq!(std::fs::read_dir(card.path()).unwrap().count(), 1, "{kind}: left as it was");
        proven += 1;
    }
    if proven == 0 {
        flashlag_need::skip(reasons.join("; "));
    }
}
