//! The worker's side: receives chunks and sends points, one message each.

use std::io::{Read, Write};

use super::frame::{Said, Task, receive, send};
use crate::chunk::{Happened, Version, measure_each};
use crate::error::SweepError;

/// Measures the chunks that arrive at `input` until it ends, and sends the results to `output`: the
/// work of a process of [`Workers`](super::Workers).
pub fn be_a_worker(input: &mut impl Read, output: &mut impl Write) -> Result<(), SweepError> {
    ends_with_its_sweep();
    let gone = |source| SweepError::Worker { reason: format!("the sweep is gone: {source}") };
    send(output, &Said::Hello(Version::own())).map_err(gone)?;
    while let Some(Task { chunk, skip }) = receive(input).map_err(gone)? {
        let mut tell = |happened: Happened| {
            let said = match happened {
                Happened::Begins(leave) => Said::Begun(leave),
                Happened::Ended(measured) => Said::Measured(measured),
            };
            send(output, &said)
        };
        if let Err(error) = measure_each(&chunk, skip, &mut tell) {
            send(output, &Said::Refused(error.to_string())).map_err(gone)?;
        }
    }
    Ok(())
}

/// Makes the kernel kill the worker if the sweep is killed, and before the sweep if memory runs
/// out.
#[cfg(target_os = "linux")]
fn ends_with_its_sweep() {
    use rustix::process::{Signal, set_parent_process_death_signal};
    // If neither works, the end of the pipe ends the worker after its present point.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    let _ = std::fs::write("/proc/self/oom_score_adj", "500");
}

#[cfg(not(target_os = "linux"))]
fn ends_with_its_sweep() {}
