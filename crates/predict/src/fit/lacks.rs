//! Parameters that a run can't determine, whatever its figures are.

use flashlag_schema::{Phase, Run};
use flashlag_spec::profile::Profile;
use flashlag_spec::scenario::Durability;
use flashlag_spec::target::{MountSpec, TargetOption};
use flashlag_spec::{Operation, State};
use flashlag_units::InOrder;

/// Parameters that are not fitted, with the reasons; and what the run lacks, a sentence each.
pub(super) fn lacks(
    run: &Run,
    profile: &Profile,
    mount: &MountSpec,
) -> (Vec<(String, String)>, Vec<String>) {
    let any = |wanted: &dyn Fn(&Phase) -> bool| run.phases.iter().any(wanted);
    let full = any(&|phase| phase.state == State::Filled && writes(phase.operation));
    let freed = any(&|phase| {
        matches!(phase.state, State::Deleted | State::Trimmed | State::Idle)
            && writes(phase.operation)
    });
    let mut held = Vec::new();
    let mut words = Vec::new();
    let mut hold = |prefixes: &[&str], why: &str| {
        for key in profile.parameters.keys() {
            let meant = prefixes.iter().any(|prefix| key.starts_with(prefix));
            if meant && !held.iter().any(|(known, _)| known == key) {
                held.push((key.clone(), why.to_owned()));
            }
        }
    };
    if !full {
        hold(
            &["map.spare", "map.log_blocks", "gc.", "nand.erase", "wear."],
            "no writes on full storage",
        );
        words.push(
            "No writes were measured on full storage: spare area and garbage collection stay as \
             in the starting profile. `flashlag run lifecycle` measures them."
                .to_owned(),
        );
    }
    if !mount.options.contains(&TargetOption::Fuse) {
        hold(&["stack.fuse"], "no FUSE below the run");
    }
    if !freed {
        hold(&["trim."], "no writes after a delete or a trim");
    }
    let durable = any(&|phase| phase.durable != Durability::None && writes(phase.operation))
        || any(&|phase| phase.operation == Operation::Save);
    if !durable {
        hold(&["host.flush_command", "stack.sync_call"], "no durable writes");
        words.push(
            "No durable writes were measured: what a flush costs stays as in the starting profile."
                .to_owned(),
        );
    }
    let reads =
        any(&|phase| matches!(phase.operation, Operation::SequentialRead | Operation::RandomRead));
    if !reads {
        hold(&["nand.read", "host.read_"], "no reads");
        words.push(
            "No reads were measured: what they cost stays as in the starting profile.".to_owned(),
        );
    }
    words.extend(one_size_only(run).filter(|_| durable));
    if any(&|phase| phase.ops > 0 && phase.latency_ns.p99.is_none()) {
        words.push(
            "Some phases were too short for a p99: long waits are fitted less well.".to_owned(),
        );
    }
    (held, words)
}

/// A note if all durable writes had one size.
fn one_size_only(run: &Run) -> Option<String> {
    let sizes = |phase: &&Phase| phase.durable != Durability::None && writes(phase.operation);
    let mut blocks: Vec<_> = run.phases.iter().filter(sizes).map(|it| it.block_bytes).collect();
    blocks.order();
    blocks.dedup();
    (blocks.len() < 2).then(|| {
        "Durable writes of one size only were measured, which hardly determines the mapping unit; \
         `flashlag run lifecycle --set sizes=1` measures more sizes."
            .to_owned()
    })
}

/// Whether a phase writes.
fn writes(operation: Operation) -> bool {
    matches!(operation, Operation::SequentialWrite | Operation::RandomWrite | Operation::Save)
}
