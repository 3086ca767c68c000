//! Patience with a cable: what fails because the phone is gone is tried again once the phone is back.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use flashlag_android::{PhoneError, RunOnPhone};

use crate::events::{Event, Observer};

/// From one look for the phone to the next.
const LOOK: Duration = Duration::from_millis(500);

/// Does something on the phone, again whenever the phone went away and came back.
///
/// # Errors
/// What does not come from the cable, or [`PhoneError::Left`] once the user stops waiting.
pub(super) fn patiently<T>(
    on: &RunOnPhone,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
    mut action: impl FnMut() -> Result<T, PhoneError>,
) -> Result<T, PhoneError> {
    loop {
        match action() {
            Err(error) if error.is_of_the_cable() => wait(on, stop, observer)?,
            other => return other,
        }
    }
}

/// Waits until the phone can be used.
///
/// # Errors
/// [`PhoneError::Left`] once the user stops waiting.
pub(super) fn wait(
    on: &RunOnPhone,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<(), PhoneError> {
    let mut noted = false;
    while !on.transport().is_there() {
        if !noted {
            noted = true;
            observer.event(Event::Note(
                "the phone is gone: the run goes on there; waiting for the phone to be connected again",
            ));
        }
        if stop.load(Ordering::Relaxed) {
            return Err(PhoneError::Left(on.transport().serial().to_owned()));
        }
        std::thread::sleep(LOOK);
    }
    if noted {
        observer.event(Event::Note("the phone is back"));
    }
    Ok(())
}
