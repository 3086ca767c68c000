//! A scenario inside a real kernel, on a virtual flash device: the host boots a guest whose only
//! process is this program, and the guest measures as in any directory. With `host` the host's own
//! kernel replaces the guest's.

mod boot;
mod complete;
mod cuts;
mod floor;
mod guest;
mod in_guest;
mod on_host;
mod paces;
mod saving;
mod taken;
mod watch;

use flashlag_schema::Run;

pub use cuts::{CutsRequest, cut_in_lab};
pub use flashlag_lab::protocol::FileOrder;
pub use guest::be_the_guest;

use crate::error::RunError;
use crate::events::Observer;
use crate::request::Request;
pub use crate::target::LabTarget;
use boot::LabRun;

/// Runs a scenario in a guest, or on the host's own kernel.
///
/// # Errors
/// The lab lacks something, the guest does not boot or goes away, or the run file can't be written.
pub(crate) fn run(
    request: &Request,
    target: &LabTarget,
    observer: &mut dyn Observer,
) -> Result<Run, RunError> {
    let asked = LabRun { request, target };
    let (mut run, flushes) = if target.spec.host {
        on_host::run(asked, observer)?
    } else {
        in_guest::run(asked, observer)?
    };
    complete::complete(&mut run, asked, flushes);
    match &request.output {
        Some(output) => output.store(&mut run)?,
        None => run.seal(),
    }
    Ok(run)
}
