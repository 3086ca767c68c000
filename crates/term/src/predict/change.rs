//! Forecasts and sweeps.

use flashlag_predict::change::{
    DaysOfUse, Figures, Forecast, Fullness, Level, Plausible, SAVE, SAVE_ROLLBACK, STEADY,
    Settling, Stage, Sweep, TestFigures, WINDOW,
};
use flashlag_units::{Bytes, mb_per_s};
use flashlag_views::test_title;

use super::spread::{self, megabytes, p99};
use super::years::years;
use super::{NONE, figures, item, list, number, row, time, warnings};
use crate::line::Page;
use crate::style::{Role, Style};
use crate::table::Table;

/// A forecast: the figures before and after each change, why, and all tests.
pub fn forecast(forecast: &Forecast, style: Style) -> String {
    let mut page = Page::new(style);
    page.paragraph(Role::Strong, &format!("{} on {}", forecast.profile, forecast.filesystem));
    page.gap();
    warnings(&mut page, &forecast.warnings);
    steps(&mut page, forecast);
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
        if let Some(fullness) = &step.fullness {
            parts(&mut page, fullness);
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

/// What a full device's fall is made of, and how far plausible devices differ.
fn parts(page: &mut Page, fullness: &Fullness) {
    if let Some(shares) = fullness.shares() {
        // The shares sum up to all of it: tenths of a percent would say too much.
        let [day, reach, full] =
            shares.map(|share| format!("{:.0}%", (share * 100.0).round() + 0.0));
        let text = format!(
            "{} MB/s without a rest, {} on a new device after one. Of that fall {day} comes \
             from the day's writes before, {reach} from writing over all that is stored instead of one \
             file, {full} from the full storage",
            mb_per_s(fullness.full),
            mb_per_s(fullness.new),
        );
        item(page, "  parts: ", 4, &text);
    }
    if let Some(plausible) = &fullness.plausible {
        let text = format!(
            "as nothing of this device was measured full, also with {}",
            plausible.varied.join(", and with "),
        );
        item(page, "  plausible: ", 4, &text);
    }
}

/// A share that may be small.
fn share(share: f64) -> String {
    if share < 0.001 { "less than 0.1%".to_owned() } else { flashlag_units::percent(share) }
}

fn steps(page: &mut Page, forecast: &Forecast) {
    let before = std::iter::once(Step::before(&forecast.before));
    let rows: Vec<Step<'_>> = before.chain(forecast.steps.iter().map(Step::of)).collect();
    let several = forecast.steps.len() > 1;
    let sustained = rows.iter().any(|row| row.figures.sustained.is_some());
    let mut titles = vec!["durable 4 KiB writes", "p50", "mean", "p99", "MB/s"];
    titles.extend(sustained.then_some("sustained"));
    titles.extend(several.then_some("share"));
    let mut table = figures(&titles);
    for Step { name, figures, shares: [share, ..], plausible } in &rows {
        let durable = figures.durable();
        let mut cells = durable_cells(figures);
        cells.push(durable.map_or(NONE.to_owned(), megabytes));
        let at_last = || figures.sustained.as_ref().map_or(NONE.to_owned(), megabytes);
        cells.extend(sustained.then(at_last));
        cells.extend(several.then(|| in_words(*share)));
        row(&mut table, name, cells);
        if let Some(plausible) = plausible {
            let blank = String::new;
            let mut cells = vec![blank(), blank(), blank(), spread::between(plausible.rested)];
            cells.extend(sustained.then(|| spread::between(plausible.sustained)));
            cells.extend(several.then(blank));
            row(&mut table, "  plausible", cells);
        }
    }
    table.print(page);
    page.gap();
    saves(page, &rows, several);
    if several {
        let about = "share: of the change of the mean from first to last, by logarithms; a change in \
                     the other direction is negative";
        page.paragraph(Role::Muted, about);
    }
    ranges(page, forecast);
}

/// The device before the first change, or after one.
struct Step<'a> {
    name: &'a str,
    figures: &'a Figures,
    /// Its shares of the whole change: of durable writes, of saves, of saves with a rollback journal.
    shares: [Option<f64>; 3],
    /// The rates of plausible devices, if the device was never measured full.
    plausible: Option<&'a Plausible>,
}

impl<'a> Step<'a> {
    fn before(figures: &'a Figures) -> Step<'a> {
        Step { name: "as it is", figures, shares: [None; 3], plausible: None }
    }

    fn of(stage: &'a Stage) -> Step<'a> {
        let shares = [stage.share, stage.share_of_saves, stage.share_of_rollback];
        let plausible = stage.fullness.as_ref().and_then(|fullness| fullness.plausible.as_ref());
        Step { name: &stage.change, figures: &stage.after, shares, plausible }
    }
}

fn in_words(share: Option<f64>) -> String {
    share.map(flashlag_units::signed_percent).unwrap_or_default()
}

/// Saves a second, with WAL and with the default journal; nothing on a device without a filesystem.
fn saves(page: &mut Page, rows: &[Step<'_>], several: bool) {
    let measured =
        |of: fn(&Figures) -> Option<&TestFigures>| rows.iter().any(|row| of(row.figures).is_some());
    if !measured(Figures::saves) {
        return;
    }
    let both = measured(Figures::rollback_saves);
    // With a change of the journal, a row's saves have the mode that it names: WAL at first.
    let first = if both { "WAL" } else { "a second" };
    let kinds =
        [(first, Figures::saves as Of, 1), ("rollback journal", Figures::rollback_saves, 2)];
    let kinds = &kinds[..if both { 2 } else { 1 }];
    let mut titles = vec![if both { "SQLite saves a second" } else { "SQLite saves" }];
    for (title, ..) in kinds {
        titles.push(title);
        titles.extend(several.then_some("share"));
    }
    let mut table = figures(&titles);
    for step in rows {
        let mut cells = Vec::new();
        for (_, of, share) in kinds {
            cells.push(of(step.figures).map_or(NONE.to_owned(), spread::rate));
            cells.extend(several.then(|| in_words(step.shares[*share])));
        }
        let name = match step.name {
            "as it is" if !both => "as it is, with WAL",
            name => name,
        };
        row(&mut table, name, cells);
    }
    table.print(page);
}

type Of = fn(&Figures) -> Option<&TestFigures>;

/// What the ranges in the tables mean.
fn ranges(page: &mut Page, forecast: &Forecast) {
    let all =
        || [&forecast.before].into_iter().chain(forecast.steps.iter().map(|step| &step.after));
    explain_ranges(page, all().flat_map(|figures| &figures.tests));
    let durable = || all().filter_map(Figures::durable);
    if let Some(seeds) = durable().find_map(|test| test.seeds) {
        let seeds = seeds.seeds;
        let about = format!("means of {seeds} seeds; ±: the farthest of them, from 1% on");
        page.paragraph(Role::Muted, &about);
    }
}

/// What the ranges in the figures of these tests mean.
fn explain_ranges<'a>(page: &mut Page, tests: impl Iterator<Item = &'a TestFigures> + Clone) {
    if tests.clone().any(|test| test.p50_range().is_some()) {
        let about = "p50 a–b: of ten, four take at most a and four at least b, and the median may be \
                     either: compare the mean";
        page.paragraph(Role::Muted, about);
    }
    if tests.clone().any(|test| test.p99_range().is_some()) {
        let about = "p99 a–b: slow ones come about once in a hundred; half as many and p99 would be a, \
                     twice as many and p99 would be b";
        page.paragraph(Role::Muted, about);
    }
}

/// p50, mean and p99 of durable writes.
fn durable_cells(figures: &Figures) -> Vec<String> {
    let durable = figures.durable();
    let mean = durable.and_then(TestFigures::mean_ns).map(time);
    let cells = [durable.and_then(spread::p50), mean, durable.and_then(p99)];
    cells.into_iter().map(|cell| cell.unwrap_or_else(|| NONE.to_owned())).collect()
}

/// Columns of a terminal that has room for the bytes that each operation sends to the device.
const ROOM_FOR_SENT: usize = 100;

fn tests(page: &mut Page, before: &Figures, after: &Figures) {
    // What each sends to the device changes seldom, and a reason says so.
    let sent = page.style().columns() >= ROOM_FOR_SENT;
    let whole = tests_with(before, after, true, sent);
    if whole.fits(page.style()) {
        return whole.print(page);
    }
    let narrow = tests_with(before, after, true, false);
    if narrow.fits(page.style()) {
        return narrow.print(page);
    }
    tests_with(before, after, false, false).print(page);
    page.paragraph(Role::Muted, "Left out for the width: p99");
}

/// The table of all tests, with p99 and the bytes that each operation sends if there is room for them.
fn tests_with(before: &Figures, after: &Figures, slow: bool, sent: bool) -> Table {
    let mut titles = vec!["", "p50", "after"];
    titles.extend(["p99", "after"].into_iter().filter(|_| slow));
    titles.extend(["a second", "after"]);
    titles.extend(["sent each", "after"].into_iter().filter(|_| sent));
    let mut table = figures(&titles);
    let new = after.tests.iter().filter(|test| before.test(&test.name).is_none());
    for name in before.tests.iter().chain(new).map(|test| &test.name) {
        let figure = |say: &dyn Fn(&TestFigures) -> String| {
            [before, after].map(|figures| figures.test(name).map_or(NONE.to_owned(), say))
        };
        let or_none = |cell: Option<String>| cell.unwrap_or_else(|| NONE.to_owned());
        let mut cells = Vec::new();
        cells.extend(figure(&|test| or_none(spread::p50(test))));
        cells.extend(figure(&|test| or_none(p99(test))).into_iter().filter(|_| slow));
        cells.extend(figure(&rate));
        let bytes = |test: &TestFigures| {
            or_none(test.request_bytes.map(|bytes| Bytes(bytes as u64).to_string()))
        };
        cells.extend(figure(&bytes).into_iter().filter(|_| sent));
        row(&mut table, &title(name, after), cells);
    }
    table
}

/// A test's name with the unit of its rate: `4K rand write, MB/s`, `WAL save, saves/s`.
fn title(name: &str, after: &Figures) -> String {
    match name {
        SAVE if after.rollback_saves().is_some() => "WAL, saves/s".to_owned(),
        SAVE => "saves/s".to_owned(),
        SAVE_ROLLBACK => "rollback, saves/s".to_owned(),
        _ => format!("{}, MB/s", test_title(name)),
    }
}

fn rate(test: &TestFigures) -> String {
    match test.name.as_str() {
        SAVE | SAVE_ROLLBACK => number(test.per_second),
        _ => number(test.bytes_per_second / 1e6),
    }
}

/// Median and p99 of durable writes against the fill level, on one logarithmic scale.
pub fn sweep(sweep: &Sweep, style: Style) -> String {
    let mut page = Page::new(style);
    page.paragraph(Role::Strong, &format!("{} on {}", sweep.profile, sweep.filesystem));
    page.gap();
    warnings(&mut page, &sweep.warnings);
    let titles = ["full", "p50", "mean", "p99", "MB/s", "sustained"];
    let mut table = figures(&titles).column("programmed/sent", 0);
    for level in &sweep.levels {
        let sustained = level.figures.sustained.as_ref().or(level.figures.durable());
        let amplification = sustained.and_then(|test| test.amplification);
        let mut cells = durable_cells(&level.figures);
        cells.push(level.figures.durable().map_or(NONE.to_owned(), megabytes));
        cells.push(level.figures.sustained.as_ref().map_or(NONE.to_owned(), megabytes));
        cells.push(amplification.map_or(NONE.to_owned(), number));
        row(&mut table, &flashlag_units::percent(level.full), cells);
    }
    table.print(&mut page);
    let key = "durable 4 KiB writes after a night's rest; sustained: MB/s of the same writes without \
               a rest, as are the bytes programmed for each byte sent";
    page.paragraph(Role::Muted, key);
    explain_ranges(&mut page, sweep.levels.iter().filter_map(|level| level.figures.durable()));
    page.gap();
    let mut table = figures(&["full", "WAL saves/s", "rollback saves/s"]).words("");
    for (level, bar) in sweep.levels.iter().zip(bars(&sweep.levels)) {
        let saves = [level.figures.saves(), level.figures.rollback_saves()];
        let saves = saves.map(|test| test.map_or(NONE.to_owned(), spread::rate));
        let cells = saves.into_iter().chain([bar]);
        row(&mut table, &flashlag_units::percent(level.full), cells);
    }
    table.print(&mut page);
    let key = "o median, x p99 of durable 4 KiB writes, on a logarithmic scale";
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
