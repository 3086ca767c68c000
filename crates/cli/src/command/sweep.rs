use std::time::Instant;

use anyhow::Result;
use flashlag_sweep::{Finished, Grid, Sweep, SweepOptions, cores, run};
use flashlag_term::Counter;
use flashlag_units::{Nanos, count};

use crate::args::SweepArgs;
use crate::exit::Exit;
use crate::say;
use crate::signals::stop_flag;
use crate::terminal::Terminal;

/// Simulates every point of a grid and writes the table. Exit status 0 although points failed: each is
/// a row that says why.
pub fn sweep(args: &SweepArgs, terminal: &Terminal) -> Result<Exit> {
    let grid = Grid::read(&args.grid)?;
    let options = SweepOptions { force: args.force, ..SweepOptions::default() };
    let sweep = Sweep::open(grid, &args.output, options)?;
    if sweep.cut() > 0 {
        say::note("note: the last write of the earlier sweep was cut off, and is measured again");
    }
    let before = sweep.done();
    if before > 0 && !terminal.quiet {
        let points = sweep.grid().points();
        say::note(&format!("Goes on: {} of {} points are measured", count(before), count(points)));
    }
    let threads = args.threads.map_or_else(cores, usize::from);
    let stop = stop_flag()?;
    let mut counter = Counter::new(terminal.progress);
    let began = Instant::now();
    let ended = run(sweep, threads, &stop, &mut |done, points| {
        let took = began.elapsed().as_secs_f64();
        counter.show(|| progress(done, points, done.saturating_sub(before), took));
    });
    counter.clear();
    let finished = ended?;
    say(&finished, began.elapsed().as_secs_f64(), terminal)
}

/// `sweep: 3,400 of 10,000 points, 212 a second, 31 s left`
fn progress(done: u64, points: u64, now: u64, took: f64) -> String {
    let text = format!("sweep: {} of {} points", count(done), count(points));
    if now == 0 || took <= 0.0 {
        return text;
    }
    let rate = now as f64 / took;
    let left = Nanos(((points - done) as f64 / rate * 1e9) as u64);
    format!("{text}, {rate:.0} a second, {left} left")
}

fn say(finished: &Finished, took: f64, terminal: &Terminal) -> Result<Exit> {
    let Finished { points, rows, failed, skipped, .. } = finished;
    let mut line = format!("{} points, {} rows", count(*points), count(*rows));
    for (number, what) in [(failed, "failed"), (skipped, "skipped")] {
        if *number > 0 {
            line.push_str(&format!(", {} of them {what}", count(*number)));
        }
    }
    say::line(&line)?;
    if let Some(error) = &finished.first_error {
        say::note(&format!("The first that failed: {error}"));
    }
    say::note(&format!("Data    {}", finished.output.display()));
    if !terminal.quiet {
        say::note(&format!("Took    {} of real time", Nanos((took * 1e9) as u64)));
    }
    Ok(Exit::Done)
}
