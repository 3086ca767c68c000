//! Clients that die with requests under way, beside one that verifies what it reads all the time.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "a test that skips says so")]

use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::common::{Client, connect, fast, launch, socket, start};
use flashlag_serve::{Listen, Running, Settings};
use rand::{Rng, RngExt};
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

const BLOCK: u64 = 4096;
/// The verifier's part of the device; those that die have the rest.
const ITS_BLOCKS: u64 = 2048;
const MIB: u32 = 1 << 20;
const IN_FLIGHT: u64 = 32;

/// Deaths; `FLASHLAG_DEATHS` asks for more.
fn deaths() -> u64 {
    std::env::var("FLASHLAG_DEATHS").ok().and_then(|text| text.parse().ok()).unwrap_or(60)
}

/// A client that writes and reads until it is asked to end. It fails at the first answer that is wrong.
struct Verifier {
    ends: Arc<AtomicBool>,
    thread: JoinHandle<Verified>,
}

#[derive(Debug, Default, PartialEq)]
struct Verified {
    reads: u64,
    writes: u64,
    flushes: u64,
}

impl Verifier {
    fn start(running: &Running) -> Verifier {
        let mut client = connect(running);
        let ends = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&ends);
        let thread = std::thread::spawn(move || {
            let mut random = Pcg64Mcg::seed_from_u64(29);
            let mut held = vec![0u8; ITS_BLOCKS as usize];
            let mut done = Verified::default();
            while !asked.load(Ordering::Relaxed) {
                let at = random.random_range(0..ITS_BLOCKS);
                let byte = &mut held[at as usize];
                match random.random_range(0..4) {
                    0 => {
                        *byte = random.random();
                        let data = [*byte; BLOCK as usize];
                        assert_eq!(client.write(at * BLOCK, &data, false).unwrap(), 0);
                        done.writes += 1;
                        if done.writes % 16 == 0 {
                            assert_eq!(client.flush().unwrap(), 0);
                            done.flushes += 1;
                        }
                    }
                    _ => {
                        let mut data = [0x5a; BLOCK as usize];
                        assert_eq!(client.read(at * BLOCK, &mut data).unwrap(), 0);
                        assert_eq!(data, [*byte; BLOCK as usize], "block {at}");
                        done.reads += 1;
                    }
                }
            }
            // Whatever the others did, all of it is still there.
            for (at, byte) in held.iter().enumerate() {
                let mut data = [0; BLOCK as usize];
                assert_eq!(client.read(at as u64 * BLOCK, &mut data).unwrap(), 0);
                assert_eq!(data, [*byte; BLOCK as usize], "block {at} at the end");
                done.reads += 1;
            }
            done
        });
        Verifier { ends, thread }
    }

    fn end(self) -> Verified {
        self.ends.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

/// Dies with 32 reads of 1 MiB under way, in one of several moments.
fn die(mut client: Client, how: u64, random: &mut Pcg64Mcg) {
    for at in 0..IN_FLIGHT {
        client.send(0, 0, (16 + at) << 20, MIB).unwrap();
    }
    match how % 5 {
        // At once.
        0 => {}
        // While an answer arrives.
        1 => client.stream.read_exact(&mut [0; 1000]).unwrap(),
        // Within the data of a write.
        2 => {
            client.send(0, 1, 100 << 20, 65536).unwrap();
            client.stream.write_all(&[9; 30_000]).unwrap();
        }
        // Within a request.
        3 => {
            let header = 0x2560_9513u32.to_be_bytes();
            client.stream.write_all(&header[..random.random_range(1..4)]).unwrap();
        }
        // With something that is no request.
        _ => {
            let mut garbage = [0; 40];
            random.fill_bytes(&mut garbage);
            let _ = client.stream.write_all(&garbage);
        }
    }
}

fn many_die(mut running: Running) {
    let verifier = Verifier::start(&running);
    let mut random = Pcg64Mcg::seed_from_u64(1);
    for how in 0..deaths() {
        die(Client::connect(&socket(&running)).unwrap(), how, &mut random);
        // Some die alone, others beside others.
        if random.random_range(0..4) == 0 {
            std::thread::sleep(Duration::from_millis(random.random_range(0..20)));
        }
        running.check().unwrap();
    }
    let verified = verifier.end();
    running.check().unwrap();
    assert!(verified.writes > 0 && verified.reads > ITS_BLOCKS, "{verified:?}");
    let host = running.control().unwrap().stat().unwrap().host;
    println!("{} deaths; {verified:?}; {host:?}", deaths());
    // Every request that reached the device is done, and no write of those that died half way.
    assert_eq!((host.writes, host.flushes), (verified.writes, verified.flushes));
    assert_eq!(host.failed, 0);
    assert!(host.reads > verified.reads, "none of the others was served");
    running.stop().unwrap();
}

#[test]
fn clients_that_die_with_reads_in_flight_do_not_take_a_modelled_device_from_another() {
    let Some(running) = start(fast("nexus5-2013")) else { return };
    many_die(running);
}

#[test]
fn nor_one_that_answers_at_once() {
    let Some(running) = start(fast("zero")) else { return };
    many_die(running);
}

#[test]
fn a_client_that_has_ended_its_own_half_still_gets_all_answers() {
    let Some(running) = start(fast("nexus5-2013")) else { return };
    let mut client = connect(&running);
    for at in 0..IN_FLIGHT {
        client.send(0, 0, at << 20, MIB).unwrap();
    }
    client.stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answers = Vec::new();
    client.stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    client.stream.read_to_end(&mut answers).unwrap();
    assert_eq!(answers.len() as u64, IN_FLIGHT * (16 + u64::from(MIB)));
}

/// A program that reads at a depth of 64, and is killed by -9.
fn killed_while_it_reads(running: &Running, program: &dyn Fn() -> Child) {
    let stat = || running.control().unwrap().stat().unwrap().host;
    let before = stat().writes;
    let verifier = Verifier::start(running);
    let mut random = Pcg64Mcg::seed_from_u64(2);
    let mut killed = 0;
    for _ in 0..deaths().div_ceil(10) {
        // What was read beyond a block a read is not the verifier's: the program is at work.
        let others = || {
            let host = stat();
            host.read_bytes.0.saturating_sub(BLOCK * host.reads)
        };
        let before = others();
        let mut child = program();
        // One that has read all there is ends by itself.
        while others() < before + (64 << 20) && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(random.random_range(0..30)));
        child.kill().unwrap();
        killed += u64::from(child.wait().unwrap().signal() == Some(9));
    }
    assert!(killed > 0, "each had ended by itself");
    let verified = verifier.end();
    println!("{killed} killed; {verified:?}");
    assert_eq!(stat().writes - before, verified.writes);
}

#[test]
fn programs_that_are_killed_while_they_read_do_not_take_the_device_from_another() {
    let Some(qemu_img) = flashlag_need::program("qemu-img", "qemu-utils") else { return };
    let Some(running) = start(fast("zero")) else { return };
    let reads = || {
        let mut bench = Command::new(&qemu_img);
        bench.args(["bench", "-f", "raw", "-d", "64", "-c", "100000000", "-s", "1M", "-n"]);
        bench.args(["-t", "none", "-o", "16M", &running.uri()]);
        bench.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    killed_while_it_reads(&running, &reads);
    running.stop().unwrap();
}

#[test]
fn nor_do_other_programs_that_are_killed() {
    let Some(fio) = flashlag_need::program("fio", "fio") else { return };
    let Some(nbdcopy) = flashlag_need::program("nbdcopy", "libnbd-bin") else { return };
    let Some(running) = start(fast("zero")) else { return };
    let folder = tempfile::tempdir().unwrap();
    let quiet = |command: &mut Command| {
        command.current_dir(&folder).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let by_fio = || {
        let mut fio = Command::new(&fio);
        fio.args(["--name=reads", "--ioengine=nbd", "--rw=read", "--bs=1m", "--iodepth=64"]);
        quiet(
            fio.args(["--size=256m", "--time_based", "--runtime=600"])
                .arg(format!("--uri={}", running.uri())),
        )
    };
    killed_while_it_reads(&running, &by_fio);
    running.stop().unwrap();
    let running = start(fast("zero")).unwrap();
    // Blocks that hold nothing are not read.
    let mut client = connect(&running);
    let data = vec![1; MIB as usize];
    for at in 16..400 {
        assert_eq!(client.write(at << 20, &data, false).unwrap(), 0);
    }
    let by_nbdcopy = || {
        let mut nbdcopy = Command::new(&nbdcopy);
        nbdcopy.args(["--requests=64", "--request-size=1048576", "--connections=1"]);
        quiet(nbdcopy.args([&running.uri(), "null:"]))
    };
    killed_while_it_reads(&running, &by_nbdcopy);
    running.stop().unwrap();
}

#[test]
fn clients_of_a_port_die_as_those_of_a_socket() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    if flashlag_need::program("nbdkit", "nbdkit").is_none() {
        return;
    }
    let mut device = launch(Settings { ..fast("zero") });
    device.listen = Some(Listen::Tcp(free.ip(), free.port()));
    let mut running = device.start().unwrap();
    let connect = || std::net::TcpStream::connect(free).unwrap();
    for _ in 0..deaths() {
        let stream = std::os::fd::OwnedFd::from(connect());
        let client = Client::begin(stream.into()).unwrap();
        die(client, 1, &mut Pcg64Mcg::seed_from_u64(3));
        running.check().unwrap();
    }
    let mut client = Client::begin(std::os::fd::OwnedFd::from(connect()).into()).unwrap();
    assert_eq!(client.write(0, &[7; 4096], true).unwrap(), 0);
    // A port in use is refused by its name.
    let mut second = launch(fast("zero"));
    second.listen = Some(Listen::Tcp(free.ip(), free.port()));
    let refused = second.start().unwrap_err().to_string();
    assert!(refused.contains("in use") && refused.contains(&free.port().to_string()), "{refused}");
    running.stop().unwrap();
}
