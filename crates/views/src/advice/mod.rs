//! What the set-up of a machine says, in words: the layers below a path, their state, and advice.

mod state;
mod words;

use flashlag_schema::advice::{AdviceId, Severity};
use flashlag_schema::{Environment, Layer, LayerKind};

pub use state::state;

/// A piece of advice in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// Its kind.
    pub id: AdviceId,
    /// How much it matters.
    pub severity: Severity,
    /// `danger`, `costly`, `minor`, `note`.
    pub mark: &'static str,
    /// What was found, and what that does: a sentence.
    pub finding: &'static str,
    /// What to do: a sentence.
    pub action: &'static str,
    /// What the action costs; `None` where it costs nothing.
    pub price: Option<&'static str>,
    /// `filesystem options: nobarrier`.
    pub evidence: Vec<String>,
    /// The ground of the rule.
    pub source: String,
}

/// Advice on a set-up, with what it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetUp {
    /// `Two things to change` or `Nothing to change`.
    pub heading: String,
    /// What to change or know, data in danger first.
    pub advice: Vec<Advice>,
}

/// The advice on a set-up.
pub fn advice(environment: &Environment) -> SetUp {
    let typed = flashlag_explain::advice(environment);
    let advice: Vec<Advice> = typed.iter().map(in_words).collect();
    let notes = advice.iter().filter(|one| one.severity == Severity::Misleading).count();
    SetUp { heading: heading(advice.len() - notes, notes), advice }
}

fn in_words(advice: &flashlag_schema::advice::Advice) -> Advice {
    let words = words::of(advice.id);
    Advice {
        id: advice.id,
        severity: advice.severity,
        mark: match advice.severity {
            Severity::Danger => "danger",
            Severity::Costly => "costly",
            Severity::Minor => "minor",
            Severity::Misleading => "note",
        },
        finding: words.finding,
        action: words.action,
        price: words.price,
        evidence: advice
            .evidence
            .iter()
            .map(|fact| format!("{}: {}", subject(&fact.field), fact.value))
            .collect(),
        source: advice.source.clone(),
    }
}

/// `internals.filesystem.free_segments`: `free segments`; a field without a subject of its own has its
/// group's: `filesystem options`.
fn subject(field: &str) -> String {
    let field = field.strip_prefix("internals.").unwrap_or(field);
    field.trim_end_matches("_ns").replace(['.', '_'], " ")
}

fn heading(changes: usize, notes: usize) -> String {
    let changes = match changes {
        0 => "Nothing to change in the set-up".to_owned(),
        1 => "One thing to change in the set-up".to_owned(),
        many => format!("{} things to change in the set-up", crate::format::counted(many)),
    };
    match notes {
        0 => changes,
        1 => format!("{changes}, and one to know"),
        many => format!("{changes}, and {} to know", crate::format::counted(many).to_lowercase()),
    }
}

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
