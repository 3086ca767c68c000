//! Runs on a stand-in phone, by the real adb: from the command to a verified file and a clean phone, with
//! cables pulled, clients killed, phones that restart, and phones that can't be used.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that can't go on fails")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use flashlag_schema::{Power, Run, RunStatus, TargetKind};
use flashlag_standin::{AdbServer, Builder, Phone, State};
use tempfile::TempDir;

/// Three tests of two seconds each.
const SHORT: &str = r#"
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
fn programs() -> &'static Path {
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
struct Bench {
    phone: Phone,
    adb: AdbServer,
    serial: String,
    home: TempDir,
    programs: PathBuf,
}

fn pixel() -> Builder {
    Phone::builder().model("pixel4-android13").abis("x86_64")
}

impl Bench {
    /// Connects a phone; `None`, with a visible skip, where a phone can't be made here.
    fn of(builder: Builder) -> Option<Bench> {
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

    fn output(&self) -> PathBuf {
        self.home.path().join("run.json")
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_flashlag"));
        command.args(words).current_dir(self.home.path()).envs(self.adb.variables());
        command.env("FLASHLAG_PHONE_PROGRAMS", &self.programs).stdin(Stdio::null());
        command
    }

    /// Begins a run, whose messages go to a file.
    fn begin(&self, words: &[&str]) -> Child {
        let log = std::fs::File::create(self.home.path().join("log")).unwrap();
        let mut run = self.command(&["run", "-o", "run.json"]);
        run.args(words).stdout(Stdio::null()).stderr(log).spawn().unwrap()
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.home.path().join("log")).unwrap_or_default()
    }

    /// Waits until the run has said something that many times.
    fn wait_for(&self, text: &str, times: usize) {
        let until = Instant::now() + PATIENCE;
        while self.log().matches(text).count() < times {
            assert!(Instant::now() < until, "no `{text}` in: {}", self.log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits for the end of a run that is complete, verifies it, and checks that the phone is clean.
    fn complete(&self, mut child: Child) -> Run {
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
        let run = self.stored();
        assert_eq!(run.status, RunStatus::Complete, "{}", self.log());
        let verified = self.command(&["verify", "run.json"]).output().unwrap();
        assert!(verified.status.success(), "{}", text(&verified));
        self.is_clean();
        run
    }

    fn stored(&self) -> Run {
        Run::from_json(&std::fs::read_to_string(self.output()).unwrap()).unwrap()
    }

    /// Nothing of flashlag is left, and the settings are the user's own again.
    fn is_clean(&self) {
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
    fn refused(&self, words: &[&str]) -> String {
        let output = self.command(words).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", text(&output));
        text(&output)
    }
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_run_on_a_phone_ends_in_a_verified_file_and_a_clean_phone() {
    let Some(bench) = Bench::of(pixel()) else { return };
    let words = ["short.toml", "--on", "adb:", "--label", "Pixel 4, three years old"];
    let run = bench.complete(bench.begin(&words));
    assert_eq!(run.target.kind, TargetKind::Phone);
    assert_eq!(run.target.name, format!("adb:{}", bench.serial));
    assert_eq!(run.target.directory.as_deref(), Some("/data/local/tmp"));
    assert_eq!(run.label.as_deref(), Some("Pixel 4, three years old"));
    assert_eq!(run.phases.len(), 3);
    assert!(run.phases.iter().all(|phase| phase.ops > 10));
    let model = run.environment.software.machine.value().unwrap();
    assert_eq!(model, "Google Pixel 4");
    // One reading before each test, one at the end, of the texts that this model prints.
    assert_eq!(run.conditions.len(), 4);
    let read = &run.conditions[0];
    assert_eq!(read.power.value(), Some(&Power::Usb));
    assert!(read.battery_percent.value().is_some() && read.battery_millicelsius.value().is_some());
    let asked = bench.phone.log().join("\n");
    assert!(asked.contains("settings put global stay_on_while_plugged_in 15"), "{asked}");
}

/// The programs for ARM, which the script that runs all tests has built.
fn arm_programs() -> Option<PathBuf> {
    // The test is in TARGET/PROFILE/deps.
    let test = std::env::current_exe().unwrap();
    let folder = test.ancestors().nth(3).unwrap().join("arm-programs");
    folder.join("flashlag-aarch64").is_file().then_some(folder)
}

#[test]
fn a_phone_of_arm_is_measured_by_the_program_for_arm() {
    if flashlag_need::slow("a run on an emulated processor") {
        return;
    }
    let Some(programs) = arm_programs() else {
        return flashlag_need::skip("the ARM programs are not built: scripts/dist --test");
    };
    for (runner, abis, kernel) in [
        ("qemu-aarch64-static", "arm64-v8a,armeabi-v7a", "aarch64"),
        ("qemu-arm-static", "armeabi-v7a,armeabi", "armv7"),
    ] {
        let phone = Phone::builder().model("pixel6-android14").abis(abis).runner(runner);
        let Some(bench) = Bench::of(phone) else { return };
        let bench = Bench { programs: programs.clone(), ..bench };
        let run = bench.complete(bench.begin(&["short.toml", "--on", "adb:"]));
        let software = run.environment.software;
        assert!(software.kernel.value().unwrap().contains(kernel), "{software:?}");
        assert_eq!(software.virtualized.value(), Some(&false), "by its properties");
    }
}

#[test]
fn a_lifecycle_with_two_pulled_cables_ends_in_a_verified_file_and_a_clean_phone() {
    let Some(bench) = Bench::of(pixel().data_size(Some(160 << 20))) else { return };
    let words = [
        "lifecycle",
        "--on",
        "adb:",
        "--set",
        "span=8MB",
        "--set",
        "runs=1",
        "--set",
        "time=3s",
        "--leave",
        "40MB",
    ];
    let child = bench.begin(&words);
    bench.wait_for("4K rand write", 1);
    bench.phone.refuse();
    bench.phone.cut();
    bench.wait_for("the phone is gone", 1);
    std::thread::sleep(Duration::from_secs(3));
    bench.phone.accept().unwrap();
    bench.wait_for("the phone is back", 1);
    bench.wait_for("4K rand write", 2);
    bench.phone.cut();
    // What the system does once flashlag has it trim.
    bench.wait_for("Deleted 1: 4K rand write", 1);
    std::thread::sleep(Duration::from_secs(1));
    let log = "1700000100.200   512   530 I vold    : Trimmed 40960 bytes on /data in 9ms\n";
    bench.phone.set_text("logcat/-d", log).unwrap();
    let run = bench.complete(child);
    let states: std::collections::BTreeSet<_> =
        run.phases.iter().map(|phase| format!("{:?}", phase.state)).collect();
    assert_eq!(states.into_iter().collect::<Vec<_>>(), ["Deleted", "Filled", "New", "Trimmed"]);
    let asked = bench.phone.log().join("\n");
    assert!(asked.contains("sm idle-maint run"), "{asked}");
    assert!(bench.phone.cuts() >= 2);
}

#[test]
fn a_killed_flashlag_leaves_the_run_to_the_phone_and_another_one_follows_it_or_ends_it() {
    let Some(bench) = Bench::of(pixel()) else { return };
    let words = ["short.toml", "--on", "adb:"];
    let mut child = bench.begin(&words);
    bench.wait_for("4K rand write", 1);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(matches!(bench.stored().status, RunStatus::Running { .. }));
    let busy = bench.refused(&["run", "short.toml", "--on", "adb:", "-o", "other.json"]);
    assert!(busy.contains("measuring that phone already") && busy.contains("clean adb:"), "{busy}");
    let other = ["run", "short.toml", "--seed", "9", "--on", "adb:", "--resume", "-o", "run.json"];
    assert!(bench.refused(&other).contains("has another run"), "{}", bench.refused(&other));
    let run = bench.complete(bench.begin(&["short.toml", "--on", "adb:", "--resume"]));
    assert_eq!(run.phases.len(), 3);

    let mut child = bench.begin(&["short.toml", "--on", "adb:", "--force"]);
    bench.wait_for("4K rand write", 1);
    child.kill().unwrap();
    child.wait().unwrap();
    let cleaned = bench.command(&["clean", "adb:"]).output().unwrap();
    let said = String::from_utf8_lossy(&cleaned.stdout).into_owned();
    assert!(
        cleaned.status.success() && said.contains("the run was ended"),
        "{said}{}",
        text(&cleaned)
    );
    bench.is_clean();
}

#[test]
fn a_phone_that_restarts_keeps_what_was_measured_and_the_run_is_continued() {
    let Some(bench) = Bench::of(pixel()) else { return };
    let mut child = bench.begin(&["short.toml", "--on", "adb:"]);
    bench.wait_for("WAL save", 1);
    bench.phone.reboot().unwrap();
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(2), "{}", bench.log());
    assert!(bench.log().contains("did the phone restart?"), "{}", bench.log());
    let run = bench.complete(bench.begin(&["short.toml", "--on", "adb:", "--resume"]));
    assert_eq!(run.phases.len(), 3);
}

#[test]
fn a_phone_of_2016_without_exit_codes_and_without_setsid_is_measured_too() {
    let old = Phone::builder().model("nexus5x-android7").abis("x86_64").features([]);
    let Some(bench) = Bench::of(old.without(["setsid", "nohup", "timeout"])) else { return };
    let run = bench.complete(bench.begin(&["short.toml", "--on", "adb:"]));
    assert_eq!(run.phases.len(), 3);
    let Some(bench) = Bench::of(pixel().without(["dumpsys", "settings", "input"])) else { return };
    let run = bench.complete(bench.begin(&["short.toml", "--on", "adb:"]));
    assert!(run.conditions.iter().all(|read| read.throttling.value().is_none()));
    assert!(bench.log().contains("may fall asleep"), "{}", bench.log());
}

#[test]
fn hostile_names_reach_no_shell_and_no_page() {
    let hostile =
        "X$(touch /data/local/tmp/owned)'; touch /data/local/tmp/owned; '<script>alert(1)</script>";
    let phone =
        pixel().property("ro.product.model", hostile).property("ro.product.manufacturer", "");
    let Some(bench) = Bench::of(phone.text("dumpsys/battery", "Akkustand: viel\n\u{1b}[31m"))
    else {
        return;
    };
    let run = bench.complete(bench.begin(&["short.toml", "--on", "adb:"]));
    assert!(run.environment.software.machine.value().unwrap().contains("<script>"));
    assert!(run.conditions[0].power.value().is_none());
    assert!(!bench.phone.root().join("data/local/tmp/owned").exists());
    let page = std::fs::read_to_string(bench.output().with_extension("html")).unwrap();
    assert!(!page.contains("<script>alert"));
    assert!(!bench.log().contains('\u{1b}'));
}

#[test]
fn a_phone_that_can_not_be_used_says_what_to_do() {
    let Some(bench) = Bench::of(pixel().data_size(Some(130 << 20))) else { return };
    let run = |on: &str| bench.refused(&["run", "short.toml", "--on", on, "-o", "x.json"]);
    let absent = run("adb:0A1B2C");
    assert!(
        absent.contains("no phone 0A1B2C is connected") && absent.contains(&bench.serial),
        "{absent}"
    );
    let nowhere = run("adb:/no/such/folder");
    assert!(nowhere.contains("No such file"), "{nowhere}");
    let full = bench.refused(&["run", "quick", "--on", "adb:", "-o", "x.json"]);
    assert!(full.contains("not enough free space"), "{full}");
    bench.is_clean();
    // Not even the program fits, and what was copied of it is removed.
    let Some(small) = Bench::of(pixel().data_size(Some(24 << 20))) else { return };
    let full = small.refused(&["run", "short.toml", "--on", "adb:", "-o", "x.json"]);
    assert!(full.contains("No space left"), "{full}");
    small.is_clean();
    bench.phone.set_state(State::Unauthorised);
    bench.phone.cut();
    let until = Instant::now() + Duration::from_secs(20);
    let mut said = run("adb:");
    while !said.contains("not authorized") && Instant::now() < until {
        let _ = bench.adb.run(&["connect", &bench.serial]);
        said = run("adb:");
    }
    assert!(said.contains("accept this computer"), "{said}");
    let without =
        bench.command(&["run", "--on", "adb:"]).env("ADB", "/nowhere/adb").output().unwrap();
    assert!(text(&without).contains("apt install adb"), "{}", text(&without));
}

#[test]
fn of_several_phones_one_is_named_and_a_processor_without_a_program_is_an_error() {
    let Some(bench) = Bench::of(pixel()) else { return };
    let second = Phone::builder().model("pixel8-android15").abis("riscv64").start().unwrap();
    let serial = bench.adb.connect(&second).unwrap();
    let several = bench.refused(&["run", "--on", "adb:", "-o", "x.json"]);
    assert!(several.contains("2 phones are connected") && several.contains(&serial), "{several}");
    let other = bench.refused(&["run", "--on", &format!("adb:{serial}"), "-o", "x.json"]);
    assert!(other.contains("riscv64") && other.contains("arm64-v8a"), "{other}");
    let empty = TempDir::new().unwrap();
    let on = format!("adb:{}", bench.serial);
    let mut command = bench.command(&["run", "--on", &on, "-o", "x.json"]);
    let output = command.env("FLASHLAG_PHONE_PROGRAMS", empty.path()).output().unwrap();
    assert!(text(&output).contains("flashlag-x86_64") && text(&output).contains("make dist"));
}

#[test]
fn all_phones_are_measured_side_by_side_and_one_that_fails_stops_no_other() {
    let Some(bench) = Bench::of(pixel()) else { return };
    let model = |name: &str| Phone::builder().model(name);
    let second = model("pixel8-android15").abis("x86_64").start().unwrap();
    let third = model("pixel6-android14").abis("mips").start().unwrap();
    let serials = [&second, &third].map(|phone| bench.adb.connect(phone).unwrap());
    let mut command = bench.command(&["run", "short.toml", "--on", "adb:all", "-o", "run.json"]);
    let output = command.output().unwrap();
    let said = text(&output);
    assert_eq!(output.status.code(), Some(2), "one could not be measured: {said}");
    assert!(
        said.contains(&format!("{}: flashlag: cannot run", serials[1])) && said.contains("mips")
    );
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(shown.contains("Google Pixel 4") && shown.contains("Pixel 8"), "{shown}{said}");
    for serial in [&bench.serial, &serials[0]] {
        let file = bench.home.path().join(format!("run-{}.json", serial.replace(':', "-")));
        let run = Run::from_json(&std::fs::read_to_string(file).unwrap()).unwrap();
        assert_eq!((run.status, run.phases.len()), (RunStatus::Complete, 3));
    }
    bench.is_clean();
}

#[test]
fn a_fill_on_a_phone_fills_the_shared_storage() {
    let Some(bench) = Bench::of(pixel().data_size(Some(200 << 20))) else { return };
    let words =
        ["fill", "--on", "adb:", "--set", "span=8MB", "--set", "time=3s", "--leave", "60MB"];
    let run = bench.complete(bench.begin(&words));
    assert_eq!(run.scenario.settings.get("fill_dir").map(String::as_str), Some("/sdcard"));
}

#[test]
fn the_shared_storage_is_measured_beside_the_own() {
    let Some(bench) = Bench::of(pixel().data_size(Some(200 << 20))) else { return };
    let words = ["run", "quick", "--on", "adb:", "-o", "run.json", "--set", "both=true"];
    let small = ["--set", "span=8MB", "--leave", "30MB"];
    let output = bench.command(&[&words[..], &small].concat()).output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", text(&output));
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(shown.contains("own storage") && shown.contains("shared storage"), "{shown}");
    for (name, directory) in [("own", "/data/local/tmp"), ("shared", "/sdcard")] {
        let file = bench.home.path().join(format!("run-{name}.json"));
        let run = Run::from_json(&std::fs::read_to_string(file).unwrap()).unwrap();
        assert_eq!(run.target.directory.as_deref(), Some(directory));
    }
    bench.is_clean();
    let here = bench.refused(&["run", "quick", "--set", "both=true"]);
    assert!(here.contains("adb:[SERIAL]"), "{here}");
}

/// Anywhere from the first question to the removal: what is put on the phone first is the program,
/// tens of megabytes here, so that some cuts are within that and some within the rest.
#[test]
fn a_cable_pulled_at_any_byte_loses_nothing_and_leaves_nothing_for_good() {
    let Some(bench) = Bench::of(pixel()) else { return };
    let seed: u64 = std::env::var("FLASHLAG_TEST_SEED").map_or(1, |seed| seed.parse().unwrap());
    let program = std::fs::metadata(programs().join("flashlag-x86_64")).unwrap().len();
    for (index, share) in [0.0001, 0.5, 1.0001, 1.0003, 1.001].into_iter().enumerate() {
        let bytes = (program as f64 * share) as u64 + seed * 997 + index as u64;
        let _ = std::fs::remove_file(bench.output());
        bench.phone.cut_after(bytes);
        let mut child = bench.begin(&["short.toml", "--on", "adb:", "--force"]);
        let code = child.wait().unwrap().code();
        let said = bench.log();
        bench.phone.keep();
        let _ = bench.adb.connect(&bench.phone);
        if matches!(code, Some(0 | 3)) {
            assert_eq!(bench.stored().phases.len(), 3, "seed {seed}, {bytes} bytes");
        } else {
            assert!(
                said.contains("adb") || said.contains("phone"),
                "seed {seed}, {bytes} bytes: {said}"
            );
            let cleaned = bench.command(&["clean", "adb:"]).output().unwrap();
            assert!(cleaned.status.success(), "seed {seed}, {bytes} bytes: {}", text(&cleaned));
        }
        bench.is_clean();
    }
}
