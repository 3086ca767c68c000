//! Phases that differ in their queue depth alone.

use flashlag_schema::{Phase, Run};
use flashlag_units::InOrder;
use flashlag_views::{Figures, format, phase_title};

use crate::chart::{DepthPlot, DepthPoint, Svg};

/// One test at several depths.
pub(super) struct Sweep {
    pub(super) title: String,
    points: Vec<DepthPoint>,
}

/// Every test that was run at two depths or more, in one state.
pub(super) fn sweeps(run: &Run) -> Vec<Sweep> {
    let mut groups: Vec<Vec<&Phase>> = Vec::new();
    let tests = run.phases.iter().filter(|phase| phase.ops > 0 && phase.background.is_none());
    for phase in tests.filter(|phase| phase.operation.is_block_test()) {
        let like = |first: &Phase| {
            let what = (first.operation, first.block_bytes, first.durable, first.state, first.run);
            what == (phase.operation, phase.block_bytes, phase.durable, phase.state, phase.run)
        };
        match groups.iter_mut().find(|group| group.first().is_some_and(|first| like(first))) {
            Some(group) => group.push(phase),
            None => groups.push(vec![phase]),
        }
    }
    groups.into_iter().filter_map(|group| sweep(run, group)).collect()
}

/// `None` if the depths are not all different, or there is only one.
fn sweep(run: &Run, mut phases: Vec<&Phase>) -> Option<Sweep> {
    phases.order_by_key(|phase| phase.queue_depth);
    let alike = phases.windows(2).any(|pair| pair[0].queue_depth == pair[1].queue_depth);
    if phases.len() < 2 || alike {
        return None;
    }
    let points = phases.iter().map(|phase| DepthPoint {
        depth: phase.queue_depth,
        ops_per_sec: phase.ops_per_sec,
        p99: Figures::of_phase(phase).p99,
    });
    Some(Sweep { title: phase_title(run, phases.first()?), points: points.collect() })
}

impl Sweep {
    pub(super) fn drawing(&self) -> Svg {
        DepthPlot { points: &self.points }.drawing()
    }

    pub(super) fn in_words(&self) -> String {
        let points = self.points.iter().map(|point| {
            format!("depth {}: {} a second", point.depth, format::per_second(point.ops_per_sec))
        });
        format!("{}. {}.", self.title, points.collect::<Vec<_>>().join(", "))
    }
}
