//! What is said of the samples, word for word, and of runs that went otherwise.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use flashlag_schema::{
    Change, ChangeKind, Check, CheckId, CheckStatus, Run, RunStatus, TargetKind, Trust,
};
use flashlag_spec::{Operation, State, Verdict};
use flashlag_testing::sample::{self, SampleKind};
use flashlag_units::{Bytes, Nanos};
use flashlag_views as explain;

fn said(run: &Run) -> String {
    let headline = explain::headline(run);
    let failed = headline.no_verdict.map(|why| why.failed_checks());
    let parts = [Some(headline.sentence), failed, Some(headline.more)];
    let parts: Vec<String> =
        parts.into_iter().flatten().chain([headline.believe.sentence]).collect();
    parts.join("\n")
}

#[test]
fn a_schedule_that_was_not_kept_is_overloaded_in_headline_picture_and_heading() {
    let run = sample::overloaded();
    let headline = explain::headline(&run);
    let sentence = "Smooth alone, overloaded beside another writer: of the 100 saves due each second, \
                    only 3.8 are done, and the queue grows.";
    assert_eq!(headline.sentence, sentence);
    assert!(headline.more.starts_with("Alone, 0.8% of SQLite saves"), "{}", headline.more);
    let strip = explain::strip(&run);
    let rows = strip.groups.iter().flat_map(|group| &group.rows);
    let busy = rows.clone().find(|row| row.figures.overloaded).unwrap();
    assert_eq!(busy.judgement.word(), "overloaded");
    let times = [busy.figures.p50, busy.figures.p99, busy.figures.max, busy.figures.mean];
    assert_eq!((times, busy.figures.n), ([None; 4], 47), "the test's length is in no figure");
    assert!(
        explain::saves_heading(&run).contains("overloaded"),
        "{}",
        explain::saves_heading(&run)
    );
    assert!(!all(&sample::quick()).contains("verloaded"));
}

#[test]
fn a_paced_test_is_not_said_to_have_reached_steady_state() {
    let mut run = sample::overloaded();
    run.phases.retain(|phase| !phase.closed_loop);
    run.phases[0].changes.push(flashlag_schema::Change {
        kind: flashlag_schema::ChangeKind::SteadyState,
        t_ns: flashlag_units::Nanos::from_secs(5),
        written_bytes: flashlag_units::Bytes::ZERO,
        bytes_per_sec: None,
        period_ns: None,
        detail: "5 rounds of 1.0 s within 0%".to_owned(),
    });
    assert_eq!(explain::changes_heading(&run), "No change over time");
    run.phases[0].closed_loop = true;
    assert_eq!(explain::changes_heading(&run), "It reached steady state");
}

#[test]
fn periodic_stalls_have_a_period_and_begin_after_no_bytes() {
    let mut run = sample::overloaded();
    run.phases.truncate(1);
    run.phases[0].changes = vec![flashlag_schema::Change {
        kind: flashlag_schema::ChangeKind::PeriodicStalls,
        t_ns: flashlag_units::Nanos::ZERO,
        written_bytes: flashlag_units::Bytes::ZERO,
        bytes_per_sec: None,
        period_ns: Some(flashlag_units::Nanos::from_secs(2)),
        detail: "7 stalls, one every 2.0 s".to_owned(),
    }];
    let heading = explain::changes_heading(&run);
    assert!(heading.starts_with("Periodic stalls in "), "{heading}");
    assert!(heading.ends_with("one every 2.0 s") && !heading.contains("0 B"), "{heading}");
}

/// Everything that is said of a run.
fn all(run: &Run) -> String {
    let mut lines = vec![said(run), explain::headline(run).believe.statement];
    for group in explain::strip(run).groups {
        lines.push(format!("[{}]", group.title));
        lines.extend(group.rows.iter().map(|row| {
            let share = row.figures.late_share().map(explain::format::share).unwrap_or_default();
            format!("{}: {share} late, {}", row.label, row.judgement.word())
        }));
    }
    lines.extend(explain::places(run).iter().map(|p| format!("{}: {}", p.title, p.sentence)));
    lines.extend(explain::lifecycle(run).map(|table| table.heading));
    lines.extend(explain::fill_curves(run).iter().map(|c| format!("{}: {}", c.what, c.heading)));
    lines.extend(explain::waits(run).map(|waits| format!("{}: {}", waits.what, waits.heading)));
    let findings = explain::findings(run);
    lines.push(findings.heading);
    for f in &findings.causes {
        lines.push(format!(
            "{:.1} s. {}: {}. {} {}",
            f.cost_s_per_1000, f.cause, f.would, f.fix, f.evidence
        ));
    }
    lines.extend(findings.ruled_out.iter().map(|out| format!("No cause. {}", out.sentence)));
    lines.join("\n")
}

#[test]
fn everything_said_of_each_sample() {
    for kind in SampleKind::ALL {
        insta::assert_snapshot!(kind.name(), all(&kind.run()));
    }
}

#[test]
fn published_marks_carry_their_values_and_sources() {
    let marks = explain::marks();
    let lines: Vec<String> = marks
        .iter()
        .map(|mark| {
            let points: Vec<&str> = mark.points.iter().map(|p| p.label.as_str()).collect();
            format!("{}: {} ({}) {}", mark.device, points.join(", "), mark.source, mark.note)
        })
        .collect();
    insta::assert_snapshot!("marks", lines.join("\n"));
}

#[test]
fn an_interrupted_run_says_that_it_was_stopped() {
    let mut run = sample::lifecycle();
    run.phases.retain(|phase| phase.state <= State::Filled);
    run.phases.last_mut().unwrap().cut_short = true;
    run.status = RunStatus::Interrupted { next_step: 4 };
    insta::assert_snapshot!("interrupted", said(&run));
}

#[test]
fn without_saves_the_durable_write_is_the_headline() {
    let mut run = sample::lifecycle();
    run.phases.retain(|phase| phase.operation != Operation::Save);
    insta::assert_snapshot!("no_saves", said(&run));
}

#[test]
fn without_durable_writes_and_saves_nothing_reports_lag() {
    let mut run = sample::quick();
    run.phases.retain(|phase| phase.name.starts_with("seq") || phase.name.ends_with("read_4k"));
    insta::assert_snapshot!("no_lag", said(&run));
}

#[test]
fn a_run_without_phases_says_so() {
    let mut run = sample::quick();
    run.phases.clear();
    run.status = RunStatus::Failed { next_step: 0, error: "no space left on /data".to_owned() };
    insta::assert_snapshot!("nothing", said(&run));
}

#[test]
fn an_imported_run_is_believed_only_if_its_writes_reached_storage() {
    let mut run = sample::quick();
    run.target.kind = TargetKind::Imported;
    run.phases.retain(|phase| phase.name == "rand_write_4k");
    for check in &mut run.trust.checks {
        if [CheckId::CacheBypass, CheckId::FlushIsReal].contains(&check.id) {
            check.status = CheckStatus::Unknown;
        }
    }
    insta::assert_snapshot!("imported", said(&run));
    run.trust = Trust { verdict: Verdict::Untrusted, checks: Vec::new() };
    assert!(said(&run).ends_with("Unknown: no check was made."), "{}", said(&run));
}

#[test]
fn a_busy_cpu_takes_the_headline_and_is_named_as_the_cause() {
    let mut run = sample::quick();
    run.trust.checks.insert(
        0,
        Check {
            id: CheckId::CpuContention,
            status: CheckStatus::Fail,
            claim: "A CPU was free when wanted".to_owned(),
            detail: "94% of a durable write was waiting for a CPU (limit 10%).".to_owned(),
            cause: Some(flashlag_schema::CheckCause::CpuMost),
            advice: Some("stop what else is running, then measure again".to_owned()),
            phases: Vec::new(),
        },
    );
    let headline = explain::headline(&run);
    assert_eq!(headline.no_verdict.as_ref().unwrap().id, CheckId::CpuContention);
    insta::assert_snapshot!("busy_cpu", said(&run));
}

#[test]
fn a_check_that_names_no_phase_of_the_headline_leaves_it_standing() {
    let headline = explain::headline(&sample::lifecycle());
    assert!(headline.no_verdict.is_none());
    assert_eq!(headline.believe.answer, "Yes, except the Idle row");
}

#[test]
fn a_failed_filled_row_takes_the_headline_even_if_new_is_trusted() {
    let mut run = sample::lifecycle();
    let labels: Vec<String> = run
        .phases
        .iter()
        .filter(|phase| phase.state == State::Filled)
        .map(|phase| phase.label())
        .collect();
    run.trust.checks[0].phases = labels;
    let headline = explain::headline(&run);
    assert!(headline.sentence.starts_with("No verdict"), "{}", headline.sentence);
    assert_eq!(headline.believe.answer, "No");
}

#[test]
fn new_and_full_alike_are_said_in_one() {
    let phone = sample::lifecycle_on(sample::SampleDevice::Phone, 0);
    insta::assert_snapshot!("phone", said(&phone));
    let board = sample::lifecycle_on(sample::SampleDevice::Board, 0);
    insta::assert_snapshot!("board", said(&board));
}

#[test]
fn a_skipped_stage_is_a_row_with_its_reason() {
    let mut run = sample::lifecycle();
    run.phases.retain(|phase| phase.state != State::Idle);
    run.skipped.push(flashlag_schema::Skipped {
        step: "idle".to_owned(),
        state: State::Idle,
        reason: "no idle wait was asked for".to_owned(),
    });
    let table = explain::lifecycle(&run).unwrap();
    let idle = table.rows.last().unwrap();
    assert_eq!(idle.label, "Idle");
    assert_eq!(idle.skipped.as_deref(), Some("no idle wait was asked for"));
    assert!(idle.cells.iter().all(Option::is_none));
}

#[test]
fn quick_has_no_lifecycle_table() {
    assert!(explain::lifecycle(&sample::quick()).is_none());
}

#[test]
fn every_level_of_a_fill_has_a_thousand_writes() {
    let curves = explain::fill_curves(&sample::lifecycle());
    assert_eq!(curves.len(), 1);
    assert!(curves[0].levels.len() >= 6);
    assert!(curves[0].levels.iter().all(|level| level.figures.n >= 1_000));
    let total: u64 = curves[0].levels.iter().map(|level| level.figures.n).sum();
    assert_eq!(total, 60_000, "no write of the fill is lost between levels");
}

#[test]
fn the_parts_of_a_wait_add_up() {
    for (kind, run) in sample::all() {
        for group in explain::waits(&run).unwrap().groups {
            let parts = [group.on_cpu, group.waiting_for_cpu, group.blocked];
            let sum: f64 = parts.iter().map(|part| part.share).sum();
            assert!((sum - 1.0).abs() < 1e-9, "{}: {group:?}", kind.name());
        }
    }
}

#[test]
fn a_fill_by_few_large_writes_still_has_levels() {
    let mut run = sample::lifecycle();
    let fill = run.phases.iter_mut().find(|phase| phase.name == "fill_rand_4k").unwrap();
    fill.durable = flashlag_spec::scenario::Durability::None;
    fill.ops = 300;
    let curves = explain::fill_curves(&run);
    assert!(curves[0].levels.len() >= 6);
    assert!(curves[0].heading.starts_with("Filling slows from"), "{}", curves[0].heading);
}

#[test]
fn waits_that_are_not_judged_blame_no_one_but_a_busy_cpu() {
    let cpu_check = |run: &mut Run| {
        let check = run.trust.checks.iter_mut().find(|c| c.id == CheckId::CpuContention).unwrap();
        check.status = CheckStatus::Fail;
    };
    let mut blocked = sample::quick();
    cpu_check(&mut blocked);
    let heading = explain::waits(&blocked).unwrap().heading;
    assert!(heading.contains("not judged"), "{heading}");
    let mut busy = sample::quick();
    cpu_check(&mut busy);
    for record in busy.phases.iter_mut().flat_map(|phase| &mut phase.waits) {
        std::mem::swap(&mut record.time.runnable_ns, &mut record.time.blocked_ns);
    }
    let heading = explain::waits(&busy).unwrap().heading;
    assert!(heading.starts_with("Waiting for a CPU is to blame"), "{heading}");
}

#[test]
fn findings_are_costliest_first_and_never_from_failed_rows() {
    for (kind, run) in sample::all() {
        let causes = explain::findings(&run).causes;
        let costs: Vec<f64> = causes.iter().map(|finding| finding.cost_s_per_1000).collect();
        assert!(costs.is_sorted_by(|a, b| a >= b), "{}: {costs:?}", kind.name());
    }
    assert_eq!(explain::findings(&sample::memory()).causes, vec![]);
}

#[test]
fn a_fill_that_slows_down_at_its_end_has_not_used_up_a_cache() {
    let mut run = sample::soak();
    let total = run.environment.filesystem.total_bytes.value().copied().unwrap();
    let phase = run.phases.iter_mut().find(|phase| !phase.changes.is_empty()).unwrap();
    let at = phase.changes.first().unwrap().t_ns;
    for interval in &mut phase.intervals {
        let full = if interval.t_ns < at { 0.5 } else { 0.96 };
        interval.filled_bytes = Some(flashlag_units::Bytes((total.0 as f64 * full) as u64));
    }
    let said = said(&run);
    assert!(said.contains("storage is 96% full") && !said.contains("cache"), "{said}");
    let names: Vec<&str> = explain::changes(&run).iter().map(|change| change.name).collect();
    assert!(names.contains(&"storage nearly full"), "{names:?}");
}

#[test]
fn changes_of_a_phase_are_listed_in_the_order_of_time() {
    let mut run = sample::quick();
    let change = |kind, at| Change {
        kind,
        t_ns: Nanos::from_secs(at),
        written_bytes: Bytes(0),
        bytes_per_sec: None,
        period_ns: None,
        detail: String::new(),
    };
    let phase = run.phases.first_mut().expect("a phase");
    // As the runner writes them: by kind.
    phase.changes = vec![change(ChangeKind::PeriodicStalls, 9), change(ChangeKind::Slower, 4)];
    let times: Vec<_> = explain::changes(&run)
        .iter()
        .filter(|change| change.phase == 0)
        .map(|change| change.change.t_ns)
        .collect();
    assert!(times.is_sorted() && times.len() == 2, "{times:?}");
}

#[test]
fn what_changed_over_time_is_listed_in_the_order_of_time() {
    let mut run = sample::soak();
    run.phases[0].changes.reverse();
    for _ in 0..2 {
        let times: Vec<_> = explain::changes(&run).iter().map(|one| one.change.t_ns).collect();
        assert!(times.len() > 1 && times.is_sorted(), "{times:?}");
        run.phases[0].changes.reverse();
    }
}

#[test]
fn stalls_are_counted_where_they_are_not_the_usual_wait() {
    let mut run = sample::soak();
    let over = flashlag_units::Nanos::from_millis(3);
    run.phases[0].stall_over_ns = over;
    let heading = explain::stalls(&run).unwrap().heading;
    assert!(heading.contains("none is counted as a stall"), "{heading}");
}

#[test]
fn labels_of_the_run_file_and_backquotes_are_for_programs() {
    let run = sample::quick();
    let text = "new: save_wal: 9 saves, new: rand_write_4k: 3; try `flashlag run soak`.";
    let said = explain::for_people(&run, text);
    assert_eq!(said, "WAL save: 9 saves, 4K rand write: 3; try ‘flashlag run soak’.");
}

#[test]
fn fullness_is_no_cause_where_making_room_changes_nothing_and_an_overload_no_cost() {
    let full = |run: &Run| {
        let causes = explain::findings(run).causes;
        causes.iter().any(|cause| cause.id == flashlag_schema::finding::CauseId::FullStorage)
    };
    let mut run = sample::lifecycle();
    run.trust.checks.clear();
    run.phases.retain(|phase| phase.name == "rand_write_4k");
    assert!(full(&run));
    let filled = run.phases.iter().rfind(|phase| phase.state == State::Filled).unwrap().clone();
    for phase in run.phases.iter_mut().filter(|phase| phase.state > State::Filled) {
        *phase = flashlag_schema::Phase { state: phase.state, run: phase.run, ..filled.clone() };
    }
    assert!(!full(&run), "{:?}", explain::findings(&run).causes);
    let mut quick = sample::quick();
    quick.trust.checks.clear();
    let busy = |run: &Run| {
        let causes = explain::findings(run).causes;
        causes.iter().any(|cause| cause.id == flashlag_schema::finding::CauseId::OtherWriter)
    };
    let phase = quick.phases.iter_mut().find(|phase| phase.background.is_some()).unwrap();
    phase.missed_slots = Some(phase.ops * 100);
    assert!(explain::is_overloaded(phase) && !busy(&quick));
}

#[test]
fn a_change_without_detail_ends_in_a_full_stop() {
    for kind in [ChangeKind::NotSteady, ChangeKind::SteadyState] {
        let mut run = sample::soak();
        for phase in &mut run.phases {
            phase.intervals.clear();
            phase.changes.truncate(1);
            for change in &mut phase.changes {
                (change.kind, change.bytes_per_sec) = (kind, None);
                change.detail = " ".to_owned();
            }
        }
        let said = explain::headline(&run).sentence;
        assert!(said.ends_with('.') && !said.contains(": "), "{kind:?}: {said}");
    }
}
