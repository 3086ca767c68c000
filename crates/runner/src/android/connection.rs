//! Patience with a cable: an operation that fails because the phone is gone is repeated once it is
//! back.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use flashlag_android::{PhoneError, RunOnPhone};

use crate::events::{Event, Observer};

/// Interval between two checks for the phone.
const LOOK: Duration = Duration::from_millis(500);
/// How often an operation is retried on a phone that stays connected: adb may need a moment after
/// the cable is back; an operation that keeps failing has another reason.
const TRIES: u32 = 6;

/// Does an operation on the phone, and repeats it whenever the connection was lost and has come
/// back. Fails with errors that the cable does not explain, or [`PhoneError::Left`] if the user
/// stops waiting.
pub(super) fn patiently<T>(
    on: &RunOnPhone,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
    mut action: impl FnMut() -> Result<T, PhoneError>,
) -> Result<T, PhoneError> {
    let mut failed = 0;
    loop {
        let error = match action() {
            Err(error) if error.is_of_the_cable() => error,
            other => return other,
        };
        let was_gone = wait(on, stop, observer)?;
        failed = if was_gone { 1 } else { failed + 1 };
        if failed >= TRIES {
            return Err(error);
        }
        std::thread::sleep(LOOK);
    }
}

/// Waits until the phone can be used. Returns whether it was gone.
///
/// # Errors
/// [`PhoneError::Left`] once the user stops waiting.
pub(super) fn wait(
    on: &RunOnPhone,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<bool, PhoneError> {
    let mut noted = false;
    while !on.place().transport().is_there() {
        if !noted {
            noted = true;
            observer.event(Event::Note(
                "the phone is gone: the run goes on there; waiting for the phone to be connected again",
            ));
        }
        if stop.load(Ordering::Relaxed) {
            return Err(PhoneError::Left(on.place().transport().serial().to_owned()));
        }
        std::thread::sleep(LOOK);
    }
    if noted {
        observer.event(Event::Note("the phone is back"));
    }
    Ok(noted)
}
