use std::sync::OnceLock;

use flashlag_spec::profile::Profile;
use proptest::prelude::*;

use super::*;
use flashlag_flash::{minimum_size, model_of_size};

const PROFILE: &str = "nexus5-2013";

fn model() -> &'static Model {
    static MODEL: OnceLock<Model> = OnceLock::new();
    MODEL.get_or_init(|| {
        let profile = Profile::find(PROFILE).unwrap();
        let least = minimum_size(&profile.model().unwrap());
        model_of_size(&profile, least).unwrap()
    })
}

/// A state and its log with a few records, as files hold them.
fn stored() -> &'static [Vec<u8>; 2] {
    static STORED: OnceLock<[Vec<u8>; 2]> = OnceLock::new();
    STORED.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("device");
        let flash = Flash::new(model(), 1).unwrap();
        let mut store = Store::begin(&data, PROFILE, model(), 1, (&flash, Nanos::ZERO)).unwrap();
        for at in 0..8 {
            store.reserve().unwrap();
            store.note(&record(Nanos::from_millis(at))).unwrap();
        }
        [".flash", ".log"].map(|ending| std::fs::read(beside(&data, ending)).unwrap())
    })
}

fn record(at: Nanos) -> Record {
    Record {
        at,
        ended: at.plus(Nanos(1000)),
        offset: Bytes(4096),
        length: Bytes(4096),
        kind: crate::record::RecordKind::Write,
        fua: false,
        has_data: false,
    }
}

/// Restores a flash from the bytes of a state and of a log.
fn restore(flash: &[u8], log: &[u8]) -> Result<Option<StoredState>, ServeError> {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("device");
    std::fs::write(beside(&data, ".flash"), flash).unwrap();
    std::fs::write(beside(&data, ".log"), log).unwrap();
    Store::restore(&data, PROFILE, model(), 1)
}

/// The state with another header.
fn with_header(change: impl Fn(&mut serde_json::Value)) -> Vec<u8> {
    let [flash, _] = stored();
    let end = flash.iter().position(|byte| *byte == b'\n').unwrap();
    let mut header = serde_json::from_slice(&flash[..end]).unwrap();
    change(&mut header);
    [header.to_string().as_bytes(), &flash[end..]].concat()
}

#[test]
fn what_was_stored_is_restored() {
    let [flash, log] = stored();
    let restored = restore(flash, log).unwrap().unwrap();
    assert_eq!(restored.now, Nanos::from_millis(7).plus(Nanos(1000)));
    assert_eq!(restored.store.log.length(), 8 * Record::SIZE as u64);
}

#[test]
fn a_header_that_can_not_be_is_refused_by_name_whatever_its_characters() {
    let [_, log] = stored();
    let refused = |change: &dyn Fn(&mut serde_json::Value)| {
        restore(&with_header(change), log).unwrap_err().to_string()
    };
    let model = refused(&|header| header["model"] = "aéééééééééééé".into());
    assert!(model.contains("other parameters"), "{model}");
    let profile = refused(&|header| header["profile"] = "\u{1b}[31mé\u{202e}\n".repeat(99).into());
    assert!(profile.contains("it is of profile"), "{profile}");
    assert!(!profile.contains(|c: char| c.is_control() || c == '\u{202e}'), "{profile:?}");
    let time = refused(&|header| header["now"] = u64::MAX.into());
    assert!(time.contains("time is not 18446744073709551615 ns"), "{time}");
    let size = refused(&|header| header["size_bytes"] = 1024.into());
    assert!(size.contains("give --size 1024B"), "{size}");
}

#[test]
fn a_log_that_is_gone_empty_or_of_impossible_times_is_refused_by_name() {
    let [flash, log] = stored();
    let refused = |log: &[u8]| restore(flash, log).unwrap_err().to_string();
    assert!(refused(b"").contains("it is empty"), "{}", refused(b""));
    let late = Record { ended: Nanos(u64::MAX), ..record(Nanos(u64::MAX)) }.to_bytes();
    let late = refused(&[log, &late[..]].concat());
    assert!(late.contains("a record of it is damaged"), "{late}");
    let backwards = Record { ended: Nanos(1), ..record(Nanos(2)) }.to_bytes();
    assert!(refused(&[log, &backwards[..]].concat()).contains("damaged"));
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("device");
    std::fs::write(beside(&data, ".flash"), flash).unwrap();
    let gone = Store::restore(&data, PROFILE, model(), 1).unwrap_err().to_string();
    assert!(gone.contains("device.log") && gone.contains("put the log back"), "{gone}");
}

#[test]
fn what_is_behind_the_last_whole_record_is_written_over() {
    let [flash, log] = stored();
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("device");
    std::fs::write(beside(&data, ".flash"), flash).unwrap();
    std::fs::write(beside(&data, ".log"), [&log[..], &[0x5a; 31]].concat()).unwrap();
    let again = |records: u64| {
        let restored = Store::restore(&data, PROFILE, model(), 1).unwrap().unwrap();
        assert_eq!(restored.store.log.length(), records * Record::SIZE as u64);
        restored.store
    };
    again(8).note(&record(Nanos::from_millis(9))).unwrap();
    again(9);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_state_and_no_log_panics(
        which in 0usize..2,
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
        head: bool,
    ) {
        let mut files = stored().clone();
        let file = &mut files[which];
        // Most of a state is its body; changing any byte there has the same effect.
        let most = if head { 700.min(file.len()) } else { file.len() };
        for (at, byte) in edits {
            file[at.index(most)] = byte;
        }
        if let Some(cut) = cut {
            file.truncate(cut.index(file.len()));
        }
        if let Err(error) = restore(&files[0], &files[1]) {
            let text = error.to_string();
            prop_assert!(!text.contains(|c: char| c.is_control()), "{text:?}");
        }
    }
}
