//! fio's results are read without loss, a run survives the way to fio's shape and back, and no
//! text makes the reader panic.
#![allow(clippy::unwrap_used)]

use std::process::Command;

use flashlag_export::fio::{FioFileError, export, histogram_of, import, looks_like_fio};
use flashlag_schema::verify::verify;
use flashlag_schema::{CheckId, CheckStatus, Run, TargetKind, Think};
use flashlag_spec::Operation;
use flashlag_spec::scenario::{Durability, EngineKind};
use flashlag_stats::{Histogram, Percentile};
use flashlag_testing::small_run;
use flashlag_units::{Bytes, Nanos};
use proptest::prelude::*;
use serde_json::{Value, json};

const DURABLE: &str = include_str!("fixtures/fio-3.33-fdatasync.json");
const MIXED: &str = include_str!("fixtures/fio-3.33-mixed.json");
const PLAIN: &str = include_str!("fixtures/fio-3.33-plain.json");

fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Every bin of fio's object is in the histogram, and fio's own percentiles are ours.
fn same_as_fio(histogram: &Histogram, latency: &Value) {
    let bins = latency["bins"].as_object().unwrap();
    assert!(bins.len() > 20);
    let occupied: Vec<(u64, u64)> = histogram
        .occupied()
        .map(|(index, count)| (Histogram::middle_of(index as usize).0, count))
        .collect();
    assert_eq!(occupied.len(), bins.len());
    for (middle, count) in occupied {
        assert_eq!(bins[&middle.to_string()], json!(count), "bin {middle}");
    }
    assert_eq!(histogram.count(), latency["N"].as_u64().unwrap());
    assert_eq!(histogram.min().unwrap().0, latency["min"].as_u64().unwrap());
    assert_eq!(histogram.max().unwrap().0, latency["max"].as_u64().unwrap());
    let mean = latency["mean"].as_f64().unwrap();
    assert!((histogram.sum().0 as f64 / histogram.count() as f64 - mean).abs() < 0.01);
    for (name, percentile) in [("50", 5000), ("90", 9000), ("99", 9900), ("99.9", 9990)] {
        let key = format!("{:.6}", name.parse::<f64>().unwrap());
        let theirs = latency["percentile"][&key].as_u64().unwrap();
        let ours = histogram.quantile(Percentile(percentile)).unwrap().0;
        // Ours is kept within the exact smallest and largest value.
        assert_eq!(ours, theirs.min(histogram.max().unwrap().0), "p{name}");
    }
}

#[test]
fn every_bin_and_percentile_of_fio_is_read_exactly() {
    let run = import(DURABLE).unwrap();
    let job = &value(DURABLE)["jobs"][0];
    let phase = &run.phases[0];
    same_as_fio(&phase.histogram.restore().unwrap(), &job["write"]["clat_ns"]);
    let flush = phase.flush_histogram.as_ref().unwrap().restore().unwrap();
    same_as_fio(&flush, &job["sync"]["lat_ns"]);
    let run = import(MIXED).unwrap();
    let job = &value(MIXED)["jobs"][0];
    same_as_fio(&run.phases[0].histogram.restore().unwrap(), &job["read"]["lat_ns"]);
    same_as_fio(&run.phases[1].histogram.restore().unwrap(), &job["write"]["lat_ns"]);
}

#[test]
fn a_file_of_fio_becomes_a_run_that_verifies() {
    for text in [DURABLE, MIXED] {
        let run = import(text).unwrap();
        assert_eq!(verify(&run), []);
        assert_eq!(run.target.kind, TargetKind::Imported);
        assert!(run.trust.checks.iter().all(|check| check.status == CheckStatus::Unknown));
        assert_eq!(run.trust.checks.len(), CheckId::ALL.len());
        let json = serde_json::to_value(&run).unwrap();
        let (mut compiler, mut schemas) = (boon::Compiler::new(), boon::Schemas::new());
        let shipped = serde_json::from_str(&flashlag_schema::RUN_JSON_SCHEMA).unwrap();
        compiler.add_resource("run.json", shipped).unwrap();
        let schema = compiler.compile("run.json", &mut schemas).unwrap();
        assert!(schemas.validate(&json, schema).is_ok());
        assert_eq!(Run::from_json(&run.to_json()).unwrap(), run);
    }
}

#[test]
fn options_become_what_was_done() {
    let run = import(DURABLE).unwrap();
    let phase = &run.phases[0];
    assert_eq!((phase.name.as_str(), phase.operation), ("durable", Operation::RandomWrite));
    assert_eq!((phase.block_bytes, phase.span_bytes), (Bytes(4096), Bytes(16 << 20)));
    assert_eq!((phase.queue_depth, phase.direct, phase.engine), (1, true, EngineKind::Fio));
    assert_eq!(phase.bytes.0, phase.ops * 4096);
    assert!(Nanos::from_millis(990) < phase.elapsed_ns && phase.elapsed_ns < Nanos::from_secs(2));
    assert_eq!(run.scenario.seed, 7);
    assert_eq!(run.target.name, "f");
    assert!(run.started.as_deref().unwrap().ends_with('Z'));
    assert!(run.command.contains(&"--fdatasync=1".to_owned()));
    let run = import(MIXED).unwrap();
    let named: Vec<_> =
        run.phases.iter().map(|p| (p.name.as_str(), p.operation, p.block_bytes.0)).collect();
    let expected = [
        ("mixed_read", Operation::RandomRead, 8192),
        ("mixed_write", Operation::RandomWrite, 4096),
        ("stream", Operation::SequentialRead, 65536),
    ];
    assert_eq!(named, expected);
    assert!(run.phases.iter().all(|phase| phase.queue_depth == 8 && phase.direct));
}

#[test]
fn a_write_whose_flush_is_counted_apart_is_not_called_durable() {
    let phase = &import(DURABLE).unwrap().phases[0];
    assert_eq!(phase.durable, Durability::None);
    assert!(!phase.is_durable_write());
    assert!(phase.notes.iter().any(|note| note.contains("sync=dsync")), "{:?}", phase.notes);
    let dsync = DURABLE.replace("\"fdatasync\" : \"1\"", "\"sync\" : \"dsync\"");
    assert_ne!(dsync, DURABLE);
    let phase = &import(&dsync).unwrap().phases[0];
    assert_eq!(phase.durable, Durability::Dsync);
    assert!(phase.is_durable_write());
}

#[test]
fn plain_json_is_refused_with_what_to_do() {
    let error = import(PLAIN).unwrap_err();
    assert!(matches!(error, FioFileError::NoBins { .. }));
    assert!(error.to_string().contains("--output-format=json+"), "{error}");
}

#[test]
fn what_is_not_fios_is_refused() {
    let run = small_run().to_json();
    assert!(!looks_like_fio(&run));
    assert!(matches!(import(&run), Err(FioFileError::NotFio)));
    assert!(matches!(import("fio: job error"), Err(FioFileError::Json(_))));
    let old = DURABLE.replace("fio-3.33", "fio-1.59");
    assert!(matches!(import(&old), Err(FioFileError::Version { .. })));
    assert!(matches!(
        import(r#"{"fio version":"fio-3.1","jobs":[]}"#),
        Err(FioFileError::Nothing { .. })
    ));
}

#[test]
fn warnings_ahead_of_the_json_are_passed_over() {
    let text = format!("fio: this platform does not support x\nnote: both iodepth > 1\n{DURABLE}");
    assert!(looks_like_fio(&text));
    assert_eq!(import(&text).unwrap(), import(DURABLE).unwrap());
}

#[test]
fn jobs_of_one_name_get_names_of_their_own() {
    let mut file = value(DURABLE);
    let job = file["jobs"][0].clone();
    file["jobs"] = json!([job, job, job]);
    let run = import(&file.to_string()).unwrap();
    let mut labels: Vec<String> = run.phases.iter().map(|phase| phase.label()).collect();
    labels.sort();
    labels.dedup();
    assert_eq!(labels.len(), 3, "{labels:?}");
}

#[test]
fn values_beyond_fios_last_bucket_keep_the_largest() {
    let latency = json!({
        "min": 1000, "max": 60_000_000_000u64, "mean": 3e9, "N": 30,
        "bins": { "1000": 20, "17112760320": 10 },
    });
    let histogram = histogram_of("x", &latency).unwrap().unwrap();
    assert_eq!(histogram.count(), 30);
    assert_eq!(histogram.max(), Some(Nanos::from_secs(60)));
    let last = Histogram::index_of(Nanos(17_112_760_320)) as u32;
    let buckets: Vec<(u32, u64)> = histogram.occupied().collect();
    assert_eq!(buckets[1], (last, 9));
    assert_eq!(buckets[2].1, 1);
}

#[test]
fn a_run_goes_to_fios_shape_and_back() {
    let run = small_run();
    let text = export(&run).unwrap();
    assert!(looks_like_fio(&text));
    let back = import(&text).unwrap();
    assert_eq!(verify(&back), []);
    for (before, after) in run.phases.iter().zip(&back.phases) {
        assert_eq!(after.name, before.name);
        assert_eq!(after.histogram, before.histogram);
        assert_eq!(after.latency_ns, before.latency_ns);
        assert_eq!(after.flush_histogram, before.flush_histogram);
        assert_eq!(after.response_histogram, before.response_histogram);
        assert_eq!(after.missed_slots, before.missed_slots);
        assert_eq!((after.ops, after.bytes), (before.ops, before.bytes));
        assert_eq!(after.elapsed_ns, before.elapsed_ns);
        assert_eq!(after.ops_per_sec, before.ops_per_sec);
        assert_eq!(after.operation, before.operation);
        assert_eq!(after.durable, before.durable);
        assert_eq!(after.block_bytes, before.block_bytes);
        assert_eq!(after.span_bytes, before.span_bytes);
        assert_eq!(after.lag, before.lag);
        assert_eq!(after.stalls_seen, before.stalls_seen);
    }
    assert_eq!(back.started, run.started);
    // And once more: nothing changes any more but fio's CPU shares, which an import has in words only.
    let mut again = export(&back).map(|text| import(&text).unwrap().phases).unwrap();
    for (phase, before) in again.iter_mut().zip(&back.phases) {
        assert!(phase.time.value().is_none());
        phase.time = before.time.clone();
    }
    assert_eq!(again, back.phases);
}

#[test]
fn fios_own_tool_takes_what_is_exported() {
    let directory = std::env::temp_dir().join(format!("flashlag-fio-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let (json, csv) = (directory.join("run.json"), directory.join("run.csv"));
    std::fs::write(&json, export(&small_run()).unwrap()).unwrap();
    let tool = |validate: &[&str]| {
        Command::new("fio_jsonplus_clat2csv").args([&json, &csv]).args(validate).output()
    };
    match (tool(&[]), tool(&["--validate"])) {
        (Ok(made), Ok(checked)) if made.status.success() => {
            let said = String::from_utf8_lossy(&checked.stdout).into_owned();
            assert_eq!(said.matches("validated").count(), 3, "{said}");
            let rows = std::fs::read_to_string(directory.join("run_job0.csv")).unwrap();
            assert!(rows.lines().count() > 5);
        }
        (Ok(made), _) => {
            let said = String::from_utf8_lossy(&made.stderr).into_owned();
            // Its interpreter or its module `six` may be missing: that is no claim about us.
            assert!(said.contains("ModuleNotFoundError") || said.contains("env:"), "{said}");
            flashlag_need::skip(format!("fio_jsonplus_clat2csv does not run: {said}"));
        }
        (Err(error), _) => flashlag_need::skip(format!("no fio_jsonplus_clat2csv: {error}")),
    }
    std::fs::remove_dir_all(&directory).unwrap();
}

/// Replaces something somewhere in a JSON value.
fn broken(value: &mut Value, path: &mut impl Iterator<Item = usize>, with: &Value) {
    let step = path.next();
    match (value, step) {
        (Value::Object(map), Some(step)) if !map.is_empty() => {
            let index = step % map.len();
            if let Some(inner) = map.values_mut().nth(index) {
                broken(inner, path, with);
            }
        }
        (Value::Array(list), Some(step)) if !list.is_empty() => {
            let index = step % list.len();
            broken(&mut list[index], path, with);
        }
        (value, _) => *value = with.clone(),
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        Just(json!({})),
        Just(json!([])),
        Just(json!({ "bins": { "5": u64::MAX, "17112760320": u64::MAX } })),
        any::<u64>().prop_map(|number| json!(number)),
        any::<i64>().prop_map(|number| json!(number)),
        any::<f64>().prop_map(|number| json!(number)),
        ".{0,12}".prop_map(|text| json!(text)),
    ]
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in ".{0,200}") {
        let _ = import(&text);
        let _ = looks_like_fio(&text);
    }

    #[test]
    fn no_cut_makes_the_reader_panic(at in 0usize..20_000) {
        let at = DURABLE.floor_char_boundary(at);
        let _ = import(&DURABLE[..at]);
    }

    #[test]
    fn whatever_is_broken_is_an_error_or_a_run_that_verifies(
        path in prop::collection::vec(0usize..400, 1..7),
        with in any_json(),
        ours in any::<bool>(),
    ) {
        let mut file = if ours {
            value(&export(&small_run()).unwrap())
        } else {
            value(MIXED)
        };
        broken(&mut file, &mut path.into_iter(), &with);
        if let Ok(run) = import(&file.to_string()) {
            prop_assert_eq!(verify(&run), []);
            export(&run).unwrap();
        }
    }

    #[test]
    fn any_histogram_below_fios_limit_survives(
        values in prop::collection::vec(0u64..17_000_000_000, 1..200),
    ) {
        let mut histogram = Histogram::new();
        values.iter().for_each(|value| histogram.record(Nanos(*value)));
        let mut run = small_run();
        run.phases.truncate(1);
        run.phases[0].histogram = (&histogram).into();
        let back = import(&export(&run).unwrap()).unwrap();
        prop_assert_eq!(&back.phases[0].histogram, &run.phases[0].histogram);
    }
}

/// The rests of the only job of `DURABLE`, with these options.
fn rests(options: &[(&str, &str)]) -> (Option<Think>, Vec<String>) {
    let mut file = value(DURABLE);
    for (name, option) in options {
        file["jobs"][0]["job options"][name] = json!(option);
    }
    let run = import(&file.to_string()).unwrap();
    assert_eq!(verify(&run), []);
    let notes = run.phases[0].notes.iter().filter(|note| note.contains("rested"));
    (run.phases[0].think, notes.cloned().collect())
}

#[test]
fn a_think_time_of_fio_is_the_rest_after_each_operation() {
    let phase = import(DURABLE).unwrap().phases.remove(0);
    assert_eq!(phase.think, None);
    for (typed, each) in [("7", 7_000), ("7us", 7_000), ("2ms", 2_000_000), ("1s", 1_000_000_000)] {
        let (think, notes) = rests(&[("thinktime", typed)]);
        // A rest ends with the job at the latest.
        let total = (each * phase.ops).min(phase.elapsed_ns.0);
        assert_eq!(think, Some(Think { each_ns: Nanos(each), total_ns: Nanos(total) }), "{typed}");
        assert!(notes.is_empty(), "{notes:?}");
    }
    for nothing in ["0", "soon", "-4", "99999999999999999999s", "18446744073709551615d"] {
        assert_eq!(rests(&[("thinktime", nothing)]).0, None, "{nothing}");
    }
    let (think, notes) = rests(&[("thinktime", "10us"), ("thinktime_blocks", "4")]);
    let think = think.unwrap();
    assert_eq!((think.each_ns, think.total_ns), (Nanos(2_500), Nanos(phase.ops / 4 * 10_000)));
    assert_eq!(notes.len(), 1, "{notes:?}");
}

#[test]
fn rests_survive_the_way_to_fios_shape_and_back() {
    let mut run = small_run();
    for each in [1, 999, 5_000_000] {
        let phase = &mut run.phases[0];
        let (each_ns, total_ns) = (Nanos(each), Nanos(each).min(phase.elapsed_ns));
        phase.think = Some(Think { each_ns, total_ns });
        phase.closed_loop = true;
        let text = export(&run).unwrap();
        // fio counts whole microseconds.
        let micros = value(&text)["jobs"][0]["job options"]["thinktime"].clone();
        assert_eq!(micros, json!(each.div_ceil(1_000).to_string()));
        assert_eq!(import(&text).unwrap().phases[0].think, run.phases[0].think, "{each} ns");
    }
}
