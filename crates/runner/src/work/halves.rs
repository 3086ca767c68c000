//! The phases of a block I/O test: one, or the reads and the writes of a mixed test.

use flashlag_engine::JobOutcome;
use flashlag_schema::Mixed;
use flashlag_spec::Operation;
use flashlag_spec::scenario::{Durability, Io, IoOperation, Pattern};
use flashlag_stats::PhaseRecord;
use flashlag_units::Bytes;

use super::phase::PhaseHead;
use crate::work::Direction;

/// The material of one phase of a test.
pub(crate) struct Half<'a> {
    pub(crate) head: PhaseHead,
    pub(crate) recorded: &'a PhaseRecord,
    pub(crate) direction: Direction,
    /// Every byte that it moved, warm-up included.
    pub(crate) moved: Bytes,
}

/// The phases of a mixed test's two halves.
pub(crate) fn halves<'a>(head: &PhaseHead, io: &Io, driven: &'a JobOutcome) -> Vec<Half<'a>> {
    let Some(sides) = &driven.sides else {
        let direction = match io.operation {
            IoOperation::Read => Direction::Read,
            IoOperation::Write | IoOperation::Mixed => Direction::Write,
        };
        let head = head.clone();
        return vec![Half { head, recorded: &driven.recorded, direction, moved: driven.moved }];
    };
    let mixed = Some(Mixed { read_percent: io.read_percent.unwrap_or_default() });
    let names = io.phase_names();
    let named = |index: usize| names.get(index).cloned().unwrap_or_else(|| io.name.clone());
    // The head of a mixed test is that of its writes.
    let reading = match io.pattern {
        Pattern::Sequential => Operation::SequentialRead,
        Pattern::Random => Operation::RandomRead,
    };
    let read = PhaseHead {
        name: named(0),
        operation: reading,
        durable: Durability::None,
        background: Some(named(1)),
        mixed,
        ..head.clone()
    };
    let write = PhaseHead { name: named(1), background: Some(named(0)), mixed, ..head.clone() };
    vec![
        Half {
            head: read,
            recorded: &sides.read,
            direction: Direction::Read,
            moved: driven.moved.saturating_minus(driven.written),
        },
        Half {
            head: write,
            recorded: &sides.write,
            direction: Direction::Write,
            moved: driven.written,
        },
    ]
}
