//! Causes of waits as marks and layers: a colour and a shape for each kind of cause.

use flashlag_schema::{StallCause, WaitPart};
use flashlag_units::Nanos;

use super::svg::Svg;
use crate::markup::Markup;

/// A kind of cause: what a mark and a layer stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Storage,
    Executing,
    Cpu,
    Filesystem,
    OtherIo,
    WakeUp,
    WriteCache,
    Flash,
    Unknown,
}

impl Kind {
    /// Every kind, as layers lie on one another: the device's plain work at the bottom.
    pub(crate) const ALL: [Kind; 9] = [
        Kind::Storage,
        Kind::Executing,
        Kind::Cpu,
        Kind::Filesystem,
        Kind::OtherIo,
        Kind::WakeUp,
        Kind::WriteCache,
        Kind::Flash,
        Kind::Unknown,
    ];

    pub(crate) fn of(cause: StallCause) -> Kind {
        match cause {
            StallCause::Storage => Kind::Storage,
            StallCause::Cpu => Kind::Cpu,
            StallCause::Executing => Kind::Executing,
            StallCause::Stopped | StallCause::Mixed | StallCause::Unknown => Kind::Unknown,
            StallCause::FilesystemCommit
            | StallCause::Checkpoint
            | StallCause::Cleaning
            | StallCause::Discard => Kind::Filesystem,
            StallCause::OtherIo | StallCause::GroupLimit => Kind::OtherIo,
            StallCause::GarbageCollection
            | StallCause::WearLevelling
            | StallCause::Throttling
            | StallCause::DevicePeriod => Kind::Flash,
            StallCause::WriteCacheFull => Kind::WriteCache,
            StallCause::WakeUp => Kind::WakeUp,
        }
    }

    /// The class, which sets colour and shape.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Kind::Storage => "by-sto",
            Kind::Cpu => "by-wai",
            Kind::Executing => "by-cpu",
            Kind::Filesystem => "by-fs",
            Kind::OtherIo => "by-oth",
            Kind::WakeUp => "by-wak",
            Kind::WriteCache => "by-wc",
            Kind::Flash => "by-gc",
            Kind::Unknown => "by-unk",
        }
    }
}

/// The shape of a class: a triangle for storage, upside down for the filesystem, a diamond for
/// waiting for a CPU, a square for executing, a cross for the flash's own work, the cross turned
/// for others' I/O, a hexagon for the write cache, a star for waking up, and a circle for the rest.
pub(super) fn shape(class: &str) -> &'static str {
    match class {
        "by-sto" => "M0-5.5L5 3.5H-5Z",
        "by-wai" => "M-5.5 0L0-5.5L5.5 0L0 5.5Z",
        "by-cpu" => "M-4-4H4V4H-4Z",
        "by-fs" => "M0 5.5L5-3.5H-5Z",
        "by-gc" => "M-1.8-5.2H1.8V-1.8H5.2V1.8H1.8V5.2H-1.8V1.8H-5.2V-1.8H-1.8Z",
        "by-oth" => {
            "M-5-2.7L-2.7-5L0-2.3L2.7-5L5-2.7L2.3 0L5 2.7L2.7 5L0 2.3L-2.7 5L-5 2.7L-2.3 0Z"
        }
        "by-wc" => "M-5.2 0L-2.6-4.5H2.6L5.2 0L2.6 4.5H-2.6Z",
        "by-wak" => "M0-6L1.7-1.7L6 0L1.7 1.7L0 6L-1.7 1.7L-6 0L-1.7-1.7Z",
        _ => "M-4.5 0A4.5 4.5 0 1 0 4.5 0A4.5 4.5 0 1 0-4.5 0Z",
    }
}

/// The mark of a kind, for a key.
pub(crate) fn mark(kind: Kind) -> Markup {
    let class = kind.class();
    let shape = shape(class);
    let mut svg = Svg::new();
    svg.shape(format_args!(
        "<path transform=\"translate(7,6)\" class=\"st {class}\" d=\"{shape}\"/>"
    ));
    svg.hidden(12)
}

/// The sample of a layer, for a key.
pub(crate) fn swatch(kind: Kind) -> Markup {
    let class = kind.class();
    let mut svg = Svg::new();
    svg.shape(format_args!("<path class=\"ly {class}\" d=\"M1 0H13V12H1Z\"/>"));
    svg.hidden(12)
}

/// The time of each kind.
pub(super) fn by_kind(parts: &[WaitPart]) -> [Nanos; Kind::ALL.len()] {
    let mut times = [Nanos::ZERO; Kind::ALL.len()];
    for part in parts {
        if let Some(time) = times.get_mut(Kind::of(part.cause) as usize) {
            *time = Nanos(time.0.saturating_add(part.ns.0));
        }
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_place_and_a_shape_of_its_own() {
        for (index, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, index);
            let same =
                Kind::ALL.into_iter().filter(|other| shape(other.class()) == shape(kind.class()));
            assert_eq!(same.count(), 1, "{kind:?}");
        }
    }
}
