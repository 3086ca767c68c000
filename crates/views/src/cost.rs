//! The cost of a run for the device.

use flashlag_schema::{Run, TargetKind};
use flashlag_units::{Bytes, Nanos};

use crate::format;

/// `Wrote 14 GB in 34 min 50 s, 0.01% of the device's rated life; …`. For a simulation, the time is
/// simulated and the life is that of the modelled device. Without a full stop.
pub fn cost(run: &Run) -> String {
    let written = run.wear.written_bytes;
    let time = run.phases.last().map(|phase| phase.began_ns.plus(phase.elapsed_ns));
    if run.target.kind == TargetKind::Simulated {
        return simulated(run, written, run.simulated_ns.or(time).unwrap_or_default());
    }
    let mut text = match (written, time) {
        (Bytes::ZERO, _) => "Nothing was written".to_owned(),
        (written, Some(time)) => format!("Wrote {written} in {time}"),
        (written, None) => format!("Wrote {written}"),
    };
    if let Some(life) = run.wear.life_percent.value() {
        text += &format!(", {} of the device's rated life", format::share(life / 100.0));
    }
    if let Some(block) = run.wear.block_bytes.value() {
        text += &format!("; the block device took {block} meanwhile");
    }
    text
}

fn simulated(run: &Run, written: Bytes, time: Nanos) -> String {
    let wrote = match written {
        Bytes::ZERO => "in which nothing was written".to_owned(),
        written => format!("in which {written} were written"),
    };
    let life = match (written, run.wear.life_percent.value()) {
        (Bytes::ZERO, _) | (_, None) => String::new(),
        // Life is counted in erased blocks: before the first erase it is unknown.
        (_, Some(life)) if *life <= 0.0 => String::new(),
        (_, Some(life)) => {
            format!(", {} of a modelled device's life", format::share(life / 100.0))
        }
    };
    format!("{time} simulated, {wrote}{life}; no storage was touched")
}
