//! What a run makes Android do: stay awake, and trim.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::error::{AskError, PhoneError, SystemError};
use crate::folder::Folder;

/// Runs a program of Android and returns its output, or why there is none.
pub type Ask<'a> = &'a dyn Fn(&str, &[&str]) -> Result<String, AskError>;

/// The settings that keep the screen on, and so the phone awake: with any charger (AC, USB,
/// wireless and dock: 1, 2, 4 and 8), and without one.
const SETTINGS: [(&str, &str, &str); 2] =
    [("global", "stay_on_while_plugged_in", "15"), ("system", "screen_off_timeout", "2147483647")];
/// Keycodes for Android's `input`: KEYCODE_WAKEUP and KEYCODE_SLEEP.
const WAKE: &str = "224";
const SLEEP: &str = "223";
/// The first SDK levels whose `sm` has idle maintenance (Android 9) and a trim (Android 7).
const IDLE_MAINTENANCE: u32 = 28;
const TRIM: u32 = 24;
/// How vold's log reports a trimmed filesystem: `IdleMaint.cpp` of the Android Open Source Project,
/// and `TrimTask.cpp` before Android 9.
const TRIMMED: &str = "Trimmed ";
/// Interval between two readings of the log.
const LOOK: Duration = Duration::from_secs(2);
/// The longest trim to wait for.
const LONGEST_TRIM: Duration = Duration::from_secs(300);

/// The phone's settings before it was kept awake.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Before {
    /// The values of [`SETTINGS`], `null` where a setting had none.
    values: [String; 2],
    /// Whether the screen was on.
    screen_on: bool,
}

/// Keeps the phone awake, with its screen on. The previous settings are stored in the folder, so
/// that they are restored even if this process is killed.
///
/// # Errors
/// This user may not change settings; the phone may then fall asleep.
pub fn keep_awake(folder: &Folder, screen_on: bool, ask: Ask<'_>) -> Result<(), SystemError> {
    let path = folder.awake();
    if !std::path::Path::new(&path).exists() {
        let value = |(space, key, _): (&str, &str, &str)| {
            ask("settings", &["get", space, key]).map(|value| value.trim().to_owned())
        };
        let [first, second] = SETTINGS.map(value);
        let before = Before { values: [first?, second?], screen_on };
        let text = serde_json::to_vec(&before).map_err(std::io::Error::from);
        text.and_then(|text| std::fs::write(&path, text))
            .map_err(|source| SystemError::Settings { path: path.into(), source })?;
    }
    for (space, key, value) in SETTINGS {
        ask("settings", &["put", space, key, value])?;
    }
    ask("input", &["keyevent", WAKE])?;
    Ok(())
}

/// Restores the settings that [`keep_awake`] changed, if it did, and turns the screen off if it was
/// off before.
pub fn let_sleep(folder: &Folder, ask: Ask<'_>) -> Result<(), PhoneError> {
    let path = folder.awake();
    let Ok(text) = std::fs::read_to_string(&path) else { return Ok(()) };
    // A truncated file was written before anything was changed.
    if let Ok(before) = serde_json::from_slice::<Before>(text.as_bytes()) {
        for ((space, key, _), value) in SETTINGS.into_iter().zip(&before.values) {
            let put = match value.as_str() {
                "null" | "" => ask("settings", &["delete", space, key]),
                value => ask("settings", &["put", space, key, value]),
            };
            put.map_err(|reason| PhoneError::Command {
                what: format!("putting the setting {key} back to {value}"),
                reason: reason.to_string(),
            })?;
        }
        if !before.screen_on {
            // The screen goes off by itself a little later anyway.
            let _ = ask("input", &["keyevent", SLEEP]);
        }
    }
    std::fs::remove_file(&path).map_err(PhoneError::file("remove", &path))
}

/// Makes Android trim its filesystems, and waits for the line of the log that reports it. Returns
/// the number of bytes trimmed on a mount point.
///
/// # Errors
/// This version of Android has no such command, does not allow it, or does not report that the trim
/// ended.
pub fn trim_by_system(
    mount_point: &str,
    sdk: Option<u32>,
    ask: Ask<'_>,
) -> Result<u64, SystemError> {
    trim_within(LONGEST_TRIM, LOOK, mount_point, sdk, ask)
}

fn trim_within(
    longest: Duration,
    look: Duration,
    mount_point: &str,
    sdk: Option<u32>,
    ask: Ask<'_>,
) -> Result<u64, SystemError> {
    let words: &[&str] = match sdk {
        Some(sdk) if sdk >= IDLE_MAINTENANCE => &["idle-maint", "run"],
        Some(sdk) if sdk >= TRIM => &["fstrim"],
        _ => return Err(SystemError::NoTrim),
    };
    let command = format!("sm {}", words.join(" "));
    let log = || ask("logcat", &["-d", "-v", "epoch", "-s", "vold", "TrimTask"]);
    let before = log().map_err(|source| SystemError::NoLog { command: command.clone(), source })?;
    let before = trims(&before, mount_point).len();
    let refused = |reason| SystemError::Refused { command: command.clone(), reason };
    let said = ask("sm", words).map_err(|reason| refused(reason.to_string()))?;
    if ["Error", "Exception", "usage"].iter().any(|word| said.contains(word)) {
        let line = said.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        return Err(refused(crate::identity::printable(line)));
    }
    let until = Instant::now() + longest;
    loop {
        let found = trims(&log().unwrap_or_default(), mount_point);
        if let Some(bytes) = found.get(before..).and_then(|new| new.last()) {
            return Ok(*bytes);
        }
        if Instant::now() > until {
            let mount_point = mount_point.to_owned();
            return Err(SystemError::Silent { command, limit: longest, mount_point });
        }
        std::thread::sleep(look);
    }
}

/// The bytes of each trim of a mount point, in a log.
fn trims(log: &str, mount_point: &str) -> Vec<u64> {
    let one = |line: &str| {
        let (_, rest) = line.split_once(TRIMMED)?;
        let (bytes, rest) = rest.split_once(" bytes on ")?;
        let (path, _) = rest.split_once(" in ")?;
        (path == mount_point).then(|| bytes.trim().parse().ok())?
    };
    log.lines().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::BTreeMap;

    use super::*;

    /// Remembers a phone's settings.
    #[derive(Default)]
    struct Settings(RefCell<BTreeMap<String, String>>, RefCell<Vec<String>>);

    impl Settings {
        fn ask(&self, program: &str, words: &[&str]) -> Result<String, AskError> {
            let mut values = self.0.borrow_mut();
            match (program, words) {
                ("settings", ["get", _, key]) => {
                    Ok(values.get(*key).cloned().unwrap_or_else(|| "null".to_owned()) + "\n")
                }
                ("settings", ["put", _, key, value]) => {
                    values.insert((*key).to_owned(), (*value).to_owned());
                    Ok(String::new())
                }
                ("settings", ["delete", _, key]) => {
                    values.remove(*key);
                    Ok(String::new())
                }
                ("input", [_, key]) => {
                    self.1.borrow_mut().push((*key).to_owned());
                    Ok(String::new())
                }
                _ => Err(format!("no {program} {words:?}").into()),
            }
        }
    }

    #[test]
    fn settings_are_put_back_as_they_were_even_by_another_process() {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::at(&home.path().to_string_lossy());
        let phone = Settings::default();
        phone.0.borrow_mut().insert("screen_off_timeout".to_owned(), "30000".to_owned());
        let before = phone.0.borrow().clone();
        let ask = |program: &str, words: &[&str]| phone.ask(program, words);
        let_sleep(&folder, &ask).unwrap();
        assert_eq!(*phone.0.borrow(), before, "nothing to put back");
        keep_awake(&folder, false, &ask).unwrap();
        assert_eq!(phone.0.borrow()["screen_off_timeout"], "2147483647");
        // The process was killed; the next one must not take the changed values for the user's.
        keep_awake(&folder, true, &ask).unwrap();
        let_sleep(&folder, &ask).unwrap();
        assert_eq!(*phone.0.borrow(), before);
        assert_eq!(*phone.1.borrow(), ["224", "224", "223"]);
        assert!(!std::path::Path::new(&folder.awake()).exists());
    }

    #[test]
    fn where_settings_are_not_allowed_nothing_is_stored() {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::at(&home.path().to_string_lossy());
        let refuse = |_: &str, _: &[&str]| Err(AskError::from("Permission denial"));
        let refused = keep_awake(&folder, true, &refuse).unwrap_err();
        assert!(matches!(refused, SystemError::NoAnswer(_)), "{refused:?}");
        assert_eq!(refused.to_string(), "Permission denial");
        assert!(!std::path::Path::new(&folder.awake()).exists());
    }

    const OLD: &str =
        "  1700000000.123   512   530 I vold    : Trimmed 4096 bytes on /data in 5ms\n";
    const NEW: &str = "  1700000100.123   512   530 I vold    : Trimmed 1 bytes on /cache in 5ms\n\
                         1700000100.200   512   530 I vold    : Trimmed 8192 bytes on /data in 9ms\n";

    fn trimmed(sdk: u32, answer: &str, after: &str) -> Result<u64, SystemError> {
        let (asked, times) = (RefCell::new(Vec::new()), RefCell::new(0));
        let ask = |program: &str, words: &[&str]| {
            if program == "sm" {
                asked.borrow_mut().push(words.join(" "));
                return Ok(answer.to_owned());
            }
            *times.borrow_mut() += 1;
            Ok(if *times.borrow() < 3 { OLD.to_owned() } else { format!("{OLD}{after}") })
        };
        let short = Duration::from_millis(30);
        let result = trim_within(short, Duration::from_millis(1), "/data", Some(sdk), &ask);
        let expected = if sdk >= 28 { "idle-maint run" } else { "fstrim" };
        assert!(asked.borrow().iter().all(|words| words == expected));
        result
    }

    #[test]
    fn a_trim_counts_once_the_log_says_so_of_this_filesystem() {
        assert_eq!(trimmed(33, "", NEW).unwrap(), 8192);
        assert_eq!(trimmed(25, "", NEW).unwrap(), 8192);
        let silent = trimmed(33, "", "").unwrap_err().to_string();
        assert!(silent.contains("was accepted") && silent.contains("/data"), "{silent}");
        let refused =
            trimmed(33, "\nError: java.lang.SecurityException: no\n", NEW).unwrap_err().to_string();
        assert!(refused.contains("not allowed here (Error: java.lang"), "{refused}");
        let old = trimmed(23, "", NEW).unwrap_err();
        assert!(matches!(old, SystemError::NoTrim), "{old:?}");
    }
}
