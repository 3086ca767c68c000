//! A device that is stored comes back as it was, whatever way its server ended.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common::{BLOCK, PROFILES, SPAN, Witness, settings};
use flashlag_schema::DeviceStats;
use flashlag_serve::{Answer, Command, ServedDevice, Settings};
use flashlag_units::Bytes;

fn stats(device: &ServedDevice) -> DeviceStats {
    match device.tell(&Command::Stat).unwrap() {
        Answer::Stats(stats) => *stats,
        other => panic!("{other:?}"),
    }
}

fn content(device: &ServedDevice) -> Vec<u8> {
    let mut held = vec![0; (SPAN * BLOCK) as usize];
    device.read(0, &mut held).unwrap();
    held
}

/// What the flash counts once nothing is done in its idle time any more: a device of these tests
/// lives a day in a second.
fn settled(device: &ServedDevice) -> DeviceStats {
    let mut last = stats(device);
    for _ in 0..1_000 {
        std::thread::sleep(std::time::Duration::from_millis(2));
        // Idle work is done when the next request comes.
        content(device);
        let next = stats(device);
        let done = |stats: &DeviceStats| {
            stats.flash.as_ref().map(|flash| (flash.programs, flash.erases, flash.free_blocks))
        };
        if done(&next) == done(&last) {
            return next;
        }
        last = next;
    }
    panic!("its idle work does not end: {last:?}")
}

#[test]
fn a_restart_keeps_the_data_and_the_flash() {
    for profile in PROFILES {
        for closes in [true, false] {
            let what = format!("{profile}, closed: {closes}");
            let folder = tempfile::tempdir().unwrap();
            let store = Some(folder.path().join("device"));
            let settings = Settings { store, ..settings(profile, 3) };
            let device = ServedDevice::open(&settings).unwrap();
            let mut witness = Witness::new(3);
            for _ in 0..300 {
                witness.step(&device);
            }
            device.flush().unwrap();
            let held = content(&device);
            let before = settled(&device);
            if closes {
                device.close().unwrap();
            }
            drop(device);
            let device = ServedDevice::open(&settings).unwrap();
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
    let refuse = |settings: &Settings| ServedDevice::open(settings).unwrap_err().to_string();
    let device = ServedDevice::open(&mine).unwrap();
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
    assert!(refuse(&other).contains("give --size"), "{}", refuse(&other));

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
    assert_eq!(content(&ServedDevice::open(&mine).unwrap())[..4096], [1; 4096]);
}

#[test]
fn an_image_is_what_a_new_device_holds_and_its_flash_knows_it() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image");
    let held: Vec<u8> = (0..SPAN).flat_map(|at| crate::common::block(at % 5)).collect();
    std::fs::write(&image, &held).unwrap();
    for profile in ["nexus5-2013", "sd-c10", "zero"] {
        let settings = Settings { image: Some(image.clone()), ..settings(profile, 1) };
        let device = ServedDevice::open(&settings).unwrap();
        assert!(content(&device) == held, "{profile}");
        let flash = stats(&device).flash;
        assert!(flash.is_none_or(|flash| flash.mapped_bytes > Bytes::ZERO), "{profile}");
    }
}

/// A store that holds a device, and its settings.
fn a_store(folder: &std::path::Path, profile: &str) -> Settings {
    let store = Some(folder.join("device"));
    let mine = Settings { store, ..settings(profile, 1) };
    let device = ServedDevice::open(&mine).unwrap();
    device.write(0, &[1; 4096], true).unwrap();
    device.close().unwrap();
    mine
}

#[test]
fn no_image_and_no_state_is_loaded_over_a_store_that_is_there() {
    for profile in ["nexus5-2013", "zero"] {
        let folder = tempfile::tempdir().unwrap();
        let mine = a_store(folder.path(), profile);
        let image = folder.path().join("image");
        std::fs::write(&image, [2; 4096]).unwrap();
        let refuse = |settings: &Settings| ServedDevice::open(settings).unwrap_err().to_string();
        let over = refuse(&Settings { image: Some(image), ..mine.clone() });
        assert!(over.contains("already holds a device") && over.contains("leave out"), "{over}");
        if profile != "zero" {
            for state in ["new", "full", "aged:1mo"] {
                let age = Some(state.parse().unwrap());
                let over = refuse(&Settings { age, ..mine.clone() });
                assert!(over.contains("--state applies only to a new one"), "{state}: {over}");
            }
        }
        assert_eq!(content(&ServedDevice::open(&mine).unwrap())[..4096], [1; 4096], "{profile}");
    }
}

#[test]
fn what_is_gone_beside_a_store_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let mine = a_store(folder.path(), "nexus5-2013");
    let [data, log] = ["device", "device.log"].map(|name| folder.path().join(name));
    let refuse = |settings: &Settings| ServedDevice::open(settings).unwrap_err().to_string();
    let other = refuse(&Settings { profile: "zero".to_owned(), ..mine.clone() });
    assert!(other.contains("it is of profile nexus5-2013, not zero"), "{other}");

    let kept = std::fs::read(&log).unwrap();
    std::fs::remove_file(&log).unwrap();
    assert!(refuse(&mine).contains("cannot keep the log"), "{}", refuse(&mine));
    std::fs::write(&log, "").unwrap();
    assert!(refuse(&mine).contains("it is empty"), "{}", refuse(&mine));
    std::fs::write(&log, kept).unwrap();

    let aside = folder.path().join("aside");
    let flash = folder.path().join("device.flash");
    std::fs::rename(&flash, &aside).unwrap();
    let alone = refuse(&mine);
    assert!(alone.contains("device.flash") && alone.contains("the log of its requests"), "{alone}");
    std::fs::rename(&aside, &flash).unwrap();

    std::fs::rename(&data, &aside).unwrap();
    let gone = refuse(&mine);
    assert!(gone.contains("its data is gone") && gone.contains("device.flash"), "{gone}");
    assert!(!data.exists(), "an empty device took its place");
    std::fs::rename(&aside, &data).unwrap();
    assert_eq!(content(&ServedDevice::open(&mine).unwrap())[..4096], [1; 4096]);
}

#[test]
fn a_start_that_goes_wrong_leaves_no_store_behind() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("device");
    let image = folder.path().join("image");
    let mine = Settings { store: Some(store.clone()), ..settings("nexus5-2013", 1) };
    let loads = Settings { image: Some(image.clone()), ..mine.clone() };
    std::fs::File::create(&image).unwrap().set_len(mine.size.unwrap().0 + 1).unwrap();
    let large = ServedDevice::open(&loads).unwrap_err().to_string();
    assert!(large.contains("the device"), "{large}");
    assert_eq!(folder.path().read_dir().unwrap().count(), 1, "only the image");
    // Killed while it loads: the file is smaller than the device.
    std::fs::write(&store, [3; 8192]).unwrap();
    let half = ServedDevice::open(&mine).unwrap_err().to_string();
    assert!(half.contains("8192 bytes") && half.contains("cut short"), "{half}");
    std::fs::remove_file(&store).unwrap();
    std::fs::write(&image, [4; 4096]).unwrap();
    let device = ServedDevice::open(&loads).unwrap();
    assert_eq!(content(&device)[..4096], [4; 4096]);
    assert_eq!(std::fs::metadata(&store).unwrap().len(), mine.size.unwrap().0);
}

#[test]
fn what_a_device_holds_is_its_owners_alone() {
    use std::os::unix::fs::MetadataExt;
    let folder = tempfile::tempdir().unwrap();
    let mine = a_store(folder.path(), "nexus5-2013");
    let device = ServedDevice::open(&mine).unwrap();
    let path = folder.path().join("recording");
    let record = Command::Record { path, data: true, limit: Bytes::from_mib(1) };
    device.tell(&record).unwrap();
    for entry in folder.path().read_dir().unwrap().flatten() {
        let mode = entry.metadata().unwrap().mode() & 0o777;
        assert_eq!(mode, 0o600, "{:?} has {mode:o}", entry.path());
    }
}
