//! A device's statistics as metrics.

use flashlag_schema::DeviceStats;

use super::writer::{Dialect, Exposition, Kind, Labels};

/// The statistics of a served device as metrics: counters of the host's requests and of the
/// flash's work, gauges of its state, each with the profile as label. A figure that the device
/// lacks is absent.
pub(crate) fn device(stats: &DeviceStats, dialect: Dialect) -> String {
    let mut text = Metrics::of(stats, dialect);
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
    text.gauge(
        "powered",
        "1 where the device has power, else 0",
        Some(f64::from(u8::from(stats.powered))),
    );
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
        text.gauge("write_amplification", "Bytes programmed for each byte written", amplification);
        text.gauge("mapped_bytes", "Bytes that are mapped", bytes(Some(flash.mapped_bytes)));
        text.gauge("free_blocks", "Blocks that are free", flash.free_blocks.map(f64::from));
        text.gauge("bad_blocks", "Blocks that are bad", flash.bad_blocks.map(f64::from));
        text.gauge("buffered_bytes", "Bytes in the write buffer", bytes(flash.buffered_bytes));
        text.gauge("cache_used_bytes", "Bytes in the write cache", bytes(flash.cache_used_bytes));
        text.gauge("cache_bytes", "Size of the write cache", bytes(flash.cache_bytes));
        text.gauge("life_used_ratio", "Share of the rated cycles", flash.life_used);
    }
    if let Some(late) = &stats.lateness_ns {
        let seconds = |time: Option<flashlag_units::Nanos>| time.map(|time| time.as_secs_f64());
        let (p50, p99) = (late.summary.p50, late.summary.p99);
        text.gauge("late_p50_seconds", "Delivered minus modelled, median", seconds(p50));
        text.gauge("late_p99_seconds", "Delivered minus modelled, p99", seconds(p99));
    }
    text.out.finish()
}

/// The families of one device.
struct Metrics {
    out: Exposition,
    labels: Labels,
}

impl Metrics {
    fn of(stats: &DeviceStats, dialect: Dialect) -> Metrics {
        let labels = vec![("profile", stats.profile.clone())];
        Metrics { out: Exposition::new(dialect), labels }
    }

    fn counter(&mut self, name: &str, help: &str, value: u64) {
        let name = self.family(name, Kind::Counter, help);
        self.out.sample(&format!("{name}_total"), &self.labels, value as f64);
    }

    fn gauge(&mut self, name: &str, help: &str, value: Option<f64>) {
        let Some(value) = value else { return };
        let name = self.family(name, Kind::Gauge, help);
        self.out.sample(&name, &self.labels, value);
    }

    /// Begins a family, whose unit is the end of its name, and returns its full name.
    fn family(&mut self, name: &str, kind: Kind, help: &str) -> String {
        let units = ["bytes", "seconds", "ratio"];
        let unit = units.into_iter().find(|unit| name.ends_with(unit)).unwrap_or_default();
        let name = format!("flashlag_device_{name}");
        self.out.family(&name, kind, unit, &format!("{help}."));
        name
    }
}
