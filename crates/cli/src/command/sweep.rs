use std::path::Path;
use std::time::Instant;

use anyhow::{Result, bail};
use flashlag_sweep::{Finished, Grid, Sweep, SweepOptions, WORKER, Workers, cores};
use flashlag_term::Counter;
use flashlag_units::{Nanos, count, counted};

use crate::args::SweepArgs;
use crate::exit::Exit;
use crate::own;
use crate::say;
use crate::signals::stop_flag;
use crate::terminal::Terminal;

/// Simulates every point of a grid and writes the table. Exit status 0 even if points failed: the
/// row of each says why.
pub fn sweep(args: &SweepArgs, terminal: &Terminal) -> Result<Exit> {
    refuse_another_format(&args.output)?;
    let grid = Grid::read(&args.grid)?;
    let options = SweepOptions { force: args.force, ..SweepOptions::default() };
    let sweep = Sweep::open(grid, &args.output, options)?;
    if sweep.cut() > 0 {
        say::note("note: the journal's last record was torn, and its points are measured again");
    }
    let before = sweep.done();
    if before > 0 && !terminal.quiet {
        let points = sweep.grid().points();
        say::note(&format!(
            "Continues: {} of {} points are measured already",
            count(before),
            count(points)
        ));
    }
    let threads = args.threads.map_or_else(cores, usize::from);
    let stop = stop_flag()?;
    let mut counter = Counter::new(terminal.progress);
    let began = Instant::now();
    let workers = Workers::new(own::program()?, vec![WORKER.into()], threads);
    let ended = workers.run(sweep, &stop, &mut |done, points| {
        let took = began.elapsed().as_secs_f64();
        counter.show(|| progress(done, points, done.saturating_sub(before), took));
    });
    counter.clear();
    let finished = ended?;
    say(&finished, began.elapsed().as_secs_f64(), terminal)
}

/// A table named as if it were text would be Parquet, which the program that opens it can't read.
fn refuse_another_format(output: &Path) -> Result<()> {
    let ending = output.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    if ["csv", "tsv", "txt", "json", "jsonl", "db", "sqlite"].contains(&ending) {
        let parquet = output.with_extension("parquet");
        bail!(
            "cannot write {}: a sweep's table is Parquet: write `-o {}`, which DuckDB, pandas and Polars read and convert",
            output.display(),
            parquet.display()
        );
    }
    Ok(())
}

/// Simulates the points that the sweep sends to standard input.
pub fn be_a_worker() -> Result<Exit> {
    flashlag_sweep::be_a_worker(&mut std::io::stdin().lock(), &mut say::pipe("sweep")?)?;
    Ok(Exit::Done)
}

/// `sweep: 3,400 of 10,000 points, 1,212 a second, 31 s left`
fn progress(done: u64, points: u64, now: u64, took: f64) -> String {
    let text = format!("sweep: {} of {} points", count(done), count(points));
    if now == 0 || took <= 0.0 {
        return text;
    }
    let rate = now as f64 / took;
    let rated = match rate {
        slow if slow < 9.95 => format!("{slow:.1} a second"),
        quick => format!("{} a second", count(quick.round() as u64)),
    };
    if done >= points {
        return format!("{text}, {rated}, writing the table");
    }
    let left = Nanos(((points - done) as f64 / rate * 1e9) as u64);
    format!("{text}, {rated}, {left} left")
}

fn say(finished: &Finished, took: f64, terminal: &Terminal) -> Result<Exit> {
    let Finished { points, rows, failed, skipped, .. } = finished;
    let mut line =
        format!("{}, {}", counted(*points, "point", "points"), counted(*rows, "row", "rows"));
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

#[cfg(test)]
mod tests {
    use super::progress;

    #[test]
    fn the_progress_has_separators_and_a_finished_sweep_has_no_time_left() {
        assert_eq!(progress(0, 4_000, 0, 1.0), "sweep: 0 of 4,000 points");
        let quick = "sweep: 24,000 of 40,000 points, 1,200 a second, 13 s left";
        assert_eq!(progress(24_000, 40_000, 24_000, 20.0), quick);
        let slow = "sweep: 10 of 20 points, 0.5 a second, 20 s left";
        assert_eq!(progress(10, 20, 10, 20.0), slow);
        let goes_on = "sweep: 15 of 20 points, 0.5 a second, 10 s left";
        assert_eq!(progress(15, 20, 5, 10.0), goes_on);
        let ended = "sweep: 20 of 20 points, 1.0 a second, writing the table";
        assert_eq!(progress(20, 20, 20, 20.0), ended);
    }
}
