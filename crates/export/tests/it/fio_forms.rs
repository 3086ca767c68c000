//! Every form in which fio writes results is read: those of clients, of intervals, arrays, with a report around the
//! JSON, packed, in UTF-16, of failed jobs and of fio 2; a refusal names the true reason and the option.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::Write;

use flashlag_export::fio::{TextError, check, import, text_of};
use flashlag_schema::Run;
use flashlag_stats::Histogram;
use flashlag_units::Nanos;
use serde_json::{Value, json};

const STATUS: &str = include_str!("fixtures/fio-3.33-status.json");
const CLIENT: &str = include_str!("fixtures/fio-3.33-client.json");
const FAILED: &str = include_str!("fixtures/fio-3.33-failed.json");
const GTOD: &str = include_str!("fixtures/fio-3.33-gtod.json");
const AROUND: &str = include_str!("fixtures/fio-3.33-normal-and-json.txt");
const PLAIN: &str = include_str!("fixtures/fio-3.33-plain.json");

/// Names and counts of a run's phases.
fn phases(run: &Run) -> Vec<(&str, u64)> {
    run.phases.iter().map(|phase| (phase.name.as_str(), phase.ops)).collect()
}

fn notes(run: &Run) -> String {
    run.scenario.assumptions.join(" ")
}

fn refused(text: &str) -> String {
    import(text).unwrap_err().to_string()
}

/// A result of one job with these values of completed writes, in microseconds.
fn result(job: &str, micros: &[u64]) -> Value {
    let mut bins = serde_json::Map::new();
    for value in micros {
        let middle = Histogram::middle_of(Histogram::index_of(Nanos(value * 1000))).0.to_string();
        let held = bins.get(&middle).and_then(Value::as_u64).unwrap_or(0);
        bins.insert(middle, json!(held + 1));
    }
    let (least, most) = (micros.iter().min().unwrap(), micros.iter().max().unwrap());
    let mean = micros.iter().sum::<u64>() as f64 * 1000.0 / micros.len() as f64;
    let n = micros.len();
    json!({"fio version": "fio-3.36", "jobs": [{"jobname": job, "error": 0,
        "job options": {"rw": "randwrite", "bs": "4k", "size": "8m"},
        "write": {"total_ios": n, "io_bytes": n * 4096, "runtime": 1000, "clat_ns":
            {"min": least * 1000, "max": most * 1000, "mean": mean, "N": n, "bins": bins}}}]})
}

#[test]
fn of_results_at_intervals_the_last_is_read_and_it_is_said() {
    let run = import(STATUS).unwrap();
    // What fio's own results say they had done by then.
    let done = STATUS.split("\"total_ios\" : ").skip(1).filter_map(|rest| rest.split(',').next());
    let done: Vec<u64> =
        done.map(|count| count.parse().unwrap()).filter(|count| *count > 0).collect();
    assert_eq!(done, [45, 95, 145, 195, 199]);
    assert_eq!(phases(&run), [("a", 199)]);
    let results = STATUS.matches("\"fio version\"").count();
    assert!(results > 1 && notes(&run).contains(&format!("{results} results")), "{}", notes(&run));
}

#[test]
fn results_of_an_array_and_of_runs_appended_to_one_file_are_all_read() {
    let (one, two) = (result("a", &[100; 50]), result("a", &[200; 30]));
    let run = import(&json!([one, two]).to_string()).unwrap();
    assert_eq!(phases(&run), [("a", 50), ("a (2)", 30)]);
    // The second has done less: it does not go on from the first.
    let run = import(&format!("{one}\n{two}\n")).unwrap();
    assert_eq!(phases(&run), [("a", 50), ("a (2)", 30)]);
    let run = import(&format!("{two}\n{one}\n")).unwrap();
    assert_eq!(phases(&run), [("a", 50)], "it goes on from the first");
    let other = result("b", &[300; 60]);
    let run = import(&format!("{two}\n{other}")).unwrap();
    assert_eq!(phases(&run), [("a", 30), ("b", 60)]);
}

#[test]
fn a_result_that_was_cut_off_is_left_out_and_said_and_alone_it_is_refused() {
    let (one, two) = (result("a", &[100; 50]).to_string(), result("a", &[100; 90]).to_string());
    let cut = &two[..two.len() - 40];
    let run = import(&format!("{one}\n{cut}")).unwrap();
    assert_eq!(phases(&run), [("a", 50)]);
    assert!(notes(&run).contains("cut off"), "{}", notes(&run));
    assert!(refused(cut).contains("--output=FILE"), "{}", refused(cut));
}

#[test]
fn jobs_of_clients_are_read_by_their_host_and_their_sum_is_not_counted() {
    let run = import(CLIENT).unwrap();
    assert_eq!(phases(&run), [("a on 127.0.0.1:8765", 40), ("a on 127.0.0.1:8766", 40)]);
    let mut both = json!({"fio version": "fio-3.7", "client_stats": []});
    let jobs = both["client_stats"].as_array_mut().unwrap();
    for host in ["client-a", "client-b"] {
        let mut job = result("a", &[100; 100])["jobs"][0].clone();
        job["hostname"] = json!(host);
        jobs.push(job);
    }
    jobs.push(result("All clients", &[100; 200])["jobs"][0].clone());
    let head = "hostname=client-a, be=0, 64-bit, os=Linux, arch=x86-64, fio=fio-3.7, flags=1\n";
    let run = import(&format!("{head}{both}")).unwrap();
    assert_eq!(phases(&run), [("a on client-a", 100), ("a on client-b", 100)]);
}

#[test]
fn a_job_that_failed_is_listed_with_its_error_and_the_others_are_read() {
    let run = import(FAILED).unwrap();
    assert_eq!(phases(&run), [("a", 40)]);
    let skipped = &run.skipped[0];
    assert!(skipped.step == "bad" && skipped.reason.contains("error 28 (No space left on device)"));
    let mut all: Value = serde_json::from_str(&FAILED[FAILED.find("\n{").unwrap_or(0)..]).unwrap();
    all["jobs"].as_array_mut().unwrap().truncate(1);
    let refused = refused(&all.to_string());
    assert!(refused.contains("error 28"), "{refused}");
    // A job that did something before it failed is read, with a note.
    let mut late = result("a", &[100; 50]);
    late["jobs"][0]["error"] = json!(5);
    let run = import(&late.to_string()).unwrap();
    assert!(
        run.phases[0].notes.iter().any(|note| note.contains("error 5 (")),
        "{:?}",
        run.phases[0].notes
    );
}

#[test]
fn a_report_around_the_json_is_passed_over() {
    assert_eq!(phases(&import(AROUND).unwrap()), [("a", 40)]);
    let text = format!(
        "fio: this platform does not support it\n[w(1)][50.0%]\n{}\nRun status group 0\n",
        result("a", &[9; 12])
    );
    assert_eq!(phases(&import(&text).unwrap()), [("a", 12)]);
}

#[test]
fn the_true_reason_for_missing_bins_and_the_option_that_mends_it_are_named() {
    assert!(refused(PLAIN).contains("--output-format=json+"), "{}", refused(PLAIN));
    let gtod = refused(GTOD);
    assert!(gtod.contains("gtod_reduce=1") && !gtod.contains("json+"), "{gtod}");
    for option in ["disable_clat", "disable_lat"] {
        let mut without = result("a", &[100; 50]);
        without["global options"] = json!({option: "1"});
        without["jobs"][0]["write"]["clat_ns"] = json!({"min": 0, "max": 0, "mean": 0.0, "N": 0});
        let refused = refused(&without.to_string());
        assert!(refused.contains(&format!("{option}=1")), "{refused}");
    }
}

#[test]
fn packed_files_and_other_encodings_are_the_same_text() {
    let text = result("a", &[100; 50]).to_string();
    let utf16 = |mark: &[u8], unit: fn(u16) -> [u8; 2]| {
        mark.iter().copied().chain(text.encode_utf16().flat_map(unit)).collect::<Vec<u8>>()
    };
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(&utf16(&[0xff, 0xfe], u16::to_le_bytes)).unwrap();
    for bytes in [
        text.clone().into_bytes(),
        [&[0xef, 0xbb, 0xbf], text.as_bytes()].concat(),
        utf16(&[0xff, 0xfe], u16::to_le_bytes),
        utf16(&[0xfe, 0xff], u16::to_be_bytes),
        utf16(&[], u16::to_le_bytes),
        utf16(&[], u16::to_be_bytes),
        packer.finish().unwrap(),
    ] {
        assert_eq!(text_of(bytes).unwrap(), text);
    }
    let packed = |magic: &[u8]| text_of([magic, b"rest"].concat()).unwrap_err().to_string();
    assert!(packed(&[0x28, 0xb5, 0x2f, 0xfd]).contains("zstd -d"));
    assert!(packed(&[0xfd, b'7', b'z', b'X', b'Z', 0]).contains("xz -d"));
    assert!(matches!(text_of(vec![0x1f, 0x8b, 8, 0]), Err(TextError::Gzip(_))));
    assert!(matches!(text_of(b"{\"a\": \"\xe9\"}".to_vec()), Err(TextError::Encoding { at: 8 })));
}

/// The numbered bins of fio 2.x, in microseconds: 64 for each power of two from 128 on.
fn numbered(micros: u64) -> u64 {
    if micros < 128 {
        return micros;
    }
    let group = u64::from(63 - micros.leading_zeros()) - 6;
    (group + 1) * 64 + (micros >> group) - 64
}

#[test]
fn fio_2_counts_microseconds_in_numbered_bins_and_kib() {
    let micros = [90, 100, 127, 128, 1000, 20_000];
    let mut bins =
        json!({"FIO_IO_U_PLAT_BITS": 6, "FIO_IO_U_PLAT_VAL": 64, "FIO_IO_U_PLAT_NR": 1216});
    (0..1216).for_each(|index| bins[index.to_string()] = json!(0));
    micros.iter().for_each(|value| bins[numbered(*value).to_string()] = json!(1));
    let old = json!({"fio version": "fio-2.16", "jobs": [{"jobname": "a", "error": 0,
        "job options": {"rw": "randwrite", "bs": "4k", "size": "8m"},
        "write": {"total_ios": 6, "io_bytes": 24, "runtime": 1000,
            "clat": {"min": 90, "max": 20000, "mean": 3574.17, "stddev": 1.0, "bins": bins}}}]});
    let run = import(&old.to_string()).unwrap();
    let phase = &run.phases[0];
    assert_eq!((phase.ops, phase.bytes.0), (6, 24 << 10));
    assert_eq!(
        (phase.histogram.min_ns, phase.histogram.max_ns),
        (Nanos(90_000), Nanos(20_000_000))
    );
    let indices: Vec<u32> = phase.histogram.index.clone();
    // In the bin of each value, or in the next: a bin of microseconds has its middle there.
    for (value, index) in micros.iter().zip(&indices) {
        let own = Histogram::index_of(Nanos(value * 1000)) as u32;
        assert!(index.abs_diff(own) <= 1, "{value}: {index} {own}");
    }
    assert!(phase.notes.iter().any(|note| note.contains("microseconds")));
    assert!(
        refused(&json!({"fio version": "fio-1.59", "jobs": []}).to_string()).contains("fio-1.59")
    );
}

#[test]
fn fios_own_figures_follow_from_its_bins_and_a_changed_one_is_found() {
    for text in [STATUS, CLIENT, FAILED, AROUND] {
        assert_eq!(check(text).unwrap(), []);
    }
    let mut changed = result("a", &[100, 100, 300, 5000]);
    let latency = &mut changed["jobs"][0]["write"]["clat_ns"];
    latency["percentile"] = json!({"50.000000": 100_864, "99.000000": 4_980_736});
    assert_eq!(check(&changed.to_string()).unwrap(), []);
    let latency = &mut changed["jobs"][0]["write"]["clat_ns"];
    latency["percentile"]["99.000000"] = json!(300_000);
    latency["N"] = json!(5);
    let found: Vec<String> =
        check(&changed.to_string()).unwrap().iter().map(|d| d.path.clone()).collect();
    assert_eq!(found, ["jobs[0].write.clat_ns.N", "jobs[0].write.clat_ns.percentile.99.000000"]);
}
