//! A device's statistics for those who watch many: OpenMetrics.

use std::fmt::Write;

use flashlag_schema::DeviceStats;

/// The text that a collector of OpenMetrics reads.
pub fn open_metrics(stats: &DeviceStats) -> String {
    let mut text = Metrics::of(&stats.profile);
    let host = &stats.host;
    text.counter("host_reads", "Reads", host.reads);
    text.counter("host_read_bytes", "Bytes read", host.read_bytes.0);
    text.counter("host_writes", "Writes", host.writes);
    text.counter("host_written_bytes", "Bytes written", host.written_bytes.0);
    text.counter("host_fua_writes", "Writes with force unit access", host.fua_writes);
    text.counter("host_flushes", "Flushes", host.flushes);
    text.counter("host_trims", "Discards", host.trims);
    text.counter("host_trimmed_bytes", "Bytes discarded", host.trimmed_bytes.0);
    text.counter("host_failed", "Requests that failed", host.failed);
    text.counter("power_cuts", "Power cuts", stats.power_cuts);
    text.gauge("powered", "Whether it has power", Some(f64::from(u8::from(stats.powered))));
    text.gauge("size_bytes", "Size", Some(stats.size_bytes.0 as f64));
    text.gauge("time_seconds", "The device's own time", Some(stats.virtual_ns.as_secs_f64()));
    if let Some(flash) = &stats.flash {
        let bytes = |bytes: Option<flashlag_units::Bytes>| bytes.map(|bytes| bytes.0 as f64);
        if let Some(programmed) = flash.programmed_bytes {
            text.counter("flash_programmed_bytes", "Bytes programmed", programmed.0);
        }
        if let Some(copied) = flash.copied_bytes {
            text.counter("flash_copied_bytes", "Bytes moved by collection", copied.0);
        }
        text.counter("flash_folded_bytes", "Bytes moved from the cache", flash.folded_bytes.0);
        text.counter("flash_programs", "Programs", flash.programs);
        text.counter("flash_erases", "Block erases", flash.erases);
        text.counter("flash_page_reads", "Page reads", flash.page_reads);
        let amplification = flash.write_amplification;
        text.gauge("write_amplification", "Programmed over written", amplification);
        text.gauge("mapped_bytes", "Bytes held", bytes(Some(flash.mapped_bytes)));
        text.gauge("free_blocks", "Blocks that are free", flash.free_blocks.map(f64::from));
        text.gauge("bad_blocks", "Blocks that are bad", flash.bad_blocks.map(f64::from));
        text.gauge("buffered_bytes", "Held by the write buffer", bytes(flash.buffered_bytes));
        text.gauge("cache_used_bytes", "Taken of the write cache", bytes(flash.cache_used_bytes));
        text.gauge("cache_bytes", "What the write cache may take", bytes(flash.cache_bytes));
        text.gauge("life_used_ratio", "Share of the rated cycles", flash.life_used);
    }
    if let Some(late) = &stats.lateness_ns {
        let seconds = |time: Option<flashlag_units::Nanos>| time.map(|time| time.as_secs_f64());
        let (p50, p99) = (late.summary.p50, late.summary.p99);
        text.gauge("late_p50_seconds", "Delivered minus modelled, median", seconds(p50));
        text.gauge("late_p99_seconds", "Delivered minus modelled, p99", seconds(p99));
    }
    text.text + "# EOF\n"
}

struct Metrics {
    text: String,
    profile: String,
}

impl Metrics {
    fn of(profile: &str) -> Metrics {
        let profile = profile.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        Metrics { text: String::new(), profile }
    }

    fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.head(name, "counter", help);
        self.line(&format!("{name}_total"), &value.to_string());
    }

    fn gauge(&mut self, name: &str, help: &str, value: Option<f64>) {
        let Some(value) = value else { return };
        self.head(name, "gauge", help);
        self.line(name, &value.to_string());
    }

    fn head(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a string can't fail.
        let _ = writeln!(
            self.text,
            "# TYPE flashlag_device_{name} {kind}\n# HELP flashlag_device_{name} {help}."
        );
    }

    fn line(&mut self, name: &str, value: &str) {
        let profile = &self.profile;
        let _ = writeln!(self.text, "flashlag_device_{name}{{profile=\"{profile}\"}} {value}");
    }
}
