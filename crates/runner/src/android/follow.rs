//! Follows a run that a phone makes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use flashlag_android::protocol::{Line, Outcome, RunState};
use flashlag_android::{Heard, PhoneError, RunOnPhone};
use flashlag_schema::Run;
use flashlag_stats::live::Live;

use super::connection::{patiently, wait};
use crate::events::Observer;
use crate::remote::pass_on;

/// Interval between two checks of the stop flag.
const LOOK: Duration = Duration::from_millis(200);
/// Pause between two attempts to follow a run that is still under way.
const AGAIN: Duration = Duration::from_millis(500);

/// How a followed run ended.
#[derive(Debug)]
pub(super) struct End {
    pub(super) outcome: Outcome,
    /// The run, if the phone had no room for its file.
    pub(super) unstored: Option<Box<Run>>,
}

/// Follows a run until it ends, however often the cable is pulled.
///
/// # Errors
/// The run was killed on the phone, or the user stopped waiting for a phone that is gone.
pub(super) fn follow(
    on: &RunOnPhone,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<End, PhoneError> {
    let live = Arc::new(Live::default());
    let mut known = 0;
    let mut stopping = false;
    let mut unstored = None;
    loop {
        let following = on.follow(known)?;
        loop {
            if stop.load(Ordering::Relaxed) && !stopping {
                // If the phone is disconnected, the request to stop is repeated once it is back.
                stopping = on.stop().is_ok();
            }
            match following.hear(LOOK) {
                Heard::Nothing => {}
                Heard::Gone => break,
                Heard::Line(line) => match *line {
                    Line::Step { number, step } => {
                        known = number;
                        pass_on(&step, &live, observer);
                    }
                    Line::Tick { tick } => pass_on(&tick, &live, observer),
                    Line::Unstored { run } => unstored = Some(run),
                    Line::Ended(outcome) => return Ok(End { outcome, unstored }),
                },
            }
        }
        wait(on, stop, observer)?;
        let found = patiently(on, stop, observer, || on.found())?;
        match found.map(|(_, state)| state) {
            // A run that can't be followed is polled until it ends.
            Some(RunState::UnderWay) => std::thread::sleep(AGAIN),
            Some(RunState::Ended(outcome)) => return Ok(End { outcome, unstored }),
            Some(RunState::Dead) | None => return Err(PhoneError::Ended),
        }
    }
}
