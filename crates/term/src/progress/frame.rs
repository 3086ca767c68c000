use std::time::Instant;

use flashlag_schema::{Lag, LatencySummary, Phase};
use flashlag_stats::live::Snapshot;
use flashlag_units::{Nanos, sanitize, to_ascii};
use flashlag_views::{FillLevel, format, is_overloaded};

use super::plan::Kind;
use super::state::{Current, State, kind_of};
use crate::line::{Line, Page};
use crate::style::{Role, Style};
use crate::text::sanitize_parts;

/// From this wait on, the live view names it in words.
const WORTH_TELLING: Nanos = Nanos::from_millis(100);

/// The redrawn lines: the current phase, the next ones, the progress bar and the latency.
pub(super) fn draw(state: &mut State, live: &Snapshot, now: Instant) -> Vec<String> {
    let done = state.done(live, now);
    let style = inner(state.style);
    let mut page = Page::new(style);
    match (&state.current, &state.preparing) {
        (Some(current), _) => {
            let figures = Figures {
                count: live.ops,
                kind: current.kind,
                took: if live.intervals == 0 { String::new() } else { live.elapsed.to_string() },
                median: Some(live.median).filter(|median| *median > Nanos::ZERO),
                p99: Some(live.p99).filter(|p99| *p99 > Nanos::ZERO),
            };
            page.push(&row(style, Role::Strong, "▸", &current.title, &figures));
            let next = state.plan.after(&current.label);
            if !next.is_empty() {
                let mut line = Line::new(style);
                line.add(Role::Muted, &format!("    then {}", sanitize(&next.join(", "))));
                page.push(&line);
            }
        }
        (None, Some(what)) => {
            let mut line = Line::new(style);
            line.add(Role::Strong, "  ▸ ").add(Role::Ink, &sanitize(what));
            page.push(&line);
        }
        (None, None) => return Vec::new(),
    }
    page.gap();
    page.push(&bar(state, style, done, now));
    if state.current.is_some() {
        page.push(&sparkline(state, style, live));
    }
    page.push(&written(state, style, live));
    page.into_lines()
}

/// The title: scenario and target.
pub(super) fn title(state: &State, title: &str) -> Vec<String> {
    let style = inner(state.style);
    if !state.in_columns {
        return vec![one_line(style, &sanitize_parts(title))];
    }
    let mut page = Page::new(style);
    page.paragraph(Role::Strong, &sanitize_parts(title));
    page.gap();
    page.into_lines()
}

/// A remark.
pub(super) fn note(state: &State, text: &str) -> Vec<String> {
    let style = inner(state.style);
    if !state.in_columns {
        return vec![one_line(style, &sanitize(text))];
    }
    let mut head = Line::new(style);
    head.add(Role::Muted, "  ·");
    let mut page = Page::new(style);
    page.hanging(&head, 4, Role::Muted, &sanitize(text));
    page.into_lines()
}

/// One column less than the width: a full line makes some terminals wrap.
fn inner(style: Style) -> Style {
    style.with_width(style.width.saturating_sub(1).max(1))
}

/// The figures in the row of a phase.
struct Figures {
    count: u64,
    kind: Kind,
    /// A time, or a rate.
    took: String,
    median: Option<Nanos>,
    p99: Option<Nanos>,
}

fn row(style: Style, role: Role, mark: &str, label: &str, figures: &Figures) -> Line {
    let mut line = Line::new(style);
    line.add(role, &format!("  {mark} "));
    let wide = style.columns() >= 75;
    let tail = if wide { 55 } else { 30 };
    let name = style.columns().saturating_sub(tail).clamp(8, 34);
    line.left(Role::Ink, &sanitize(label), name);
    if wide {
        let with_noun = format!("{} {}s", format::count(figures.count), figures.kind.noun());
        let fits = with_noun.len() < 14;
        let count = if fits { with_noun } else { format::count(figures.count) };
        line.right(Role::Ink, &count, 14).right(Role::Ink, &figures.took, 11);
    }
    for (what, value) in [("p50", figures.median), ("p99", figures.p99)] {
        let text = value.map(|value| value.to_string()).unwrap_or_else(|| "-".to_owned());
        let late = value.is_some_and(|value| value > Lag::FRAME_60HZ);
        let role = if late { Role::Late } else { Role::Ink };
        line.add(Role::Muted, &format!("  {what} ")).right(role, &text, 7);
    }
    line
}

/// The line of a finished phase.
pub(super) fn finished(state: &State, title: &str, phase: &Phase) -> String {
    // An overloaded schedule has no percentiles, as everywhere.
    let none = LatencySummary::default();
    let felt = if is_overloaded(phase) {
        &none
    } else {
        phase.response_ns.as_ref().unwrap_or(&phase.latency_ns)
    };
    let kind = kind_of(phase);
    if !state.in_columns {
        return plain_line(state.style, (title, phase), felt, kind);
    }
    let figures = Figures {
        count: phase.ops,
        kind,
        took: phase.elapsed_ns.to_string(),
        median: felt.p50,
        p99: felt.p99,
    };
    let (role, mark) = if phase.cut_short { (Role::Late, "✕") } else { (Role::Pass, "✓") };
    row(inner(state.style), role, mark, title, &figures).render()
}

/// The line of a finished phase in a log, complete in itself.
fn plain_line(
    style: Style,
    (title, phase): (&str, &Phase),
    felt: &LatencySummary,
    kind: Kind,
) -> String {
    let count = format::count(phase.ops);
    let cut = match (phase.cut_short, is_overloaded(phase)) {
        (true, _) => ", cut short",
        (false, true) => ", overloaded: the queue grows",
        (false, false) => "",
    };
    let text = format!(
        "{}: {count} {}s in {}{}{}{}{cut}",
        sanitize(title),
        kind.noun(),
        phase.elapsed_ns,
        figure("p50", felt.p50),
        figure("p99", felt.p99),
        figure("longest", felt.max),
    );
    one_line(style, &text)
}

/// `, p99 12 ms`; nothing if there is no value.
fn figure(name: &str, value: Option<Nanos>) -> String {
    value.map_or_else(String::new, |value| format!(", {name} {value}"))
}

/// The line of a fill level, with the figures of the summary's table.
pub(super) fn level(state: &State, level: &FillLevel) -> String {
    let (label, rate) = (
        format!("up to {} full", format::share(level.full)),
        format!("{} MB/s", format::mb_per_s(level.bytes_per_sec)),
    );
    let FillLevel { figures, .. } = level;
    let longest = figures.max.unwrap_or_default();
    if !state.in_columns {
        let writes = format::count(figures.n);
        let (median, p99) = (figure("p50", figures.p50), figure("p99", figures.p99));
        let text = format!("{label}: {writes} writes, {rate}{median}{p99}, longest {longest}");
        return one_line(state.style, &text);
    }
    let style = inner(state.style);
    let shown = Figures {
        count: figures.n,
        kind: Kind::Write,
        took: rate,
        median: figures.p50,
        p99: figures.p99,
    };
    let mut line = row(style, Role::Muted, "·", &label, &shown);
    let longest = format!("  longest {longest}");
    // Omitted rather than cut.
    if line.used() + longest.chars().count() <= style.columns() {
        line.add(Role::Muted, &longest);
    }
    line.render()
}

/// The progress of a fill, for a log.
pub(super) fn filling(style: Style, current: &Current, live: &Snapshot) -> String {
    let limit = current.limit.unwrap_or_default();
    let text = format!(
        "{}: {} of {limit} after {}",
        sanitize(&current.title),
        live.bytes.min(limit),
        live.elapsed
    );
    one_line(style, &text)
}

/// One line of a log, uncut: logs have no width.
fn one_line(style: Style, text: &str) -> String {
    if style.unicode { text.to_owned() } else { to_ascii(text) }
}

fn bar(state: &State, style: Style, done: Option<(f64, Option<Nanos>)>, now: Instant) -> Line {
    let mut line = Line::new(style);
    line.add(Role::Ink, "  ");
    let Some((fraction, left)) = done else {
        let spent = Nanos::from(now.saturating_duration_since(state.started));
        line.add(Role::Muted, &format!("{spent} so far"));
        return line;
    };
    let columns = style.columns().saturating_sub(36).clamp(10, 40);
    let full = ((fraction * columns as f64) as usize).min(columns);
    line.add(Role::InTime, &"█".repeat(full));
    line.add(Role::Muted, &"░".repeat(columns - full));
    // 100% only when it is done.
    let percent = ((fraction * 100.0) as u64).min(99);
    line.add(Role::Ink, &format!(" {percent:>2}%"));
    if let Some(left) = left {
        line.add(Role::Muted, &format!("    about {} left", roughly(left)));
    }
    line
}

/// A remaining time rounded to minutes from ten minutes on, to ten seconds from one minute on,
/// otherwise to seconds.
fn roughly(left: Nanos) -> String {
    let seconds = left.0 / 1_000_000_000 + 1;
    match seconds {
        600.. => {
            let minutes = seconds.div_ceil(60);
            match minutes / 60 {
                0 => format!("{minutes} min"),
                hours => format!("{hours} h {:02} min", minutes % 60),
            }
        }
        60.. => {
            let seconds = seconds.div_ceil(10) * 10;
            format!("{} min {:02} s", seconds / 60, seconds % 60)
        }
        _ => format!("{seconds} s"),
    }
}

fn sparkline(state: &State, style: Style, live: &Snapshot) -> Line {
    let mut line = Line::new(style);
    if live.intervals == 0 {
        line.add(Role::Muted, "  just begun");
        return line;
    }
    let shown = if style.columns() >= 75 { 32 } else { 16 };
    let first = (live.recent.len() - shown).max(
        live.recent.len().saturating_sub(usize::try_from(live.intervals).unwrap_or(usize::MAX)),
    );
    let window =
        live.elapsed.saturating_since(live.recent_from.get(first).copied().unwrap_or_default());
    line.left(Role::Muted, &format!("  last {window}"), 14);
    let recent = &live.recent[live.recent.len() - shown..];
    let any = recent.iter().filter(|wait| **wait > Nanos::ZERO);
    let low = any.clone().min().copied().unwrap_or(Nanos(1));
    let high = any.max().copied().unwrap_or(Nanos(1));
    for wait in recent {
        let role = if *wait > Lag::FRAME_60HZ { Role::Late } else { Role::InTime };
        line.add(role, level_mark(*wait, low, high));
    }
    let noun = state.current.as_ref().map(|current| current.kind).unwrap_or_default().noun();
    let latest = live.recent.last().copied().unwrap_or_default();
    if latest >= WORTH_TELLING {
        let what = format!("one {noun} took {latest}");
        let room = style.columns().saturating_sub(line.used() + 2);
        line.add(Role::Muted, if what.len() + 10 <= room { "  just now: " } else { "  " });
        line.add(Role::Late, &what);
    } else if live.longest > Nanos::ZERO {
        line.add(Role::Muted, &format!("  longest {noun} {}", live.longest));
    }
    line
}

/// One of eight heights on a log scale of at least two decades, so that jitter stays flat.
fn level_mark(wait: Nanos, low: Nanos, high: Nanos) -> &'static str {
    const MARKS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
    if wait == Nanos::ZERO {
        return " ";
    }
    let low = (low.0.max(1) as f64).log10();
    let decades = ((high.0.max(1) as f64).log10() - low).max(2.0);
    let place = ((wait.0 as f64).log10() - low) / decades;
    MARKS[((place * 8.0).max(0.0) as usize).min(7)]
}

fn written(state: &State, style: Style, live: &Snapshot) -> Line {
    let mut line = Line::new(style);
    let written = state.written(live);
    let mut text = match state.written_at_most() {
        Some(total) => format!("  written {written} of at most {total}"),
        None => format!("  written {written}"),
    };
    let filling = state.current.as_ref().filter(|current| current.fills.is_some());
    if let Some(limit) = filling.and_then(|current| current.limit) {
        text = format!("  filling: {} of {limit}, written {written}", live.bytes.min(limit));
    }
    line.add(Role::Ink, &text);
    let hints = ["Ctrl-C stops, removes its files, keeps results", "Ctrl-C stops, keeps results"];
    let room = style.columns().saturating_sub(line.used() + 3);
    if let Some(hint) = hints.iter().find(|hint| hint.len() <= room) {
        line.add(Role::Muted, "   ").add(Role::Muted, hint);
    }
    line
}
