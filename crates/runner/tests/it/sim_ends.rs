//! How simulated runs end before their end, and what is refused before they begin.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::sim_support::{LIFE, SHORT, Silent, StopsAfter, refused, request, small};
use flashlag_runner::RunFile;
use flashlag_runner::{Request, run};
use flashlag_schema::{Run, RunStatus};
use flashlag_spec::scenario::Scenario;
use flashlag_units::{Bytes, Nanos};

fn file_at(path: &Path) -> Arc<RunFile> {
    Arc::new(RunFile::new(path, false).unwrap())
}

#[test]
fn a_run_that_is_stopped_keeps_the_phases_that_were_done() {
    let directory = tempfile::tempdir().unwrap();
    let whole = run(request(LIFE, small("ext4", "512MiB"), 1), &mut Silent).unwrap();
    for phases in [1, 3, 6, 9] {
        let output = directory.path().join(format!("{phases}.json"));
        let stop = Arc::new(AtomicBool::new(false));
        let asked = Request {
            output: Some(file_at(&output)),
            stop: Arc::clone(&stop),
            ..request(LIFE, small("ext4", "512MiB"), 1)
        };
        let run = run(asked.clone(), &mut StopsAfter { phases, stop }).unwrap();
        assert!(matches!(run.status, RunStatus::Interrupted { .. }), "{:?}", run.status);
        let stored = Run::from_json(&std::fs::read_to_string(&output).unwrap()).unwrap();
        assert!(stored == run, "{phases}: what is stored is what is returned");
        // The same phases as of the run that was left alone.
        assert_eq!(run.phases.len(), phases);
        assert!(run.phases == whole.phases[..phases], "{phases}: other figures");
    }
}

#[test]
fn a_stop_that_came_before_measures_nothing() {
    let asked = request(SHORT, small("ext4", "512MiB"), 1);
    asked.stop.store(true, std::sync::atomic::Ordering::Relaxed);
    let run = run(asked.clone(), &mut Silent).unwrap();
    assert_eq!(run.status, RunStatus::Interrupted { next_step: 0 });
    assert_eq!(run.phases.len(), 0);
}

#[test]
fn each_phase_is_on_the_disk_when_it_is_done() {
    /// Reads the file at each event: a run that is killed leaves what is read here.
    struct Reads(std::path::PathBuf, Vec<usize>);
    impl flashlag_runner::Observer for Reads {
        fn event(&mut self, event: flashlag_runner::Event<'_>) {
            if let flashlag_runner::Event::PhaseStarted { .. } = event {
                let text = std::fs::read_to_string(&self.0).unwrap_or_default();
                let phases = Run::from_json(&text).map_or(0, |run| {
                    assert!(matches!(run.status, RunStatus::Running { .. }));
                    assert_eq!(run.integrity.sha256, run.checksum());
                    run.phases.len()
                });
                self.1.push(phases);
            }
        }
    }
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("run.json");
    let asked =
        Request { output: Some(file_at(&output)), ..request(LIFE, small("f2fs", "512MiB"), 1) };
    let mut reads = Reads(output, Vec::new());
    run(asked.clone(), &mut reads).unwrap();
    assert_eq!(reads.1, (0..13).collect::<Vec<_>>());
}

#[test]
fn targets_that_there_are_not_are_refused_with_the_one_meant_or_those_that_there_are() {
    for (on, right) in [
        ("sim:nexus8", ["\"nexus8\"", "did you mean `sim:nexus7-2012`?"]),
        // Several begin with it.
        ("sim:nexus", ["did you mean `nexus7-2012`, ", "`flashlag profiles` lists all"]),
        // Nothing resembles it.
        ("sim:zzzzqqq", ["`flashlag profiles` lists all", "TOML"]),
        ("sim:missing.toml", ["missing.toml", "No such file"]),
        ("sim:", ["write sim:PROFILE;", "`flashlag profiles`"]),
        ("sim:+ext4", ["write sim:PROFILE+ext4;", "`flashlag profiles`"]),
    ] {
        let error = refused(on);
        assert!(right.iter().all(|right| error.contains(right)), "{on}: {error}");
    }
}

#[test]
fn filesystems_and_options_that_there_are_not_are_refused_with_what_was_meant() {
    for (on, wrong, right) in [
        ("sim:zero+ext3", "\"ext3\"", "raw, ext4, f2fs, btrfs"),
        ("sim:zero+", "nothing follows a \"+\"", "did you mean `sim:zero`?"),
        ("sim:zero+EXT4", "\"EXT4\"", "did you mean `sim:zero+ext4`?"),
        ("sim:zero+ext4,fast", "\"fast\"", "fast_commit"),
        ("sim:zero+ext4,", "nothing follows a \",\"", "did you mean `sim:zero+ext4`?"),
        ("sim:zero+ext4,noipu", "noipu", "f2fs has"),
        ("sim:zero+raw,ipu", "ipu", "f2fs has"),
    ] {
        let error = refused(on);
        assert!(error.contains(wrong) && error.contains(right), "{on}: {error}");
    }
}

#[test]
fn a_device_that_is_too_small_for_its_filesystem_is_refused() {
    for (filesystem, capacity) in [("f2fs", "64MiB"), ("ext4", "16MiB"), ("btrfs", "96MiB")] {
        let asked = request(SHORT, small(filesystem, capacity), 1);
        let error = run(asked.clone(), &mut Silent).unwrap_err().to_string();
        assert!(error.contains("MiB at least") && error.contains(filesystem), "{error}");
    }
}

#[test]
fn a_test_that_does_not_fit_ends_the_run_and_says_so() {
    let scenario = SHORT.replace("\"8MiB\"", "\"2GiB\"");
    for filesystem in ["raw", "ext4", "f2fs", "btrfs"] {
        let asked = request(&scenario, small(filesystem, "512MiB"), 1);
        let run = run(asked.clone(), &mut Silent).unwrap();
        let RunStatus::Failed { next_step: 0, error } = &run.status else {
            panic!("{filesystem}: {:?}", run.status);
        };
        assert!(error.contains("space") && error.contains("--leave"), "{filesystem}: {error}");
        assert_eq!(run.phases.len(), 0, "{filesystem}");
    }
}

#[test]
fn a_fill_where_less_is_free_than_is_to_be_left_ends_at_once_or_says_why() {
    for filesystem in ["raw", "ext4", "f2fs", "btrfs"] {
        let asked = Request {
            leave: Some(Bytes::from_mib(2048)),
            ..request(LIFE, small(filesystem, "512MiB"), 1)
        };
        let run = run(asked.clone(), &mut Silent).unwrap();
        let fill = run.phases.iter().find(|phase| phase.name == "fill");
        let wrote = fill.map_or(Bytes::ZERO, |fill| fill.bytes);
        assert_eq!(wrote, Bytes::ZERO, "{filesystem}: it filled what was to be left");
    }
}

#[test]
fn a_background_that_there_is_not_is_refused_by_name() {
    let text = LIFE.replace("background = \"beside\"", "background = \"besides\"");
    let error = Scenario::parse(&text, &[]).unwrap_err().to_string();
    assert!(error.contains("besides"), "{error}");
}

#[test]
fn a_run_file_that_cannot_be_written_is_refused_before_anything_is_done() {
    let error = RunFile::new("/nowhere/at/all/run.json".as_ref(), false).unwrap_err().to_string();
    assert!(error.contains("/nowhere/at/all/run.json"), "{error}");
}

#[test]
fn the_time_of_a_simulation_has_what_was_laid_out_and_what_was_waited_in_it() {
    let text = "name = \"x\"\n[[io]]\nname = \"t\"\noperation = \"write\"\npattern = \"random\"\n\
                block = \"4KiB\"\nspan = \"64MiB\"\ntime = \"1s\"\n[[step]]\nmeasure = [\"t\"]\n\
                state = \"new\"\n[[step]]\nidle = \"1h\"\n";
    let whole = run(request(text, small("ext4", "512MiB"), 1), &mut Silent).unwrap();
    let phase = &whole.phases[0];
    // Every byte of the file was written before.
    assert!(phase.began_ns > Nanos::ZERO);
    let ended = phase.began_ns.plus(phase.elapsed_ns);
    assert!(whole.simulated_ns.unwrap() >= ended.plus(Nanos::from_secs(3600)), "{ended:?}");
    let idle = "name = \"x\"\n[[step]]\nidle = \"1h\"\n";
    let waited = run(request(idle, small("ext4", "512MiB"), 1), &mut Silent).unwrap();
    assert_eq!(waited.simulated_ns, Some(Nanos::from_secs(3600)));
}
