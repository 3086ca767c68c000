//! Changes to the closed form, whose effect is known.

use std::sync::Mutex;

use crate::common::daily::Daily;
use crate::common::{ClosedForm, lifecycle, profile};
use flashlag_predict::change::{
    Change, DURABLE, DaysOfUse, Figures, Forecast, Fullness, PredictOptions, Range, Situation,
    parse, parse_levels, predict, reasons, situation_of, sweep,
};
use flashlag_predict::{PredictError, Simulation, SimulationError, Simulator};
use flashlag_spec::published::Published;
use flashlag_spec::scenario::{Scenario, Step};
use flashlag_spec::target::{Kind, MountSpec};
use flashlag_term::{Style, predict as draw};

fn start(filesystem: &str) -> Situation {
    Situation::new(&profile(), filesystem).unwrap()
}

fn forecast(filesystem: &str, changes: &str) -> Forecast {
    let changes = parse(changes).unwrap();
    let simulator = ClosedForm::default();
    let options = PredictOptions::default();
    let forecast = predict(&start(filesystem), &changes, &[], &simulator, &options).unwrap();
    let ages = changes.iter().any(|change| matches!(change, Change::Age(_)));
    // A full device is compared with others.
    if !changes.iter().any(|change| matches!(change, Change::Full(_))) {
        assert_eq!(simulator.runs(), changes.len() + 1 + usize::from(ages), "and one only filled");
    }
    forecast
}

#[test]
fn the_parts_of_a_full_devices_fall_are_the_devices_between_and_sum_up_to_it() {
    let forecast = forecast("ext4", "full=90%");
    let fullness = forecast.steps[0].fullness.as_ref().unwrap();
    let new = forecast.before.durable().unwrap().bytes_per_second;
    let used = forecast.before.sustained.as_ref().unwrap().bytes_per_second;
    let full = forecast.after().sustained.as_ref().unwrap().bytes_per_second;
    assert_eq!((fullness.new, fullness.used, fullness.full), (new, used, full));
    let reached = fullness.reached;
    assert!(reached > 0.0 && reached != used && reached != full, "{fullness:?}");
    // Half, a quarter of that, four fifths of that: a tenth in all.
    let parts = Fullness { new: 40.0, used: 20.0, reached: 5.0, full: 4.0, plausible: None };
    let shares = parts.shares().unwrap();
    let wanted = [2.0_f64, 4.0, 1.25].map(|times| times.log10());
    for (share, wanted) in shares.iter().zip(wanted) {
        assert!((share - wanted).abs() < 1e-12, "{shares:?}");
    }
    assert_eq!(Fullness { full: 39.0, ..parts.clone() }.shares(), None, "no fall");
    let mut shown = forecast.clone();
    shown.steps[0].fullness = Some(parts);
    let text = draw::forecast(&shown, Style::PLAIN);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("Of that fall 30% comes from the day's writes before, 60% "), "{text}");
    assert!(text.contains("10% from the full storage"), "{text}");
}

#[test]
fn where_nothing_was_measured_full_a_forecast_is_a_range_over_plausible_devices() {
    let row = filled_row();
    let forecast_of = |rows: &[Published]| {
        let changes = parse("full=90%").unwrap();
        let options = PredictOptions::default();
        let simulator = ClosedForm::default();
        predict(&start("ext4"), &changes, rows, &simulator, &options).unwrap()
    };
    let unmeasured = forecast_of(&[]);
    let plausible = unmeasured.steps[0].fullness.clone().unwrap().plausible.unwrap();
    // Each end by itself: the same forecast of a device with that spare area.
    for end in ["spare=30MiB", "spare=1GiB"] {
        let other = forecast("ext4", &format!("{end},full=90%"));
        let rate = other.after().sustained.as_ref().unwrap().bytes_per_second;
        let range = plausible.sustained;
        assert!((range.low..=range.high).contains(&rate), "{end}: {rate} {plausible:?}");
    }
    let own = unmeasured.after().sustained.as_ref().unwrap().bytes_per_second;
    assert!(plausible.sustained.low < own && own <= plausible.sustained.high, "{plausible:?}");
    assert!(plausible.varied.iter().any(|what| what.contains("map.spare=30MiB")), "{plausible:?}");
    let text = draw::forecast(&unmeasured, Style::PLAIN);
    assert!(text.contains("\n  plausible "), "{text}");
    let measured = forecast_of(std::slice::from_ref(&row));
    assert_eq!(measured.steps[0].fullness.as_ref().unwrap().plausible, None);
}

/// A published row of the device's full storage.
fn filled_row() -> Published {
    Published {
        device: "small".to_owned(),
        condition: "filled-run-1".to_owned(),
        workload: "rand_write_4k".to_owned(),
        metric: "throughput".to_owned(),
        value: 1.0,
        unit: "MB/s".to_owned(),
        source: "test".to_owned(),
        ..Published::default()
    }
}

#[test]
fn shares_of_the_steps_sum_up_to_the_whole() {
    let forecast = forecast("f2fs,nobarrier", "nobarrier=off,fs=ext4,fuse=on");
    let shares: Vec<f64> = forecast.steps.iter().map(|step| step.share.unwrap()).collect();
    assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{shares:?}");
    assert!(shares.iter().all(|share| *share > 0.05), "{shares:?}");
    assert_eq!(forecast.steps[1].filesystem, "ext4");
    assert_eq!(forecast.steps[2].filesystem, "ext4,fuse");
}

#[test]
fn flushes_are_the_reason_where_they_are() {
    let forecast = forecast("ext4", "nobarrier=on");
    let reason = &forecast.steps[0].reasons[0];
    assert!(reason.contains("waits for 0.0 flushes instead of 2.0"), "{reason}");
    let (before, after) = (forecast.before.durable().unwrap(), forecast.after().durable().unwrap());
    assert!(after.p50_ns.unwrap() < before.p50_ns.unwrap() - 900e3);
}

#[test]
fn a_change_that_does_nothing_says_so() {
    let forecast = forecast("ext4", "nand.pages_per_block=128");
    assert_eq!(forecast.steps[0].reasons, ["no figure changes by more than 2%"]);
    assert_eq!(forecast.steps[0].share, None);
}

#[test]
fn a_journal_mode_changes_saves_alone() {
    let forecast = forecast("ext4", "journal=delete");
    assert_eq!(forecast.steps[0].share, None);
    assert_eq!(forecast.steps[0].share_of_saves, Some(1.0));
    assert!(forecast.steps[0].reasons[0].starts_with("a save takes"));
}

#[test]
fn full_storage_is_slower_and_more_spare_helps() {
    let forecast = forecast("ext4", "full=90%,spare=1GiB,spare=2GiB");
    let shares: Vec<f64> = forecast.steps.iter().map(|step| step.share.unwrap()).collect();
    assert!(shares[0] > 1.0 && shares[1] < 0.0, "{shares:?}");
    assert!(forecast.steps[0].beyond[0].contains("full storage"));
    assert_eq!(forecast.steps[1].beyond, Vec::<String>::new(), "within its range");
    assert!(forecast.steps[2].beyond[0].contains("30MiB"), "{:?}", forecast.steps[2].beyond);
}

#[test]
fn a_filesystem_is_a_warning_if_no_row_is_from_a_device_with_it() {
    let beyond = |from: &str, to: &str| forecast(from, to).steps[0].beyond.clone();
    assert_eq!(beyond("ext4", "fs=f2fs"), ["small was never checked on f2fs, only on ext4"]);
    assert_eq!(beyond("f2fs", "fs=ext4"), [""; 0]);
}

#[test]
fn a_level_beyond_the_published_ones_is_a_warning() {
    let row = filled_row();
    let mut start = start("ext4");
    start.profile.checks[0].leave = Some("2GB".to_owned());
    let options = PredictOptions::default();
    let beyond = |level: &str| {
        let changes = parse(level).unwrap();
        let simulator = ClosedForm::default();
        let rows = std::slice::from_ref(&row);
        predict(&start, &changes, rows, &simulator, &options).unwrap().steps[0].beyond.clone()
    };
    assert!(beyond("full=95%")[0].contains("77% full at most"), "{:?}", beyond("full=95%"));
    assert!(beyond("full=40%")[0].contains("extrapolated"));
    assert_eq!(beyond("full=76%"), Vec::<String>::new());
}

/// Keeps the scenarios it is given, in their order: one simulation at a time.
#[derive(Default)]
struct Listening {
    inner: ClosedForm,
    heard: Mutex<Vec<Scenario>>,
}

impl Simulator for Listening {
    fn threads(&self) -> usize {
        1
    }

    fn simulate(
        &self,
        simulation: &Simulation<'_>,
    ) -> Result<flashlag_schema::Run, SimulationError> {
        self.heard.lock().unwrap().push(simulation.scenario.clone());
        self.inner.simulate(simulation)
    }
}

#[test]
fn a_year_is_a_year_of_days_and_maintenance_trims_once_a_day_at_most() {
    let simulator = Listening::default();
    let changes = parse("full=50%,age=60d,idle_maintenance=on").unwrap();
    let options = PredictOptions::default();
    predict(&start("ext4"), &changes, &[], &simulator, &options).unwrap();
    let heard = simulator.heard.into_inner().unwrap();
    // A night's rest is before the tests of each, and one before what is stored is written over.
    let count = |index: usize, wanted: &dyn Fn(&Step) -> bool| {
        heard[index].steps.iter().filter(|step| wanted(step)).count()
    };
    let trims = |index: usize| count(index, &|step| matches!(step, Step::Trim));
    let idles = |index: usize| count(index, &|step| matches!(step, Step::Idle { .. }));
    assert_eq!((idles(1), trims(1)), (2, 0));
    assert_eq!((idles(2), trims(2)), (122, 0));
    assert_eq!(idles(3), 123, "and the night after the last day, with its trim");
    assert!((51..=61).contains(&trims(3)), "{}", trims(3));
}

#[test]
fn a_sweep_gets_slower_as_storage_fills() {
    let levels = parse_levels("full=10%..95%").unwrap();
    assert_eq!(levels.len(), 10);
    let simulator = ClosedForm::default();
    let options = PredictOptions::default();
    let sweep = sweep(&start("ext4"), &levels, &[], &simulator, &options).unwrap();
    let medians: Vec<f64> =
        sweep.levels.iter().map(|level| level.figures.durable().unwrap().p50_ns.unwrap()).collect();
    assert!(medians.is_sorted(), "{medians:?}");
    assert!(medians[9] > 1.2 * medians[0], "{medians:?}");
    let text = draw::sweep(&sweep, Style::PLAIN);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.contains("95%"), "{text}");
}

#[test]
fn a_sweep_that_is_none_is_refused() {
    for text in ["full=10%", "full=50%..10%", "age=1d..2d", "full=0.1..0.5"] {
        let error = parse_levels(text).unwrap_err();
        assert!(matches!(error, PredictError::Change { .. }), "{text}");
    }
}

#[test]
fn a_buffer_appears_and_goes() {
    let forecast = forecast("ext4", "buffer=1MB,buffer=none");
    assert_eq!(forecast.steps.len(), 2);
    assert!(forecast.steps[0].beyond[0].contains("buffer.size"));
}

#[test]
fn a_change_that_makes_no_device_names_the_parameter() {
    let changes = parse("nand.program=0us").unwrap();
    let simulator = ClosedForm::default();
    let options = PredictOptions::default();
    let error = predict(&start("ext4"), &changes, &[], &simulator, &options).unwrap_err();
    assert!(error.to_string().contains("nand.program"), "{error}");
}

#[test]
fn a_simulated_run_brings_its_device_and_a_measured_one_must_be_fitted() {
    let mut run = ClosedForm::default()
        .simulate(&Simulation {
            profile: &profile(),
            mount: &MountSpec::parse(Kind::Sim, "f2fs,fuse").unwrap(),
            scenario: &lifecycle(),
            seed: 1,
            leave: None,
        })
        .unwrap();
    let situation = situation_of(&run, "RUN.json", false).unwrap();
    assert_eq!(situation.mount.to_string(), "f2fs,fuse");
    run.target.profile = None;
    let error = situation_of(&run, "RUN.json", false).unwrap_err().to_string();
    assert!(error.contains("flashlag fit RUN.json"), "{error}");
}

#[test]
fn a_forecast_fits_a_terminal() {
    let changes = "nobarrier=off,fs=ext4,fuse=on,full=90%,age=3d,idle_maintenance=on,encrypt=on";
    let text = draw::forecast(&forecast("f2fs,nobarrier", changes), Style::PLAIN);
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    for wanted in ["as it is", "share", "SQLite saves", "extrapolated: ", "Assumed:"] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
}

#[test]
fn one_change_has_no_share() {
    let text = draw::forecast(&forecast("ext4", "nobarrier=on"), Style::PLAIN);
    let head = text.lines().find(|line| line.starts_with("durable")).unwrap();
    assert!(head.contains("mean") && !text.contains("share"), "{text}");
}

#[test]
fn saves_are_measured_in_both_journals_and_named_by_them() {
    let options = PredictOptions { rollback: true, ..PredictOptions::default() };
    let changes = parse("nobarrier=on").unwrap();
    let simulator = ClosedForm::default();
    let forecast = predict(&start("ext4"), &changes, &[], &simulator, &options).unwrap();
    let [wal, rollback] = [Figures::saves, Figures::rollback_saves]
        .map(|of| of(&forecast.before).unwrap().per_second);
    assert!(wal > rollback, "{wal} {rollback}");
    let text = draw::forecast(&forecast, Style::PLAIN);
    let head = text.lines().find(|line| line.starts_with("SQLite saves")).unwrap();
    assert!(head.ends_with("WAL  rollback journal"), "{text}");
    assert!(text.contains("a save with a rollback journal takes"), "{text}");
}

/// A slower processor, as of a hot phone: the device is asked for the same.
#[test]
fn the_same_requests_take_longer_or_less_time_and_the_reason_says_which() {
    let cool = forecast("ext4", "nand.pages_per_block=128").before;
    let mut hot = cool.clone();
    for test in &mut hot.tests {
        test.p50_ns = test.p50_ns.map(|median| median * 1.5);
        test.per_second /= 1.5;
    }
    for (reasons, why) in [
        (reasons(&cool, &hot), ": it makes the same requests, but each takes longer"),
        (reasons(&hot, &cool), ": it makes the same requests, but each takes less time"),
    ] {
        let operations: Vec<_> = reasons.iter().filter(|reason| reason.contains("take")).collect();
        assert_eq!(operations.len(), 2, "a durable write and a save: {reasons:?}");
        assert!(operations.iter().all(|reason| reason.ends_with(why)), "{reasons:?}");
    }
}

/// A median that lies between two times, in a forecast whose mean does not change.
#[test]
fn a_median_that_moves_between_two_times_is_no_gain() {
    let mut changed = forecast("ext4", "nand.pages_per_block=128");
    let (before, after) = (&mut changed.before, &mut changed.steps[0].after);
    for (figures, median) in [(before, 3.1e6), (after, 1.8e6)] {
        let test = figures.tests.iter_mut().find(|test| test.name == DURABLE).unwrap();
        test.p50_ns = Some(median);
        test.around_p50_ns = Some(Range { low: 1.8e6, high: 3.1e6 });
    }
    let reasons = reasons(&changed.before, &changed.steps[0].after);
    let [reason] = reasons.as_slice() else { panic!("{reasons:?}") };
    let said = "four take at most 1.8 ms and four at least 3.1 ms, and the median may be either";
    assert!(reason.contains("on average, as before") && reason.contains(said), "{reason}");
    let text = draw::forecast(&changed, Style::PLAIN);
    assert_eq!(text.matches("1.8–3.1 ms").count(), 4, "before and after, in both tables: {text}");
    let words: Vec<&str> = text.split_whitespace().collect();
    assert!(words.join(" ").contains("the median may be either: compare the mean"), "{text}");
}

fn lived(quicker: f64, change: &str) -> (DaysOfUse, String) {
    let simulator = Daily { quicker, ..Daily::default() };
    let changes = parse(change).unwrap();
    let options = PredictOptions::default();
    let forecast = predict(&start("ext4"), &changes, &[], &simulator, &options).unwrap();
    let words: Vec<String> =
        draw::forecast(&forecast, Style::PLAIN).split_whitespace().map(ToOwned::to_owned).collect();
    (forecast.after().lived.clone().unwrap(), words.join(" "))
}

#[test]
fn days_are_simulated_until_they_are_alike_and_the_rest_is_extrapolated() {
    let (alike, text) = lived(0.0, "full=50%,age=60d");
    assert_eq!((alike.simulated, alike.asked), (12, 60));
    assert!(text.contains("extrapolated: 12 of 60 days were simulated"), "{text}");
    let (drifting, _) = lived(0.5, "full=50%,age=60d");
    assert!((13..40).contains(&drifting.simulated), "{drifting:?}");
    assert!(drifting.changing.unwrap().abs() < 0.02, "{drifting:?}");
}

#[test]
fn the_days_left_out_wear_as_simulated_days_do_and_neither_filling_nor_tests_count_as_daily() {
    for (days, simulated) in [(60, 12), (11, 11), (1, 1)] {
        let (lived, text) = lived(0.0, &format!("full=50%,age={days}d"));
        assert_eq!((lived.simulated, lived.asked), (simulated, days));
        let expected = (2.0 + 0.1 * days as f64) / 100.0;
        assert!((lived.life_used.unwrap() - expected).abs() < 1e-9, "{lived:?}");
        assert!(text.contains("of the rated cycles are used"), "{text}");
    }
}

#[test]
fn days_that_never_become_alike_are_all_simulated() {
    // Six days against six: eleven are too few to say.
    let (short, text) = lived(0.0, "age=11d");
    assert_eq!((short.simulated, short.changing), (11, None));
    assert!(text.contains("simulated: all 11 days"), "{text}");
    let (drifting, text) = lived(0.9, "age=14d");
    assert_eq!(drifting.simulated, 14);
    assert!(drifting.changing.unwrap() > 0.02, "{drifting:?}");
    assert!(text.contains("more than in the 6 before"), "{text}");
}

#[test]
fn writes_over_what_is_stored_go_on_until_figures_are_steady_and_the_forecast_says_so() {
    let settled = |quicker: f64, nearer: f64| {
        let simulator = Daily { quicker, nearer, ..Daily::default() };
        let changes = parse("full=90%").unwrap();
        let options = PredictOptions::default();
        let forecast = predict(&start("ext4"), &changes, &[], &simulator, &options).unwrap();
        let text = draw::forecast(&forecast, Style::PLAIN);
        let words: Vec<&str> = text.split_whitespace().collect();
        // The closed form copies as much for each of these writes as for those that are measured next.
        let [sustained, after] = [forecast.after().sustained.as_ref(), forecast.after().durable()]
            .map(|test| test.unwrap().amplification.unwrap());
        assert!(after > 1.2 && (sustained / after - 1.0).abs() < 0.01, "{sustained} {after}");
        (forecast.after().settling.unwrap(), words.join(" "))
    };
    let (even, text) = settled(0.0, 0.8);
    // The closed form ends each of its tests after 1200 writes.
    let round = 1200 * 4096;
    assert_eq!((even.written.0, even.steady), (10 * round, true), "a day's writes: {even:?}");
    assert!(text.contains("written before: 49 MB over all that is stored"), "{text}");
    assert!(text.contains("until figures were steady"), "{text}");
    let (drifting, _) = settled(0.5, 0.8);
    assert!(drifting.steady && drifting.written.0 > 10 * round, "{drifting:?}");
    // A few percent slower from round to round, up to the last of three days'.
    let (never, text) = settled(0.9, 0.98);
    assert_eq!((never.written.0, never.steady), (30 * round, false), "{never:?}");
    assert!(text.contains("until figures were not steady"), "{text}");
}

#[test]
fn what_is_measured_is_written_over_all_that_is_stored() {
    let simulator = Listening::default();
    let changes = parse("full=90%").unwrap();
    let options = PredictOptions::default();
    predict(&start("ext4"), &changes, &[], &simulator, &options).unwrap();
    let heard = simulator.heard.into_inner().unwrap();
    let room = profile().model().unwrap().map.capacity.0.0;
    let span = |index: usize, name: &str| match &heard[index].tests[name] {
        flashlag_spec::scenario::Test::Io(io) => io.span.unwrap().0.0,
        _ => 0,
    };
    for test in ["settle", "rand_write_4k", "rand_read_4k", "lay_out"] {
        let share = span(1, test) as f64 / room as f64;
        assert!((0.899..0.9001).contains(&share), "{test}: {share}");
    }
    assert!(span(0, "rand_write_4k") < room / 10, "a new device is nearly empty");
}
