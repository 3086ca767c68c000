//! Forecasts and sweeps.

use flashlag_predict::change::{
    DaysOfUse, Figures, Forecast, Level, SAVE, STEADY, Settling, Sweep, TestFigures, WINDOW,
};
use flashlag_units::Bytes;

use super::spread::{self, megabytes, p99};
use super::years::years;
use super::{NONE, figures, item, list, number, page, row, time, warnings};
use crate::line::Page;
use crate::style::{Role, Style};

/// A forecast: the figures before and after each change, why, and all tests.
pub fn forecast(forecast: &Forecast, style: Style) -> String {
    let mut page = page(style);
    page.paragraph(Role::Strong, &format!("{} on {}", forecast.profile, forecast.filesystem));
    page.gap();
    warnings(&mut page, &forecast.warnings);
    steps(&mut page, forecast);
    if forecast.steps.len() > 1 {
        let about = "share: of the change from first to last, by logarithms; a change in the \
                     other direction is negative";
        page.paragraph(Role::Muted, about);
    }
    for step in &forecast.steps {
        page.gap();
        page.paragraph(Role::Strong, &step.change);
        for reason in &step.reasons {
            // The first word is the head of the item, so that the other lines are indented.
            let (first, rest) = reason.split_once(' ').unwrap_or((reason, ""));
            item(&mut page, &format!("  {first} "), 4, rest);
        }
        for beyond in &step.beyond {
            item(&mut page, "  extrapolated: ", 4, beyond);
        }
        days(&mut page, &step.after);
        if let Some(settling) = &step.after.settling {
            item(&mut page, "  written before: ", 4, &settled(settling));
        }
        if let Some(causes) = &step.years {
            page.gap();
            years(&mut page, causes);
        }
    }
    if !forecast.steps.is_empty() {
        page.gap();
        page.paragraph(Role::Strong, "All tests, before and after:");
        tests(&mut page, &forecast.before, forecast.after());
    }
    list(&mut page, "Assumed:", &forecast.assumptions);
    page.finish()
}

/// The number of simulated days, and how much they still changed.
fn days(page: &mut Page, after: &Figures) {
    let Some(lived) = &after.lived else { return };
    let mut said = how_many(lived);
    if let Some(cycles) = lived.cycles {
        said.push_str(&format!("; each block then gets the {cycles} cycles of the days left out"));
    }
    if let Some(used) = after.life_used {
        said.push_str(&format!("; by their end {} of the rated cycles are used", share(used)));
    }
    let head = if lived.extrapolated() { "  extrapolated: " } else { "  simulated: " };
    item(page, head, 4, &said);
}

fn how_many(lived: &DaysOfUse) -> String {
    let changed = lived.changing.map(|change| {
        let more = if change < 0.0 { "less" } else { "more" };
        format!(
            "in the last {WINDOW} of them writing cost {} {more} than in the {WINDOW} before",
            flashlag_units::percent(change.abs())
        )
    });
    if lived.extrapolated() {
        format!(
            "{} of {} days were simulated, one by one; {} (less than {} counts as steady), \
             and the others are assumed to be equal",
            lived.simulated,
            lived.asked,
            changed.unwrap_or_default(),
            flashlag_units::percent(STEADY),
        )
    } else {
        let changed = changed.map(|changed| format!("; {changed}")).unwrap_or_default();
        format!("all {} days, one by one{changed}", lived.simulated)
    }
}

/// How much was written over the stored data, and whether that made the figures steady.
fn settled(settling: &Settling) -> String {
    let verdict = if settling.steady { "steady" } else { "not steady" };
    let change = settling.changing.map_or(String::new(), |change| {
        let more = if change < 0.0 { "less" } else { "more" };
        let change = flashlag_units::percent(change.abs());
        format!(": the last part of it cost {change} {more} than the part before")
    });
    format!("{} over all that is stored, until figures were {verdict}{change}", settling.written)
}

/// A share that may be small.
fn share(share: f64) -> String {
    if share < 0.001 { "less than 0.1%".to_owned() } else { flashlag_units::percent(share) }
}

fn steps(page: &mut Page, forecast: &Forecast) {
    let mut table = figures(&[
        "durable 4 KiB writes",
        "p50",
        "p99",
        "MB/s",
        "sustained",
        "saves/s",
        "share p50",
        "share saves",
    ]);
    let mut add = |name: &str, figures: &Figures, shares: [Option<f64>; 2]| {
        let shares =
            shares.map(|share| share.map(flashlag_units::signed_percent).unwrap_or_default());
        row(&mut table, name, summary(figures).into_iter().chain(shares));
    };
    add("as it is", &forecast.before, [None, None]);
    for step in &forecast.steps {
        add(&step.change, &step.after, [step.share, step.share_of_saves]);
    }
    table.print(page);
    ranges(page, forecast);
}

/// What the ranges in the table mean.
fn ranges(page: &mut Page, forecast: &Forecast) {
    let all =
        || [&forecast.before].into_iter().chain(forecast.steps.iter().map(|step| &step.after));
    let durable = || all().filter_map(Figures::durable);
    if durable().any(|test| test.p99_range().is_some()) {
        let about = "p99 a–b: slow ones come about once in a hundred; half as many and p99 would be a, \
                     twice as many and p99 would be b";
        page.paragraph(Role::Muted, about);
    }
    if let Some(seeds) = durable().find_map(|test| test.seeds) {
        let seeds = seeds.seeds;
        let about = format!("means of {seeds} seeds; ±: the farthest of them, from 1% on");
        page.paragraph(Role::Muted, &about);
    }
}

/// p50, p99, MB/s and sustained MB/s of durable writes; saves a second.
fn summary(figures: &Figures) -> [String; 5] {
    let durable = figures.durable();
    [
        durable.and_then(|test| test.p50_ns).map_or(NONE.to_owned(), time),
        durable.and_then(p99).unwrap_or_else(|| NONE.to_owned()),
        durable.map_or(NONE.to_owned(), megabytes),
        figures.sustained.as_ref().map_or(NONE.to_owned(), megabytes),
        figures.saves().map_or(NONE.to_owned(), spread::rate),
    ]
}

fn tests(page: &mut Page, before: &Figures, after: &Figures) {
    let titles = ["test", "p50", "after", "p99", "after", "rate", "after", "sent each", "after"];
    let mut table = figures(&titles);
    let new = after.tests.iter().filter(|test| before.test(&test.name).is_none());
    for name in before.tests.iter().chain(new).map(|test| &test.name) {
        let figure = |say: &dyn Fn(&TestFigures) -> String| {
            [before, after].map(|figures| figures.test(name).map_or(NONE.to_owned(), say))
        };
        let latency = |value: Option<f64>| value.map_or(NONE.to_owned(), time);
        let mut cells = Vec::new();
        cells.extend(figure(&|test| latency(test.p50_ns)));
        cells.extend(figure(&|test| p99(test).unwrap_or_else(|| NONE.to_owned())));
        cells.extend(figure(&rate));
        cells.extend(figure(&|test| {
            let sent = test.request_bytes.map(|bytes| Bytes(bytes as u64).to_string());
            sent.unwrap_or_else(|| NONE.to_owned())
        }));
        row(&mut table, name, cells);
    }
    table.print(page);
}

fn rate(test: &TestFigures) -> String {
    if test.name == SAVE {
        format!("{} saves/s", number(test.per_second))
    } else {
        format!("{} MB/s", number(test.bytes_per_second / 1e6))
    }
}

/// Median and p99 of durable writes against the fill level, on one logarithmic scale.
pub fn sweep(sweep: &Sweep, style: Style) -> String {
    let mut page = page(style);
    page.paragraph(Role::Strong, &format!("{} on {}", sweep.profile, sweep.filesystem));
    page.gap();
    warnings(&mut page, &sweep.warnings);
    let titles = ["full", "p50", "p99", "MB/s", "sustained", "saves/s", "programmed/sent"];
    let mut table = figures(&titles).words("");
    for (level, bar) in sweep.levels.iter().zip(bars(&sweep.levels)) {
        let sustained = level.figures.sustained.as_ref().or(level.figures.durable());
        let amplification = sustained.and_then(|test| test.amplification);
        let amplification = amplification.map_or(NONE.to_owned(), number);
        let cells = summary(&level.figures).into_iter().chain([amplification, bar]);
        row(&mut table, &flashlag_units::percent(level.full), cells);
    }
    table.print(&mut page);
    let key = "o median, x p99 of durable 4 KiB writes after a night's rest, on a logarithmic scale; \
               sustained: MB/s of the same writes without a rest, as are the bytes programmed for each \
               byte sent";
    page.paragraph(Role::Muted, key);
    for level in &sweep.levels {
        let Some(settling) = &level.figures.settling else { continue };
        let head = format!("{}: ", flashlag_units::percent(level.full));
        item(&mut page, &head, 2, &settled(settling));
    }
    for beyond in &sweep.beyond {
        item(&mut page, "extrapolated: ", 2, beyond);
    }
    list(&mut page, "Assumed:", &sweep.assumptions);
    page.finish()
}

fn bars(levels: &[Level]) -> Vec<String> {
    const BAR: usize = 40;
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
