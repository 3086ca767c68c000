//! OpenMetrics text is checked against the standard's rules by a reader of its own.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::{BTreeMap, BTreeSet};

use flashlag_export::{Format, device_metrics};
use flashlag_schema::{DeviceStats, HostRequests, Lateness};
use flashlag_spec::FlashState;
use flashlag_testing::sample;
use flashlag_testing::small_run;
use flashlag_units::{Bytes, Nanos};

mod check {
    use super::*;

    /// A sample line: name, labels, value.
    type Sample = (String, BTreeMap<String, String>, f64);

    /// What is wrong with the text, if anything.
    pub fn openmetrics(text: &str) -> Result<usize, String> {
        let body = text.strip_suffix("# EOF\n").ok_or("does not end with # EOF")?;
        let mut families: BTreeMap<String, String> = BTreeMap::new();
        let mut family = String::new();
        let mut seen = BTreeSet::new();
        let mut samples: Vec<(String, Sample)> = Vec::new();
        for line in body.lines() {
            let bad = |why: &str| format!("{why}: {line:?}");
            if let Some(meta) = line.strip_prefix("# ") {
                let words: Vec<&str> = meta.splitn(3, ' ').collect();
                let [keyword, name, rest] = words.as_slice() else { return Err(bad("metadata")) };
                match *keyword {
                    "TYPE" => {
                        let before = families.insert((*name).to_owned(), (*rest).to_owned());
                        if before.is_some() {
                            return Err(bad("a family twice"));
                        }
                        family = (*name).to_owned();
                    }
                    "UNIT" if *name == family && name.ends_with(&format!("_{rest}")) => {}
                    "HELP" if *name == family => unescape(rest).map_err(|why| bad(&why))?.clear(),
                    _ => return Err(bad("metadata of another family or of no kind")),
                }
                continue;
            }
            let sample = sample(line).map_err(|why| bad(&why))?;
            if !seen.insert(format!("{} {:?}", sample.0, sample.1)) {
                return Err(bad("a sample twice"));
            }
            let kind = families.get(&family).ok_or_else(|| bad("no family"))?;
            let suffix = sample.0.strip_prefix(&family).ok_or_else(|| bad("another family"))?;
            let fits = match kind.as_str() {
                "counter" => suffix == "_total" && sample.2 >= 0.0,
                "gauge" => suffix.is_empty(),
                "info" => suffix == "_info" && sample.2 == 1.0,
                "stateset" => {
                    let state = sample.1.contains_key(&family);
                    suffix.is_empty() && state && [0.0, 1.0].contains(&sample.2)
                }
                "histogram" => ["_bucket", "_count", "_sum"].contains(&suffix) && sample.2 >= 0.0,
                _ => false,
            };
            if !fits {
                return Err(bad("not a sample of its kind"));
            }
            if kind == "histogram" {
                samples.push((family.clone(), sample));
            }
        }
        histograms(&samples)?;
        Ok(seen.len())
    }

    fn sample(line: &str) -> Result<Sample, String> {
        let end = line.find(['{', ' ']).ok_or("no value")?;
        let name = &line[..end];
        let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
        if name.is_empty() || !name.chars().all(legal) || name.starts_with(|c: char| c.is_numeric())
        {
            return Err("illegal name".to_owned());
        }
        let (labels, value) = match line[end..].strip_prefix('{') {
            Some(rest) => labels(rest)?,
            None => (BTreeMap::new(), &line[end..]),
        };
        let value = value.strip_prefix(' ').ok_or("no space before the value")?;
        if value.contains(' ') || value.is_empty() {
            return Err("more than a value".to_owned());
        }
        let number = match value {
            "+Inf" => f64::INFINITY,
            "-Inf" => f64::NEG_INFINITY,
            other => other.parse().map_err(|_| "no number")?,
        };
        Ok((name.to_owned(), labels, number))
    }

    /// `key="value",…} rest`.
    fn labels(mut text: &str) -> Result<(BTreeMap<String, String>, &str), String> {
        let mut labels = BTreeMap::new();
        loop {
            let (key, rest) = text.split_once("=\"").ok_or("no label")?;
            if key.is_empty() || !key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
                return Err(format!("illegal label {key:?}"));
            }
            let mut escaped = false;
            let end = rest.char_indices().find(|(_, c)| {
                let ends = *c == '"' && !escaped;
                escaped = *c == '\\' && !escaped;
                ends
            });
            let (end, _) = end.ok_or("a value without end")?;
            if labels.insert(key.to_owned(), unescape(&rest[..end])?).is_some() {
                return Err(format!("label {key} twice"));
            }
            text = &rest[end + 1..];
            match text.strip_prefix(',') {
                Some(more) => text = more,
                None => return Ok((labels, text.strip_prefix('}').ok_or("no end of labels")?)),
            }
        }
    }

    fn unescape(text: &str) -> Result<String, String> {
        let mut plain = String::new();
        let mut letters = text.chars();
        while let Some(letter) = letters.next() {
            plain.push(match letter {
                '\\' => match letters.next() {
                    Some('n') => '\n',
                    Some(escaped @ ('\\' | '"')) => escaped,
                    other => return Err(format!("escape of {other:?}")),
                },
                '\n' => return Err("a bare line feed".to_owned()),
                other => other,
            });
        }
        Ok(plain)
    }

    /// Buckets rise, in the bound and in the count, and end at the count.
    fn histograms(samples: &[(String, Sample)]) -> Result<(), String> {
        let mut series: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
        let mut counts = BTreeMap::new();
        let mut sums = BTreeSet::new();
        for (family, (name, labels, value)) in samples {
            let mut labels = labels.clone();
            let le = labels.remove("le");
            let key = format!("{family} {labels:?}");
            match (name.ends_with("_bucket"), le) {
                (true, Some(le)) => {
                    let bound = if le == "+Inf" { Ok(f64::INFINITY) } else { le.parse() };
                    let bound = bound.map_err(|_| format!("le {le:?}"))?;
                    series.entry(key).or_default().push((bound, *value));
                }
                (false, None) if name.ends_with("_count") => {
                    counts.insert(key, *value);
                }
                (false, None) => {
                    sums.insert(key);
                }
                _ => return Err(format!("le where it does not belong: {name}")),
            }
        }
        for (key, buckets) in &series {
            let rises =
                buckets.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1);
            let last = buckets.last().filter(|(bound, _)| bound.is_infinite());
            if !rises || last.map(|(_, count)| count) != counts.get(key) || !sums.contains(key) {
                return Err(format!("{key}: {buckets:?}, count {:?}", counts.get(key)));
            }
        }
        Ok(())
    }
}

#[test]
fn every_sample_run_is_valid_openmetrics() {
    for (kind, run) in sample::all() {
        let text = Format::OpenMetrics.write_run(&run).unwrap();
        let samples = check::openmetrics(&text).unwrap_or_else(|why| panic!("{kind:?}: {why}"));
        assert!(samples > 30 * run.phases.len(), "{kind:?}: {samples}");
    }
}

#[test]
fn labels_that_would_break_out_are_escaped() {
    let mut run = sample::quick();
    run.target.name = "a\"} 1\n# EOF\n\\".to_owned();
    run.scenario.name = "\\\"\\".to_owned();
    run.phases[0].name = "x\",state=\"y".to_owned();
    let text = Format::OpenMetrics.write_run(&run).unwrap();
    check::openmetrics(&text).unwrap();
    assert!(text.contains(r#"scenario="\\\"\\""#), "{}", &text[..600]);
}

#[test]
fn the_checker_refuses_what_is_wrong() {
    let wrong = [
        "",
        "# TYPE a gauge\na 1\n",
        "a 1\n# EOF\n",
        "# TYPE a counter\na 1\n# EOF\n",
        "# TYPE a gauge\na{b=\"c} 1\n# EOF\n",
        "# TYPE a gauge\na 1\na 2\n# EOF\n",
        "# TYPE a_s histogram\na_s_bucket{le=\"1.0\"} 2\na_s_bucket{le=\"+Inf\"} 1\na_s_count 1\na_s_sum 1\n# EOF\n",
        "# TYPE a gauge\n# UNIT a seconds\na 1\n# EOF\n",
    ];
    for text in wrong {
        assert!(check::openmetrics(text).is_err(), "{text:?}");
    }
}

/// A device with every kind of figure, as `flashlag device stat --format json` prints it.
fn device() -> DeviceStats {
    let histogram = small_run().phases[0].histogram.clone();
    let summary = small_run().phases[0].latency_ns.clone();
    DeviceStats {
        profile: "mine \"2\"\\\n# EOF".to_owned(),
        size_bytes: Bytes(1 << 30),
        seed: 1,
        time_scale: 1.0,
        virtual_ns: Nanos::from_millis(2_500),
        powered: true,
        read_only: None,
        host: HostRequests { writes: 50, written_bytes: Bytes(204_800), ..Default::default() },
        flash: Some(FlashState {
            programmed_bytes: Some(Bytes(409_600)),
            copied_bytes: Some(Bytes::ZERO),
            write_amplification: Some(2.0),
            free_blocks: Some(12),
            bad_blocks: Some(0),
            buffered_bytes: Some(Bytes(4096)),
            cache_used_bytes: Some(Bytes(8192)),
            cache_bytes: Some(Bytes(1 << 20)),
            life_used: Some(0.25),
            ..FlashState::default()
        }),
        lateness_ns: Some(Lateness { summary, histogram }),
        power_cuts: 3,
        last_cut: None,
        faults: 0,
        recorded: None,
    }
}

#[test]
fn a_devices_statistics_are_valid_openmetrics_whatever_its_profile_is_called() {
    let text = device_metrics(&device());
    let samples = check::openmetrics(&text).unwrap_or_else(|why| panic!("{why}: {text}"));
    let label = r#"{profile="mine \"2\"\\ # EOF"}"#;
    assert!(samples > 20, "{text}");
    assert!(text.contains(&format!("flashlag_device_host_writes_total{label} 50\n")), "{text}");
    assert!(text.contains(&format!("flashlag_device_time_seconds{label} 2.5\n")), "{text}");
    assert!(text.contains("# UNIT flashlag_device_time_seconds seconds\n"), "{text}");
}
