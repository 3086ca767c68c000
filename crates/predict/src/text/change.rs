use std::fmt::Write;

use flashlag_units::{Bytes, Nanos};

use super::table::Table;
use super::{WIDTH, number, warned, wrapped};
use crate::change::{Figures, Forecast, Level, STEADY, Sweep, TestFigures, WINDOW};

/// Before, after each change, and why.
pub fn forecast(forecast: &Forecast) -> String {
    let mut text = format!("{} on {}\n\n", forecast.profile, forecast.filesystem);
    warned(&forecast.warnings, &mut text);
    let _ = write!(text, "{}", steps(forecast));
    if forecast.steps.len() > 1 {
        let about = "share: of the change from first to last, by logarithms; a change the other \
                     way has a minus";
        text.push_str(&wrapped(about, "", 0));
    }
    for step in &forecast.steps {
        let _ = writeln!(text, "\n{}", step.change);
        for reason in &step.reasons {
            text.push_str(&wrapped(reason, "  ", 4));
        }
        for beyond in &step.beyond {
            text.push_str(&wrapped(beyond, "  extrapolated: ", 4));
        }
        days(&step.after, &mut text);
    }
    if !forecast.steps.is_empty() {
        text.push_str("\nAll tests, before and after:\n");
        let _ = write!(text, "{}", tests(&forecast.before, forecast.after()));
    }
    assumed(&forecast.assumptions, &mut text);
    text
}

/// What of the days of use was simulated.
fn days(after: &Figures, text: &mut String) {
    let Some(lived) = &after.lived else { return };
    let changed = lived.changing.map(|change| {
        let more = if change < 0.0 { "less" } else { "more" };
        format!(
            "in the last {WINDOW} of them writing cost {} {more} than in the {WINDOW} before",
            flashlag_units::percent(change.abs())
        )
    });
    let mut said = if lived.extrapolated() {
        format!(
            "{} of {} days were simulated, one by one; {} (less than {} counts as steady), \
             and the others are taken to be like them",
            lived.simulated,
            lived.asked,
            changed.unwrap_or_default(),
            flashlag_units::percent(STEADY),
        )
    } else {
        let changed = changed.map(|changed| format!("; {changed}")).unwrap_or_default();
        format!("all {} days, one by one{changed}", lived.simulated)
    };
    if let Some(cycles) = lived.cycles {
        let _ = write!(said, "; each block has the {cycles} cycles of the others behind it");
    }
    if let Some(used) = after.life_used {
        let _ = write!(said, "; by their end {} of the rated cycles are used", share(used));
    }
    let label = if lived.extrapolated() { "  extrapolated: " } else { "  simulated: " };
    text.push_str(&wrapped(&said, label, 4));
}

/// A share that may be small.
fn share(share: f64) -> String {
    if share < 0.001 { "less than 0.1%".to_owned() } else { flashlag_units::percent(share) }
}

fn steps(forecast: &Forecast) -> Table {
    let head =
        ["durable 4 KiB writes", "p50", "p99", "MB/s", "saves/s", "share p50", "share saves"];
    let mut table = Table::new(&head, &[]);
    let mut row = |name: String, figures: &Figures, shares: [Option<f64>; 2]| {
        let mut cells = vec![name];
        cells.extend(summary(figures));
        cells.extend(
            shares.map(|share| share.map(flashlag_units::signed_percent).unwrap_or_default()),
        );
        table.row(cells);
    };
    row("as it is".to_owned(), &forecast.before, [None, None]);
    for step in &forecast.steps {
        row(step.change.clone(), &step.after, [step.share, step.share_of_saves]);
    }
    table
}

/// p50, p99 and MB/s of durable writes; saves a second.
fn summary(figures: &Figures) -> [String; 4] {
    let durable = figures.durable();
    [
        durable.and_then(|test| test.p50_ns).map_or("-".to_owned(), time),
        durable.and_then(|test| test.p99_ns).map_or("-".to_owned(), time),
        durable.map_or("-".to_owned(), |test| number(test.bytes_per_second / 1e6)),
        figures.saves().map_or("-".to_owned(), |test| number(test.per_second)),
    ]
}

fn time(nanos: f64) -> String {
    Nanos(nanos.max(0.0).round() as u64).to_string()
}

fn tests(before: &Figures, after: &Figures) -> Table {
    let head = ["test", "p50", "after", "p99", "after", "rate", "after", "sent each", "after"];
    let mut table = Table::new(&head, &[]);
    for was in &before.tests {
        let is = after.test(&was.name);
        let figure =
            |say: &dyn Fn(&TestFigures) -> String| [say(was), is.map_or("-".to_owned(), say)];
        let latency = |value: Option<f64>| value.map_or("-".to_owned(), time);
        let mut row = vec![was.name.clone()];
        row.extend(figure(&|test| latency(test.p50_ns)));
        row.extend(figure(&|test| latency(test.p99_ns)));
        row.extend(figure(&rate));
        row.extend(figure(&|test| {
            test.request_bytes.map_or("-".to_owned(), |bytes| Bytes(bytes as u64).to_string())
        }));
        table.row(row);
    }
    table
}

fn rate(test: &TestFigures) -> String {
    if test.name == crate::change::SAVE {
        format!("{} saves/s", number(test.per_second))
    } else {
        format!("{} MB/s", number(test.bytes_per_second / 1e6))
    }
}

/// Median and p99 of durable writes against fill level, on one logarithmic scale.
pub fn sweep(sweep: &Sweep) -> String {
    let mut text = format!("{} on {}\n\n", sweep.profile, sweep.filesystem);
    warned(&sweep.warnings, &mut text);
    let head = ["full", "p50", "p99", "MB/s", "saves/s", "programmed/sent", ""];
    let mut table = Table::new(&head, &[6]);
    let bars = bars(&sweep.levels);
    for (level, bar) in sweep.levels.iter().zip(bars) {
        let mut cells = vec![flashlag_units::percent(level.full)];
        cells.extend(summary(&level.figures));
        let amplification = level.figures.durable().and_then(|test| test.amplification);
        cells.push(amplification.map_or("-".to_owned(), number));
        cells.push(bar);
        table.row(cells);
    }
    let _ = write!(text, "{table}");
    text.push_str("o median, x p99 of durable 4 KiB writes, on a logarithmic scale\n");
    for beyond in &sweep.beyond {
        text.push_str(&wrapped(beyond, "extrapolated: ", 2));
    }
    assumed(&sweep.assumptions, &mut text);
    text
}

fn bars(levels: &[Level]) -> Vec<String> {
    const BAR: usize = 40;
    const _: () = assert!(BAR < WIDTH);
    let of = |level: &Level| {
        let durable = level.figures.durable();
        let figure = |value: Option<f64>| value.filter(|value| *value > 0.0).map(f64::ln);
        (figure(durable.and_then(|test| test.p50_ns)), figure(durable.and_then(|test| test.p99_ns)))
    };
    let all: Vec<f64> =
        levels.iter().map(of).flat_map(|(one, other)| [one, other]).flatten().collect();
    let low = all.iter().copied().fold(f64::INFINITY, f64::min);
    let high = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let span = (high - low).max(1e-9);
    let place = |value: f64| ((value - low) / span * (BAR - 1) as f64).round() as usize;
    levels
        .iter()
        .map(|level| {
            let (median, tail) = of(level);
            let mut bar = vec![' '; BAR];
            if let (Some(median), Some(tail)) = (median, tail) {
                for cell in bar.iter_mut().take(place(tail)).skip(place(median)) {
                    *cell = '-';
                }
            }
            if let Some(tail) = tail {
                bar[place(tail)] = 'x';
            }
            if let Some(median) = median {
                bar[place(median)] = 'o';
            }
            bar.into_iter().collect()
        })
        .collect()
}

fn assumed(assumptions: &[String], text: &mut String) {
    if assumptions.is_empty() {
        return;
    }
    text.push_str("\nAssumed:\n");
    for assumption in assumptions {
        text.push_str(&wrapped(assumption, "- ", 2));
    }
}
