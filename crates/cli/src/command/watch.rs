//! `flashlag watch`: a flight recorder for storage lag.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use flashlag_runner::{Destination, OutputKind};
use flashlag_schema::history::History;
use flashlag_units::{Bytes, Nanos};
use flashlag_views::history::{incident_line, started};
use flashlag_watch::{Cost, Event, Live, PROBE_BYTES, Settings};

use super::watch_settings::{HISTORY, settings};
use super::{watch_listen, watch_phone, watch_sim};
use crate::args::{HistoryForm, WatchAction, WatchArgs, WatchLiveArgs};
use crate::exit::Exit;
use crate::form::by_ending;
use crate::say;
use crate::signals;
use crate::terminal::{Terminal, one_paragraph};

/// Watches, or says what was found.
pub fn watch(args: &WatchArgs, terminal: &Terminal) -> Result<Exit> {
    match &args.action {
        None => live(&args.live, terminal),
        Some(WatchAction::Report { place, output, format, force }) => {
            report(&Wanted { place, output, format: *format, force: *force }, terminal)
        }
        Some(WatchAction::Fetch { phone, output, end, force }) => {
            let wanted =
                watch_phone::Wanted { output: output.as_deref(), end: *end, force: *force };
            watch_phone::fetch(phone, &wanted, terminal)
        }
        Some(WatchAction::Schema) => {
            say::json(&flashlag_schema::history::HISTORY_JSON_SCHEMA)?;
            Ok(Exit::Done)
        }
    }
}

fn live(args: &WatchLiveArgs, terminal: &Terminal) -> Result<Exit> {
    if let Some(target) = watch_sim::target(&args.directory) {
        return watch_sim::simulate(target, args, terminal);
    }
    if let Some(phone) = watch_phone::target(&args.directory) {
        return watch_phone::begin(&phone?, args, terminal);
    }
    if args.ageing.is_some() {
        bail!("a real device ages by itself: --ageing is for sim:PROFILE");
    }
    let mut settings = settings(args)?;
    let [stop, reload] = match args.settings {
        Some(_) => signals::stop_and_reload_flags(),
        None => signals::stop_flag().map(|stop| [stop, Arc::default()]),
    }
    .context("signals can't be handled")?;
    let sums = args.listen.map(|_| Arc::new(Live::default()));
    if let Some((at, sums)) = args.listen.zip(sums.as_ref()) {
        watch_listen::serve(at, sums, &settings.history, terminal)?;
    }
    let began = Instant::now();
    let ends = || stop.load(Ordering::Relaxed) || reload.load(Ordering::Relaxed);
    loop {
        let cost = flashlag_watch::watch(&settings, &ends, sums.as_deref(), &mut |event| {
            heard(event, settings.daily, terminal);
        })?;
        if !terminal.quiet {
            say::sentence(&cost_in_words(&cost));
        }
        if stop.load(Ordering::Relaxed) || !reload.swap(false, Ordering::Relaxed) {
            break;
        }
        settings = renewed(args, settings);
        let passed = Nanos::from(began.elapsed());
        settings.time = args.time.map(|time| time.saturating_since(passed));
    }
    if !terminal.quiet {
        let history = settings.history.display();
        say::sentence(&format!("`flashlag watch report {history}` says what was found"));
    }
    Ok(Exit::Done)
}

fn heard(event: Event, daily: Bytes, terminal: &Terminal) {
    match event {
        Event::Begins(subject) if !terminal.quiet => {
            started(&subject, PROBE_BYTES, daily).iter().for_each(|line| say::sentence(line));
            if std::io::stdin().is_terminal() {
                say::sentence("Ctrl-C ends it");
            }
        }
        Event::Begins(_) | Event::Kept(_) => {}
        Event::Incident(incident) => say::sentence(&incident_line(&incident)),
        Event::Trouble(reason) => say::sentence(&reason),
    }
}

/// The settings as the file has them now; those of before if it is wrong, since a watch of months must not end by a
/// slip.
fn renewed(args: &WatchLiveArgs, before: Settings) -> Settings {
    match settings(args) {
        Ok(now) => now,
        Err(error) => {
            say::sentence(&format!("{}; it goes on as before", one_paragraph(&error)));
            before
        }
    }
}

fn cost_in_words(cost: &Cost) -> String {
    let share = cost.cpu.0 as f64 / cost.lasted.0.max(1) as f64;
    let memory = cost.memory.map_or(String::new(), |memory| format!(", {memory} of memory"));
    let whole = if cost.is_whole {
        String::new()
    } else {
        "; the storage still waits: what was seen last is not written".to_owned()
    };
    format!(
        "watched for {}; it took {:.2}% of one CPU{memory}; {} of history written, at least each {}{whole}",
        cost.lasted,
        share * 100.0,
        cost.written,
        Nanos(cost.unwritten.0 / 1_000_000_000 * 1_000_000_000),
    )
}

/// The words of `flashlag watch report`.
struct Wanted<'a> {
    place: &'a Path,
    output: &'a Path,
    format: Option<HistoryForm>,
    force: bool,
}

fn report(wanted: &Wanted<'_>, terminal: &Terminal) -> Result<Exit> {
    let ended = |path| {
        let endings = ".html, .md, .csv, .json, .prom or .txt";
        by_ending("a history", path, history_form, HistoryForm::Text, endings)
    };
    let form = wanted.format.map_or_else(|| ended(wanted.output), Ok)?;
    let is_page = form == HistoryForm::Html;
    let kind = if is_page { OutputKind::Report } else { OutputKind::Export };
    let place = (wanted.output != Path::new("-"))
        .then(|| Destination::check(wanted.output, kind, wanted.force))
        .transpose()?;
    if watch_phone::target(wanted.place).is_some() {
        bail!(
            "a history on a phone is fetched first: flashlag watch fetch {}",
            wanted.place.display()
        );
    }
    let mut history = flashlag_watch::read(&file_of(wanted.place))?;
    flashlag_watch::trend::analyse(&mut history);
    let text = written(&history, form, terminal)?;
    match place {
        Some(place) => place.write(text.as_bytes())?,
        None if form == HistoryForm::Text => say::view(&text)?,
        None if form == HistoryForm::Json => say::json(&text)?,
        None => say::data(&text)?,
    }
    Ok(Exit::Done)
}

/// The history's file: in a directory that was watched it has its own name.
fn file_of(place: &Path) -> PathBuf {
    if place.is_dir() { place.join(HISTORY) } else { place.to_owned() }
}

fn written(history: &History, form: HistoryForm, terminal: &Terminal) -> Result<String> {
    Ok(match form {
        HistoryForm::Text => flashlag_term::history(history, terminal.stdout, terminal.verbose),
        HistoryForm::Html => flashlag_report::history_html(history),
        HistoryForm::Markdown => flashlag_export::history_markdown(history),
        HistoryForm::Csv => flashlag_export::history_csv(history),
        HistoryForm::Prometheus => flashlag_export::history_prometheus(history),
        HistoryForm::Json => format!("{}\n", flashlag_schema::to_json_pretty(history)?),
    })
}

fn history_form(ending: &str) -> Option<HistoryForm> {
    match ending {
        "html" | "htm" => Some(HistoryForm::Html),
        "md" => Some(HistoryForm::Markdown),
        "json" => Some(HistoryForm::Json),
        "csv" => Some(HistoryForm::Csv),
        "prom" => Some(HistoryForm::Prometheus),
        "txt" => Some(HistoryForm::Text),
        _ => None,
    }
}
