//! A cable that is pulled, phones that do not answer, and what runs on meanwhile.
#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

use std::fs;
use std::io::{Read, Write};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Pair, pair, random, text};
use flashlag_standin::{AdbServer, Kind, Phone, State, Way};
use rand::RngExt;

/// Waits until something is so; fails after ten seconds.
fn until(what: &str, mut so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(10);
    while !so() {
        assert!(Instant::now() < end, "never: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Nothing, of an error that says that a file is absent.
fn absent(error: std::io::Error) -> std::io::Result<()> {
    if error.kind() == std::io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

/// A client that runs on while the test does something.
fn client(pair: &Pair, arguments: &[&str]) -> Child {
    let mut command = pair.adb.command();
    command.args(["-s", &pair.serial]).args(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// What adb says about the only device: `device`, `offline`, `unauthorized`.
fn state(adb: &AdbServer) -> String {
    let said = text(&adb.run(&["devices"]).unwrap().stdout);
    let line = said.lines().nth(1).unwrap_or_default();
    line.split('\t').nth(1).unwrap_or_default().to_owned()
}

#[test]
fn a_cut_at_any_byte_ends_a_client_and_a_new_connection_works() {
    let Some(pair) = pair(Phone::builder()) else { return };
    let mut random = random();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    let bytes: Vec<u8> = (0..150_000).map(|_| random.random()).collect();
    fs::write(&file, &bytes).unwrap();
    let (local, back) = (file.to_str().unwrap(), folder.path().join("back"));
    let operations: [&[&str]; 3] = [
        &["push", local, "/data/local/tmp/file"],
        &["pull", "/data/local/tmp/file", back.to_str().unwrap()],
        &["shell", "cat /data/local/tmp/file; exit 3"],
    ];
    for operation in operations {
        let code = if operation[0] == "shell" { Some(3) } else { Some(0) };
        let before = pair.phone.traffic();
        assert_eq!(pair.run(operation).status.code(), code);
        let whole = pair.phone.traffic() - before;
        let near_the_ends = [1, 23, 24, 25, whole - 60, whole - 1];
        for at in near_the_ends.into_iter().chain((0..6).map(|_| random.random_range(0..whole))) {
            let cuts = pair.phone.cuts();
            pair.phone.cut_after(at);
            fs::remove_file(&back).or_else(absent).unwrap();
            let output = pair.run(operation);
            let is_error = output.status.code() != code;
            let context = format!("{operation:?} at {at} of {whole}: {output:?}");
            // Fewer bytes than the file has can't have carried the file. How many messages the rest is in differs from
            // run to run, and the last of them only say that a stream has ended: success then means a whole file.
            assert!(is_error || at > bytes.len() as u64, "{context}");
            let arrived = match operation[0] {
                "push" => fs::read(pair.phone.root().join("data/local/tmp/file")),
                "pull" => fs::read(&back),
                _ => Ok(output.stdout),
            };
            assert!(is_error || arrived.unwrap() == bytes, "{context}");
            pair.phone.keep();
            assert!(!is_error || pair.phone.cuts() > cuts);
            pair.adb.connect(&pair.phone).unwrap();
            assert_eq!(pair.says("echo alive"), "alive\n");
        }
        let pushed = pair.run(operations[0]);
        assert!(pushed.status.success(), "{pushed:?}");
    }
}

#[test]
fn a_cut_in_place_of_a_message_ends_a_client() {
    let Some(pair) = pair(Phone::builder()) else { return };
    let cuts = [
        (Kind::Open, Way::ToPhone, 0),
        (Kind::Okay, Way::FromPhone, 0),
        (Kind::Write, Way::FromPhone, 0),
        (Kind::Write, Way::FromPhone, 3),
        (Kind::Okay, Way::ToPhone, 1),
    ];
    for (kind, way, index) in cuts {
        pair.phone.cut_at(kind, way, index);
        // This adb ends with 0 where no exit code has come.
        let output = pair.shell("seq 1 100000; exit 3");
        assert_ne!(output.status.code(), Some(3), "{kind:?} {way:?} {index}: {output:?}");
        assert!(output.stdout.len() < 588_895);
        pair.adb.connect(&pair.phone).unwrap();
    }
    assert_eq!(pair.phone.cuts(), 5);
    assert_eq!(pair.says("seq 1 100000").len(), 588_895);
}

#[test]
fn a_push_that_is_cut_leaves_no_part_of_a_file() {
    let Some(pair) = pair(Phone::builder()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, vec![1; 1 << 20]).unwrap();
    pair.phone.cut_after(500_000);
    let pushed = pair.run(&["push", file.to_str().unwrap(), "/data/local/tmp/file"]);
    assert!(!pushed.status.success());
    let remote = pair.phone.root().join("data/local/tmp/file");
    until("the part is removed", || !remote.exists());
}

#[test]
fn a_detached_process_lives_on_and_one_of_the_shell_does_not() {
    let Some(pair) = pair(Phone::builder()) else { return };
    pair.says("setsid sleep 1001 </dev/null >/dev/null 2>&1 &");
    let mut client = client(&pair, &["shell", "echo begun; exec sleep 1002"]);
    client.stdout.take().unwrap().read_exact(&mut [0; 6]).unwrap();
    pair.phone.cut();
    client.wait().unwrap();
    pair.adb.connect(&pair.phone).unwrap();
    until("the shell's process ends", || !pair.says("ps -A -o args").contains("sleep 1002"));
    assert!(pair.says("ps -A -o args").contains("sleep 1001"));
    let users = pair.says("ps -A -o pid,user,args");
    let line = users.lines().find(|line| line.contains("sleep 1001")).unwrap();
    assert!(line.contains("shell"), "{line}");
}

#[test]
fn a_terminal_hangs_up_when_the_cable_is_cut() {
    let Some(pair) = pair(Phone::builder().features([])) else { return };
    let trap =
        "trap 'echo hup >/data/local/tmp/hup; exit' HUP; echo begun; while :; do sleep 0.1; done";
    let mut client = client(&pair, &["shell", trap]);
    client.stdout.take().unwrap().read_exact(&mut [0; 5]).unwrap();
    pair.phone.cut();
    client.wait().unwrap();
    let file = pair.phone.root().join("data/local/tmp/hup");
    until("the shell hears of it", || file.exists());
}

#[test]
fn a_phone_that_refuses_is_gone_until_it_accepts_again() {
    let Some(pair) = pair(Phone::builder()) else { return };
    pair.phone.refuse();
    pair.phone.cut();
    until("adb notices", || state(&pair.adb) != "device");
    let _ = pair.adb.run(&["disconnect"]).unwrap();
    let said = text(&pair.adb.run(&["connect", &pair.serial]).unwrap().stdout);
    assert!(said.contains("failed to connect") && said.contains("refused"), "{said}");
    assert!(!pair.shell("true").status.success());
    pair.phone.accept().unwrap();
    pair.adb.connect(&pair.phone).unwrap();
    assert_eq!(pair.says("echo again"), "again\n");
}

#[test]
fn a_cut_can_refuse_what_comes_after_it() {
    let Some(pair) = pair(Phone::builder()) else { return };
    pair.phone.refuse_after_cut(true);
    pair.phone.cut_after(2000);
    pair.shell("seq 1 100000");
    let mut socket = std::net::TcpStream::connect(pair.phone.address()).unwrap();
    assert_eq!(socket.read(&mut [0]).unwrap_or(0), 0);
    assert_eq!(pair.phone.connections(), 0);
    pair.phone.accept().unwrap();
    pair.adb.connect(&pair.phone).unwrap();
    assert_eq!(pair.says("echo again"), "again\n");
}

#[test]
fn a_reboot_ends_all_and_keeps_what_is_stored() {
    let Some(pair) = pair(Phone::builder().model("pixel4-android13").data_size(Some(16 << 20)))
    else {
        return;
    };
    let boot = pair.says("cat /proc/sys/kernel/random/boot_id");
    assert_eq!(boot, pair.says("cat /proc/sys/kernel/random/boot_id"));
    pair.says("echo kept >/data/local/tmp/file; settings put global x 1; input keyevent 224");
    pair.says("setsid sleep 1004 </dev/null >/dev/null 2>&1 &");
    pair.phone.reboot().unwrap();
    pair.adb.connect(&pair.phone).unwrap();
    assert_ne!(boot, pair.says("cat /proc/sys/kernel/random/boot_id"));
    assert_eq!(pair.says("cat /data/local/tmp/file; settings get global x"), "kept\n1\n");
    assert!(!pair.says("ps -A -o args").contains("sleep 1004"));
    assert!(pair.says("dumpsys power").contains("mWakefulness=Asleep"));
}

#[test]
fn a_stall_holds_a_client_until_it_ends_or_the_cable_is_cut() {
    let Some(pair) = pair(Phone::builder()) else { return };
    for cut in [false, true] {
        pair.phone.stall();
        let mut client = client(&pair, &["shell", "echo said; exit 3"]);
        std::thread::sleep(Duration::from_millis(200));
        assert!(client.try_wait().unwrap().is_none(), "it waits");
        if cut {
            pair.phone.cut();
        }
        pair.phone.resume();
        let code = client.wait().unwrap().code();
        assert_eq!(code == Some(3), !cut);
    }
}

#[test]
fn a_cut_ends_a_command_that_does_not_read_its_input() {
    let Some(pair) = pair(Phone::builder()) else { return };
    let mut client = client(&pair, &["shell", "echo begun; exec sleep 1003"]);
    client.stdout.take().unwrap().read_exact(&mut [0; 6]).unwrap();
    let mut stdin = client.stdin.take().unwrap();
    let writing = std::thread::spawn(move || stdin.write_all(&vec![0; 4 << 20]));
    std::thread::sleep(Duration::from_millis(200));
    pair.phone.cut();
    client.wait().unwrap();
    let _ = writing.join().unwrap();
    pair.adb.connect(&pair.phone).unwrap();
    until("the command ends", || !pair.says("ps -A -o args").contains("sleep 1003"));
}

#[test]
fn an_unauthorised_client_waits_until_the_owner_allows_it() {
    if let Some(lack) = flashlag_standin::lacks() {
        return flashlag_need::skip(lack);
    }
    let phone = Phone::builder().state(State::Unauthorised).start().unwrap();
    let adb = AdbServer::start().unwrap();
    let serial = phone.address().to_string();
    let said = adb.run(&["connect", &serial]).unwrap();
    assert!(text(&said.stdout).contains("failed to authenticate"), "{said:?}");
    assert_eq!(state(&adb), "unauthorized");
    let refused = adb.shell(&serial, "id").unwrap();
    assert!(text(&refused.stderr).contains("device unauthorized"), "{refused:?}");
    phone.set_state(State::Authorised);
    until("it is a device", || state(&adb) == "device");
    let output = adb.shell(&serial, "echo in").unwrap();
    assert_eq!(output.stdout, b"in\n", "{output:?}");
}

#[test]
fn a_silent_phone_is_offline() {
    if let Some(lack) = flashlag_standin::lacks() {
        return flashlag_need::skip(lack);
    }
    let phone = Phone::builder().state(State::Silent).start().unwrap();
    let adb = AdbServer::start().unwrap();
    let mut connecting = adb.command();
    connecting.args(["connect", &phone.address().to_string()]).stdout(Stdio::null());
    let mut connecting = connecting.spawn().unwrap();
    until("it is listed", || state(&adb) == "offline");
    let refused = adb.shell(&phone.address().to_string(), "id").unwrap();
    assert!(text(&refused.stderr).contains("device offline"), "{refused:?}");
    connecting.kill().unwrap();
    connecting.wait().unwrap();
}

#[test]
fn bytes_that_are_no_adb_end_their_own_connection_only() {
    let Some(pair) = pair(Phone::builder()) else { return };
    let mut random = random();
    for length in [1, 23, 24, 100, 5000] {
        let mut socket = std::net::TcpStream::connect(pair.phone.address()).unwrap();
        let bytes: Vec<u8> = (0..length).map(|_| random.random()).collect();
        socket.write_all(&bytes).unwrap();
        // A connection that the phone has ended has no end to be shut.
        let _ = socket.shutdown(std::net::Shutdown::Write);
        let mut said = Vec::new();
        let _ = socket.read_to_end(&mut said);
        assert!(said.is_empty());
    }
    assert_eq!(pair.says("echo alive"), "alive\n");
}
