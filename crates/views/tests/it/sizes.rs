//! Durable writes of other sizes stand beside the reviewers' table, not in it.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use flashlag_schema::{Phase, Run};
use flashlag_spec::State;
use flashlag_testing::sample;
use flashlag_units::Bytes;
use flashlag_views::{lifecycle, sizes};

/// The sample with durable writes of two more sizes, when new and when filled.
fn sized(plain: &Run) -> Run {
    let mut run = plain.clone();
    for state in [State::New, State::Filled] {
        for kib in [8, 64] {
            let like = |phase: &&Phase| phase.name == "rand_write_4k" && phase.state == state;
            let mut phase = plain.phases.iter().find(like).unwrap().clone();
            phase.name = format!("rand_write_{kib}k");
            phase.block_bytes = Bytes(kib << 10);
            run.phases.push(phase);
        }
    }
    run
}

#[test]
fn other_sizes_leave_the_reviewers_table_as_it_is() {
    let plain = sample::lifecycle();
    assert_eq!(lifecycle(&sized(&plain)), lifecycle(&plain));
}

#[test]
fn other_sizes_have_a_table_of_their_own() {
    let plain = sample::lifecycle();
    assert_eq!(sizes(&plain), None);
    let table = sizes(&sized(&plain)).unwrap();
    let titles: Vec<&str> = table.columns.iter().map(|column| column.title.as_str()).collect();
    assert_eq!(titles, ["8K rand write", "64K rand write"]);
    let stages: Vec<State> = table.rows.iter().map(|row| row.state).collect();
    assert_eq!(stages, [State::New, State::Filled]);
    assert!(table.rows.iter().all(|row| row.cells.iter().all(Option::is_some)));
}
