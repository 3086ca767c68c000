//! What a power cut leaves: what was flushed, and of the rest, block by block, what was there at
//! some time since.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::os::unix::fs::{FileExt, MetadataExt};

use crate::common::{BLOCK, PROFILES, SPAN, Witness, open, read, settings};
use flashlag_serve::{Answer, Command, CutMoment, Recording, ServedDevice};
use rand::RngExt;

fn cut(device: &ServedDevice, stay_off: bool) -> flashlag_serve::CutReport {
    let command = Command::Cut { moment: CutMoment::Now, stay_off };
    match device.tell(&command).unwrap() {
        Answer::Cut(report) => report,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_was_flushed_survives_and_no_block_is_torn() {
    let mut lost = 0;
    for profile in PROFILES {
        for seed in 1..=4 {
            let device = open(profile, seed);
            let mut witness = Witness::new(seed);
            for round in 0..6 {
                let what = format!("{profile}, seed {seed}, cut {round}");
                for _ in 0..witness.random.random_range(1..60) {
                    witness.step(&device);
                }
                lost += cut(&device, false).lost_units;
                witness.check(&device, &what);
            }
        }
    }
    assert!(lost > 0, "no cut took anything: it tests nothing");
}

#[test]
fn a_device_without_power_answers_nothing_and_comes_back() {
    let device = open("nexus5-2013", 1);
    device.write(0, &crate::common::block(7), true).unwrap();
    cut(&device, true);
    assert!(device.read(0, &mut [0; 512]).is_err());
    assert!(device.flush().is_err());
    let before = device.now();
    device.tell(&Command::On).unwrap();
    assert_eq!(read(&device, 0, "after it is back"), 7);
    assert!(device.now() > before);
}

#[test]
fn a_drawn_cut_strikes_within_one_of_the_next_commands() {
    for seed in 1..=20 {
        let device = open("nexus5-2013", seed);
        let moment = CutMoment::Drawn { seed, within_commands: 40 };
        device.tell(&Command::Cut { moment, stay_off: true }).unwrap();
        let done = (0..60)
            .filter(|at| device.write(at % SPAN * BLOCK, &crate::common::block(*at), true).is_ok());
        let done = done.count();
        assert!(done < 40, "seed {seed}: {done} of 60 writes were done");
        device.tell(&Command::On).unwrap();
        // Each write that was acknowledged was durable.
        for at in 0..done as u64 {
            assert_eq!(read(&device, at, &format!("seed {seed}")), at);
        }
    }
}

#[test]
fn a_recording_gives_the_image_that_the_cut_itself_left() {
    for profile in PROFILES {
        for seed in 1..=3 {
            let folder = tempfile::tempdir().unwrap();
            let (recorded, image) = (folder.path().join("r"), folder.path().join("image"));
            let device = open(profile, seed);
            let mut witness = Witness::new(seed);
            let limit = flashlag_units::Bytes::from_mib(64);
            let record = Command::Record { path: recorded.clone(), data: true, limit };
            device.tell(&record).unwrap();
            for _ in 0..100 {
                witness.step(&device);
            }
            // The cut of the device is the recording's last entry: the image is of just before.
            device.tell(&Command::RecordStop).unwrap();
            let report = cut(&device, false);
            let again = Recording::crash_image(&recorded, report.virtual_ns, None, &image).unwrap();
            assert_eq!(again.cut, report, "{profile}, seed {seed}");
            let mut held = vec![0; (SPAN * BLOCK) as usize];
            device.read(0, &mut held).unwrap();
            let mut left = vec![0; held.len()];
            let image = std::fs::File::open(&image).unwrap();
            image.read_exact_at(&mut left, 0).unwrap();
            assert!(held == left, "{profile}, seed {seed}: another image");
            let blocks = image.metadata().unwrap().blocks();
            assert!(blocks * 512 <= 4 * SPAN * BLOCK, "{blocks} blocks: it is not sparse");
            let moments = Recording::moments(&recorded, seed, 20).unwrap();
            assert!(moments.windows(2).all(|pair| pair[0] <= pair[1]) && moments.len() == 20);
        }
    }
}

#[test]
fn a_cut_fails_what_is_under_way() {
    let slow = flashlag_serve::Settings {
        time_scale: "0.001".parse().unwrap(),
        ..settings("nexus5-2013", 1)
    };
    let device = ServedDevice::open(&slow).unwrap();
    std::thread::scope(|scope| {
        let write = scope.spawn(|| device.write(0, &crate::common::block(1), true));
        while device.now().0 < 100_000 {
            std::thread::yield_now();
        }
        cut(&device, false);
        let error = write.join().unwrap().unwrap_err();
        assert!(error.reason.contains("power"), "{error}");
    });
}

#[test]
fn what_was_flushed_by_the_sector_is_in_each_later_image() {
    const SECTOR: u64 = 512;
    // Block and sector of a directory's entry, and of two copies of a table, as FAT has them.
    const PLACES: [u64; 3] = [2 * BLOCK + 3 * SECTOR, SECTOR, BLOCK + SECTOR];
    for profile in PROFILES {
        let folder = tempfile::tempdir().unwrap();
        let (recorded, image) = (folder.path().join("r"), folder.path().join("image"));
        let device = open(profile, 1);
        let limit = flashlag_units::Bytes::from_mib(64);
        device.tell(&Command::Record { path: recorded.clone(), data: true, limit }).unwrap();
        let mut flushed = Vec::new();
        for round in 1..=40u64 {
            device
                .write(BLOCK * (20 + 2 * round), &[round as u8; 2 * BLOCK as usize], false)
                .unwrap();
            for at in PLACES {
                device.write(at, &[round as u8; SECTOR as usize], false).unwrap();
            }
            device.flush().unwrap();
            flushed.push(device.now());
        }
        device.tell(&Command::RecordStop).unwrap();
        for (round, moment) in (1..).zip(&flushed) {
            Recording::crash_image(&recorded, *moment, None, &image).unwrap();
            let image = std::fs::File::open(&image).unwrap();
            for at in PLACES {
                let mut held = [0; SECTOR as usize];
                image.read_exact_at(&mut held, at).unwrap();
                assert!(
                    held[0] == round || held[0] == round + 1,
                    "{profile}: {} in round {round} at {at}",
                    held[0]
                );
            }
        }
    }
}
