//! The statistics and power cuts of a served device.

use flashlag_schema::{CutReport, DeviceStats};
use flashlag_spec::FlashState;
use flashlag_units::{Bytes, Nanos, percent};

use crate::line::{Line, Page};
use crate::style::{Role, Style};

/// Width of the names.
const NAME: usize = 13;

/// The statistics of a served device: requests, the state of its flash, power cuts and faults.
pub fn device_stats(stats: &DeviceStats, style: Style) -> String {
    let mut page = Page::new(style);
    let head = format!(
        "{}, {}, seed {}, after {} of its time{}",
        stats.profile,
        stats.size_bytes,
        stats.seed,
        stats.virtual_ns,
        if stats.powered { "" } else { "; without power" },
    );
    page.paragraph(Role::Strong, &head);
    if let Some(reason) = &stats.read_only {
        line(&mut page, "read-only", reason);
    }
    let host = &stats.host;
    line(&mut page, "reads", &format!("{} ({})", host.reads, host.read_bytes));
    let fua =
        if host.fua_writes > 0 { format!(", {} FUA", host.fua_writes) } else { String::new() };
    line(&mut page, "writes", &format!("{} ({}){fua}", host.writes, host.written_bytes));
    line(&mut page, "flushes", &host.flushes.to_string());
    line(&mut page, "discards", &format!("{} ({})", host.trims, host.trimmed_bytes));
    if host.failed > 0 {
        line(&mut page, "failed", &host.failed.to_string());
    }
    if let Some(flash) = &stats.flash {
        flash_lines(&mut page, flash);
    }
    if let Some(late) = &stats.lateness_ns
        && late.summary.max.is_some()
    {
        let time = |time: Option<Nanos>| time.map_or("?".to_owned(), |time| time.to_string());
        let (p50, p99, max) = (late.summary.p50, late.summary.p99, late.summary.max);
        let late = format!("p50 {}, p99 {}, max {}", time(p50), time(p99), time(max));
        line(&mut page, "late by", &late);
    }
    if let Some(cut) = &stats.last_cut {
        line(&mut page, "power cuts", &format!("{}; {}", stats.power_cuts, taken(cut)));
    }
    if stats.faults > 0 {
        line(&mut page, "faults set", &stats.faults.to_string());
    }
    if let Some(recorded) = stats.recorded {
        line(&mut page, "recorded", &recorded.to_string());
    }
    page.finish()
}

fn flash_lines(page: &mut Page, flash: &FlashState) {
    if let Some(amplification) = flash.write_amplification {
        line(page, "amplification", &format!("{amplification:.2}"));
    }
    if let (Some(programmed), Some(copied)) = (flash.programmed_bytes, flash.copied_bytes) {
        line(page, "programmed", &format!("{programmed}, {copied} of it copies"));
    }
    line(page, "data", &flash.mapped_bytes.to_string());
    if let Some(free) = flash.free_blocks {
        line(page, "free blocks", &free.to_string());
    }
    let fill = |held: Option<Bytes>, most: Option<Bytes>| Some(format!("{} of {}", held?, most?));
    if let Some(fill) = fill(flash.buffered_bytes, flash.buffer_bytes) {
        line(page, "write buffer", &fill);
    }
    if let Some(fill) = fill(flash.cache_used_bytes, flash.cache_bytes) {
        line(page, "write cache", &fill);
    }
    if let Some(used) = flash.life_used {
        let life = format!("{} used, {} cycles a block", percent(used), flash.mean_cycles);
        line(page, "life", &life);
    }
}

fn line(page: &mut Page, name: &str, value: &str) {
    let mut head = Line::new(page.style());
    head.add(Role::Ink, "  ").left(Role::Muted, name, NAME).add(Role::Ink, " ");
    page.hanging(&head, NAME + 3, Role::Ink, value);
}

fn taken(cut: &CutReport) -> String {
    format!("the last took {} ({} units)", cut.lost_bytes, cut.lost_units)
}

/// The mapping units that a power cut destroyed, and the time that recovery takes.
pub fn power_cut(report: &CutReport, style: Style) -> String {
    let mut page = Page::new(style);
    let text = format!(
        "The power was cut: {} in {} mapping units went back to what was there before; the device \
         needs {} until it answers.",
        report.lost_bytes, report.lost_units, report.recovery_ns
    );
    page.paragraph(Role::Ink, &text);
    page.finish()
}

#[cfg(test)]
mod tests {
    use flashlag_schema::{DeviceStats, HostRequests};

    use super::*;

    #[test]
    fn a_devices_statistics_fit_every_width_and_a_profiles_name_is_only_text() {
        let stats = DeviceStats {
            profile: "mine\u{1b}[2J".to_owned(),
            size_bytes: Bytes(1 << 30),
            seed: 7,
            time_scale: 1.0,
            virtual_ns: Nanos::from_secs(2),
            powered: false,
            read_only: Some("a fault that was set makes it read-only, until it is repaired".into()),
            host: HostRequests { writes: 50, fua_writes: 2, failed: 3, ..Default::default() },
            flash: None,
            lateness_ns: None,
            power_cuts: 0,
            last_cut: None,
            faults: 1,
            recorded: Some(9),
        };
        for width in [40, 80, 120] {
            let text = device_stats(&stats, Style::PLAIN.with_width(width));
            assert!(text.lines().all(|line| crate::text::width(line) <= width), "{text}");
            assert!(!text.contains('\u{1b}') && text.contains("without power"), "{text}");
            let words: Vec<&str> = text.split_whitespace().collect();
            let words = words.join(" ");
            for part in ["writes 50 (0 B), 2 FUA", "failed 3", "faults set 1", "recorded 9"] {
                assert!(words.contains(part), "{part}: {text}");
            }
        }
    }
}
