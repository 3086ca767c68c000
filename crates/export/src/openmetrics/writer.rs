use std::fmt::Write;

use flashlag_units::sanitize;

/// The type of a metric family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Info,
    Gauge,
    Counter,
    Histogram,
    StateSet,
}

impl Kind {
    fn in_openmetrics(self) -> &'static str {
        match self {
            Kind::Info => "info",
            Kind::Gauge => "gauge",
            Kind::Counter => "counter",
            Kind::Histogram => "histogram",
            Kind::StateSet => "stateset",
        }
    }

    /// The type in Prometheus's text format, which knows neither info nor stateset and names a family as its samples
    /// are named: with what this adds to the name.
    fn in_prometheus(self) -> (&'static str, &'static str) {
        match self {
            Kind::Info => ("gauge", "_info"),
            Kind::Gauge | Kind::StateSet => ("gauge", ""),
            Kind::Counter => ("counter", "_total"),
            Kind::Histogram => ("histogram", ""),
        }
    }
}

/// Two texts for the same samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// OpenMetrics, version 1.0.0.
    OpenMetrics,
    /// Prometheus's text format, version 0.0.4, which node_exporter's textfile collector reads:
    /// <https://prometheus.io/docs/instrumenting/exposition_formats/>.
    Prometheus,
}

/// Label names and values.
pub(super) type Labels = Vec<(&'static str, String)>;

/// Writes metrics as text: a family's metadata once, right before all of its samples, and in OpenMetrics an end
/// mark.
#[derive(Debug)]
pub(super) struct Exposition {
    dialect: Dialect,
    text: String,
    pending: Option<String>,
}

impl Exposition {
    pub(super) fn new(dialect: Dialect) -> Exposition {
        Exposition { dialect, text: String::new(), pending: None }
    }

    /// Begins a family. Its metadata is written with its first sample: a family without samples is
    /// left out.
    pub(super) fn family(&mut self, name: &str, kind: Kind, unit: &str, help: &str) {
        debug_assert!(name.ends_with(unit), "a family's name ends with its unit: {name}");
        let help = escape(help);
        self.pending = Some(match self.dialect {
            Dialect::OpenMetrics => {
                let mut head = format!("# TYPE {name} {}\n", kind.in_openmetrics());
                if !unit.is_empty() {
                    let _ = writeln!(head, "# UNIT {name} {unit}");
                }
                head + &format!("# HELP {name} {help}\n")
            }
            Dialect::Prometheus => {
                let (kind, end) = kind.in_prometheus();
                format!("# HELP {name}{end} {help}\n# TYPE {name}{end} {kind}\n")
            }
        });
    }

    /// A sample of the family begun last.
    pub(super) fn sample(&mut self, name: &str, labels: &[(&'static str, String)], value: f64) {
        if let Some(head) = self.pending.take() {
            self.text.push_str(&head);
        }
        self.text.push_str(name);
        if !labels.is_empty() {
            let pairs =
                labels.iter().map(|(key, value)| format!("{key}=\"{}\"", escape(&sanitize(value))));
            let _ = write!(self.text, "{{{}}}", pairs.collect::<Vec<_>>().join(","));
        }
        let _ = writeln!(self.text, " {}", number(value));
    }

    /// The whole text.
    pub(super) fn finish(mut self) -> String {
        if self.dialect == Dialect::OpenMetrics {
            self.text.push_str("# EOF\n");
        }
        self.text
    }
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn number(value: f64) -> String {
    if value.is_nan() {
        "NaN".to_owned()
    } else if value.is_infinite() {
        if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned()
    } else {
        value.to_string()
    }
}

/// A bucket bound as the standard writes numbers: `1.0`, `0.0001`, `5e-05`.
pub(super) fn bound(nanos: u64) -> String {
    if nanos.is_multiple_of(1_000_000_000) {
        return format!("{}.0", nanos / 1_000_000_000);
    }
    let seconds = nanos as f64 / 1e9;
    if nanos >= 100_000 {
        return seconds.to_string();
    }
    let text = format!("{seconds:e}");
    match text.split_once("e-") {
        Some((mantissa, exponent)) => format!("{mantissa}e-{exponent:0>2}"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_written_as_the_standard_writes_numbers() {
        let written = [1_000, 50_000, 100_000, 16_666_667, 1_000_000_000, 10_000_000_000];
        let expected = ["1e-06", "5e-05", "0.0001", "0.016666667", "1.0", "10.0"];
        assert_eq!(written.map(bound), expected);
    }
}
