//! A history as a page, and its days as rows.

use std::collections::BTreeMap;

use flashlag_schema::StoredHistogram;
use flashlag_schema::history::{CLOCK_WAS_SET_S, DAY_S, History, Span, Subject};
use flashlag_stats::{Histogram, Percentile};
use flashlag_units::{Bytes, Nanos};

use super::answer::{answer, name_of, watched};
use super::incident::incident_rows;
use super::time::{day, length, times};
use super::trend::{trend_sentences, why_no_trend};
use crate::format;
use crate::page::{Block, Lede, Matrix, MatrixCell, Page, Picture, Section};

/// Most rows of a table.
const ROWS: usize = 100;

/// A day in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DayRow {
    pub day: String,
    /// How long of it was watched.
    pub watched: String,
    /// Median and p99 of its durable writes; of all writes without probes.
    pub median: String,
    pub p99: String,
    pub incidents: String,
    pub longest: String,
    /// Free space in percent.
    pub free: String,
    pub moved: String,
}

#[derive(Default)]
struct Day {
    watched: u64,
    probes: Histogram,
    writes: Histogram,
    incidents: u64,
    longest: Nanos,
    free: Option<String>,
    moved: u64,
}

fn days(history: &History) -> BTreeMap<u64, Day> {
    let mut days: BTreeMap<u64, Day> = BTreeMap::new();
    for span in &history.spans {
        let day = days.entry(span.start_s / DAY_S * DAY_S).or_default();
        day.watched = day.watched.saturating_add(span.watched_ns.0);
        day.incidents = day.incidents.saturating_add(u64::from(span.incidents));
        day.longest = day.longest.max(span.longest_ns);
        day.moved = day.moved.saturating_add(span.disk_bytes.0);
        day.free = free(span).or_else(|| day.free.take());
        let add = |to: &mut Histogram, from: &StoredHistogram| {
            if let Ok(more) = from.restore() {
                to.merge(&more);
            }
        };
        add(&mut day.probes, &span.probes);
        add(&mut day.writes, &span.writes);
    }
    days
}

fn free(span: &Span) -> Option<String> {
    let (free, total) = (span.state.free_bytes?, span.state.total_bytes?);
    Some(format::share_of(free.0, total.0))
}

/// The days, the newest first.
pub fn day_rows(history: &History) -> Vec<DayRow> {
    let row = |(start, of): (u64, Day)| {
        let waits = if of.probes.count() > 0 { &of.probes } else { &of.writes };
        let figure = |at: Percentile| {
            waits.percentile(at).map_or_else(|| format::NONE.to_owned(), format::time)
        };
        DayRow {
            day: day(start),
            watched: length(Nanos(of.watched)),
            median: figure(Percentile::P50),
            p99: figure(Percentile::P99),
            incidents: format::count(of.incidents),
            longest: if of.incidents > 0 {
                format::time(of.longest)
            } else {
                format::NONE.to_owned()
            },
            free: of.free.unwrap_or_else(|| format::NONE.to_owned()),
            moved: Bytes(of.moved).to_string(),
        }
    };
    days(history).into_iter().rev().map(row).collect()
}

/// A line for each week from its Monday on, a character for each day: how many incidents began.
pub fn calendar(history: &History) -> Vec<String> {
    const WEEK: u64 = 7;
    // 1970 began on a Thursday.
    let monday = |day: u64| (day + 3) / WEEK;
    let days = days(history);
    let mut weeks: BTreeMap<u64, [char; 7]> = BTreeMap::new();
    for (start, of) in &days {
        let number = start / DAY_S;
        let week = weeks.entry(monday(number)).or_insert([' '; 7]);
        let mark = match of.incidents {
            0 => '·',
            few @ 1..=9 => char::from(b'0' + few as u8),
            _ => '+',
        };
        week[((number + 3) % WEEK) as usize] = mark;
    }
    let line = |(week, marks): (u64, [char; 7])| {
        let start = (week * WEEK).saturating_sub(3) * DAY_S;
        format!("{}  {}", day(start), marks.iter().collect::<String>())
    };
    weeks.into_iter().map(line).collect()
}

/// The page of a history.
pub fn history_page(history: &History) -> Page {
    let mut sentences = answer(history).into_iter();
    let sentence = sentences.next().unwrap_or_default();
    let mut sections = vec![incidents(history), over_time(history), all_days(history)];
    sections.extend(history.subject.as_ref().map(|subject| how(history, subject)));
    let mut meta = vec![name_of(history.subject.as_ref())];
    if let Some(subject) = &history.subject {
        meta.push(subject.directory.clone());
        meta.extend(subject.system.clone());
    }
    Page {
        title: format!("flashlag watch: {}", meta.first().cloned().unwrap_or_default()),
        meta,
        sentence,
        ledes: sentences.map(|text| Lede::plain(&text)).collect(),
        picture: Picture::default(),
        sections,
        footer: "Times are UTC.".to_owned(),
    }
}

fn cells(texts: Vec<String>) -> Vec<MatrixCell> {
    texts.into_iter().map(|text| MatrixCell { status: None, text }).collect()
}

fn incidents(history: &History) -> Section {
    let rows = incident_rows(&history.incidents);
    let heading = match rows.len() {
        0 => "Nothing waited unusually long".to_owned(),
        count => format!("It froze {}", times(count as u64)),
    };
    let names = [
        "longest",
        "waits",
        "what waited",
        "cause",
        "moved most",
        "waiting too",
        "bytes a second before",
    ];
    let row = |row: &super::IncidentRow| {
        let texts = vec![
            row.longest.clone(),
            row.waits.clone(),
            row.what.to_owned(),
            row.cause.to_owned(),
            row.programs.clone(),
            row.waiting.clone(),
            row.picture.clone(),
        ];
        (row.when.clone(), cells(texts))
    };
    let mut blocks = Vec::new();
    if !rows.is_empty() {
        blocks.push(Block::Matrix(Matrix {
            caption: "Incidents, the newest first",
            corner: "began",
            names: names.map(str::to_owned).to_vec(),
            rows: rows.iter().take(ROWS).map(row).collect(),
        }));
        let calendar = calendar(history).join("\n");
        blocks.push(Block::Code(
            "Incidents of each day, a week a line from its Monday".to_owned(),
            calendar,
        ));
    }
    if rows.len() > ROWS {
        blocks.push(Block::Text(format!("{} older ones are in the JSON form.", rows.len() - ROWS)));
    }
    let side = "An incident is a wait beyond the limit and ten times the usual one. Waits of one \
                cause within a minute are one. Bars show the 30 s up to the end of its first wait.";
    Section { id: "incidents", name: "Incidents", heading, side: vec![side.to_owned()], blocks }
}

fn over_time(history: &History) -> Section {
    let mut sentences = trend_sentences(&history.trends);
    let heading = match (&history.trends.trend, sentences.is_empty()) {
        (Some(trend), _) if trend.ratio > 1.0 => "It becomes slower",
        (Some(_), _) => "It becomes faster",
        (None, false) => "It changed at once",
        (None, true) => "No trend",
    };
    sentences.extend(why_no_trend(&history.trends));
    let side = "A trend is reported only beyond what noise shows in one of 100 years; a sudden change \
                if medians differ by a quarter.";
    Section {
        id: "trend",
        name: "Over time",
        heading: heading.to_owned(),
        side: vec![side.to_owned()],
        blocks: sentences.into_iter().map(Block::Text).collect(),
    }
}

fn all_days(history: &History) -> Section {
    let rows = day_rows(history);
    let names = ["watched", "median", "p99", "incidents", "longest", "free", "moved"];
    let row = |row: &DayRow| {
        let texts = [
            &row.watched,
            &row.median,
            &row.p99,
            &row.incidents,
            &row.longest,
            &row.free,
            &row.moved,
        ];
        (row.day.clone(), cells(texts.map(Clone::clone).to_vec()))
    };
    let table = Block::Matrix(Matrix {
        caption: "Days, the newest first",
        corner: "day",
        names: names.map(str::to_owned).to_vec(),
        rows: rows.iter().take(ROWS).map(row).collect(),
    });
    let heading = format!(
        "{} watched on {}",
        length(watched(history)),
        format::plural(rows.len(), "day", "days")
    );
    let side = "Median and p99 are of flashlag's own durable writes; without --probe of all writes, \
                by the mean of each quarter second.";
    Section { id: "days", name: "Days", heading, side: vec![side.to_owned()], blocks: vec![table] }
}

fn how(history: &History, subject: &Subject) -> Section {
    let last = history.spans.last().map(|span| &span.state);
    let mut facts: Vec<(&'static str, String)> = Vec::new();
    facts.push(("waits over", subject.over_ns.to_string()));
    facts.push((
        "own writes",
        match subject.probe_ns {
            Some(every) => format!("one each {every}"),
            None => "none: it looks on only".to_owned(),
        },
    ));
    facts.extend(subject.filesystem.clone().map(|name| ("filesystem", name)));
    facts.extend(subject.size_bytes.map(|size| ("size", size.to_string())));
    if let Some(state) = last {
        facts.extend(state.kernel.clone().map(|name| ("kernel", name)));
        facts.extend(state.firmware.clone().map(|name| ("firmware", name)));
        let used = state.used_percent_at_most;
        facts.extend(used.map(|used| ("life used", format!("at most {used}%"))));
    }
    facts.push(("flashlag", subject.flashlag.clone()));
    let mut blocks = vec![Block::Facts(facts)];
    let mut lacks: Vec<String> = subject.missing.clone();
    if history.damaged_pages > 0 {
        lacks.push(format!("damaged pages of the history: {}", history.damaged_pages));
    }
    if history.dropped_before_s > 0 {
        lacks.push(format!(
            "what is older than {} was dropped to keep the file's size",
            day(history.dropped_before_s)
        ));
    }
    let untimed = history.spans.iter().filter(|span| span.start_s < CLOCK_WAS_SET_S).count();
    if untimed > 0 {
        lacks.push(format!(
            "{untimed} hours were recorded before the clock was set; no trend uses them"
        ));
    }
    if !lacks.is_empty() {
        blocks.push(Block::Title("Not seen"));
        blocks.push(Block::List(lacks));
    }
    let heading = "How it was watched".to_owned();
    Section { id: "how", name: "How", heading, side: Vec::new(), blocks }
}
