use super::service::program;
use crate::reason::Reason;
use crate::root::Root;

/// Whether the screen is on, as Android's power service prints it.
///
/// Source of the format: `PowerManagerService.dumpInternal` of the Android Open Source Project, Android
/// 5 to 15.
///
/// # Errors
/// The service can't be asked, or does not say.
pub fn screen_on(root: &Root) -> Result<bool, Reason> {
    parsed(&program(root, "dumpsys", &["power"])?)
}

fn parsed(text: &str) -> Result<bool, Reason> {
    let value = |key: &str| text.lines().find_map(|line| line.trim().strip_prefix(key));
    match (value("Display Power: state="), value("mWakefulness=")) {
        (Some(state), _) => Ok(state.trim() == "ON"),
        (None, Some(wakefulness)) => Ok(wakefulness.trim() == "Awake"),
        (None, None) => {
            Err(Reason::content("dumpsys power", "does not say whether the screen is on"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_display_counts_and_else_whether_the_phone_is_awake() {
        assert_eq!(parsed("  mWakefulness=Dozing\nDisplay Power: state=ON\n"), Ok(true));
        assert_eq!(parsed("Display Power: state=DOZE\n"), Ok(false));
        assert_eq!(parsed("  mWakefulness=Awake\n"), Ok(true));
        assert_eq!(parsed("  mWakefulness=Asleep\n"), Ok(false));
        assert!(parsed("Bildschirm: an").is_err() && parsed("").is_err());
    }
}
