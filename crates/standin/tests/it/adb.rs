//! What the real adb does with a stand-in phone: commands and files.
#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::common::{pair, random, text};
use flashlag_standin::Phone;
use rand::RngExt;

#[test]
fn a_device_has_the_names_of_its_model() {
    let Some(pair) = pair(Phone::builder().model("pixel4-android13")) else { return };
    let devices = text(&pair.adb.run(&["devices", "-l"]).unwrap().stdout);
    assert!(devices.contains("device product:flame model:Pixel_4 device:flame"), "{devices}");
    assert_eq!(pair.says("getprop ro.product.model"), "Pixel 4\n");
    assert!(pair.says("id").starts_with("uid=2000(shell) gid=2000(shell)"));
}

#[test]
fn a_command_has_an_exit_code_and_standard_error_apart() {
    let Some(pair) = pair(Phone::builder()) else { return };
    let output = pair.shell("echo out; echo err >&2; exit 7");
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(
        (output.stdout.as_slice(), output.stderr.as_slice()),
        (&b"out\n"[..], &b"err\n"[..])
    );
    assert_eq!(pair.shell("kill -9 $$").status.code(), Some(137));
    assert_eq!(pair.shell("no-such-program").status.code(), Some(127));
    // Every byte passes as it is.
    let bytes: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    fs::write(pair.phone.root().join("data/local/tmp/bytes"), &bytes).unwrap();
    assert!(pair.shell("cat /data/local/tmp/bytes").stdout == bytes);
    assert!(pair.run(&["exec-out", "cat /data/local/tmp/bytes"]).stdout == bytes);
}

#[test]
fn before_android_7_a_command_has_a_terminal_and_no_exit_code() {
    let Some(pair) = pair(Phone::builder().property("ro.build.version.sdk", "23")) else { return };
    let output = pair.shell("tty; echo out; echo err >&2; exit 7");
    assert!(output.status.success());
    let said = text(&output.stdout);
    assert!(said.starts_with("/dev/pts/") && said.ends_with("\r\nout\r\nerr\r\n"), "{said:?}");
    assert!(output.stderr.is_empty());
}

#[test]
fn a_terminal_has_an_exit_code_too() {
    let Some(pair) = pair(Phone::builder()) else { return };
    let output = pair.run(&["shell", "-tt", "tty; echo err >&2; exit 7"]);
    assert_eq!(output.status.code(), Some(7));
    let said = text(&output.stdout);
    assert!(said.starts_with("/dev/pts/") && said.ends_with("\r\nerr\r\n"), "{said:?}");
}

#[test]
fn a_phone_says_which_programs_it_runs() {
    let Some(pair) = pair(Phone::builder().model("pixel8-android15")) else { return };
    assert_eq!(pair.says("uname -m; getprop ro.product.cpu.abilist"), "aarch64\narm64-v8a\n");
    let Some(pair) = crate::common::pair(Phone::builder().model("pixel8-android15").abis("x86_64"))
    else {
        return;
    };
    assert_eq!(pair.says("uname -m; getprop ro.product.cpu.abilist"), "x86_64\nx86_64\n");
}

#[test]
fn input_reaches_a_command_and_ends() {
    let Some(pair) = pair(Phone::builder()) else { return };
    let bytes = vec![7; 100_000];
    let path = pair.phone.root().join("data/local/tmp/input");
    fs::write(&path, &bytes).unwrap();
    let mut command = pair.adb.command();
    command.args(["-s", &pair.serial, "shell", "sha256sum; echo $?"]);
    let output = command.stdin(fs::File::open(&path).unwrap()).output().unwrap();
    let own = pair.says("sha256sum </data/local/tmp/input");
    assert_eq!(text(&output.stdout), own + "0\n");
}

#[test]
fn files_of_any_size_come_and_go_byte_for_byte() {
    let Some(pair) = pair(Phone::builder()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut random = random();
    let sizes =
        [0, 1, 4095, 4096, 65_535, 65_536, 65_537, 1 << 20, random.random_range(0..5 << 20)];
    for size in sizes {
        let bytes: Vec<u8> = (0..size).map(|_| random.random()).collect();
        let (from, back) = (folder.path().join("from"), folder.path().join("back"));
        fs::write(&from, &bytes).unwrap();
        fs::set_permissions(&from, fs::Permissions::from_mode(0o755)).unwrap();
        // Folders are made; a link is followed; everyone may do what the owner may.
        let remote = format!("/sdcard/folder {size}/a 'file'");
        let pushed = pair.run(&["push", from.to_str().unwrap(), &remote]);
        assert!(pushed.status.success(), "{size}: {pushed:?}");
        let found = pair.says(&format!("stat -c '%a %s %U' \"{remote}\""));
        assert_eq!(found, format!("777 {size} shell\n"));
        let pulled = pair.run(&["pull", &remote, back.to_str().unwrap()]);
        assert!(pulled.status.success(), "{size}: {pulled:?}");
        assert!(fs::read(&back).unwrap() == bytes, "{size}");
    }
}

#[test]
fn folders_are_listed_pushed_and_pulled_whole() {
    let Some(pair) = pair(Phone::builder().features(["cmd", "shell_v2"])) else { return };
    let folder = tempfile::tempdir().unwrap();
    let tree = folder.path().join("tree");
    fs::create_dir_all(tree.join("below")).unwrap();
    fs::write(tree.join("one"), "1").unwrap();
    fs::write(tree.join("below/two"), "22").unwrap();
    let pushed = pair.run(&["push", tree.to_str().unwrap(), "/data/local/tmp"]);
    assert!(pushed.status.success(), "{pushed:?}");
    let listed = text(&pair.run(&["ls", "/data/local/tmp/tree"]).stdout);
    assert!(listed.contains(" one\n") && listed.contains(" below\n"), "{listed}");
    let back = folder.path().join("back");
    let pulled = pair.run(&["pull", "/data/local/tmp/tree", back.to_str().unwrap()]);
    assert!(pulled.status.success(), "{pulled:?}");
    assert_eq!(fs::read(back.join("below/two")).unwrap(), b"22");
}

#[test]
fn what_the_user_shell_may_not_do_fails_as_on_a_phone() {
    let Some(pair) = pair(Phone::builder().unreadable(["/proc/diskstats"])) else { return };
    let file = std::env::current_exe().unwrap();
    let push = |to: &str| text(&pair.run(&["push", file.to_str().unwrap(), to]).stdout);
    assert!(push("/system/x").contains("Read-only file system"));
    assert!(push("/data/x").contains("Permission denied"));
    assert!(text(&pair.shell("ls /data").stderr).contains("Permission denied"));
    assert!(text(&pair.shell("cat /proc/diskstats").stderr).contains("Permission denied"));
    let pulled = pair.run(&["pull", "/data/local/tmp/nothing", "/tmp"]);
    assert!(text(&pulled.stdout).contains("No such file or directory"), "{pulled:?}");
    assert!(!pulled.status.success());
}

#[test]
fn a_full_phone_says_so() {
    let Some(pair) = pair(Phone::builder().data_size(Some(16 << 20))) else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("large");
    fs::File::create(&file).unwrap().set_len(20 << 20).unwrap();
    let pushed = pair.run(&["push", file.to_str().unwrap(), "/data/local/tmp/large"]);
    assert!(!pushed.status.success());
    assert!(text(&pushed.stdout).contains("No space left on device"), "{pushed:?}");
    assert!(pair.says("df /data").contains("/dev/loop"));
}

#[test]
fn tools_can_be_missing() {
    let Some(pair) = pair(Phone::builder().without(["setsid", "nohup", "dumpsys"])) else { return };
    for tool in ["setsid", "nohup", "dumpsys"] {
        assert_eq!(pair.shell(tool).status.code(), Some(127), "{tool}");
    }
    for _ in 0..20 {
        assert_eq!(pair.says("timeout 5 echo yes"), "yes\n");
    }
    assert_eq!(pair.shell("timeout 0.1 sleep 5").status.code(), Some(124));
}

#[test]
fn several_streams_run_at_once() {
    let Some(pair) = pair(Phone::builder()) else { return };
    std::thread::scope(|scope| {
        for number in 0..6 {
            let pair = &pair;
            scope.spawn(move || {
                let command = format!("seq 1 20000; echo end {number}");
                let said = pair.says(&command);
                assert!(said.ends_with(&format!("\n20000\nend {number}\n")));
                assert_eq!(said.lines().count(), 20_001);
            });
        }
    });
}

#[test]
fn two_clients_use_one_phone_at_once() {
    let Some(pair) = pair(Phone::builder()) else { return };
    let other = flashlag_standin::AdbServer::start().unwrap();
    let serial = other.connect(&pair.phone).unwrap();
    assert_eq!(pair.phone.connections(), 2);
    pair.says("echo one >/data/local/tmp/file");
    assert_eq!(other.shell(&serial, "cat /data/local/tmp/file").unwrap().stdout, b"one\n");
    drop(other);
    assert_eq!(pair.says("cat /data/local/tmp/file"), "one\n");
    assert_eq!(pair.says("stat -c %a /data/local/tmp/file"), "666\n");
}

#[test]
fn a_pushed_program_runs() {
    let Some(pair) = pair(Phone::builder()) else { return };
    let program = std::env::current_exe().unwrap();
    let pushed = pair.run(&["push", program.to_str().unwrap(), "/data/local/tmp/program"]);
    assert!(pushed.status.success(), "{pushed:?}");
    assert!(pair.says("/data/local/tmp/program --list").contains("a_pushed_program_runs: test"));
}
