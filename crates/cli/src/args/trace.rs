//! `flashlag trace`

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use flashlag_live::SourceChoice;
use flashlag_trace::{Columns, InputFormat};
use flashlag_units::Nanos;

const SHORT: &str = "\
Examples:
  flashlag trace                    what is written to all storage, until Ctrl-C
  flashlag trace -- sqlite3 app.db  what a command and all that it starts write
  flashlag trace --from app.strace  what another tool has recorded";

const HELP: &str = "\
Recording:
  flashlag trace                    what is written to all storage, until Ctrl-C
  flashlag trace DIR --for 30s      to the filesystem of a directory
  flashlag trace -- sqlite3 app.db  by a command and all that it starts
  flashlag trace adb: --for 10s     on a phone on a cable, by atrace: no root

flashlag takes the best source that it may use, and says which and what is lost:
eBPF, the kernel's tracepoints (tracefs), events of files (fanotify). Without
root it shows only counters of processes and disks, without files and waits.

--from reads text of blkparse, ftrace, atrace (systrace's page too), perf,
strace, Perfetto traces, lists of system calls as Mobibench's, tables of block
requests.

  strace -f -tt -T -y -o app.strace COMMAND           records one
  flashlag trace --from t.csv --columns 'time:us,op,offset:bytes,size:bytes,-'
                                                      a table of unknown head
  flashlag trace --from trace.txt.gz
  flashlag trace --from app.strace -o app.jsonl       keep it, for the next look
  flashlag trace --from app.jsonl --format perfetto -o app.json
                                                     for https://ui.perfetto.dev
  flashlag trace --from ui.pftrace --beside app.jsonl
                                                     why frames were late";

/// `flashlag trace`
#[derive(Debug, Args)]
#[command(after_help = SHORT, after_long_help = HELP)]
pub struct TraceArgs {
    /// Record this path's filesystem, or a phone (adb:)
    #[arg(value_name = "PATH")]
    pub path: Option<String>,
    /// How long to record [default: until Ctrl-C, or until the command ends]
    #[arg(long = "for", value_name = "TIME")]
    pub time: Option<Nanos>,
    /// Where events come from; auto is the first of the others that can be used
    #[arg(hide_short_help = true, long, value_name = "SOURCE", default_value = "auto", value_parser = sources())]
    pub source: SourceChoice,
    /// Mount tracefs while recording, if the source needs it and it is not mounted
    #[arg(hide_short_help = true, long)]
    pub mount_tracefs: bool,
    /// Record reads too
    #[arg(long)]
    pub reads: bool,
    /// A file of another tool, or of flashlag
    ///
    /// It may be compressed by gzip; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["path", "time", "source", "mount_tracefs", "reads", "command"])]
    pub from: Option<PathBuf>,
    /// Format of that file [default: by its beginning]
    #[arg(hide_short_help = true, long, value_name = "FORMAT", value_parser = input_formats(), requires = "from")]
    pub from_format: Option<InputFormat>,
    /// What the columns of a table hold: time:s,op,offset:bytes,size:bytes,latency:us
    #[arg(hide_short_help = true, long, value_name = "LIST", requires = "from")]
    pub columns: Option<Columns>,
    /// A run, or a recording of storage, that was made at the same time as a trace with frames
    ///
    /// The trace is that of --from, with Perfetto's android.surfaceflinger.frametimeline: late
    /// frames are named with the wait that made them late, and with the run's test
    #[arg(hide_short_help = true, long, value_name = "FILE", requires = "from")]
    pub beside: Option<PathBuf>,
    /// Write the trace to this file; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Format of -o
    #[arg(hide_short_help = true, long, value_enum, default_value_t = TraceFormat::Jsonl, requires = "output")]
    pub format: TraceFormat,
    /// Print the table as JSON
    #[arg(long)]
    pub json: bool,
    /// Overwrite the file of -o, whatever is in it
    #[arg(hide_short_help = true, long, requires = "output")]
    pub force: bool,
    /// Run this command, and record it and what it starts
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// The formats of a trace that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TraceFormat {
    /// flashlag's own, a JSON object a line
    Jsonl,
    /// JSON for <https://ui.perfetto.dev>, with stalls marked
    Perfetto,
}

/// The formats of a trace that is read, as values of an option.
fn input_formats() -> impl TypedValueParser<Value = InputFormat> {
    PossibleValuesParser::new(InputFormat::ALL.map(InputFormat::name))
        .try_map(|name| InputFormat::from_name(&name).ok_or("not a format"))
}

/// The sources of events, as values of an option.
fn sources() -> impl TypedValueParser<Value = SourceChoice> {
    PossibleValuesParser::new(SourceChoice::ALL.map(SourceChoice::name)).try_map(|name| {
        let named = SourceChoice::ALL.into_iter().find(|source| source.name() == name);
        named.ok_or("not a source")
    })
}
