//! Throughput, operations a second and latency of the tests.

use flashlag_schema::Run;
use flashlag_views::{has_stages, tests_heading, tests_table};

use super::Section;
use super::figures::{Frame, table};
use crate::markup::Markup;

/// The section; `None` if only saves were measured, or if the stages have a table.
pub(super) fn section(run: &Run) -> Option<Section> {
    if has_stages(run) {
        return None;
    }
    let caption = "Throughput in MB/s (10⁶ bytes), operations a second, latency in ms.";
    Some(Section {
        id: "tests",
        name: "Tests",
        heading: tests_heading(run),
        side: super::changes::steady_note(run).into_iter().collect(),
        body: every_test(run, caption)?,
    })
}

/// One row for each test, with its flush if that was timed separately; `None` without tests.
pub(super) fn every_test(run: &Run, caption: &str) -> Option<Markup> {
    let model = tests_table(run, false);
    let frame = Frame {
        about: "Figures of every test",
        caption: caption.to_owned(),
        class: "fold tests",
        units: false,
    };
    (!model.is_empty()).then(|| table(Some(run), &model, frame))
}
