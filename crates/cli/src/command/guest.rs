use std::sync::Arc;

use anyhow::{Result, bail};
use flashlag_runner::lab::{LabRequest, LabTarget, run_in_lab};
use flashlag_schema::scenario::Scenario;
use flashlag_term::Progress;
use flashlag_views::Threshold;

use super::run::{Shown, conclude};
use crate::args::RunArgs;
use crate::exit::Exit;
use crate::results::Results;
use crate::signals::stop_flag;
use crate::terminal::Terminal;

/// Runs a scenario in a guest, or on the host's own kernel, on a virtual device: nothing of the
/// user's is written, so nothing is asked.
pub fn run(
    args: &RunArgs,
    command: Vec<String>,
    scenario: Scenario,
    terminal: &Terminal,
    thresholds: &[Threshold],
) -> Result<Exit> {
    if args.resume {
        bail!("--resume is for real storage: a guest's device is gone with it");
    }
    let target = LabTarget::parse(&args.on)?;
    let results = Results::plan(args, &scenario.name)?;
    if target.spec.host {
        target.check_host()?;
        super::own_mounts::enter()?;
    }
    let title =
        format!("flashlag {}  {} on {}", env!("CARGO_PKG_VERSION"), scenario.name, target.text);
    let request = LabRequest {
        scenario,
        settings: args.set.clone(),
        target,
        seed: args.seed,
        leave: args.leave,
        budget: args.budget,
        verify: args.verify,
        label: args.label.clone(),
        command,
        output: Arc::clone(&results.run),
        stop: stop_flag()?,
    };
    let progress = Progress::new(terminal.progress, &title);
    progress.scenario(&request.scenario);
    let run = run_in_lab(&request, &mut Shown { progress: &progress })?;
    progress.finished();
    conclude(&run, &results, args, terminal, thresholds)
}
