//! Prometheus's own programs take what is written for them: promtool, node_exporter's textfile collector, and the alert
//! rule of the document.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use flashlag_export::{Format, device_prometheus, watch_prometheus, wear_prometheus};
use flashlag_schema::history::Sums;
use flashlag_schema::{
    DeviceLife, DeviceStats, Environment, HostRequests, Lateness, Run, StallCause,
};
use flashlag_spec::{FlashState, Reading};
use flashlag_testing::{sample, small_run};
use flashlag_units::{Bytes, Nanos};

/// Name and labels of a sample, with its value.
type Samples = BTreeMap<(String, BTreeMap<String, String>), f64>;

/// The samples of a text, by a reader of its own.
fn samples(text: &str) -> Samples {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines.map(sample_of).collect()
}

fn sample_of(line: &str) -> ((String, BTreeMap<String, String>), f64) {
    let (head, value) = line.rsplit_once(' ').unwrap();
    let (name, labels) = head.split_once('{').unwrap_or((head, "}"));
    let mut found = BTreeMap::new();
    let mut rest = labels.strip_suffix('}').unwrap();
    while let Some((key, after)) = rest.split_once("=\"") {
        let mut value = String::new();
        let mut letters = after.char_indices();
        let end = loop {
            match letters.next().unwrap() {
                (at, '"') => break at,
                (_, '\\') => match letters.next().unwrap().1 {
                    'n' => value.push('\n'),
                    other => value.push(other),
                },
                (_, other) => value.push(other),
            }
        };
        found.insert(key.trim_start_matches(',').to_owned(), value);
        rest = &after[end + 1..];
    }
    let value = if value == "+Inf" { f64::INFINITY } else { value.parse().unwrap() };
    ((name.to_owned(), found), value)
}

fn runs() -> Vec<Run> {
    let mut odd = sample::quick();
    odd.label = Some("a \"label\" with \\ and\nwith a second line, ü".to_owned());
    vec![odd, sample::lifecycle(), sample::overloaded()]
}

fn stats() -> DeviceStats {
    let (histogram, summary) = {
        let phase = &small_run().phases[0];
        (phase.histogram.clone(), phase.latency_ns.clone())
    };
    DeviceStats {
        profile: "mine \"2\"\\".to_owned(),
        size_bytes: Bytes(1 << 30),
        seed: 1,
        time_scale: 1.0,
        virtual_ns: Nanos::from_millis(2_500),
        powered: true,
        read_only: None,
        host: HostRequests { reads: 12, written_bytes: Bytes(1 << 40), ..HostRequests::default() },
        flash: Some(FlashState {
            programmed_bytes: Some(Bytes(409_600)),
            write_amplification: Some(2.0),
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

fn texts() -> Vec<String> {
    let runs = runs().into_iter().map(|run| Format::Prometheus.write_run(&run).unwrap());
    let wear = wear_prometheus(&worn());
    runs.chain([device_prometheus(&stats()), wear]).collect()
}

/// An NVMe drive with ext4 that says all it can of its wear.
fn worn() -> Environment {
    let mut environment = sample::quick().environment;
    environment.device.model = Reading::Value("Drive \"A\"".to_owned());
    environment.device.life = Reading::Value(DeviceLife {
        used_percent_at_most: 7,
        pre_eol: Some("warning".to_owned()),
        source: "NVMe SMART log".to_owned(),
        written_bytes: Some(Bytes(38_177_280_000)),
    });
    environment
}

#[test]
fn wear_is_what_the_environment_says_and_nothing_where_it_is_silent() {
    let of = |text: &str| -> BTreeMap<String, f64> {
        samples(text)
            .into_iter()
            .map(|((name, labels), value)| {
                let state = labels.get("flashlag_storage_pre_eol").cloned().unwrap_or_default();
                (name + &state, value)
            })
            .collect()
    };
    let known = of(&wear_prometheus(&worn()));
    assert_eq!(known["flashlag_storage_life_used_ratio"], 0.07);
    assert_eq!(known["flashlag_storage_written_bytes_total"], 38_177_280_000.0);
    let states = ["normal", "warning", "urgent"]
        .map(|state| known[&format!("flashlag_storage_pre_eol{state}")]);
    assert_eq!(states, [0.0, 1.0, 0.0]);
    let mut silent = worn();
    silent.device.life = Reading::unavailable("it does not say");
    silent.internals = None;
    assert_eq!(wear_prometheus(&silent), "");
}

/// A program of Prometheus's with this input; its output where it fails.
fn promtool(arguments: &[&str], input: &str) -> Result<String, String> {
    let mut child = Command::new("promtool")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    if output.status.success() { Ok(said) } else { Err(said) }
}

#[test]
fn promtool_has_nothing_to_say_of_any_run_or_device() {
    if flashlag_need::program("promtool", "prometheus").is_none() {
        return;
    }
    for text in texts() {
        assert_eq!(promtool(&["check", "metrics"], &text), Ok(String::new()));
    }
    let openmetrics = Format::OpenMetrics.write_run(&sample::quick()).unwrap();
    assert!(promtool(&["check", "metrics"], &openmetrics).is_err(), "what made this format needed");
}

/// node_exporter with nothing but its textfile collector.
struct Exporter(Child, u16);

impl Exporter {
    fn start(folder: &Path) -> Exporter {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let child = Command::new("prometheus-node-exporter")
            .args(["--collector.disable-defaults", "--collector.textfile"])
            .arg(format!("--collector.textfile.directory={}", folder.display()))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Exporter(child, port)
    }

    /// What a scrape gives; waits for the program to listen.
    fn scrape(&self) -> String {
        let connected = (0..600).find_map(|_| {
            let stream = TcpStream::connect(("127.0.0.1", self.1)).ok();
            if stream.is_none() {
                std::thread::sleep(Duration::from_millis(100));
            }
            stream
        });
        let mut stream = connected.unwrap();
        stream.write_all(b"GET /metrics HTTP/1.0\r\nAccept: text/plain\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.0 200"), "{head}");
        body.to_owned()
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_textfile_collector_gives_back_every_figure() {
    let needed = flashlag_need::program("prometheus-node-exporter", "prometheus-node-exporter");
    if needed.is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let run = runs().remove(0);
    let text = Format::Prometheus.write_run(&run).unwrap();
    std::fs::write(folder.path().join("run.prom"), &text).unwrap();
    std::fs::write(folder.path().join("device.prom"), device_prometheus(&stats())).unwrap();
    let exporter = Exporter::start(folder.path());
    let scraped = samples(&exporter.scrape());
    let error = ("node_textfile_scrape_error".to_owned(), BTreeMap::new());
    assert_eq!(scraped.get(&error), Some(&0.0));
    let mut written = samples(&text);
    written.extend(samples(&device_prometheus(&stats())));
    assert!(written.len() > 100, "{}", written.len());
    let ours = |(name, _): &&(String, BTreeMap<String, String>)| name.starts_with("flashlag_");
    assert_eq!(scraped.keys().filter(ours).count(), written.len());
    for (sample, value) in &written {
        // The collector writes a bucket's bound in its own way.
        let found = scraped.get(sample).or_else(|| {
            let bound = sample.1.get("le")?.parse::<f64>().ok()?;
            let is_it = |(name, labels): &&(String, BTreeMap<String, String>)| {
                let without = |labels: &BTreeMap<String, String>| {
                    labels
                        .iter()
                        .filter(|(key, _)| *key != "le")
                        .map(|(k, v)| (k.clone(), v.clone()))
                        .collect::<Vec<_>>()
                };
                *name == sample.0
                    && labels.get("le").and_then(|le| le.parse::<f64>().ok()) == Some(bound)
                    && without(labels) == without(&sample.1)
            };
            scraped.keys().find(is_it).and_then(|key| scraped.get(key))
        });
        assert_eq!(found, Some(value), "{sample:?}");
    }
    // What OpenMetrics writes is refused there.
    let openmetrics = Format::OpenMetrics.write_run(&run).unwrap();
    std::fs::write(folder.path().join("run.prom"), openmetrics).unwrap();
    assert_eq!(samples(&exporter.scrape()).get(&error), Some(&1.0));
}

#[test]
fn counts_and_buckets_are_those_of_the_run_file() {
    for run in runs() {
        let written = samples(&Format::Prometheus.write_run(&run).unwrap());
        for (index, phase) in run.phases.iter().enumerate() {
            let phase_label = (index + 1).to_string();
            let of = |name: &str| {
                let name = name.to_owned();
                let label = phase_label.clone();
                written
                    .iter()
                    .filter(move |((known, labels), _)| {
                        *known == name && labels.get("phase") == Some(&label)
                    })
                    .map(|((_, labels), value)| (labels.clone(), *value))
                    .collect::<Vec<_>>()
            };
            assert_eq!(of("flashlag_operations_total")[0].1, phase.ops as f64);
            let stored = &phase.histogram;
            let n: u64 = stored.count.iter().sum();
            let bound = |labels: &BTreeMap<String, String>| match labels["le"].as_str() {
                "+Inf" => f64::INFINITY,
                bound => bound.parse::<f64>().unwrap(),
            };
            let mut buckets: Vec<(f64, f64)> = of("flashlag_latency_seconds_bucket")
                .iter()
                .map(|(labels, count)| (bound(labels), *count))
                .collect();
            buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
            assert!(buckets.windows(2).all(|pair| pair[0].1 <= pair[1].1), "cumulative");
            assert_eq!(buckets.last().unwrap().1, n as f64);
            assert_eq!(of("flashlag_latency_seconds_count")[0].1, n as f64);
            let sum = stored.sum_ns.0 as f64 / 1e9;
            assert!((of("flashlag_latency_seconds_sum")[0].1 - sum).abs() <= 1e-9 * sum.max(1.0));
            if let Some(lag) = &phase.lag {
                let late = of("flashlag_late_saves_total");
                let frame =
                    late.iter().find(|(labels, _)| labels["longer_than_seconds"] == "0.016666667");
                assert_eq!(frame.unwrap().1, lag.over_60hz as f64);
            }
        }
    }
}

/// The rule file that the document shows.
fn rules() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/watching.md");
    let text = std::fs::read_to_string(path).unwrap();
    let blocks = text.split("```yaml\n").skip(1).filter_map(|block| block.split("```").next());
    blocks.into_iter().find(|block| block.starts_with("groups:")).unwrap().to_owned()
}

#[test]
fn the_documents_alert_rule_is_valid_and_fires_at_a_lag_that_was_measured() {
    if flashlag_need::program("promtool", "prometheus").is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| -> PathBuf {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let rules = file("rules.yml", &rules());
    let checked = promtool(&["check", "rules", rules.to_str().unwrap()], "");
    assert!(checked.is_ok(), "{checked:?}");
    // What a real run of a slow tablet writes, as one series each, believed and not believed.
    let series = |name: &str, p99: f64, trusted: u8| {
        let labels = format!("instance=\"{name}\",test=\"rand_write_4k\",percentile=\"99\"");
        format!(
            "      - series: 'flashlag_latency_percentile_seconds{{{labels}}}'\n        values: '{p99}x3'\n      \
             - series: 'flashlag_trusted{{instance=\"{name}\"}}'\n        values: '{trusted}x3'\n"
        )
    };
    let inputs = series("slow", 0.3, 1) + &series("fast", 0.003, 1) + &series("doubted", 0.3, 0);
    let test = format!(
        "rule_files: [rules.yml]\ntests:\n  - interval: 1m\n    input_series:\n{inputs}    alert_rule_test:\n      \
         - eval_time: 1m\n        alertname: StorageLags\n        exp_alerts:\n          - exp_labels: {{instance: \
         slow, test: rand_write_4k, percentile: \"99\"}}\n            exp_annotations: {{summary: \"One durable 4 \
         KiB write in a hundred took longer than 0.1 s on slow.\"}}\n"
    );
    let test = file("test.yml", &test);
    let tested = promtool(&["test", "rules", test.to_str().unwrap()], "");
    assert!(tested.is_ok(), "{}", tested.unwrap_err());
}

/// The names of a text's samples.
fn names(text: &str) -> std::collections::BTreeSet<String> {
    samples(text).into_keys().map(|(name, _)| name).collect()
}

#[test]
fn the_dashboard_and_the_alert_of_a_watch_name_only_what_it_serves() {
    let histogram = small_run().phases[0].histogram.clone();
    let mut sums = Sums::default();
    sums.span.probes = histogram;
    sums.span.state.free_bytes = Some(Bytes(10));
    sums.span.state.total_bytes = Some(Bytes(100));
    sums.span.state.used_percent_at_most = Some(10);
    sums.count(StallCause::OtherIo);
    let served = names(&watch_prometheus(&sums));
    assert!(served.contains("flashlag_watch_wait_seconds_bucket"), "{served:?}");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (file, least) in [("packaging/flashlag-watch-grafana.json", 9), ("docs/watch.md", 1)] {
        let text = std::fs::read_to_string(root.join(file)).unwrap();
        let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let words = text.split(|letter| !is_word(letter));
        let named: std::collections::BTreeSet<&str> = words
            .filter(|word| {
                word.starts_with("flashlag_watch_") || word.starts_with("flashlag_storage_")
            })
            .collect();
        let strangers: Vec<_> = named.iter().filter(|name| !served.contains(**name)).collect();
        assert!(strangers.is_empty() && named.len() >= least, "{file}: {strangers:?} of {named:?}");
    }
    let dashboard = std::fs::read_to_string(root.join("packaging/flashlag-watch-grafana.json"));
    let dashboard: serde_json::Value = serde_json::from_str(&dashboard.unwrap()).unwrap();
    assert_eq!(dashboard["panels"].as_array().unwrap().len(), 6);
}

#[test]
fn a_cause_has_a_value_before_its_first_incident_and_keeps_its_series() {
    let mut sums = Sums::default();
    let of = |sums: &Sums| -> BTreeMap<String, f64> {
        let all = samples(&watch_prometheus(sums)).into_iter();
        let all = all.filter(|((name, _), _)| name == "flashlag_watch_incidents_total");
        all.map(|((_, labels), value)| (labels["cause"].clone(), value)).collect()
    };
    let before = of(&sums);
    assert!(before.values().all(|value| *value == 0.0) && before.len() == 9, "{before:?}");
    sums.count(StallCause::OtherIo);
    sums.count(StallCause::OtherIo);
    sums.count(StallCause::FilesystemCommit);
    let after = of(&sums);
    assert_eq!(after["another process's I/O"], 2.0);
    assert_eq!(after["filesystem commit"], 1.0);
    assert!(before.keys().all(|cause| after.contains_key(cause)));
}
