//! Runs on a stand-in phone, by the real adb: from the command to a verified file and a clean phone, with
//! cables pulled, clients killed, phones that restart, and phones that can't be used.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that can't go on fails")]

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::phone::{Bench, pixel, text};
use flashlag_schema::{Power, Run, RunStatus, TargetKind};
use flashlag_standin::{Model, Phone, State};
use tempfile::TempDir;

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
    assert!(run.phases.iter().all(|phase| phase.ops > 0));
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

#[test]
fn a_phone_explains_what_its_storage_is_made_of_and_is_clean_afterwards() {
    let Some(bench) = Bench::of(pixel()) else { return };
    let output = bench.command(&["explain", "adb:", "--json"]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let subject = json["subject"].as_str().unwrap();
    assert!(subject.starts_with("/data/local/tmp on Google Pixel 4"), "{subject}");
    assert!(json["findings"].is_array() && json["environment"]["internals"].is_object());
    let screen = bench.command(&["explain", "adb:"]).output().unwrap();
    let screen = String::from_utf8_lossy(&screen.stdout).into_owned();
    assert!(screen.contains("A write passes through"), "{screen}");
    bench.is_clean();
    let gone = bench.command(&["explain", "adb:/no/such/place"]).output().unwrap();
    assert_eq!(gone.status.code(), Some(2));
    assert!(text(&gone).contains("explaining /no/such/place"), "{}", text(&gone));
    bench.is_clean();
}

#[test]
fn what_other_apps_wrote_during_a_test_is_in_the_run_and_in_the_report() {
    let Some(bench) = Bench::of(pixel()) else { return };
    let child = bench.begin(&["short.toml", "--on", "adb:"]);
    bench.wait_for("4K rand write", 1);
    // What the storage daemon counts from here on: a time after any that the test can take.
    let counted = "4102444800,4102444860\ncom.android.chrome 0 0 0 0 0 5000000 0 0\n\
                   shared:android.uid.shell 0 0 0 0 0 7000000 0 0\n";
    bench.phone.set_text("dumpsys/storaged", counted).unwrap();
    let run = bench.complete(child);
    let said: Vec<_> = run.conditions.iter().map(|read| &read.other_io).collect();
    let known: Vec<u64> =
        said.iter().filter_map(|io| io.value()).map(|io| io.write_bytes.0).collect();
    assert_eq!(known, [5_000_000], "{said:?}");
    assert!(said[0].reason().unwrap().contains("counting began"), "{said:?}");
    let page = std::fs::read_to_string(bench.output().with_extension("html")).unwrap();
    assert!(page.contains("Other apps") && page.contains("MB written, "), "{page}");
}

#[test]
fn a_trace_on_this_machine_is_replayed_on_a_phone_that_never_sees_its_file() {
    let Some(bench) = Bench::of(pixel()) else { return };
    let calls: String = (0..20u32)
        .map(|n| {
            format!("1 {} pwrite 3 {} 4096\n1 {} fsync 3\n", n * 900 + 20, n * 4096, n * 900 + 30)
        })
        .collect();
    let trace = format!("1 0 open /data/data/app.db O_RDWR|O_CREAT 3\n{calls}");
    std::fs::write(bench.home.path().join("app.txt"), trace).unwrap();
    let run = bench.complete(bench.begin(&["app", "--on", "adb:", "--set", "trace=app.txt"]));
    let ops = |name: &str| run.phases.iter().find(|phase| phase.name == name).map(|one| one.ops);
    assert_eq!((ops("replay_write"), ops("replay_sync")), (Some(20), Some(20)));
    let asked = bench.phone.log().join("\n");
    assert!(!asked.contains("app.txt"), "{asked}");
}

/// A phone whose program is a shell script, which prints one answer to all that is asked.
fn scripted(answer: &str) -> Option<(Bench, TempDir)> {
    let bench = Bench::of(pixel())?;
    let folder = TempDir::new().unwrap();
    let script = format!("#!/system/bin/sh\necho '{answer}'\n");
    std::fs::write(folder.path().join("flashlag-x86_64"), script).unwrap();
    Some((Bench { programs: folder.path().to_owned(), ..bench }, folder))
}

#[test]
fn a_program_of_another_version_or_form_of_messages_is_refused_before_the_run() {
    let here = format!("flashlag {}", env!("CARGO_PKG_VERSION"));
    let other = r#"{"answer":"hello","program":"flashlag 9.9.9 (0123456789ab)","format":1}"#;
    let older = r#"{"answer":"hello","program":"flashlag 0.0.1"}"#;
    let form = format!(r#"{{"answer":"hello","program":"{here}","format":99}}"#);
    for (answer, there) in
        [(other, "9.9.9 (0123456789ab)"), (older, "flashlag 0.0.1"), (&form, "form 99")]
    {
        let Some((bench, _folder)) = scripted(answer) else { return };
        let said = bench.refused(&["run", "short.toml", "--on", "adb:", "-o", "run.json"]);
        assert!(said.contains(there) && said.contains(&here), "{said}");
        assert!(said.contains("flashlag-x86_64") && said.contains("make dist"), "{said}");
        bench.is_clean();
        assert!(!bench.output().exists());
        let asked = bench.phone.log().join("\n");
        assert!(!asked.contains("settings put"), "{asked}");
    }
}

#[test]
fn a_run_of_a_version_with_other_orders_is_left_alone_until_it_is_cleaned() {
    let Some(bench) = Bench::of(pixel()) else { return };
    let folder = bench.phone.root().join("data/local/tmp/flashlag-run");
    let program = bench.programs.join("flashlag-x86_64").display().to_string();
    let made = bench.adb.shell(&bench.serial, "mkdir /data/local/tmp/flashlag-run").unwrap();
    assert!(made.status.success());
    for (name, text) in
        [("order.json", r#"{"program":"flashlag 9.0.0 (abc)","unheard":"of"}"#), ("run.json", "{}")]
    {
        let file = bench.home.path().join(name);
        std::fs::write(&file, text).unwrap();
        let to = format!("/data/local/tmp/flashlag-run/{name}");
        bench.adb.run(&["push", &file.display().to_string(), &to]).unwrap();
    }
    bench.adb.run(&["push", &program, "/data/local/tmp/flashlag-run/flashlag"]).unwrap();
    let said = bench.refused(&["run", "short.toml", "--on", "adb:", "-o", "x.json"]);
    assert!(said.contains("flashlag 9.0.0 (abc)") && said.contains("flashlag clean"), "{said}");
    assert!(folder.join("run.json").is_file());
    let cleaned = bench.command(&["clean", "adb:"]).output().unwrap();
    assert!(cleaned.status.success(), "{}", text(&cleaned));
    bench.is_clean();
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

/// The names of all properties of that phone but those that say which processor it has.
fn properties() -> Vec<String> {
    let model = Model::named("pixel4-android13").unwrap();
    let text = String::from_utf8(model.text("getprop").unwrap().to_vec()).unwrap();
    let names = text.lines().filter_map(|line| line.strip_prefix('[')?.split(']').next());
    names.filter(|name| !name.contains("cpu.abi")).map(str::to_owned).collect()
}

#[test]
fn a_phone_whose_every_property_and_setting_means_harm_is_measured_without_any() {
    let hostile = "33\u{1b}[31m$(touch /data/local/tmp/owned)`touch /data/local/tmp/owned`\
                   ';touch /data/local/tmp/owned;'\"</td><script>alert(1)</script>../../../owned";
    let names = properties();
    assert!(names.len() > 25, "{names:?}");
    let phone = names.iter().fold(pixel(), |phone, name| phone.property(name, hostile));
    let texts = ["dumpsys/battery", "dumpsys/thermalservice", "dumpsys/power", "dumpsys/storaged"];
    let phone = texts.iter().fold(phone, |phone, path| phone.text(path, hostile));
    let Some(bench) = Bench::of(phone) else { return };
    let child = bench.begin(&["short.toml", "--on", "adb:"]);
    let run = bench.complete(child);
    assert_eq!(run.phases.len(), 3);
    assert!(!bench.phone.root().join("data/local/tmp/owned").exists());
    let page = std::fs::read_to_string(bench.output().with_extension("html")).unwrap();
    assert!(page.contains("touch /data/local/tmp/owned") && !page.contains("<script>alert"));
    let shown = bench.command(&["report", "run.json"]).output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap() + &page + &bench.log();
    assert!(!shown.contains('\u{1b}'), "{shown}");
    let mut files: Vec<_> = std::fs::read_dir(bench.home.path()).unwrap().flatten().collect();
    files.retain(|file| file.file_name().to_string_lossy().contains("owned"));
    assert!(files.is_empty(), "{files:?}");
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
    // On a busy machine adb gives up on the first handshake, calls the phone offline and does not connect
    // to what it has already.
    let until = Instant::now() + Duration::from_secs(60);
    let mut said = run("adb:");
    while !said.contains("not authorized") && Instant::now() < until {
        let _ = bench.adb.run(&["disconnect", &bench.serial]);
        let _ = bench.adb.run(&["connect", &bench.serial]);
        std::thread::sleep(Duration::from_millis(200));
        said = run("adb:");
    }
    assert!(said.contains("accept this computer"), "{said}");
    let without =
        bench.command(&["run", "--on", "adb:"]).env("ADB", "/nowhere/adb").output().unwrap();
    assert!(text(&without).contains("apt install adb"), "{}", text(&without));
}

#[test]
fn a_phone_that_is_offline_and_an_adb_that_is_too_old_say_what_to_do() {
    let Some(bench) = Bench::of(pixel()) else { return };
    bench.phone.set_state(State::Silent);
    bench.phone.cut();
    let mut connecting = bench.adb.command();
    connecting.args(["connect", &bench.serial]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut connecting = connecting.spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    let mut said = String::new();
    while !said.contains("offline") && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(100));
        said = bench.refused(&["run", "short.toml", "--on", "adb:", "-o", "x.json"]);
    }
    assert!(said.contains("is offline") && said.contains("plug it in again"), "{said}");
    connecting.kill().unwrap();
    connecting.wait().unwrap();

    let old = bench.home.path().join("old-adb");
    let answer = "#!/bin/sh\necho Android Debug Bridge version 1.0.31\n";
    flashlag_need::write_script(&old, answer).unwrap();
    let output = bench.command(&["run", "--on", "adb:"]).env("ADB", &old).output().unwrap();
    let said = text(&output);
    assert!(said.contains("1.0.31 is too old") && said.contains("install a newer one"), "{said}");
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
fn a_pair_of_runs_measures_the_shared_storage_beside_the_own() {
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
