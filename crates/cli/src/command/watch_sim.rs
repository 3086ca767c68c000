//! `flashlag watch sim:PROFILE`: what a watch finds of what was planted.

use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};
use flashlag_runner::sim::SimTarget;
use flashlag_units::Nanos;
use flashlag_watch::Book;
use flashlag_watch::sim::{Plan, Row, Score, days, simulate as simulate_into};

use super::watch_settings::settings;
use crate::args::WatchLiveArgs;
use crate::exit::Exit;
use crate::say;
use crate::terminal::Terminal;

/// How long is watched.
const TIME: Nanos = Nanos::from_secs(180 * 86_400);
const DAY: Nanos = Nanos::from_secs(86_400);
/// How often a probe is made.
const PROBE: Nanos = Nanos::from_secs(30);
/// How many times as long each request takes at the end.
const AGEING: f64 = 1.5;

/// The simulated device that is named in the place of a directory.
pub fn target(place: &Path) -> Option<&str> {
    place.to_str().filter(|text| text.starts_with("sim:"))
}

/// Watches a simulated device and prints what was found of what was planted.
pub fn simulate(target: &str, args: &WatchLiveArgs, terminal: &Terminal) -> Result<Exit> {
    if args.listen.is_some() {
        bail!("a simulated watch is over before anyone can ask: leave out --listen");
    }
    let device = SimTarget::parse(target)?;
    let settings = settings(args)?;
    let plan = Plan {
        name: device.text.clone(),
        model: device.profile.model()?,
        mount: device.mount,
        age: device.age,
        daily: device.daily,
        seed: args.seed,
        days: (args.time.unwrap_or(TIME).0 / DAY.0).max(1),
        probe: settings.probe.unwrap_or(PROBE),
        over: settings.over,
        planted: true,
        grown: args.ageing.unwrap_or(AGEING),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    if !terminal.quiet {
        say::sentence(&format!("{} days of a user on {target}, in virtual time", plan.days));
    }
    let score = match &args.history {
        None => days(&plan)?.0,
        Some(file) if std::fs::metadata(file).is_ok_and(|file| file.len() > 0) => {
            bail!("{} exists: name a new file with --history", file.display());
        }
        Some(file) => {
            let book = Book::open(file, settings.size)?;
            simulate_into(&plan, book).context("the history is not whole")?
        }
    };
    say::data(&table(&score))?;
    Ok(Exit::Done)
}

/// What was found, as a page's table and a sentence.
fn table(score: &Score) -> String {
    let mut text = "| planted | times | a call waited | a probe or request did | found | cause right | unknown | wrong |\n\
                    |---|---|---|---|---|---|---|---|\n"
        .to_owned();
    for row in score.rows.iter().filter(|row| row.is_wait) {
        let Row { what, planted, waited, visible, found, right, unknown, .. } = *row;
        let wrong = found.saturating_sub(right + unknown);
        // Writing to a text never fails.
        let _ = writeln!(
            text,
            "| {what} | {planted} | {waited} | {visible} | {found} | {right} | {unknown} | {wrong} |"
        );
    }
    for row in score.rows.iter().filter(|row| !row.is_wait) {
        let _ = writeln!(text, "| {} | {} | – | – | – | – | – | – |", row.what, row.planted);
    }
    let false_ones = match score.false_ones {
        0 => "No incident was false".to_owned(),
        1 => "1 incident was false".to_owned(),
        many => format!("{many} incidents were false"),
    };
    let trend = match &score.trend {
        Some(trend) => format!(
            "the watch says {:.2} times (95% interval {:.2} to {:.2})",
            trend.ratio, trend.low, trend.high
        ),
        None => "the watch finds no trend".to_owned(),
    };
    let _ = writeln!(
        text,
        "\n{false_ones}. At the end each request took {:.2} times as long as at the beginning; {trend}.",
        score.grown
    );
    text
}
