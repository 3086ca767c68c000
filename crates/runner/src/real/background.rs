//! The background of a test, in a thread of its own.

use flashlag_device::DeviceError;
use flashlag_engine::{Background, FileSet, Job, OpenOptions};

use crate::work::{BackgroundEnd, BackgroundOrder, Controls, INTERVAL};

pub(super) fn start(
    files: &FileSet,
    order: BackgroundOrder<'_>,
    controls: &Controls,
) -> Result<Background, DeviceError> {
    let BackgroundOrder { io, span, seed } = order;
    let job = Job { interval: INTERVAL, ..Job::of(io, span, seed) };
    Background::start_within(files.clone(), OpenOptions::of(io), job, controls.budget.clone())
}

pub(super) fn end(background: Background) -> Result<BackgroundEnd, DeviceError> {
    let driven = background.finish()?;
    Ok(BackgroundEnd {
        moved: driven.moved,
        elapsed: driven.recorded.elapsed,
        error: driven.ended.error().map(ToString::to_string),
        out_of_budget: driven.out_of_budget,
    })
}
