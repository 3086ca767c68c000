//! Findings from the set-up of a machine alone, without a measurement: one rule each, over the
//! environment of a run or of a path.

mod device;
mod filesystem;
mod limits;
mod path;
#[cfg(test)]
pub(crate) mod tests;

use flashlag_schema::finding::{Fact, Finding, FindingId, Severity};
use flashlag_schema::internals::{DeviceInternals, FilesystemInternals, Internals};
use flashlag_schema::{Environment, Layer, LayerKind};
use flashlag_spec::Reading;
use flashlag_units::InOrder;

use crate::remedy::finding;

pub use filesystem::FAST_COMMIT;

/// A rule: returns its finding if its condition is visible. What could not be read triggers
/// nothing.
type Rule = fn(&Seen<'_>) -> Option<Finding>;

/// Every rule.
fn rules() -> impl Iterator<Item = &'static Rule> {
    let all = [filesystem::RULES, limits::RULES, path::RULES, device::RULES];
    all.into_iter().flatten()
}

/// What the set-up shows: data in danger first, then by importance. Nothing is measured here, so no
/// finding has an effect.
pub fn set_up(environment: &Environment) -> Vec<Finding> {
    let seen = Seen(environment);
    let mut found: Vec<Finding> = rules().filter_map(|rule| rule(&seen)).collect();
    // Equally severe ones stay in the order of the rules.
    found.order_by_key(|finding| finding.severity);
    found
}

/// An environment, with the queries that several rules share.
struct Seen<'a>(&'a Environment);

impl Seen<'_> {
    fn kind(&self) -> Option<&str> {
        self.0.filesystem.kind.value().map(String::as_str)
    }

    fn disk(&self) -> Option<&str> {
        self.0.device.kind.value().map(String::as_str)
    }

    /// Whether the disk is visibly flash: not software on another machine, not memory.
    fn is_flash(&self) -> bool {
        matches!(self.disk(), Some("emmc" | "sd" | "ufs" | "nvme"))
            || (matches!(self.disk(), Some("sata" | "usb"))
                && self.0.device.queue.rotational.value() == Some(&false))
    }

    fn is_android(&self) -> bool {
        let system = self.0.software.system.value();
        system.is_some_and(|system| system.starts_with("Android"))
    }

    /// The first of the filesystem's mount options for which this holds.
    fn option(&self, wanted: impl Fn(&str) -> bool) -> Option<&str> {
        let options = self.0.filesystem.options.value()?;
        options.iter().map(String::as_str).find(|option| wanted(option))
    }

    fn layer(&self, kind: LayerKind) -> Option<&Layer> {
        self.0.layers.iter().find(|layer| layer.kind == kind)
    }

    fn internals(&self) -> Option<&Internals> {
        self.0.internals.as_ref()
    }

    fn filesystem(&self) -> Option<&FilesystemInternals> {
        self.internals()?.filesystem.value()
    }

    fn device(&self) -> Option<&DeviceInternals> {
        self.internals()?.device.value()
    }
}

fn found(id: FindingId, severity: Severity, source: &str, evidence: Vec<Fact>) -> Finding {
    let effect = Reading::unavailable("nothing was measured");
    finding(id, severity, source, evidence, effect)
}

/// A field of the environment as evidence.
fn fact(field: &str, value: impl Into<String>) -> Fact {
    Fact { field: format!("environment.{field}"), value: value.into() }
}

/// A layer as evidence.
fn of_layer(layer: &Layer) -> Fact {
    let detail = layer.detail.as_ref().map(|detail| format!(" ({detail})"));
    fact("layers", layer.name.clone() + &detail.unwrap_or_default())
}
