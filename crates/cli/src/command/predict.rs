use anyhow::Result;
use flashlag_commands::{PredictWords, Prediction};

use crate::args::PredictArgs;
use crate::command::profiles::counted;
use crate::exit::Exit;
use crate::say;
use crate::terminal::Terminal;

/// Simulates a device before and after each change, or at each level of a sweep.
pub fn predict(args: &PredictArgs, terminal: &Terminal) -> Result<Exit> {
    let prediction = Prediction::of(&PredictWords {
        subject: args.subject.clone(),
        change: args.change.clone(),
        sweep: args.sweep.clone(),
        fs: args.fs.clone(),
        daily: args.daily,
        seeds: args.seeds,
        force: args.force,
        causes: !terminal.quiet,
    })?;
    let simulations = counted(prediction.profile(), None, terminal)?;
    let forecast = prediction.forecast(&simulations)?;
    simulations.clear();
    if let Some(forecast) = &forecast {
        say::view(&flashlag_term::predict::forecast(forecast, terminal.stdout))?;
    }
    if let Some(sweep) = prediction.sweep(&simulations)? {
        simulations.clear();
        if forecast.is_some() {
            say::line("")?;
        }
        say::view(&flashlag_term::predict::sweep(&sweep, terminal.stdout))?;
    }
    Ok(Exit::Done)
}
