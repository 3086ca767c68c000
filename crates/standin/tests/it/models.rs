//! Models of phones, and phones that mean harm.
#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

use std::path::Path;

use crate::common::{pair, text};
use flashlag_inspect::{Root, conditions, environment};
use flashlag_schema::{Power, Throttling};
use flashlag_standin::{AdbServer, Model, Phone};
use flashlag_units::Nanos;

#[test]
fn every_model_has_the_texts_that_a_phone_of_its_android_has() {
    let names = Model::names();
    let mut versions: Vec<u32> = Vec::new();
    for name in names {
        let model = Model::named(&name).unwrap();
        let sdk = model.sdk();
        versions.push(name.rsplit("-android").next().unwrap().parse().unwrap());
        let version = model.property("ro.build.version.release");
        let first = version.split('.').next().and_then(|version| version.parse().ok());
        assert_eq!(first, versions.last().copied(), "{name}");
        // Android 12 has two levels, 31 and 32.
        let levels = [25, 27, 28, 29, 30, 31, 33, 34, 35];
        assert_eq!(Some(sdk), first.and_then(|first| levels.get(first as usize - 7).copied()));
        for property in ["ro.product.model", "ro.product.cpu.abilist", "ro.crypto.type"] {
            assert_ne!(model.property(property), "", "{name}: {property}");
        }
        let has = |path: &str, line: &str| {
            let text = text(model.text(path).unwrap_or_default());
            assert!(text.contains(line), "{name}: {path} lacks {line:?}");
        };
        has("dumpsys/battery", "\n  temperature: ");
        has("dumpsys/diskstats", "\nData-Free: ");
        has("dumpsys/power", "\n  mWakefulness=Asleep\n");
        has("proc/mounts", " /data ");
        has("proc/mounts", " /storage/emulated ");
        if sdk >= 29 {
            has("dumpsys/thermalservice", "\nHAL Ready: ");
        }
        let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let source = source.join("../../fixtures/android").join(&name).join("SOURCE.md");
        assert!(source.is_file(), "{name} says where it comes from");
    }
    versions.sort_unstable();
    assert_eq!(versions, (7..=15).collect::<Vec<_>>(), "of each Android from 7 to 15 one");
}

#[test]
fn services_answer_with_the_texts_of_the_model() {
    let Some(pair) = pair(Phone::builder().model("galaxy-s20fe-android11").model_files()) else {
        return;
    };
    assert!(pair.says("dumpsys battery").contains("\n  mSecPlugTypeSummary: 2\n"));
    assert!(pair.says("cat /proc/mounts | grep ' /data '").contains(" f2fs "));
    assert!(pair.says("getprop").contains("[ro.product.model]: [SM-G780F]\n"));
    assert!(pair.says("sm list-volumes").starts_with("private mounted"));
    assert!(text(&pair.shell("cat /proc/diskstats").stderr).contains("Permission denied"));
    assert!(text(&pair.shell("dumpsys nothing").stderr).contains("Can't find service: nothing"));
    assert!(pair.says("dumpsys -l").contains("\n  thermalservice\n"));
    assert_eq!(pair.says("getprop no.such; getprop no.such default"), "\ndefault\n");
}

#[test]
fn every_model_answers_over_the_cable_with_its_texts() {
    if let Some(lack) = flashlag_standin::lacks() {
        return flashlag_need::skip(lack);
    }
    let adb = AdbServer::start().unwrap();
    for name in Model::names() {
        let model = Model::named(&name).unwrap();
        let phone = Phone::builder().model(&name).model_files().start().unwrap();
        let serial = adb.connect(&phone).unwrap();
        let paths =
            ["getprop", "dumpsys/battery", "dumpsys/power", "proc/mounts", "sm/list-volumes"];
        let commands = "getprop; dumpsys battery; dumpsys power; cat /proc/mounts; sm list-volumes; dumpsys -l";
        let output = adb.shell(&serial, commands).unwrap();
        let texts = paths.map(|path| text(model.text(path).unwrap())).concat();
        // Android 7's adbd gives a terminal, which ends lines in its own way.
        let said = text(&output.stdout).replace('\r', "");
        let services = said.strip_prefix(&texts).unwrap_or_else(|| panic!("{name}: {said}"));
        let has_heat = services.contains("\n  thermalservice\n");
        assert_eq!(has_heat, model.sdk() >= 29, "{name}: {services}");
    }
}

/// A model as a tree of files that the program reads in the place of a phone.
fn captured(model: &Model) -> (tempfile::TempDir, Root) {
    let folder = tempfile::tempdir().unwrap();
    model.write(folder.path()).unwrap();
    for path in ["getprop", "proc/mounts"] {
        let path = folder.path().join(path);
        std::fs::rename(path.with_extension("txt"), path).unwrap();
    }
    // The same mounts in the kernel's other form, which the program reads.
    let other = model.lines("proc/mounts").into_iter().enumerate().map(|(id, line)| {
        let mount: Vec<_> = line.split(' ').collect();
        let [source, path, kind, options] = mount[..4] else { panic!("{line}") };
        format!("{id} 1 0:{id} / {path} {options} - {kind} {source} {options}\n")
    });
    std::fs::create_dir(folder.path().join("proc/self")).unwrap();
    std::fs::write(folder.path().join("proc/self/mountinfo"), other.collect::<String>()).unwrap();
    let root = Root::captured(folder.path());
    (folder, root)
}

#[test]
fn of_every_model_the_program_reads_what_its_texts_say() {
    for name in Model::names() {
        let model = Model::named(&name).unwrap();
        let (_folder, root) = captured(&model);
        let number = |path: &str, start: &str| {
            let lines = model.lines(path);
            let of_line = |line: &String| line.trim().strip_prefix(start)?.trim().parse().ok();
            lines.iter().find_map(of_line).unwrap_or_else(|| panic!("{name}: {start}"))
        };
        let read = conditions(&root, Nanos::ZERO).unwrap();
        let level: i64 = number("dumpsys/battery", "level:");
        assert_eq!(read.battery_percent.value().copied().map(i64::from), Some(level), "{name}");
        let tenths: i64 = number("dumpsys/battery", "temperature:");
        assert_eq!(read.battery_millicelsius.value(), Some(&(tenths * 100)), "{name}");
        assert_eq!(read.screen_on.value(), Some(&false), "{name}");
        assert_eq!(read.power.value(), Some(&Power::Usb), "{name}: {:?}", read.power);
        // None is warm, and before Android 10 no service says so.
        let level = (model.sdk() >= 29).then_some(&Throttling::None);
        assert_eq!(read.throttling.value(), level, "{name}");
        let skin =
            read.skin_millicelsius.value().is_some_and(|skin| (20_000..40_000).contains(skin));
        let has_sensors = model.sdk() >= 29 && name != "galaxy-s20fe-android11";
        assert_eq!(skin, has_sensors, "{name}: {:?}", read.skin_millicelsius);

        let seen = environment(&root, Path::new("/data/local/tmp"));
        let release = model.property("ro.build.version.release");
        let system = seen.software.system.value().unwrap();
        assert!(system.starts_with(&format!("Android {release} (")), "{name}: {system}");
        let machine = seen.software.machine.value().unwrap();
        assert!(machine.ends_with(&model.property("ro.product.model")), "{name}: {machine}");
        // That of files is known by properties, that of a whole disk by `/sys`, which a model lacks.
        let of_files = model.property("ro.crypto.type") == "file";
        assert_eq!(seen.encryption.value().is_some(), of_files, "{name}: {:?}", seen.encryption);
    }
}

#[test]
fn of_every_model_the_way_of_a_write_is_found_from_its_mounts() {
    for name in Model::names() {
        let model = Model::named(&name).unwrap();
        let (_folder, root) = captured(&model);
        let lines = model.lines("proc/mounts");
        let kind = |path: &str| {
            let mut fields = lines.iter().map(|line| line.split(' ').collect::<Vec<_>>());
            fields.rfind(|mount| mount[1] == path).unwrap()[2].to_owned()
        };
        let own = environment(&root, Path::new("/data/local/tmp")).filesystem;
        assert_eq!(own.kind.value().map(String::as_str), Some(&*kind("/data")), "{name}");
        assert!(own.layers.is_empty(), "{name}: {:?}", own.layers);
        // What apps share is on the same filesystem, below another one.
        let shared = environment(&root, Path::new("/storage/emulated/0")).filesystem;
        assert_eq!(shared.kind, own.kind, "{name}");
        assert_eq!(shared.layers, [kind("/storage/emulated")], "{name}");
    }
}

#[test]
fn what_is_changed_on_a_phone_is_kept_and_logged() {
    let Some(pair) = pair(Phone::builder().model("pixel4-android13")) else { return };
    assert_eq!(pair.says("settings get global stay_on_while_plugged_in"), "0\n");
    pair.says("svc power stayon usb; settings put system screen_brightness 7");
    assert_eq!(pair.says("settings get global stay_on_while_plugged_in"), "2\n");
    assert_eq!(pair.says("cmd settings get system screen_brightness"), "7\n");
    assert_eq!(pair.says("settings delete system screen_brightness"), "Deleted 1 rows\n");
    assert_eq!(pair.says("settings get system screen_brightness"), "null\n");
    assert!(pair.says("dumpsys power").contains("mWakefulness=Awake"));
    pair.says("input keyevent KEYCODE_SLEEP");
    let power = pair.says("dumpsys power");
    assert!(power.contains("mWakefulness=Asleep") && power.contains("state=OFF"), "{power}");
    pair.says("input keyevent 224");
    assert!(pair.says("dumpsys power").contains("Display Power: state=ON"));
    let log = pair.phone.log();
    for call in ["svc power stayon usb", "settings put system screen_brightness 7"] {
        assert!(log.iter().any(|line| line == call), "{log:?}");
    }
    assert!(log.contains(&"input keyevent KEYCODE_SLEEP".to_owned()), "{log:?}");
}

#[test]
fn a_text_can_change_while_the_phone_runs() {
    let Some(pair) = pair(Phone::builder().model("pixel4-android13")) else { return };
    assert!(pair.says("dumpsys battery").contains("  temperature: 274\n"));
    pair.phone.set_text("dumpsys/battery", "  temperature: 451\n").unwrap();
    assert_eq!(pair.says("dumpsys battery"), "  temperature: 451\n");
    pair.phone.set_text("dumpsys/new", "a service\n").unwrap();
    assert_eq!(pair.says("dumpsys new"), "a service\n");
}

#[test]
fn names_that_mean_harm_come_through_as_they_are() {
    let names: [&[u8]; 6] = [
        b"$(reboot)",
        b"'; rm -rf /; '",
        b"<script>alert(1)</script>",
        b"two\nlines",
        b"\xff\xfe\x00\x1b[31m",
        b"] [ro.x]: [y",
    ];
    for name in names {
        let builder = Phone::builder().model("pixel4-android13").property("ro.product.model", name);
        let Some(pair) = pair(builder) else { return };
        // A colon hides the features from this adb: then it asks for a terminal.
        let mut said = pair.shell("getprop ro.product.model").stdout;
        said.retain(|byte| *byte != b'\r');
        // A shell's variable has no zero byte.
        let expected: Vec<u8> = name.iter().copied().filter(|byte| *byte != 0).collect();
        assert_eq!(said, [expected, b"\n".to_vec()].concat(), "{:?}", text(name));
        let all = pair.shell("getprop").stdout;
        assert!(all.windows(name.len()).any(|window| window == name));
        let devices = pair.adb.run(&["devices", "-l"]).unwrap();
        assert!(text(&devices.stdout).contains(" device "), "{devices:?}");
        assert!(!pair.phone.log().iter().any(|line| line.starts_with("reboot")));
    }
}

#[test]
fn long_and_garbled_texts_come_through_whole() {
    let long = "x".repeat(1 << 20);
    let garbled =
        "État actuel du service de batterie :\n  niveau : \u{661}\u{662}\n  température\n\0\u{7}";
    let builder = Phone::builder().text("dumpsys/battery", garbled).text("dumpsys/power", &long);
    let Some(pair) = pair(builder) else { return };
    assert_eq!(pair.says("dumpsys battery"), garbled);
    assert!(pair.says("dumpsys power") == long);
}

#[test]
fn a_banner_that_means_harm_harms_no_client() {
    let banners: [&[u8]; 5] = [
        b"",
        b"device",
        b"device::ro.product.model=\n\x1b[2J;features=shell_v2,cmd",
        b"device::\xff\xff;;;===;features=,,,",
        &[b'x'; 100_000],
    ];
    for banner in banners {
        if let Some(lack) = flashlag_standin::lacks() {
            return flashlag_need::skip(lack);
        }
        let phone = Phone::builder().banner(banner).start().unwrap();
        let adb = flashlag_standin::AdbServer::start().unwrap();
        let serial = phone.address().to_string();
        adb.run(&["connect", &serial]).unwrap();
        let devices = adb.run(&["devices", "-l"]).unwrap();
        assert!(devices.status.success(), "{devices:?}");
        let _ = adb.shell(&serial, "echo alive").unwrap();
    }
}

#[test]
fn programs_for_arm_run_as_they_were_pushed() {
    let Some(pair) = pair(Phone::builder().runner("qemu-aarch64-static")) else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("program");
    std::fs::write(&file, elf_for_arm()).unwrap();
    let pushed = pair.run(&["push", file.to_str().unwrap(), "/data/local/tmp/program"]);
    assert!(pushed.status.success(), "{pushed:?}");
    let output = pair.shell("chmod 755 /data/local/tmp/program; /data/local/tmp/program");
    assert_eq!(output.status.code(), Some(42), "{output:?}");
}

/// A program of four instructions for 64-bit ARM that ends with 42.
fn elf_for_arm() -> Vec<u8> {
    let mut elf = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    let short = |elf: &mut Vec<u8>, value: u16| elf.extend(value.to_le_bytes());
    let word = |elf: &mut Vec<u8>, value: u32| elf.extend(value.to_le_bytes());
    let long = |elf: &mut Vec<u8>, value: u64| elf.extend(value.to_le_bytes());
    // A program, AArch64, version 1, entry, headers of segments behind this one, none of sections.
    short(&mut elf, 2);
    short(&mut elf, 0xb7);
    word(&mut elf, 1);
    for value in [0x40_0078, 64, 0] {
        long(&mut elf, value);
    }
    word(&mut elf, 0);
    for value in [64, 56, 1, 0, 0, 0] {
        short(&mut elf, value);
    }
    // One segment: loaded, read and executed, the whole file.
    word(&mut elf, 1);
    word(&mut elf, 5);
    for value in [0, 0x40_0000, 0x40_0000, 132, 132, 0x1000] {
        long(&mut elf, value);
    }
    // mov x0, #42; mov x8, #93; svc #0
    for instruction in [0xd280_0540, 0xd280_0ba8, 0xd400_0001] {
        word(&mut elf, instruction);
    }
    elf
}
