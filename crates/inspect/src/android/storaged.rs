use std::cell::Cell;
use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use flashlag_schema::OtherIo;
use flashlag_spec::Reading;
use flashlag_units::Bytes;

use super::service::{is_android, program};
use crate::reason::Reason;
use crate::root::Root;

/// Requests the counts up to this moment: on its own the daemon collects them once an hour.
const ARGUMENTS: [&str; 4] = ["storaged", "--force", "--hours", "24"];
/// Numbers after a name: bytes read and written in the foreground and in the background, first on
/// battery and then on a charger.
const NUMBERS: usize = 8;

/// What other apps and services read and wrote, as Android's storage daemon counts it by user: each
/// app is a user of its own. The daemon needs Android 8 and a kernel with `/proc/uid_io`.
///
/// Source of the format: `StoragedService::dump` and `uid_monitor` of the Android Open Source
/// Project, and the test of its compatibility suite (`StoragedDumpsysTest`).
#[derive(Debug, Default)]
pub struct OtherApps {
    /// When counting began, in seconds since 1970 by the phone's clock.
    since: Cell<Option<u64>>,
}

impl OtherApps {
    /// What was read and written since the last call. The first call starts counting.
    pub fn read(&self, root: &Root) -> Reading<OtherIo> {
        self.read_on_android(root).into()
    }

    /// Bytes that each other app and service read and wrote since the last call, by name. The first call
    /// starts counting.
    ///
    /// # Errors
    /// This is not Android, the daemon does not answer, or this was the first call.
    pub fn by_name(&self, root: &Root) -> Result<Vec<(String, Bytes)>, Reason> {
        let own = own_names(rustix::process::getuid().as_raw()).unwrap_or_default();
        let (records, since) = self.records(root)?;
        Ok(by_name(&records, since, own))
    }

    fn read_on_android(&self, root: &Root) -> Result<OtherIo, Reason> {
        let own = own_names(rustix::process::getuid().as_raw());
        let (records, since) = self.records(root)?;
        between(&records, since, own?)
    }

    /// The daemon's records, and when those begin that have not been read before.
    fn records(&self, root: &Root) -> Result<(Vec<Record>, u64), Reason> {
        if !is_android(root) {
            return Err("only Android's storage daemon counts it".into());
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        let since = self.since.take();
        let records = parsed(&program(root, "dumpsys", &ARGUMENTS)?)?;
        // A period in which nothing happened has no record.
        let until = records.iter().map(|record| record.end).max().unwrap_or(0).max(now);
        self.since.set(Some(until));
        Ok((records, since.ok_or("counting began with this reading")?))
    }
}

/// What one user did in one period.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Record {
    start: u64,
    end: u64,
    name: String,
    io: OtherIo,
}

/// The names under which the daemon counts this program.
fn own_names(user: u32) -> Result<&'static [&'static str], Reason> {
    match user {
        0 => Ok(&["0", "root"]),
        2000 => Ok(&["2000", "shared:android.uid.shell", "com.android.shell"]),
        other => Err(Reason::none(format!(
            "the name under which Android counts the user {other} is not known"
        ))),
    }
}

/// The sum of the records that began at `since` or later, except this program's own.
fn between(records: &[Record], since: u64, own: &[&str]) -> Result<OtherIo, Reason> {
    let records: Vec<_> = records.iter().filter(|record| record.start >= since).collect();
    // A run always writes. If its own name is not found, its bytes would pass for another app's.
    if !records.iter().any(|record| own.contains(&record.name.as_str())) {
        let what = "has nothing of this program since the last reading";
        return Err(Reason::content("dumpsys storaged", what));
    }
    let others = records.iter().filter(|record| !own.contains(&record.name.as_str()));
    Ok(others.fold(OtherIo::default(), |sum, record| sum.plus(record.io)))
}

/// Bytes of the records that began at `since` or later, except this program's own.
fn by_name(records: &[Record], since: u64, own: &[&str]) -> Vec<(String, Bytes)> {
    let mut sums: BTreeMap<&str, Bytes> = BTreeMap::new();
    for Record { name, io, .. } in records.iter().filter(|record| record.start >= since) {
        if !own.contains(&name.as_str()) {
            let sum = sums.entry(name).or_default();
            *sum = sum.plus(io.read_bytes).plus(io.write_bytes);
        }
    }
    sums.into_iter().map(|(name, bytes)| (name.to_owned(), bytes)).collect()
}

/// Parses the daemon's text: for each period a line `START,END` (START is omitted if it equals the
/// previous END), then a line for each user.
fn parsed(text: &str) -> Result<Vec<Record>, Reason> {
    let odd = || Reason::odd("dumpsys storaged");
    // The text may have been cut within a number.
    if !text.is_empty() && !text.ends_with('\n') {
        return Err(odd());
    }
    let mut time = None;
    let mut records = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        if let Some((start, end)) = line.split_once(',') {
            let before = time.map(|(_, end)| end);
            let start = if start.is_empty() { before } else { start.parse().ok() };
            time = Some((start.ok_or_else(odd)?, end.parse().map_err(|_| odd())?));
            continue;
        }
        let (start, end) = time.ok_or_else(odd)?;
        let mut words = line.rsplitn(NUMBERS + 1, ' ');
        let mut numbers = [0; NUMBERS];
        for number in numbers.iter_mut().rev() {
            *number = words.next().and_then(|word| word.parse().ok()).ok_or_else(odd)?;
        }
        let name = words.next().ok_or_else(odd)?.to_owned();
        let sum = |first: usize| {
            let each = numbers.iter().skip(first).step_by(2);
            Bytes(each.fold(0_u64, |sum, number| sum.saturating_add(*number)))
        };
        let io = OtherIo { read_bytes: sum(0), write_bytes: sum(1) };
        records.push(Record { start, end, name, io });
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SHELL: &[&str] = &["2000", "shared:android.uid.shell", "com.android.shell"];

    fn fixture(model: &str) -> String {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/android");
        std::fs::read_to_string(format!("{folder}/{model}/dumpsys/storaged.txt")).unwrap()
    }

    fn io(read: u64, write: u64) -> OtherIo {
        OtherIo { read_bytes: Bytes(read), write_bytes: Bytes(write) }
    }

    #[test]
    fn the_apps_of_a_model_are_summed_from_a_moment_on_and_the_own_shell_is_none() {
        let pixel = parsed(&fixture("pixel4-android13")).unwrap();
        assert_eq!(pixel.len(), 8);
        assert_eq!(pixel[0].name, "0");
        let (hour, test) = (1_700_000_000, 1_700_003_600);
        assert_eq!(between(&pixel, test, SHELL), Ok(io(0, 4096 + 8192 + 155_648)));
        assert_eq!(
            between(&pixel, hour, SHELL),
            Ok(io(12_288 + 73_728 + 4096, 57_344 + 94_208 + 20_480 + 4096 + 8192 + 155_648))
        );
        let galaxy = parsed(&fixture("galaxy-s20fe-android11")).unwrap();
        assert_eq!(between(&galaxy, 1_650_000_900, SHELL), Ok(io(16_384, 1_056_768)));
    }

    #[test]
    fn the_bytes_of_each_app_add_up_to_those_of_all_others() {
        for (model, since) in
            [("pixel4-android13", 1_700_000_000), ("pixel4-android13", 1_700_003_600)]
        {
            let records = parsed(&fixture(model)).unwrap();
            let apps = by_name(&records, since, SHELL);
            assert!(apps.iter().all(|(name, _)| !SHELL.contains(&name.as_str())), "{apps:?}");
            let OtherIo { read_bytes, write_bytes } = between(&records, since, SHELL).unwrap();
            let sum = apps.iter().fold(Bytes(0), |sum, (_, bytes)| sum.plus(*bytes));
            assert_eq!(sum, read_bytes.plus(write_bytes));
        }
        let records = parsed("10,20\na b 1 1 1 1 1 1 1 1\n,30\na b 1 0 0 0 0 0 0 0\n").unwrap();
        assert_eq!(by_name(&records, 10, SHELL), [("a b".to_owned(), Bytes(9))]);
        assert_eq!(by_name(&records, 20, SHELL), [("a b".to_owned(), Bytes(1))]);
        assert!(by_name(&records, 30, SHELL).is_empty());
    }

    #[test]
    fn a_time_without_this_program_is_absent_since_its_name_may_be_another() {
        let records = parsed("10,20\ncom.app 1 2 3 4 5 6 7 8\n").unwrap();
        assert_eq!(records[0].io, io(1 + 3 + 5 + 7, 2 + 4 + 6 + 8));
        assert!(between(&records, 10, SHELL).is_err());
        assert!(between(&records, 10, &["com.app"]).is_ok_and(|others| others == io(0, 0)));
        assert!(between(&records, 11, &["com.app"]).is_err(), "it began before");
        assert!(between(&[], 0, SHELL).is_err() && parsed("").unwrap().is_empty());
        assert!(own_names(10_123).is_err() && own_names(2000) == Ok(SHELL));
    }

    #[test]
    fn times_that_follow_each_other_name_their_start_once() {
        let records = parsed("10,20\na 0 1 0 0 0 0 0 0\n,30\na 0 2 0 0 0 0 0 0\n\n").unwrap();
        let times: Vec<_> = records.iter().map(|record| (record.start, record.end)).collect();
        assert_eq!(times, [(10, 20), (20, 30)]);
    }

    #[test]
    fn odd_texts_are_absent_and_not_wrong() {
        for odd in [
            "com.app 1 2 3 4 5 6 7 8\n",
            ",20\ncom.app 1 2 3 4 5 6 7 8\n",
            "10,20\ncom.app 1 2 3 4 5 6 7\n",
            "10,20\ncom.app 1 2 3 4 5 6 7 viele\n",
            "10,20\ncom.app -1 2 3 4 5 6 7 8\n",
            "10,20\ncom.app 1 2 3 4 5 6 7 99999999999999999999\n",
            "10,morgen\ncom.app 1 2 3 4 5 6 7 8\n",
            "10,20\n1 2 3 4 5 6 7 8\n",
            "Permission Denial: can't dump storaged\n",
        ] {
            assert!(parsed(odd).is_err(), "{odd}");
        }
        let most = format!("1,2\nb {m} {m} {m} {m} {m} {m} {m} {m}\n", m = u64::MAX);
        let most = parsed(&(most + ",3\n2000 0 0 0 0 0 0 0 0\n,4\nb 1 1 1 1 1 1 1 1\n")).unwrap();
        assert_eq!(between(&most, 1, SHELL), Ok(io(u64::MAX, u64::MAX)));
    }

    #[test]
    fn a_text_cut_anywhere_is_absent_or_lacks_whole_lines() {
        let whole = fixture("pixel4-android13");
        let records = parsed(&whole).unwrap();
        for at in 0..whole.len() {
            match parsed(&whole[..at]) {
                Ok(part) => assert!(records.starts_with(&part), "{at}"),
                Err(_) => assert_ne!(whole.as_bytes()[at - 1], b'\n', "{at}"),
            }
        }
    }

    proptest! {
        #[test]
        fn no_text_is_worse_than_absent(text in "[0-9, a-z\n.:-]{0,200}") {
            if let Ok(records) = parsed(&text) {
                let _ = between(&records, 0, SHELL);
            }
        }
    }
}
