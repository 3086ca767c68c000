//! The worker's side: chunks come in, points go out, one message each.

use std::io::{Read, Write};

use super::frame::{Said, Task, receive, send};
use crate::chunk::{Happened, Version, measure_each};
use crate::error::SweepError;

/// Measures the chunks that arrive at `input` until it ends, and says at `output` what they gave: what a
/// process of [`Workers`](super::Workers) does.
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

/// A sweep that is killed leaves no worker behind; and where memory runs out, the worker ends before it.
#[cfg(target_os = "linux")]
fn ends_with_its_sweep() {
    use rustix::process::{Signal, set_parent_process_death_signal};
    // Without either the end of the pipe ends the worker, after its point.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    let _ = std::fs::write("/proc/self/oom_score_adj", "500");
}

#[cfg(not(target_os = "linux"))]
fn ends_with_its_sweep() {}
