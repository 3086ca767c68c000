//! A scenario on a phone: this program is copied there and makes the run as in any directory; this
//! end follows it and fetches the result.

mod connection;
mod explain;
mod follow;
mod on_phone;
mod order;
mod phone;
mod watch;

pub use explain::explain_phone;
pub use on_phone::be_on_the_phone;
pub use phone::phones;
pub(crate) use phone::{PhoneRun, prepare, run};
pub use watch::{PhoneWatch, Watcher};

use flashlag_android::{Adb, PhoneError, RunOnPhone, WatchOnPhone};
use flashlag_spec::target::{PHONE_DIRECTORY, PhoneSpec};

use crate::error::RunError;

/// Ends the run on each phone of a target and removes everything that was put there. Returns a
/// sentence for each phone.
///
/// # Errors
/// Fails as [`phones`] does, and if a phone is disconnected meanwhile.
pub fn clean_phones(spec: &PhoneSpec) -> Result<Vec<String>, RunError> {
    let refuse = |source: PhoneError| RunError::Phone { target: spec.to_string(), source };
    let adb = Adb::find().map_err(refuse)?;
    let mut said = Vec::new();
    for phone in phones(spec)? {
        let on = RunOnPhone::new(Box::new(adb.phone(&phone.serial)));
        let cleaned = clean(&on).map_err(refuse)?;
        let watch = WatchOnPhone::new(Box::new(adb.phone(&phone.serial)));
        let serial = &phone.serial;
        said.push(if watch.is_there().map_err(refuse)? {
            format!("{serial}: {cleaned}; a watch is there: `flashlag watch fetch adb:{serial} --end` ends it")
        } else {
            format!("{serial}: {cleaned}")
        });
    }
    Ok(said)
}

/// How long a run may take to end after a request to stop.
const ENDING: std::time::Duration = std::time::Duration::from_secs(120);

fn clean(on: &RunOnPhone) -> Result<&'static str, PhoneError> {
    use flashlag_android::protocol::RunState;
    let (at, was_under_way) = match on.found() {
        // A host that prepares a run there finds its files gone.
        Ok(None) | Err(PhoneError::Taken { .. }) => {
            return Ok(if on.remove()? { "files removed" } else { "no files of flashlag here" });
        }
        Ok(Some((order, state))) => (order.run.at, state == RunState::UnderWay),
        // The program on the phone has the version of the order, so it understands the message.
        Err(PhoneError::OtherOrder(_)) => {
            (PHONE_DIRECTORY.to_owned(), on.state()? == RunState::UnderWay)
        }
        Err(error) => return Err(error),
    };
    if was_under_way {
        on.stop()?;
        let until = std::time::Instant::now() + ENDING;
        while on.state()? == RunState::UnderWay {
            if std::time::Instant::now() > until {
                return Err(PhoneError::Reported("the run does not end".to_owned()));
            }
            std::thread::sleep(std::time::Duration::from_millis(500));
        }
    }
    on.place().sweep(&at)?;
    on.remove()?;
    Ok(if was_under_way { "the run was ended, its files removed" } else { "files removed" })
}
