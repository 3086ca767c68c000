//! The set-up of a machine in words: the layers below a path, and their state.

mod state;
mod unplugged;

use flashlag_schema::{Environment, Layer, LayerKind};

pub use state::state;
pub(crate) use unplugged::{lost, promise, true_size};

/// The machine and its system: `LENOVO 20XW (ThinkPad X1), Debian GNU/Linux 12, Linux 6.1`; `None` where neither
/// is known.
pub fn machine(environment: &Environment) -> Option<String> {
    let software = &environment.software;
    let known = [&software.machine, &software.system, &software.kernel];
    let known: Vec<String> = known.iter().filter_map(|one| one.value().cloned()).collect();
    (!known.is_empty()).then(|| known.join(", "))
}

/// A layer in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerRow {
    /// `encrypted device`.
    pub what: &'static str,
    /// `dm-41 (dm-default-key)`.
    pub name: String,
}

/// The layers below a path, the upper ones first. Where the disk is not among them, the last row says why.
pub fn layers(environment: &Environment) -> Vec<LayerRow> {
    let mut rows: Vec<LayerRow> = environment.layers.iter().map(row).collect();
    let ends = [LayerKind::Disk, LayerKind::Memory, LayerKind::Remote];
    let ended = environment.layers.iter().any(|layer| ends.contains(&layer.kind));
    if let Some(reason) = environment.device.name.reason().filter(|_| !ended && !rows.is_empty()) {
        rows.push(LayerRow { what: "not visible", name: reason.to_owned() });
    }
    rows
}

fn row(layer: &Layer) -> LayerRow {
    let Layer { kind, name, detail } = layer;
    let what = match kind {
        LayerKind::Bind => "bind mount",
        LayerKind::Fuse => "FUSE daemon",
        LayerKind::Stacked => "stacked filesystem",
        LayerKind::FileEncryption => "file encryption",
        LayerKind::Filesystem => "filesystem",
        LayerKind::Memory => "memory",
        LayerKind::Remote => "another machine",
        LayerKind::BlockEncryption => "encrypted device",
        LayerKind::Volume => "logical volume",
        LayerKind::Raid => "RAID",
        LayerKind::Mapped => "mapped device",
        LayerKind::Loop => "loop device",
        LayerKind::Partition => "partition",
        LayerKind::Disk => "disk",
    };
    let name = match (kind, detail) {
        (LayerKind::Bind, Some(part)) => format!("{name}, which is {part} of the filesystem"),
        (LayerKind::Filesystem | LayerKind::Stacked | LayerKind::Fuse, Some(detail))
        | (LayerKind::Memory | LayerKind::Remote, Some(detail)) => format!("{detail} at {name}"),
        (_, Some(detail)) => format!("{name} ({detail})"),
        (_, None) => name.clone(),
    };
    LayerRow { what, name }
}
