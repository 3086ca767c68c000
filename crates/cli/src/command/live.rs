//! Records what happens to storage while it happens.

use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use flashlag_live::{
    Cost, Counters, LiveError, Scope, Session, SourceChoice, Writer, record_phone,
};
use flashlag_schema::trace::Trace;
use flashlag_spec::TraceSourceKind;
use flashlag_spec::target::PhoneSpec;
use flashlag_term::{Counter, Recording, Style, WriterRow, recording, recording_line};
use flashlag_units::{Nanos, count, percent};
use rustix::process::{Pid, Signal, kill_process};

use crate::args::TraceArgs;
use crate::exit::Exit;
use crate::say;
use crate::signals;
use crate::terminal::Terminal;

/// How often events are fetched.
const FETCHED: Duration = Duration::from_millis(50);
/// Recording continues for this long after the command has ended: its dirty pages are written back
/// later, but its last requests complete at once.
const AFTERWARDS: Duration = Duration::from_millis(100);

/// Number of writers shown during a recording.
const ROWS: usize = 12;

/// A trace, and the exit status of the recorded command.
pub struct Recorded {
    /// The trace; absent if only counters could be read, which were shown.
    pub trace: Option<Trace>,
    /// The exit status of flashlag itself.
    pub ended: Exit,
}

/// Records until the time is over, the command has ended or a signal comes.
pub fn record(args: &TraceArgs, terminal: &Terminal) -> Result<Recorded> {
    if let Some(phone) = args.path.as_deref().and_then(|path| path.strip_prefix("adb:")) {
        return on_phone(phone, args, terminal);
    }
    let scope = Scope {
        path: args.path.as_deref().map(PathBuf::from),
        command_only: !args.command.is_empty(),
        reads: args.reads,
        mount_tracefs: args.mount_tracefs,
    };
    let stop = signals::stop_flag().context("signals can't be handled")?;
    if args.source == SourceChoice::Counters {
        return count_only(&scope, args, terminal, &stop);
    }
    let mut session = match Session::start(&scope, args.source) {
        Ok(session) => session,
        // If the result must be a trace, counters are no substitute.
        Err(LiveError::None { reasons }) if !needs_events(args) => {
            for reason in reasons.lines() {
                say::sentence(reason);
            }
            return count_only(&scope, args, terminal, &stop);
        }
        Err(error) => return Err(error.into()),
    };
    for reason in session.passed_over() {
        say::sentence(reason);
    }
    if !terminal.quiet && !session.passed_over().is_empty() {
        let source = flashlag_views::source_name(session.kind());
        say::sentence(&format!("recording by {source}"));
    }
    let child = started(&args.command)?;
    let ended = follow(&mut session, child, args, terminal, &stop)?;
    let (trace, cost) = session.end()?;
    if !terminal.quiet {
        say::sentence(&cost_in_words(&cost));
    }
    Ok(Recorded {
        trace: Some(trace),
        ended: ended.map_or(Exit::Done, |status| Exit::Passed(passed(status))),
    })
}

/// Records on a phone, by default for ten seconds: the phone's buffer holds no more of a busy
/// phone.
fn on_phone(phone: &str, args: &TraceArgs, terminal: &Terminal) -> Result<Recorded> {
    let spec = PhoneSpec::parse(phone)?;
    if spec.path.is_some() {
        bail!("atrace records all of a phone: leave out the path after adb:");
    }
    if !args.command.is_empty() || args.source != SourceChoice::Auto || args.reads {
        bail!("a phone is recorded by its own atrace: without a command, --source and --reads");
    }
    let time = args.time.unwrap_or(Nanos(10_000_000_000));
    if !terminal.quiet {
        say::note(&format!("flashlag: atrace records the phone for {time}; use it meanwhile"));
    }
    Ok(Recorded { trace: Some(record_phone(&spec.choice, time)?), ended: Exit::Done })
}

fn started(words: &[std::ffi::OsString]) -> Result<Option<Child>> {
    let Some((program, arguments)) = words.split_first() else { return Ok(None) };
    let child = Command::new(program).args(arguments).spawn();
    let child = child.with_context(|| format!("{} can't be run", program.to_string_lossy()))?;
    Ok(Some(child))
}

/// Whether the result must be a trace.
fn needs_events(args: &TraceArgs) -> bool {
    args.output.is_some() || args.json
}

/// Counts by `/proc` alone, and shows what was counted.
fn count_only(
    scope: &Scope,
    args: &TraceArgs,
    terminal: &Terminal,
    stop: &Arc<AtomicBool>,
) -> Result<Recorded> {
    if needs_events(args) {
        bail!("counters are no trace: -o and --json need another --source");
    }
    let mut counting = Counting { counters: Counters::start(scope)?, began: Instant::now() };
    let child = started(&args.command)?;
    let ended = follow(&mut counting, child, args, terminal, stop)?;
    let shown = counting.seen()?;
    let style = if args.command.is_empty() { terminal.stdout } else { Style::of_stderr() };
    let limits = without_events(counting.counters.refused.len());
    let limits = flashlag_term::wrapped(&limits, style.width);
    let text = format!("{}\n\n{limits}\n", recording(&shown, style).join("\n"));
    if args.command.is_empty() {
        say::view(&text)?
    } else {
        say::view_beside(&text)
    }
    let ended = ended.map_or(Exit::Done, |status| Exit::Passed(passed(status)));
    Ok(Recorded { trace: None, ended })
}

/// The message about what counters can't show.
fn without_events(refused: usize) -> String {
    let others = match refused {
        0 => String::new(),
        1 => " A process of another user is not counted: that needs root.".to_owned(),
        count => format!(" {count} processes of other users are not counted: that needs root."),
    };
    format!(
        "From counters in /proc: no files, fsyncs or waits, which need root. Bytes of a process \
         are those that it sent to disks; what it wrote just before it exited is missed; the \
         device's figures are those of all processes.{others}"
    )
}

/// A recording, or a count, in progress.
trait Watched {
    /// Reads what happened since the last call.
    fn collect(&mut self) -> Result<()>;
    /// The duration of the recording so far.
    fn lasted(&self) -> Duration;
    /// What was seen so far.
    fn seen(&self) -> Result<Recording>;
}

impl Watched for Session {
    fn collect(&mut self) -> Result<()> {
        Ok(Session::collect(self)?)
    }

    fn lasted(&self) -> Duration {
        Session::lasted(self)
    }

    fn seen(&self) -> Result<Recording> {
        Ok(seen(self))
    }
}

/// Counters, and their start.
struct Counting {
    counters: Counters,
    began: Instant,
}

impl Watched for Counting {
    fn collect(&mut self) -> Result<()> {
        self.counters.collect();
        Ok(())
    }

    fn lasted(&self) -> Duration {
        self.began.elapsed()
    }

    fn seen(&self) -> Result<Recording> {
        let disks = self.counters.disks()?;
        let processes = self.counters.processes();
        let rows = processes.iter().take(ROWS).map(|process| WriterRow {
            process: process.name.clone(),
            writes: process.writes,
            bytes: process.to_disk,
            ..WriterRow::default()
        });
        Ok(Recording {
            lasted: self.began.elapsed(),
            all: None,
            without_syncs: true,
            block: (disks.writes, disks.bytes),
            flushes: disks.flushes,
            others: processes.len().saturating_sub(ROWS),
            writers: rows.collect(),
        })
    }
}

/// Fetches events until the end. The status is that of the command.
fn follow(
    session: &mut dyn Watched,
    mut child: Option<Child>,
    args: &TraceArgs,
    terminal: &Terminal,
    stop: &Arc<AtomicBool>,
) -> Result<Option<ExitStatus>> {
    let limit = args.time.map(|time| Duration::from_nanos(time.0));
    // A command has the terminal for itself.
    let mut shown = child.is_none().then(|| Counter::new(terminal.progress));
    let mut is_asked = false;
    loop {
        std::thread::sleep(FETCHED);
        session.collect()?;
        let is_over = limit.is_some_and(|limit| session.lasted() >= limit);
        let Some(running) = &mut child else {
            if is_over || stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            if let Some(counter) = &mut shown {
                let seen = session.seen()?;
                let style = Style { color: false, ..Style::of_stderr() };
                counter.show_lines(|| recording_line(&seen), || recording(&seen, style));
            }
            continue;
        };
        if let Some(status) = running.try_wait().context("the command can't be waited for")? {
            let ended = Instant::now();
            while ended.elapsed() < AFTERWARDS {
                std::thread::sleep(FETCHED);
                session.collect()?;
            }
            return Ok(Some(status));
        }
        if !is_asked && (is_over || stop.load(Ordering::Relaxed)) {
            is_asked = true;
            ask_to_end(running, is_over);
        }
    }
}

/// What was recorded so far, with the largest writers.
fn seen(session: &Session) -> Recording {
    let (tally, trace) = session.so_far();
    let disks = session.disks();
    let largest = tally.largest(ROWS);
    let rows = largest.iter().map(|((task, file), writer)| {
        let task = trace.tasks.get(*task as usize);
        let process = task.and_then(|task| task.process.as_deref()).unwrap_or("(unknown)");
        let thread = task.and_then(|task| task.thread.as_deref()).unwrap_or(process);
        let file = match file {
            Some(file) => trace.files.get(*file as usize).and_then(|file| file.path.as_deref()),
            None => Some("(all files)"),
        };
        WriterRow {
            process: if thread == process {
                process.to_owned()
            } else {
                format!("{process} ({thread})")
            },
            file: file.unwrap_or("(unknown)").to_owned(),
            ..row_of(writer)
        }
    });
    Recording {
        lasted: session.lasted(),
        all: Some(row_of(&tally.all)),
        without_syncs: session.kind() == TraceSourceKind::Fanotify,
        block: disks
            .map_or((tally.block_writes, tally.block_bytes), |disks| (disks.writes, disks.bytes)),
        flushes: disks.map_or(tally.flushes, |disks| disks.flushes),
        writers: rows.collect(),
        others: tally.writers.len().saturating_sub(ROWS),
    }
}

fn row_of(writer: &Writer) -> WriterRow {
    WriterRow {
        writes: writer.writes,
        bytes: writer.bytes,
        syncs: writer.syncs,
        longest: writer.longest,
        ..WriterRow::default()
    }
}

/// Forwards the signal to the command, except Ctrl-C: the terminal sends SIGINT to both.
fn ask_to_end(child: &Child, is_over: bool) {
    let received = signals::exit_status().map(|status| status - 128);
    let from_terminal = std::io::IsTerminal::is_terminal(&std::io::stdin());
    let signal = match received {
        _ if is_over => Signal::TERM,
        Some(2) if from_terminal => return,
        Some(2) => Signal::INT,
        Some(1) => Signal::HUP,
        _ => Signal::TERM,
    };
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // A command that has just ended needs no signal.
        let _ = kill_process(pid, signal);
    }
}

/// The exit status of a command as shells report it: 128 plus the number of the signal.
fn passed(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

/// The cost of recording, in a sentence.
fn cost_in_words(cost: &Cost) -> String {
    let own = format!(
        "recording took {} of CPU in {}: {} of one CPU, after {} to start",
        cost.own,
        cost.lasted,
        percent(cost.own_share()),
        cost.starting
    );
    let Some(kernel) = cost.kernel else { return own };
    let share = cost.kernel_share().unwrap_or(0.0);
    let each = nanos(kernel.time).0.checked_div(kernel.runs).map_or(Nanos(0), Nanos);
    format!(
        "{own}; its programs in the kernel took {} ({each} each, {} runs counted in {})",
        percent(share),
        count(kernel.runs),
        nanos(kernel.counted),
    )
}

fn nanos(time: Duration) -> Nanos {
    Nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}
