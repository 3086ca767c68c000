//! Whatever a client does, the device keeps its data and its other clients.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::common::{Client, connect, fast, launch, socket, start};
use flashlag_serve::{Control, CutMoment, Fault, FaultKind, FaultOp, Listen, Settings};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

#[test]
fn two_clients_see_each_others_writes() {
    let Some(running) = start(fast("nexus5-2013")) else { return };
    let (mut one, mut other) = (connect(&running), connect(&running));
    assert_eq!(one.write(4096, &[7; 4096], true).unwrap(), 0);
    let mut held = [0; 4096];
    assert_eq!(other.read(4096, &mut held).unwrap(), 0);
    assert_eq!(held, [7; 4096]);
    assert_eq!(other.zero(4096, 4096).unwrap() + other.flush().unwrap(), 0);
    assert_eq!(one.read(4096, &mut held).unwrap(), 0);
    assert_eq!(held, [0; 4096]);
    let host = running.control().unwrap().stat().unwrap().host;
    assert_eq!((host.fua_writes, host.flushes, host.zeroes), (1, 1, 1));
}

#[test]
fn clients_that_vanish_or_talk_garbage_disturb_nobody() {
    let Some(running) = start(fast("nexus5-2013")) else { return };
    let mut good = connect(&running);
    assert_eq!(good.write(0, &[1; 8192], true).unwrap(), 0);
    for seed in 0..20 {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let garbage: Vec<u8> = (0..random.random_range(1..5000)).map(|_| random.random()).collect();
        // Before the handshake, and after it; neither waits for an answer.
        let mut stream = UnixStream::connect(socket(&running)).unwrap();
        let _ = stream.write_all(&garbage);
        let mut client = Client::connect(&socket(&running)).unwrap();
        let _ = client.stream.write_all(&garbage);
        drop(client);
        // Gone within a write: half of its data never comes.
        let mut client = Client::connect(&socket(&running)).unwrap();
        client.send(0, 1, 1 << 20, 65536).unwrap();
        client.stream.write_all(&[9; 30000]).unwrap();
        drop(client);
        let mut held = [0; 8192];
        assert_eq!(good.read(0, &mut held).unwrap(), 0, "seed {seed}");
        assert_eq!(held, [1; 8192], "seed {seed}");
    }
    running.stop().unwrap();
}

#[test]
fn garbage_to_the_control_socket_is_answered_and_no_more() {
    let Some(running) = start(fast("zero")) else { return };
    let mut control = UnixStream::connect(running.control_socket()).unwrap();
    control.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut lines = BufReader::new(control.try_clone().unwrap());
    for line in ["hello", "", "{}", "{\"do\":\"explode\"}", "[1,2", "{\"do\":\"cut\",\"moment\":9}"]
    {
        writeln!(control, "{line}").unwrap();
        let mut answer = String::new();
        lines.read_line(&mut answer).unwrap();
        assert!(answer.starts_with("{\"error\":\"no command"), "{line}: {answer}");
    }
    // A line without an end.
    let mut endless = UnixStream::connect(running.control_socket()).unwrap();
    endless.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let _ = endless.write_all(&[b'x'; 70_000]);
    let mut answer = Vec::new();
    let _ = endless.read_to_end(&mut answer);
    // More clients than it talks to.
    let many: Vec<_> = (0..40).map(|_| Control::connect(running.control_socket())).collect();
    assert!(many.iter().all(Result::is_ok));
    drop(many);
    writeln!(control, "{{\"do\":\"stat\"}}").unwrap();
    let mut answer = String::new();
    lines.read_line(&mut answer).unwrap();
    assert!(answer.starts_with("{\"ok\":{\"stats\""), "{answer}");
}

#[test]
fn a_socket_in_use_is_refused_and_a_stale_one_is_replaced() {
    let Some(running) = start(fast("zero")) else { return };
    let folder = tempfile::tempdir().unwrap();
    let refuse = |path: &std::path::Path| {
        let mut second = launch(fast("zero"));
        second.listen = Some(Listen::Unix(path.to_owned()));
        second.start().map(|running| running.listen().uri()).map_err(|error| error.to_string())
    };
    let used = refuse(&socket(&running)).unwrap_err();
    assert!(used.contains("another server listens there"), "{used}");
    let file = folder.path().join("file");
    std::fs::write(&file, "mine").unwrap();
    assert!(refuse(&file).unwrap_err().contains("no socket"));
    assert_eq!(std::fs::read(&file).unwrap(), b"mine");
    let stale = folder.path().join("stale");
    drop(std::os::unix::net::UnixListener::bind(&stale).unwrap());
    assert!(stale.exists());
    // A child that another test starts just now has a copy of the descriptor until it runs its program.
    let given_up = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while UnixStream::connect(&stale).is_ok() && std::time::Instant::now() < given_up {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    refuse(&stale).unwrap();
    assert!(!stale.exists(), "the socket goes with its device");
}

#[test]
fn a_power_cut_and_faults_reach_the_clients() {
    let Some(running) = start(fast("nexus5-2013")) else { return };
    let (mut client, mut control) = (connect(&running), running.control().unwrap());
    assert_eq!(client.write(0, &[1; 4096], true).unwrap(), 0);
    let now = flashlag_serve::Command::Cut { moment: CutMoment::Now, stay_off: true };
    control.ask(&now).unwrap();
    assert_eq!(client.read(0, &mut [0; 4096]).unwrap(), 5);
    control.ask(&flashlag_serve::Command::On).unwrap();
    let mut held = [0; 4096];
    assert_eq!(client.read(0, &mut held).unwrap(), 0);
    assert_eq!(held, [1; 4096]);
    let moment = CutMoment::AfterCommands(3);
    control.ask(&flashlag_serve::Command::Cut { moment, stay_off: false }).unwrap();
    for _ in 0..5 {
        client.flush().unwrap();
    }
    assert_eq!(control.stat().unwrap().power_cuts, 2);
    control.fault(Fault { op: FaultOp::Write, ..Fault::of(FaultKind::Error) }).unwrap();
    assert_eq!(client.write(0, &[2; 512], false).unwrap(), 5);
    assert_eq!(client.trim(0, 4096).unwrap(), 0);
    control.ask(&flashlag_serve::Command::Repair).unwrap();
    assert_eq!(client.write(0, &[2; 512], false).unwrap(), 0);
    control.fault(Fault::of(FaultKind::ReadOnly)).unwrap();
    assert_ne!(client.write(0, &[2; 512], false).unwrap(), 0);
}

#[test]
fn a_killed_server_comes_back_with_what_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let store = Some(folder.path().join("device"));
    let settings = Settings { store, ..fast("moto-x-2013") };
    let Some(running) = start(settings.clone()) else { return };
    let mut client = connect(&running);
    for at in 0..200u64 {
        let byte = (at + 1) as u8;
        assert_eq!(client.write(at * 4096, &[byte; 4096], false).unwrap(), 0);
    }
    assert_eq!(client.flush().unwrap(), 0);
    let programs = running.control().unwrap().stat().unwrap().flash.unwrap().programs;
    let id = rustix_pid(running.id());
    rustix::process::kill_process(id, rustix::process::Signal::KILL).unwrap();
    drop(running);
    let running = launch(settings).start().unwrap();
    let mut client = connect(&running);
    for at in 0..200u64 {
        let mut held = [0; 4096];
        assert_eq!(client.read(at * 4096, &mut held).unwrap(), 0);
        assert_eq!(held, [(at + 1) as u8; 4096], "block {at}");
    }
    let flash = running.control().unwrap().stat().unwrap().flash.unwrap();
    assert!(flash.programs >= programs, "{} programs after {programs}", flash.programs);
    running.stop().unwrap();
}

fn rustix_pid(id: u32) -> rustix::process::Pid {
    rustix::process::Pid::from_raw(id as i32).unwrap()
}
