//! What the rules about an environment share.

use flashlag_schema::finding::{Fact, Finding, FindingId, Severity};
use flashlag_schema::internals::{DeviceInternals, FilesystemInternals, Internals};
use flashlag_schema::{Environment, Layer, LayerKind};
use flashlag_spec::Reading;

use crate::remedy::finding;

/// A rule: returns its finding if its condition is visible. What could not be read triggers
/// nothing.
pub(super) type Rule = fn(&Seen<'_>) -> Option<Finding>;

/// An environment, with the queries that several rules share.
pub(super) struct Seen<'a>(pub(super) &'a Environment);

impl Seen<'_> {
    pub(super) fn kind(&self) -> Option<&str> {
        self.0.filesystem.kind.value().map(String::as_str)
    }

    pub(super) fn disk(&self) -> Option<&str> {
        self.0.device.kind.value().map(String::as_str)
    }

    /// Whether the disk is visibly flash: not software on another machine, not memory.
    pub(super) fn is_flash(&self) -> bool {
        matches!(self.disk(), Some("emmc" | "sd" | "ufs" | "nvme"))
            || (matches!(self.disk(), Some("sata" | "usb"))
                && self.0.device.queue.rotational.value() == Some(&false))
    }

    pub(super) fn is_android(&self) -> bool {
        let system = self.0.software.system.value();
        system.is_some_and(|system| system.starts_with("Android"))
    }

    /// The first of the filesystem's mount options for which this holds.
    pub(super) fn option(&self, wanted: impl Fn(&str) -> bool) -> Option<&str> {
        let options = self.0.filesystem.options.value()?;
        options.iter().map(String::as_str).find(|option| wanted(option))
    }

    pub(super) fn layer(&self, kind: LayerKind) -> Option<&Layer> {
        self.0.layers.iter().find(|layer| layer.kind == kind)
    }

    pub(super) fn internals(&self) -> Option<&Internals> {
        self.0.internals.as_ref()
    }

    pub(super) fn filesystem(&self) -> Option<&FilesystemInternals> {
        self.internals()?.filesystem.value()
    }

    pub(super) fn device(&self) -> Option<&DeviceInternals> {
        self.internals()?.device.value()
    }
}

pub(super) fn found(
    id: FindingId,
    severity: Severity,
    source: &str,
    evidence: Vec<Fact>,
) -> Finding {
    let effect = Reading::unavailable("nothing was measured");
    finding(id, severity, source, evidence, effect)
}

/// A field of the environment as evidence.
pub(super) fn fact(field: &str, value: impl Into<String>) -> Fact {
    Fact { field: format!("environment.{field}"), value: value.into() }
}

/// A layer as evidence.
pub(super) fn of_layer(layer: &Layer) -> Fact {
    let detail = layer.detail.as_ref().map(|detail| format!(" ({detail})"));
    fact("layers", layer.name.clone() + &detail.unwrap_or_default())
}
