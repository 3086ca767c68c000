//! A device that is stored comes back as it was, whatever way its server ended.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{BLOCK, PROFILES, SPAN, Witness, settings};
use flashlag_schema::DeviceStats;
use flashlag_serve::{Answer, Command, Served, Settings};
use flashlag_units::Bytes;

fn stats(device: &Served) -> DeviceStats {
    match device.tell(&Command::Stat).unwrap() {
        Answer::Stats(stats) => *stats,
        other => panic!("{other:?}"),
    }
}

fn content(device: &Served) -> Vec<u8> {
    let mut held = vec![0; (SPAN * BLOCK) as usize];
    device.read(0, &mut held).unwrap();
    held
}

#[test]
fn a_restart_keeps_the_data_and_the_flash() {
    for profile in PROFILES {
        for closes in [true, false] {
            let what = format!("{profile}, closed: {closes}");
            let folder = tempfile::tempdir().unwrap();
            let store = Some(folder.path().join("device"));
            let settings = Settings { store, ..settings(profile, 3) };
            let device = Served::open(&settings).unwrap();
            let mut witness = Witness::new(3);
            for _ in 0..300 {
                witness.step(&device);
            }
            device.flush().unwrap();
            let (held, before) = (content(&device), stats(&device));
            if closes {
                device.close().unwrap();
            }
            drop(device);
            let device = Served::open(&settings).unwrap();
            let after = stats(&device);
            let (before, flash) = (before.flash.unwrap(), after.flash.unwrap());
            assert_eq!(flash.programs, before.programs, "{what}");
            assert_eq!(flash.erases, before.erases, "{what}");
            assert_eq!(flash.mapped_bytes, before.mapped_bytes, "{what}");
            assert_eq!(flash.free_blocks, before.free_blocks, "{what}");
            assert!(content(&device) == held, "{what}: other data");
            witness.check(&device, &what);
        }
    }
}

#[test]
fn what_is_not_of_this_device_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("device");
    let mine = Settings { store: Some(path.clone()), ..settings("nexus5-2013", 1) };
    let refuse = |settings: &Settings| Served::open(settings).unwrap_err().to_string();
    let device = Served::open(&mine).unwrap();
    let second = refuse(&mine);
    assert!(second.contains("another server"), "{second}");
    device.write(0, &[1; 4096], false).unwrap();
    device.close().unwrap();
    drop(device);

    let other = Settings { profile: "moto-x-2013".to_owned(), ..mine.clone() };
    assert!(refuse(&other).contains("nexus5-2013"), "{}", refuse(&other));
    let other = Settings { seed: 2, ..mine.clone() };
    assert!(refuse(&other).contains("seed 1, not 2"), "{}", refuse(&other));
    let larger = Some(mine.size.unwrap().plus(Bytes::from_mib(1)));
    let other = Settings { size: larger, ..mine.clone() };
    assert!(refuse(&other).contains("bytes"), "{}", refuse(&other));

    let state = folder.path().join("device.flash");
    let good = std::fs::read(&state).unwrap();
    let mut damaged = good.clone();
    *damaged.last_mut().unwrap() ^= 1;
    std::fs::write(&state, &damaged).unwrap();
    assert!(refuse(&mine).contains("damaged"), "{}", refuse(&mine));
    let end = good.iter().position(|byte| *byte == b'\n').unwrap();
    let mut header: serde_json::Value = serde_json::from_slice(&good[..end]).unwrap();
    header["form"] = "another".into();
    std::fs::write(&state, [header.to_string().as_bytes(), &good[end..]].concat()).unwrap();
    assert!(refuse(&mine).contains("in another way"), "{}", refuse(&mine));
    std::fs::write(&state, b"hello\n").unwrap();
    assert!(refuse(&mine).contains("no stored flash"), "{}", refuse(&mine));
    std::fs::write(&state, &good).unwrap();
    let log = folder.path().join("device.log");
    let line = std::fs::read(&log).unwrap();
    std::fs::write(&log, [&line[..], &[9; 64]].concat()).unwrap();
    assert!(refuse(&mine).contains("damaged"), "{}", refuse(&mine));
    std::fs::write(&log, "another state\n").unwrap();
    assert!(refuse(&mine).contains("does not follow"), "{}", refuse(&mine));
    std::fs::write(&log, [&line[..], b"half a record"].concat()).unwrap();
    assert_eq!(content(&Served::open(&mine).unwrap())[..4096], [1; 4096]);
}

#[test]
fn an_image_is_what_a_new_device_holds_and_its_flash_knows_it() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image");
    let held: Vec<u8> = (0..SPAN).flat_map(|at| common::block(at % 5)).collect();
    std::fs::write(&image, &held).unwrap();
    for profile in ["nexus5-2013", "sd-c10", "zero"] {
        let settings = Settings { image: Some(image.clone()), ..settings(profile, 1) };
        let device = Served::open(&settings).unwrap();
        assert!(content(&device) == held, "{profile}");
        let flash = stats(&device).flash;
        assert!(flash.is_none_or(|flash| flash.mapped_bytes > Bytes::ZERO), "{profile}");
    }
}
