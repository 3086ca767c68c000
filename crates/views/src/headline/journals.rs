//! Which journal mode saves the most a second, for a run that measures several.

use flashlag_explain::SaveKind;
use flashlag_schema::{Phase, Run};
use flashlag_spec::Operation;
use flashlag_spec::scenario::{JournalMode, Synchronous};

use crate::doubt::failures_of;
use crate::format::{self, decapitalized};
use crate::naming::save_label;

/// A rate up to this many times the default's is not called faster.
const ALIKE: f64 = 1.02;
/// Fewest modes of which one is chosen.
const MODES: usize = 3;

/// `Of the journal modes that lose nothing in a power cut, WAL is the fastest: 413 inserts a second, 5.0
/// times as many as with the default rollback journal (82). WAL, NORMAL makes 6,963; …`. `None` for a run
/// with fewer modes, or without a faster one than the default.
pub fn answer(run: &Run) -> Option<String> {
    let tested = saves(run);
    let statement = tested.first()?.kind.statement;
    let of_one = || tested.iter().filter(move |save| save.kind.statement == statement);
    if of_one().count() < MODES {
        return None;
    }
    let best = of_one().filter(|save| save.keeps_all()).max_by(|a, b| a.rate.total_cmp(&b.rate))?;
    let default = of_one().find(|save| save.kind.is_default())?;
    let rate = format::per_second;
    let each = format!("{}s", default.kind.statement_name());
    let first = if best.rate <= ALIKE * default.rate {
        format!(
            "Of the journal modes that lose nothing in a power cut, SQLite's default is the fastest: {} \
             {each} a second.",
            rate(default.rate)
        )
    } else {
        format!(
            "Of the journal modes that lose nothing in a power cut, {} is the fastest: {} {each} a \
             second, {} times as many as with the default rollback journal ({}).",
            named(&best.kind),
            rate(best.rate),
            rate(best.rate / default.rate),
            rate(default.rate)
        )
    };
    let normal = of_one().filter(|save| save.may_lose_the_last());
    let normal = normal.max_by(|a, b| a.rate.total_cmp(&b.rate));
    let normal = normal.filter(|normal| normal.rate > best.rate).map(|normal| {
        format!(
            " {} makes {}: a power cut can take its last transactions, but leaves the database whole.",
            save_label(&normal.kind),
            rate(normal.rate)
        )
    });
    Some(first + &normal.unwrap_or_default())
}

/// `WAL`, `a rollback journal (truncate)`.
fn named(kind: &SaveKind) -> String {
    let label = decapitalized(&save_label(kind));
    if kind.journal == JournalMode::Wal { label } else { format!("a {label}") }
}

/// A test of saves that can be compared with others.
struct Tested {
    kind: SaveKind,
    rate: f64,
}

impl Tested {
    /// Whether a transaction that was committed survives a power cut.
    fn keeps_all(&self) -> bool {
        self.kind.is_durable() && self.kind.synchronous != Synchronous::Normal
    }

    /// WAL with `synchronous=NORMAL`.
    fn may_lose_the_last(&self) -> bool {
        self.kind.journal == JournalMode::Wal && self.kind.synchronous == Synchronous::Normal
    }
}

/// Saves of a single change, alone and one after another, in the first state.
fn saves(run: &Run) -> Vec<Tested> {
    let state = run.phases.first().map(|phase| phase.state);
    let compared = |phase: &&Phase| {
        phase.operation == Operation::Save
            && phase.closed_loop
            && phase.background.is_none()
            && Some(phase.state) == state
            && failures_of(run, phase).is_empty()
    };
    let tested = |phase: &Phase| {
        let kind = SaveKind::of(run, phase).filter(|kind| kind.statements == 1)?;
        (phase.ops_per_sec > 0.0).then_some(Tested { kind, rate: phase.ops_per_sec })
    };
    run.phases.iter().filter(compared).filter_map(tested).collect()
}

#[cfg(test)]
mod tests {
    use flashlag_testing::sample;

    use super::*;

    #[test]
    fn a_run_of_all_modes_says_which_is_the_fastest_and_what_a_faster_one_may_lose() {
        let mut run = sample::sqlite();
        for phase in &mut run.phases {
            phase.ops_per_sec = match phase.name.as_str() {
                "insert_wal_full" => 413.0,
                "insert_wal_normal" => 6_963.0,
                // Neither survives a power cut.
                "insert_off_full" | "insert_memory_full" => 9_000.0,
                _ => 82.0,
            };
        }
        let said = answer(&run).expect("an answer");
        let wal = "WAL is the fastest: 413 inserts a second, 5.0 times as many as with the default \
                   rollback journal (82).";
        assert!(said.contains(wal), "{said}");
        assert!(said.contains("WAL, NORMAL makes 6,963: a power cut can take its last"), "{said}");
        let wal = |phase: &Phase| phase.name.starts_with("insert_wal");
        run.phases.iter_mut().filter(|phase| wal(phase)).for_each(|phase| phase.ops_per_sec = 9.0);
        let said = answer(&run).expect("an answer");
        assert!(said.ends_with("SQLite's default is the fastest: 82 inserts a second."), "{said}");
        assert_eq!(answer(&sample::quick()), None, "two modes are compared by the headline itself");
    }
}
