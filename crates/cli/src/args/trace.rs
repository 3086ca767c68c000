//! `flashlag trace`

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use flashlag_trace::InputFormat;

/// `flashlag trace`
#[derive(Debug, Args)]
pub struct TraceArgs {
    /// A file of another tool, or of flashlag; may be compressed by gzip. `-` is standard input
    #[arg(long, value_name = "FILE", required = true)]
    pub from: Option<PathBuf>,
    /// Format of that file [default: by its beginning]
    #[arg(long, value_name = "FORMAT", value_parser = input_formats(), requires = "from")]
    pub from_format: Option<InputFormat>,
    /// Write the trace to this file; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Format of -o
    #[arg(long, value_enum, default_value_t = TraceFormat::Jsonl, requires = "output")]
    pub format: TraceFormat,
    /// Print the table as JSON
    #[arg(long)]
    pub json: bool,
    /// Overwrite the file of -o, whatever is in it
    #[arg(long, requires = "output")]
    pub force: bool,
}

/// The formats of a trace that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TraceFormat {
    /// flashlag's own, a JSON object a line
    Jsonl,
}

/// The formats of a trace that is read, as values of an option.
fn input_formats() -> impl TypedValueParser<Value = InputFormat> {
    PossibleValuesParser::new(InputFormat::ALL.map(InputFormat::name))
        .try_map(|name| InputFormat::from_name(&name).ok_or("not a format"))
}
