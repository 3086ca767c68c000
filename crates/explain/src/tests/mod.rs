//! Each kind of finding on a constructed run, with values one step to each side of its thresholds.
#![allow(clippy::unwrap_used)]

mod effects;
mod list;
mod odd;
mod pairs;
mod planted;
mod waits;
mod within;

use flashlag_schema::Run;
use flashlag_schema::finding::{Cause, CauseId};

use crate::findings;

/// The cause of that kind.
fn cause(run: &Run, id: CauseId) -> Option<Cause> {
    findings(run).causes.into_iter().find(|cause| cause.id == id)
}

fn is_ruled_out(run: &Run, id: CauseId) -> bool {
    findings(run).ruled_out.iter().any(|out| out.id == id)
}

/// Neither a cause nor ruled out.
fn is_silent(run: &Run, id: CauseId) -> bool {
    cause(run, id).is_none() && !is_ruled_out(run, id)
}
