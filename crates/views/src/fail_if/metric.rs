use flashlag_explain::{Figures, response_histogram};
use std::fmt;

use flashlag_schema::{Lag, Phase};
use flashlag_stats::Histogram;
use flashlag_units::{Bytes, Nanos, ratio};

use super::error::{NoFigure, ThresholdFault};

/// A figure of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    Time(&'static str),
    Over(&'static str, Nanos),
    OpsPerSec,
    BytesPerSec,
}

/// A figure or a limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    Time(Nanos),
    Share(f64),
    Ops(f64),
    Bytes(f64),
}

impl Metric {
    /// The metric of that name.
    pub fn parse(name: &str) -> Option<Metric> {
        let times = ["p50", "p90", "p99", "p999", "max", "mean"];
        if let Some(known) = times.into_iter().find(|known| *known == name.trim()) {
            return Some(Metric::Time(known));
        }
        Some(match name.trim() {
            "over_60hz" => Metric::Over("over_60hz", Lag::FRAME_60HZ),
            "over_90hz" => Metric::Over("over_90hz", Lag::FRAME_90HZ),
            "over_120hz" => Metric::Over("over_120hz", Lag::FRAME_120HZ),
            "over_100ms" => Metric::Over("over_100ms", Nanos::from_millis(100)),
            "over_700ms" => Metric::Over("over_700ms", Nanos::from_millis(700)),
            "over_5s" => Metric::Over("over_5s", Nanos::from_secs(5)),
            "ops_per_sec" => Metric::OpsPerSec,
            "bytes_per_sec" => Metric::BytesPerSec,
            _ => return None,
        })
    }

    /// A metric's name as a person would say it: `rate` for `ops_per_sec`.
    pub fn words_of(name: &str) -> &str {
        match name {
            "ops_per_sec" => "rate",
            "bytes_per_sec" => "speed",
            "p999" => "p99.9",
            "max" => "longest",
            other => other,
        }
    }

    /// Its name, as in a threshold.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Time(name) | Metric::Over(name, _) => name,
            Metric::OpsPerSec => "ops_per_sec",
            Metric::BytesPerSec => "bytes_per_sec",
        }
    }

    /// Parses a limit in this metric's unit.
    pub fn value(self, text: &str) -> Result<Value, ThresholdFault> {
        match self {
            Metric::Time(_) => Ok(Value::Time(text.parse()?)),
            Metric::Over(..) => share(text).map(Value::Share),
            Metric::OpsPerSec => {
                number(text).map(Value::Ops).ok_or_else(|| ThresholdFault::Ops(text.to_owned()))
            }
            Metric::BytesPerSec => {
                let size = text.strip_suffix("/s").unwrap_or(text);
                Ok(Value::Bytes(size.parse::<Bytes>()?.0 as f64))
            }
        }
    }

    /// The figure of a phase.
    pub fn read(self, phase: &Phase) -> Result<Value, NoFigure> {
        match self {
            Metric::OpsPerSec => Ok(Value::Ops(phase.ops_per_sec)),
            Metric::BytesPerSec => Ok(Value::Bytes(phase.bytes_per_sec)),
            Metric::Time(name) => time(name, phase).map(Value::Time),
            Metric::Over(_, limit) => {
                let histogram = histogram(phase)?;
                let share = ratio(histogram.count_over(limit), histogram.count());
                share.map(Value::Share).ok_or(NoFigure::Empty)
            }
        }
    }
}

fn histogram(phase: &Phase) -> Result<Histogram, NoFigure> {
    response_histogram(phase).ok_or(NoFigure::Unreadable)
}

fn time(name: &str, phase: &Phase) -> Result<Nanos, NoFigure> {
    let figures = Figures::of(&histogram(phase)?);
    let (value, needed) = match name {
        "p50" => (figures.p50, 20),
        "p90" => (figures.p90, 100),
        "p99" => (figures.p99, 1_000),
        "p999" => (figures.p999, 10_000),
        "max" => (figures.max, 1),
        _ => (figures.mean, 1),
    };
    value.ok_or(NoFigure::Few { n: figures.n, needed })
}

/// `1%` or `0.01`.
fn share(text: &str) -> Result<f64, ThresholdFault> {
    let value = match text.strip_suffix('%') {
        Some(percent) => number(percent.trim()).map(|percent| percent / 100.0),
        None => number(text),
    };
    let share = value.filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| ThresholdFault::Share(text.to_owned()))
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|value: &f64| value.is_finite() && *value >= 0.0)
}

impl Value {
    /// Compares values of one unit: a limit is parsed with its metric.
    pub fn is_above(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Time(a), Value::Time(b)) => a > b,
            (Value::Share(a), Value::Share(b))
            | (Value::Ops(a), Value::Ops(b))
            | (Value::Bytes(a), Value::Bytes(b)) => a > b,
            _ => false,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Time(time) => f.write_str(&precise(*time)),
            Value::Share(share) => write!(f, "{}%", significant(share * 100.0)),
            Value::Ops(ops) => write!(f, "{}/s", significant(*ops)),
            Value::Bytes(bytes) => write!(f, "{} MB/s", significant(bytes / 1e6)),
        }
    }
}

/// A value with more digits than elsewhere, so that a figure just over a limit differs from it.
fn precise(time: Nanos) -> String {
    match time.0 {
        0..1_000 => format!("{} ns", time.0),
        1_000..1_000_000 => format!("{} µs", significant(time.0 as f64 / 1e3)),
        1_000_000..1_000_000_000 => format!("{} ms", significant(time.0 as f64 / 1e6)),
        _ => format!("{} s", significant(time.0 as f64 / 1e9)),
    }
}

/// Four significant digits, without zeroes at the end; whole numbers in full.
fn significant(value: f64) -> String {
    let decimals = match value.abs() {
        v if v >= 1000.0 => 0,
        v if v >= 100.0 => 1,
        v if v >= 10.0 => 2,
        v if v >= 1.0 => 3,
        _ => 5,
    };
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}
