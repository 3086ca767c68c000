//! What a run says that it has written, while it runs.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use crate::sim_support::{request, target};
use flashlag_runner::run;
use flashlag_runner::{Event, Observer, builtin};
use flashlag_units::Bytes;

/// The sums as they come, and what each phase adds to the one before it.
#[derive(Default)]
struct Sums {
    all: Vec<Bytes>,
    /// Before a phase, what it moved, after it.
    phases: Vec<(Bytes, Bytes, Bytes)>,
    limit_of_fill: Option<Bytes>,
}

impl Observer for Sums {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Wrote(total) => self.all.push(total),
            Event::PhaseStarted { label, limit, .. } if label.starts_with("fill:") => {
                self.limit_of_fill = limit;
            }
            Event::PhaseFinished(phase) => {
                let [.., before, after] = self.all.as_slice() else { panic!("no sums") };
                let written = match phase.operation {
                    flashlag_spec::Operation::SequentialRead
                    | flashlag_spec::Operation::RandomRead => Bytes::ZERO,
                    _ => phase.bytes,
                };
                self.phases.push((*before, written, *after));
            }
            _ => {}
        }
    }
}

#[test]
fn the_last_sum_of_a_run_is_what_its_file_says_it_wrote() {
    for name in ["quick", "lifecycle"] {
        let scenario = builtin(name).unwrap().text();
        let mut sums = Sums::default();
        let run = run(request(scenario, target("sim:nexus5-2013"), 7), &mut sums).unwrap();
        assert!(sums.all.is_sorted(), "{:?}", sums.all);
        assert_eq!(sums.all.last(), Some(&run.wear.written_bytes), "{name}");
        assert_eq!(sums.phases.len(), run.phases.len());
        for ((before, written, after), phase) in sums.phases.iter().zip(&run.phases) {
            assert!(before.plus(*written) <= *after, "{name}: {}", phase.label());
            // A test that writes with nothing beside it adds just that.
            if phase.background.is_none() && phase.operation != flashlag_spec::Operation::Save {
                assert_eq!(before.plus(*written), *after, "{name}: {}", phase.label());
            }
        }
        if let Some(limit) = sums.limit_of_fill {
            let storage = run.environment.filesystem.total_bytes.value().copied().unwrap();
            assert!(limit <= storage, "{limit} on {storage}");
            let fill = run.phases.iter().find(|phase| phase.name.starts_with("fill")).unwrap();
            let off = limit.minus(fill.bytes).0 as f64 / limit.0 as f64;
            assert!(fill.bytes <= limit && off < 0.01, "{} of {limit}", fill.bytes);
        }
    }
}
