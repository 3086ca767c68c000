//! Requests, faults, and what is wrong with settings.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use crate::common::{BLOCK, block, open, read, settings};
use flashlag_flash::{minimum_size, model_of_size, zone_geometry};
use flashlag_schema::DeviceStats;
use flashlag_serve::{
    Answer, Command, CutMoment, Fault, FaultKind, FaultOp, Refusal, ServedDevice, Settings,
};
use flashlag_spec::profile::{Profile, names};
use flashlag_units::{Bytes, Nanos};
use proptest::prelude::*;

fn stats(device: &ServedDevice) -> DeviceStats {
    match device.tell(&Command::Stat).unwrap() {
        Answer::Stats(stats) => *stats,
        other => panic!("{other:?}"),
    }
}

fn small(profile: &str) -> ServedDevice {
    open(profile, 1)
}

#[derive(Clone, Debug)]
enum Change {
    Write(u64, u64, u8),
    Zero(u64, u64, bool),
    Trim(u64, u64),
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    const SIZE: u64 = 100 << 10;
    let range = (0..SIZE, 1..SIZE).prop_map(|(from, length)| (from, length.min(SIZE - from)));
    let change = (range, 0u8..4, any::<u8>()).prop_map(|((from, length), kind, byte)| match kind {
        0 => Change::Trim(from, length),
        1 => Change::Zero(from, length, byte % 2 == 0),
        _ => Change::Write(from, length, byte.max(1)),
    });
    prop::collection::vec(change, 1..30)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// At any byte, whatever the device's units are.
    #[test]
    fn what_was_written_last_is_read(changes in changes()) {
        for profile in ["nexus7-2012", "sd-c10", "zero"] {
            let device = small(profile);
            let mut plain = vec![0u8; 100 << 10];
            for change in &changes {
                match *change {
                    Change::Write(from, length, byte) => {
                        plain[from as usize..(from + length) as usize].fill(byte);
                        device.write(from, &vec![byte; length as usize], byte % 7 == 0).unwrap();
                    }
                    Change::Zero(from, length, may_trim) => {
                        plain[from as usize..(from + length) as usize].fill(0);
                        device.zero(from, length, may_trim, false).unwrap();
                    }
                    Change::Trim(from, length) => {
                        device.trim(from, length, false).unwrap();
                        // What is there afterwards is zeros or what was there before.
                        let range = from as usize..(from + length) as usize;
                        let mut held = vec![0; length as usize];
                        device.read(from, &mut held).unwrap();
                        for (held, plain) in held.into_iter().zip(&mut plain[range]) {
                            prop_assert!(held == 0 || held == *plain);
                            *plain = held;
                        }
                    }
                }
            }
            let mut held = vec![1; plain.len()];
            device.read(0, &mut held).unwrap();
            prop_assert!(held == plain, "{profile}");
        }
    }

    #[test]
    fn settings_are_read_as_they_are_written(
        seed: u64, size in prop::option::of(1u64..1 << 44), scale in 1u32..5000, age in 0u64..400,
    ) {
        let mut settings = Settings::of("nexus5-2013");
        settings.seed = seed;
        settings.size = size.map(Bytes);
        settings.time_scale = format!("{}", f64::from(scale) / 8.0).parse().unwrap();
        let words = ["new".to_owned(), "full".to_owned(), format!("aged:{}d", age)];
        settings.age = words.get((seed % 4) as usize).map(|word| word.parse().unwrap());
        let mut again = Settings::default();
        for word in settings.arguments() {
            let (key, value) = word.split_once('=').unwrap();
            again.set(key, value).unwrap();
        }
        prop_assert_eq!(again, settings);
    }
}

#[test]
fn requests_beyond_the_device_are_refused() {
    let device = small("nexus5-2013");
    let end = device.size().0;
    assert!(device.read(end - 512, &mut [0; 512]).is_ok());
    assert!(device.read(end, &mut [0; 512]).is_err());
    assert!(device.write(u64::MAX - 100, &[0; 512], false).is_err());
    assert!(device.trim(0, end + 1, false).is_err());
    assert_eq!(stats(&device).host.failed, 3);
}

#[test]
fn faults_strike_where_they_are_set_and_as_often() {
    let device = small("nexus5-2013");
    device.write(0, &[1; 8192], false).unwrap();
    let fault = Fault {
        op: FaultOp::Read,
        offset: Bytes(4096),
        length: Some(Bytes(4096)),
        times: Some(2),
        ..Fault::of(FaultKind::Error)
    };
    device.tell(&Command::Fault(fault)).unwrap();
    let mut into = [0; 4096];
    assert!(device.read(0, &mut into).is_ok());
    assert_eq!(device.read(4096, &mut into).unwrap_err().errno, 5);
    assert!(device.write(4096, &[2; 4096], false).is_ok());
    assert!(device.read(4096, &mut into).is_err());
    assert!(device.read(4096, &mut into).is_ok() && into == [2; 4096]);

    let half = Fault { share: 0.5, seed: 9, op: FaultOp::Write, ..Fault::of(FaultKind::Error) };
    let strikes = |device: &ServedDevice| -> Vec<bool> {
        device.tell(&Command::Fault(half.clone())).unwrap();
        (0..200).map(|_| device.write(0, &[3; 512], false).is_err()).collect()
    };
    let first = strikes(&device);
    let count = first.iter().filter(|struck| **struck).count();
    assert!((60..140).contains(&count), "{count} of 200");
    assert_eq!(first, strikes(&small("nexus5-2013")), "the same seed strikes the same requests");
    device.tell(&Command::Repair).unwrap();
    assert!((0..50).all(|_| device.write(0, &[3; 512], false).is_ok()));
}

#[test]
fn a_device_that_only_reads_reads() {
    for profile in ["nexus5-2013", "zero"] {
        let device = small(profile);
        device.write(0, &block(4), false).unwrap();
        device.tell(&Command::Fault(Fault::of(FaultKind::ReadOnly))).unwrap();
        assert_eq!(device.write(0, &block(5), false).unwrap_err().errno, 30);
        assert!(device.trim(0, BLOCK, false).is_err());
        assert_eq!(read(&device, 0, profile), 4);
        assert!(stats(&device).read_only.is_some());
    }
}

#[test]
fn a_stall_ends_no_earlier_than_it_should() {
    let slow = Settings { time_scale: "1".parse().unwrap(), ..settings("nexus5-2013", 1) };
    let device = ServedDevice::open(&slow).unwrap();
    let stall = FaultKind::StallNs(Nanos::from_millis(50));
    let began = device.now();
    device.tell(&Command::Fault(Fault::of(stall))).unwrap();
    device.read(0, &mut [0; 512]).unwrap();
    assert!(device.now().since(began) >= Nanos::from_millis(50));
}

#[test]
fn requests_take_no_less_than_the_model_says() {
    let slow = Settings { time_scale: "1".parse().unwrap(), ..settings("nexus7-2012", 1) };
    let device = ServedDevice::open(&slow).unwrap();
    for at in 0..20 {
        device.write(at * BLOCK, &block(at), true).unwrap();
    }
    let stats = stats(&device);
    let late = stats.lateness_ns.unwrap().histogram;
    assert_eq!(late.count.iter().sum::<u64>(), 20);
    // 20 programs of this device, one after another.
    assert!(stats.virtual_ns > Nanos::from_millis(20), "{}", stats.virtual_ns);
}

#[test]
fn a_recording_has_every_request() {
    let folder = tempfile::tempdir().unwrap();
    for profile in ["nexus5-2013", "zero"] {
        let path = folder.path().join(profile);
        let device = small(profile);
        let limit = Bytes::from_mib(100);
        device.tell(&Command::Record { path: path.clone(), data: false, limit }).unwrap();
        device.write(8192, &block(1), true).unwrap();
        device.read(0, &mut [0; 512]).unwrap();
        device.flush().unwrap();
        device.trim(0, 8192, false).unwrap();
        let answer = device.tell(&Command::RecordStop).unwrap();
        assert_eq!(answer, Answer::Recorded { requests: 4, complete: true });
        let mut recording = flashlag_serve::Recording::open(&path).unwrap();
        let mut seen = Vec::new();
        while let Some((record, data)) = recording.next_request().unwrap() {
            assert!(data.is_empty() && record.ended >= record.at);
            seen.push((record.kind, record.offset.0, record.length.0, record.fua));
        }
        use flashlag_serve::RecordKind::{Discard, Flush, Read, Write};
        let expected = [
            (Write, 8192, 4096, true),
            (Read, 0, 512, false),
            (Flush, 0, 0, false),
            (Discard, 0, 8192, false),
        ];
        assert_eq!(seen, expected, "{profile}");
    }
}

#[test]
fn a_recording_ends_where_its_file_is_full() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r");
    let device = small("zero");
    device.tell(&Command::Record { path, data: true, limit: Bytes(10_000) }).unwrap();
    for _ in 0..5 {
        device.write(0, &block(1), false).unwrap();
    }
    let answer = device.tell(&Command::RecordStop).unwrap();
    assert_eq!(answer, Answer::Recorded { requests: 2, complete: false });
}

#[test]
fn zones_are_served_apart_written_in_order_and_reset_as_a_whole() {
    let mut settings = Settings { zoned: true, ..settings("zufs40-phone", 1) };
    settings.size = Some(Bytes::from_mib(4096));
    let device = ServedDevice::open(&settings).unwrap();
    let model = Profile::find("zufs40-phone").unwrap();
    let zones = zone_geometry(&model_of_size(&model, settings.size).unwrap()).unwrap();
    let (first, stride) = (zones.first.0, zones.stride().0);
    assert_eq!(device.size().0, first + u64::from(zones.count) * stride);
    let second = first + stride;
    device.write(0, &block(1), false).unwrap();
    device.write(second, &block(2), false).unwrap();
    device.write(second + 4096, &block(3), false).unwrap();
    let number = |at| read(&device, at / BLOCK, "zones");
    assert_eq!([0, first, second, second + 4096].map(number), [1, 0, 2, 3]);
    // Between zones there is nothing, and no write goes there or begins elsewhere than at the pointer.
    let gap = first + zones.size.0;
    assert_eq!(number(gap), 0);
    for at in [gap, gap - 4096, second] {
        assert!(device.write(at, &block(9), false).is_err(), "{at}");
    }
    let mut across = vec![7; 2 << 20];
    let at = second - (1 << 20);
    device.read(at, &mut across).unwrap();
    assert!(across[..1 << 20].iter().all(|byte| *byte == 0));
    assert_eq!([across[1 << 20], across[(1 << 20) + 4096]], [2, 3]);
    let held = |from: u64| device.next_held(from, device.size().0).unwrap().map(|held| held.0);
    assert_eq!([held(0), held(1 << 20)], [Some(0), Some(second)]);
    // As QEMU resets a zone: by zeros for all of it, which may be a discard.
    assert!(device.zero(second, 4096, true, false).is_err(), "a part");
    device.zero(second, stride, true, false).unwrap();
    assert_eq!(number(second), 0);
    device.write(second, &block(4), true).unwrap();
    assert_eq!(number(second), 4);
    assert_eq!(stats(&device).host.trims, 1);
    let image = Settings { image: Some("/dev/null".into()), ..settings };
    let refused = ServedDevice::open(&image).unwrap_err().to_string();
    assert!(refused.contains("begins empty"), "{refused}");
}

#[test]
fn every_profile_can_be_served_small_full_and_used() {
    for profile in names() {
        let settings = settings(profile, 1);
        if Profile::find(profile).unwrap().is_zoned() {
            let refused = ServedDevice::open(&settings).unwrap_err().to_string();
            assert!(refused.contains("NBD has no zones"), "{refused}");
            continue;
        }
        let device = ServedDevice::open(&settings).unwrap();
        device.write(0, &block(1), true).unwrap();
        assert_eq!(read(&device, 0, profile), 1);
        let full = ServedDevice::open(&Settings {
            age: Some("full".parse().unwrap()),
            ..settings.clone()
        });
        let flash = stats(&full.unwrap()).flash;
        let size = settings.size.unwrap().0;
        assert!(flash.is_none_or(|flash| flash.mapped_bytes.0 > size / 10 * 9), "{profile}");
        let least = minimum_size(&Profile::find(profile).unwrap().model().unwrap()).unwrap();
        let below = Settings { size: Some(least.minus(Bytes::from_mib(1))), ..settings };
        if below.size != Some(Bytes::ZERO) {
            let refused = ServedDevice::open(&below).unwrap_err().to_string();
            assert!(refused.contains("at least"), "{refused}");
        }
    }
    let aged = Settings { age: Some("aged:3mo".parse().unwrap()), ..settings("ufs31-phone", 1) };
    let aged = Settings { size: Some(Bytes::from_mib(8192)), ..aged };
    let flash = stats(&ServedDevice::open(&aged).unwrap()).flash.unwrap();
    assert!(flash.mean_cycles > 100 && flash.life_used.is_some_and(|used| used < 1.0));
}

#[test]
fn a_device_goes_on_at_another_pace_from_the_moment_at_which_it_was() {
    let device = small("nexus5-2013");
    device.write(0, &block(1), true).unwrap();
    let before = stats(&device);
    device.tell(&Command::TimeScale { times: 2.5 }).unwrap();
    let after = stats(&device);
    assert_eq!(after.time_scale, 2.5);
    assert!(after.virtual_ns >= before.virtual_ns, "{after:?} after {before:?}");
    for times in [0.0, -1.0, 1e9, f64::NAN] {
        let refused = device.tell(&Command::TimeScale { times }).unwrap_err();
        assert!(refused.to_string().contains("not between"), "{refused}");
    }
    assert_eq!(stats(&device).time_scale, 2.5, "what is refused changes nothing");
    assert_eq!(read(&device, 0, "after"), 1);
}

#[test]
fn data_in_a_scratch_folder_reads_back_and_no_name_of_it_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    let scratch = Some(folder.path().to_owned());
    let device = ServedDevice::open(&Settings { scratch, ..settings("nexus5-2013", 1) }).unwrap();
    for at in 0..50 {
        device.write(at * BLOCK, &block(at), false).unwrap();
    }
    for at in 0..50 {
        assert_eq!(read(&device, at, "scratch"), at);
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    let nowhere = Some(folder.path().join("nowhere"));
    let refused = ServedDevice::open(&Settings { scratch: nowhere, ..settings("nexus5-2013", 1) });
    assert!(refused.unwrap_err().to_string().contains("nowhere"));
}

#[test]
fn statistics_count_writes_and_say_how_full_the_buffers_are() {
    let device = small("ufs31-phone");
    for at in 0..50 {
        device.write(at * BLOCK, &block(at), false).unwrap();
    }
    let stats = stats(&device);
    let flash = stats.flash.unwrap();
    assert!(flash.buffer_bytes.is_some() || flash.cache_bytes.is_some());
    assert_eq!((stats.host.writes, stats.host.written_bytes), (50, Bytes(50 * BLOCK)));
}

/// Flushes in a thread, which may never end.
fn flush_beside(device: &Arc<ServedDevice>) -> Receiver<Result<(), Refusal>> {
    let (answered, answer) = channel();
    let device = Arc::clone(device);
    std::thread::spawn(move || answered.send(device.flush()));
    answer
}

#[test]
fn repair_a_cut_and_the_end_undo_a_stall_at_once_for_requests_under_way_too() {
    let (brief, long) = (Duration::from_millis(100), Duration::from_secs(30));
    for profile in ["nexus5-2013", "zero"] {
        let device = Arc::new(small(profile));
        let stalled = || {
            let stall = Fault::of(FaultKind::StallNs(Nanos::from_secs(1 << 32)));
            device.tell(&Command::Fault(stall)).unwrap();
            let answers = [(); 4].map(|()| flush_beside(&device));
            assert!(answers[0].recv_timeout(brief).is_err(), "no stall");
            answers
        };
        let answers = stalled();
        device.tell(&Command::Repair).unwrap();
        for answer in answers.iter().chain([&flush_beside(&device)]) {
            answer.recv_timeout(long).expect("still stalled").unwrap();
        }
        let answers = stalled();
        device.tell(&Command::Cut { moment: CutMoment::Now, stay_off: false }).unwrap();
        for answer in answers {
            let lost = answer.recv_timeout(long).expect("still stalled").unwrap_err();
            assert!(lost.reason.contains("power"), "{lost}");
        }
        let answers = stalled();
        device.tell(&Command::Quit).unwrap();
        for answer in answers {
            let ended = answer.recv_timeout(long).expect("still stalled").unwrap_err();
            assert!(ended.reason.contains("shutting down"), "{ended}");
        }
    }
}

#[test]
fn a_recording_is_a_new_file_and_nothing_that_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let store = Settings { store: Some(path("store")), ..settings("nexus5-2013", 1) };
    let device = ServedDevice::open(&store).unwrap();
    device.write(0, &block(7), true).unwrap();
    std::fs::write(path("notes"), "my own").unwrap();
    std::os::unix::fs::symlink(path("notes"), path("link")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        path("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from(0o600),
        0,
    )
    .unwrap();
    for name in ["notes", "link", "pipe", "store", "store.log", "store.flash"] {
        let record = Command::Record { path: path(name), data: true, limit: Bytes::from_mib(1) };
        let refused = device.tell(&record).unwrap_err();
        assert!(refused.to_string().contains("a file of that name exists"), "{name}: {refused}");
    }
    assert_eq!(std::fs::read_to_string(path("notes")).unwrap(), "my own");
    drop(device);
    let mut held = block(0);
    ServedDevice::open(&store).unwrap().read(0, &mut held).unwrap();
    assert_eq!(held, block(7));
}
