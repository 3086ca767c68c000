//! A device for people.

use std::fmt::Write;

use flashlag_schema::{CutReport, DeviceStats, FlashState};
use flashlag_units::{Bytes, Nanos, percent};

/// How a device is.
pub fn stats(stats: &DeviceStats) -> String {
    let mut text = format!(
        "{}, {}, seed {}, after {} of its time{}\n",
        stats.profile,
        stats.size_bytes,
        stats.seed,
        stats.virtual_ns,
        if stats.powered { "" } else { "; it has no power" },
    );
    if let Some(reason) = &stats.read_only {
        line(&mut text, "only reads", reason);
    }
    let host = &stats.host;
    line(&mut text, "reads", &format!("{} ({})", host.reads, host.read_bytes));
    let fua =
        if host.fua_writes > 0 { format!(", {} FUA", host.fua_writes) } else { String::new() };
    line(&mut text, "writes", &format!("{} ({}){fua}", host.writes, host.written_bytes));
    line(&mut text, "flushes", &host.flushes.to_string());
    line(&mut text, "discards", &format!("{} ({})", host.trims, host.trimmed_bytes));
    if host.failed > 0 {
        line(&mut text, "failed", &host.failed.to_string());
    }
    if let Some(flash) = &stats.flash {
        flash_lines(&mut text, flash);
    }
    if let Some(late) = &stats.lateness_ns
        && late.summary.max.is_some()
    {
        let time = |time: Option<Nanos>| time.map_or("?".to_owned(), |time| time.to_string());
        let (p50, p99, max) = (late.summary.p50, late.summary.p99, late.summary.max);
        let late = format!("p50 {}, p99 {}, max {}", time(p50), time(p99), time(max));
        line(&mut text, "late by", &late);
    }
    if let Some(cut) = &stats.last_cut {
        line(&mut text, "power cuts", &format!("{}; {}", stats.power_cuts, taken(cut)));
    }
    if stats.faults > 0 {
        line(&mut text, "faults set", &stats.faults.to_string());
    }
    if let Some(recorded) = stats.recorded {
        line(&mut text, "recorded", &recorded.to_string());
    }
    text
}

fn flash_lines(text: &mut String, flash: &FlashState) {
    if let Some(amplification) = flash.write_amplification {
        line(text, "amplification", &format!("{amplification:.2}"));
    }
    if let (Some(programmed), Some(copied)) = (flash.programmed_bytes, flash.copied_bytes) {
        line(text, "programmed", &format!("{programmed}, {copied} of it copies"));
    }
    line(text, "holds", &flash.mapped_bytes.to_string());
    if let Some(free) = flash.free_blocks {
        line(text, "free blocks", &free.to_string());
    }
    let fill = |held: Option<Bytes>, most: Option<Bytes>| Some(format!("{} of {}", held?, most?));
    if let Some(fill) = fill(flash.buffered_bytes, flash.buffer_bytes) {
        line(text, "write buffer", &fill);
    }
    if let Some(fill) = fill(flash.cache_used_bytes, flash.cache_bytes) {
        line(text, "write cache", &fill);
    }
    if let Some(used) = flash.life_used {
        let life = format!("{} used, {} cycles a block", percent(used), flash.mean_cycles);
        line(text, "life", &life);
    }
}

fn line(text: &mut String, name: &str, value: &str) {
    // Writing to a string can't fail.
    let _ = writeln!(text, "  {name:13} {value}");
}

fn taken(cut: &CutReport) -> String {
    format!("the last took {} ({} units)", cut.lost_bytes, cut.lost_units)
}

/// What a power cut took.
pub fn cut(report: &CutReport) -> String {
    format!(
        "The power was cut: {} in {} mapping units went back to what was there before; the device \
         needs {} until it answers.\n",
        report.lost_bytes, report.lost_units, report.recovery_ns
    )
}
