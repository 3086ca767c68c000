//! What storage reports about its own wear, as metrics.

use flashlag_schema::Environment;
use flashlag_schema::internals::FilesystemInternals;

use super::writer::{Dialect, Exposition, Kind, Labels};

/// The states before the end of a device's life, as eMMC names them.
const STATES: [&str; 3] = ["normal", "warning", "urgent"];

/// The share of life that is used, the state before its end, and the bytes written since the device
/// and its filesystem were made. What a device does not report is absent.
pub(crate) fn wear(environment: &Environment, dialect: Dialect) -> String {
    let mut out = Exposition::new(dialect);
    let device = &environment.device;
    let labels = labels(&[
        ("device", device.name.value()),
        ("kind", device.kind.value()),
        ("model", device.model.value()),
    ]);
    if let Some(life) = device.life.value() {
        let name = "flashlag_storage_life_used_ratio";
        out.family(name, Kind::Gauge, "ratio", "Share of the rated life that is used, at most.");
        out.sample(name, &labels, f64::from(life.used_percent_at_most) / 100.0);
        if let Some(now) = life.pre_eol.as_deref() {
            let name = "flashlag_storage_pre_eol";
            out.family(name, Kind::StateSet, "", "State before the end of life.");
            for state in STATES {
                let mut labels = labels.clone();
                labels.push((name, state.to_owned()));
                out.sample(name, &labels, f64::from(u8::from(state == now)));
            }
        }
        if let Some(written) = life.written_bytes {
            let name = "flashlag_storage_written_bytes";
            out.family(name, Kind::Counter, "bytes", "Written since the device was made.");
            out.sample(&format!("{name}_total"), &labels, written.0 as f64);
        }
    }
    if let Some(written) = written_to_filesystem(environment) {
        let filesystem = &environment.filesystem;
        let labels = self::labels(&[
            ("filesystem", filesystem.kind.value()),
            ("mount", filesystem.mount_point.value()),
        ]);
        let name = "flashlag_filesystem_written_bytes";
        out.family(name, Kind::Counter, "bytes", "Written since the filesystem was made.");
        out.sample(&format!("{name}_total"), &labels, written as f64);
    }
    out.finish()
}

fn labels(known: &[(&'static str, Option<&String>)]) -> Labels {
    known.iter().filter_map(|(name, value)| Some((*name, (*value)?.clone()))).collect()
}

/// What ext4 and F2FS count since they were made.
fn written_to_filesystem(environment: &Environment) -> Option<u64> {
    let internals = environment.internals.as_ref()?;
    match internals.filesystem.value()? {
        FilesystemInternals::Ext4 { lifetime_written_bytes, .. }
        | FilesystemInternals::F2fs { lifetime_written_bytes, .. } => {
            lifetime_written_bytes.value().map(|bytes| bytes.0)
        }
        _ => None,
    }
}
