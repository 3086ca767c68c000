//! What changed over months. A slow change is a line through the medians of weeks (Theil and Sen's),
//! claimed only if Mann and Kendall's test leaves next to no doubt; a sudden one is a level shift by
//! ranks. Of noise neither is found (`tests/it/noise.rs` measures it over simulated years).

use std::collections::BTreeMap;

use flashlag_schema::history::{
    Beside, CLOCK_WAS_SET_S, DAY_S, History, Shift, Span, Trend, Trends, WaitKind,
};
use flashlag_stats::change::{levels, median};
use flashlag_stats::{Histogram, Percentile};
use flashlag_units::Nanos;

/// Fewest waits of a day that is compared.
const LEAST_WAITS: u64 = 100;
/// Fewest days for any claim.
const LEAST_DAYS: usize = 28;
/// Days whose median makes one value of the line: what differs between days of a week cancels out.
const WEEK: usize = 7;
/// Fewest weeks for a line: even if each of eight is longer than the one before, they are not [`SURE`].
pub const LEAST_WEEKS: usize = 9;
/// A line is claimed beyond this many standard deviations: 0.05 % of lines through noise.
const SURE: f64 = 3.5;
/// Three standard deviations in median deviations, if noise is normal.
const FAR: f64 = 3.0 * 1.4826;
/// A change that nobody would notice is not reported.
const NOTICEABLE: f64 = 1.15;
/// The smallest ratio between two levels.
const SHIFT: f64 = 1.25;
/// Half the width of a 95 % interval in standard deviations.
const INTERVAL: f64 = 1.96;

/// One day that can be compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Day {
    /// Its start, in seconds since 1970.
    pub start_s: u64,
    /// Its median wait.
    pub median: Nanos,
    /// All of it.
    pub span: Span,
}

/// Adds to a history what changed over its time.
pub fn analyse(history: &mut History) {
    history.trends = trends(history);
}

/// The days with enough probes.
pub(crate) fn day_of(history: &History) -> Vec<Day> {
    days(history, WaitKind::Probe)
}

/// What changed over the time of a history.
pub fn trends(history: &History) -> Trends {
    for of in [WaitKind::Probe, WaitKind::Flush, WaitKind::Write, WaitKind::Read] {
        let days = days(history, of);
        if days.len() >= LEAST_DAYS {
            let (trend, shifts) = changes(&days);
            return Trends { days: days.len() as u32, of: Some(of), trend, shifts };
        }
    }
    let most = days(history, WaitKind::Probe).len().max(days(history, WaitKind::Write).len());
    Trends { days: most as u32, ..Trends::default() }
}

/// The days with enough waits of a kind, in order.
pub fn days(history: &History, of: WaitKind) -> Vec<Day> {
    let mut days: BTreeMap<u64, (Histogram, Span)> = BTreeMap::new();
    for span in history.spans.iter().filter(|span| span.start_s >= CLOCK_WAS_SET_S) {
        let (waits, sum) = days.entry(span.start_s / DAY_S * DAY_S).or_default();
        if let Ok(more) = span.waits(of).restore() {
            waits.merge(&more);
        }
        crate::span::add(sum, span);
    }
    let all = days.into_iter().filter(|(_, (waits, _))| waits.count() >= LEAST_WAITS);
    let day = |(start_s, (waits, span)): (u64, (Histogram, Span))| {
        Some(Day { start_s, median: waits.quantile(Percentile::P50)?, span })
    };
    all.filter_map(day).collect()
}

/// The slow change of days in order, and the sudden ones.
pub fn changes(days: &[Day]) -> (Option<Trend>, Vec<Shift>) {
    let weeks = days.chunks_exact(WEEK).filter_map(middle);
    (line(&weeks.collect::<Vec<_>>(), days.first()), shifts(days))
}

/// What changed over runs that were made now and then, in order of time. Those of a day resemble each other more than
/// those of two days do: they count as one. `None` if they were made in fewer weeks than a slow change needs, and on fewer
/// days than a sudden one.
pub fn trends_of_runs(runs: &[Day]) -> Option<Trends> {
    let same_day = |a: &Day, b: &Day| a.start_s / DAY_S == b.start_s / DAY_S;
    let day = |runs: &[Day]| {
        let last = runs.last()?;
        Some(Day { median: Nanos(median(&values(runs)) as u64), ..last.clone() })
    };
    let days: Vec<Day> = runs.chunk_by(same_day).filter_map(day).collect();
    let weeks: Vec<(f64, f64)> = weeks_of(&days).filter_map(middle).collect();
    let is_enough = weeks.len() >= LEAST_WEEKS || days.len() >= LEAST_DAYS;
    is_enough.then(|| Trends {
        days: runs.len() as u32,
        of: None,
        trend: line(&weeks, days.first()),
        shifts: shifts(&days),
    })
}

/// In how many weeks runs were made.
pub fn weeks_of_runs(runs: &[Day]) -> usize {
    weeks_of(runs).count()
}

fn weeks_of(days: &[Day]) -> impl Iterator<Item = &[Day]> {
    let week = |day: &Day| day.start_s / (DAY_S * WEEK as u64);
    days.chunk_by(move |a, b| week(a) == week(b))
}

fn values(days: &[Day]) -> Vec<f64> {
    days.iter().map(|day| day.median.0.max(1) as f64).collect()
}

/// The middle of a week's days, and the logarithm of their median.
fn middle(days: &[Day]) -> Option<(f64, f64)> {
    let at = days.get(days.len() / 2)?.start_s as f64 / DAY_S as f64;
    Some((at, median(&values(days)).ln()))
}

/// The sudden changes.
fn shifts(days: &[Day]) -> Vec<Shift> {
    let values = values(days);
    let found = levels(&values, SHIFT);
    let pairs = found.windows(2).map(|pair| {
        let of = |level: &std::ops::Range<usize>| Nanos(median(&values[level.clone()]) as u64);
        Shift {
            at_s: days[pair[1].start].start_s,
            from_ns: of(&pair[0]),
            to_ns: of(&pair[1]),
            beside: beside(days, pair[1].start),
        }
    });
    pairs.collect()
}

/// The line through the weeks.
fn line(weeks: &[(f64, f64)], since: Option<&Day>) -> Option<Trend> {
    if weeks.len() < LEAST_WEEKS {
        return None;
    }
    let mut slopes = Vec::with_capacity(weeks.len() * weeks.len() / 2);
    let mut score = 0.0f64;
    for (index, (at, value)) in weeks.iter().enumerate() {
        for (later, higher) in &weeks[index + 1..] {
            slopes.push((higher - value) / (later - at).max(1.0));
            score += (higher - value).partial_cmp(&0.0).map_or(0.0, |order| order as i8 as f64);
        }
    }
    slopes.sort_unstable_by(f64::total_cmp);
    let slope = median(&slopes);
    let count = weeks.len() as f64;
    // Neighbouring weeks resemble each other, which makes the score larger by chance.
    let alike = correlation(weeks, slope).clamp(0.0, 0.9);
    let spread = (count * (count - 1.0) * (2.0 * count + 5.0) / 18.0).sqrt()
        * ((1.0 + alike) / (1.0 - alike)).sqrt();
    if score.abs() <= SURE * spread {
        return None;
    }
    let (first, last) = (weeks.first()?, weeks.last()?);
    let length = last.0 - first.0;
    let half = INTERVAL * spread / 2.0;
    let at = |rank: f64| slopes[(rank.max(0.0) as usize).min(slopes.len() - 1)];
    let rank = slopes.len() as f64 / 2.0;
    let (low, high) = (at(rank - half), at(rank + half));
    let ratio = (slope * length).exp();
    if ratio.max(1.0 / ratio) < NOTICEABLE || (low <= 0.0 && high >= 0.0) {
        return None;
    }
    let without: Vec<f64> =
        weeks.iter().map(|(at, value)| value - slope * (at - first.0)).collect();
    let level = median(&without);
    Some(Trend {
        from_ns: Nanos(level.exp() as u64),
        to_ns: Nanos((level + slope * length).exp() as u64),
        since_s: since?.start_s,
        ratio,
        low: (low * length).exp(),
        high: (high * length).exp(),
    })
}

/// The correlation of neighbouring weeks about the line. Weeks beyond three standard deviations (estimated from the
/// median deviation) are drawn in to that distance: the first two of a new card, which are three times as fast as all
/// others, would else make all weeks seem alike.
fn correlation(weeks: &[(f64, f64)], slope: f64) -> f64 {
    let left: Vec<f64> = weeks.iter().map(|(at, value)| value - slope * at).collect();
    let middle = median(&left);
    let mut about: Vec<f64> = left.iter().map(|value| value - middle).collect();
    let sizes: Vec<f64> = about.iter().map(|value| value.abs()).collect();
    let limit = FAR * median(&sizes);
    about.iter_mut().for_each(|value| *value = value.clamp(-limit, limit));
    let all: f64 = about.iter().map(|value| value.powi(2)).sum();
    let beside: f64 = about.windows(2).map(|pair| pair[0] * pair[1]).sum();
    if all > 0.0 { beside / all } else { 0.0 }
}

/// What changed beside a shift: from the three days before it to the three days from it on.
fn beside(days: &[Day], at: usize) -> Vec<Beside> {
    const NEAR: usize = 3;
    let before = &days[at.saturating_sub(NEAR)..at];
    let after = &days[at..(at + NEAR).min(days.len())];
    let (Some(last), Some(first)) = (before.first(), after.last()) else { return Vec::new() };
    let mut found = Vec::new();
    let (old, new) = (&last.span.state, &first.span.state);
    let pair = |from: &Option<String>, to: &Option<String>| {
        from.clone().zip(to.clone()).filter(|(from, to)| from != to)
    };
    if let Some((from, to)) = pair(&old.kernel, &new.kernel) {
        found.push(Beside::Kernel { from, to });
    }
    if let Some((from, to)) = pair(&old.firmware, &new.firmware) {
        found.push(Beside::Firmware { from, to });
    }
    if let (Some(from), Some(to)) = (free(&last.span), free(&first.span))
        && (from < 10) != (to < 10)
    {
        found.push(Beside::FreeSpace { from, to });
    }
    found.extend(programs(before, after));
    found
}

/// Free space in percent.
fn free(span: &Span) -> Option<u8> {
    let (free, total) = (span.state.free_bytes?.0, span.state.total_bytes?.0);
    u8::try_from(u128::from(free) * 100 / u128::from(total.max(1))).ok()
}

/// Programs that moved a tenth of all bytes on one side, and hardly any on the other.
fn programs(before: &[Day], after: &[Day]) -> Vec<Beside> {
    let sums = |days: &[Day]| -> BTreeMap<String, u64> {
        let mut sums: BTreeMap<String, u64> = BTreeMap::new();
        for program in days.iter().flat_map(|day| &day.span.programs) {
            let sum = sums.entry(program.name.clone()).or_default();
            *sum = sum.saturating_add(program.bytes.0);
        }
        sums
    };
    let (old, new) = (sums(before), sums(after));
    let all = |sums: &BTreeMap<String, u64>| sums.values().fold(0u64, |a, b| a.saturating_add(*b));
    let only = |one: &BTreeMap<String, u64>, other: &BTreeMap<String, u64>| -> Vec<String> {
        let large = all(one) / 10;
        let other = |name: &String| other.get(name).copied().unwrap_or(0);
        let those = one.iter().filter(|(name, bytes)| **bytes > large && other(name) < *bytes / 10);
        those.map(|(name, _)| name.clone()).collect()
    };
    let began = only(&new, &old).into_iter().map(|name| Beside::Program { name });
    let ended = only(&old, &new).into_iter().map(|name| Beside::NoProgram { name });
    began.chain(ended).collect()
}
