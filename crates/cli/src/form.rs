//! The output formats of a run and of a comparison: text, an HTML page, or a file format of
//! `flashlag-export`.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use flashlag_export::Format;
use flashlag_runner::OutputKind;
use flashlag_schema::Run;
use flashlag_views::{Comparison, Gate};

use crate::say;
use crate::terminal::Terminal;
use flashlag_commands::name_of;

/// An output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Text for a terminal.
    Text,
    /// A self-contained HTML page.
    Html,
    /// A file format.
    File(Format),
}

impl ValueEnum for Form {
    fn value_variants<'a>() -> &'a [Form] {
        &[
            Form::Text,
            Form::File(Format::Tsv),
            Form::Html,
            Form::File(Format::Markdown),
            Form::File(Format::Csv),
            Form::File(Format::OpenMetrics),
            Form::File(Format::Prometheus),
            Form::File(Format::Fio),
            Form::File(Format::Json),
        ]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let help = match self {
            Form::Text => "The terminal summary",
            Form::Html => "A self-contained page",
            Form::File(Format::Tsv) => "A tab-separated table",
            Form::File(Format::Markdown) => "A Markdown page",
            Form::File(Format::Csv) => "Every interval of every phase",
            Form::File(Format::OpenMetrics) => "OpenMetrics text",
            Form::File(Format::Prometheus) => "Prometheus's text format, for node_exporter",
            Form::File(Format::Fio) => "fio's json+",
            Form::File(Format::Json) => "The run file itself (for an imported fio file)",
        };
        Some(PossibleValue::new(self.name()).help(help))
    }
}

impl Form {
    /// The formats of a comparison, as values of an option.
    pub fn of_comparisons() -> impl TypedValueParser<Value = Form> {
        let forms = Form::value_variants().iter().filter_map(|form| {
            let help = match form {
                Form::Text => "For a terminal",
                Form::Html => "A self-contained page",
                Form::File(Format::Csv) => {
                    "A line for each test and side, with ratios and their intervals"
                }
                Form::File(Format::Json) => "Everything, for programs",
                Form::File(format) if format.holds_comparisons() => "A Markdown page",
                Form::File(_) => return None,
            };
            Some(PossibleValue::new(form.name()).help(help))
        });
        let forms: Vec<PossibleValue> = forms.collect();
        PossibleValuesParser::new(forms).try_map(|name| Form::from_str(&name, false))
    }

    fn name(self) -> &'static str {
        match self {
            Form::Text => "text",
            Form::Html => "html",
            Form::File(format) => format.name(),
        }
    }

    /// The format of a file whose name ends so.
    pub fn by_ending(ending: &str) -> Option<Form> {
        match ending {
            "txt" => Some(Form::Text),
            "html" | "htm" => Some(Form::Html),
            ending => {
                let has_ending = |format: &Format| format.endings().contains(&ending);
                Format::ALL.into_iter().find(has_ending).map(Form::File)
            }
        }
    }

    /// The rule for overwriting a file of this format.
    pub fn kind(self) -> OutputKind {
        match self {
            Form::Html => OutputKind::Report,
            Form::Text | Form::File(_) => OutputKind::Export,
        }
    }

    /// A run in this format.
    pub fn run(self, run: &Run, path: &Path, terminal: &Terminal) -> Result<String> {
        Ok(match self {
            Form::Text => terminal.summary(run),
            Form::Html => flashlag_report::html(run, &page_of(&[path.to_owned()])),
            Form::File(format) => format.write_run(run)?,
        })
    }

    /// A comparison in this format; a gate's judgement is part of a Markdown page.
    pub fn comparison(
        self,
        runs: &[Run],
        paths: &[PathBuf],
        comparison: &Comparison,
        gate: Option<&Gate>,
        terminal: &Terminal,
    ) -> Result<String> {
        Ok(match self {
            Form::Text => terminal.comparison(comparison),
            Form::Html => flashlag_report::comparison_html(comparison, runs, &page_of(paths)),
            Form::File(format) => format.write_comparison(comparison, gate)?,
        })
    }

    /// Prints `text`, which has this format, on standard output.
    pub fn print(self, text: &str) -> Result<()> {
        match self {
            Form::Text => say::view(text),
            Form::File(Format::Json | Format::Fio) => say::json(text),
            Form::Html | Form::File(_) => say::data(text),
        }
    }
}

/// The options of a page made from these files.
pub fn page_of(paths: &[PathBuf]) -> flashlag_report::Options {
    let run_files = paths.iter().map(|path| name_of(path)).collect();
    flashlag_report::Options { run_files, banner: None }
}

/// The format of a file by the ending of its name; text for standard output and a name without ending.
///
/// # Errors
/// No format of this `subject` ends so; the message lists `endings`.
pub fn by_ending<F>(
    subject: &str,
    path: &Path,
    known: impl Fn(&str) -> Option<F>,
    text: F,
    endings: &str,
) -> Result<F> {
    let Some(ending) = path.extension().filter(|_| path != Path::new("-")) else {
        return Ok(text);
    };
    let form = ending.to_str().and_then(known);
    form.ok_or_else(|| {
        anyhow!("no form of {subject} ends in .{}: use {endings}, or --format", ending.display())
    })
}

/// The format of a comparison written to a file with this extension.
pub fn comparison_by_ending(path: &Path) -> Result<Form> {
    let known = |ending: &str| {
        Form::by_ending(ending).filter(|form| match form {
            Form::File(format) => format.holds_comparisons(),
            Form::Text | Form::Html => true,
        })
    };
    by_ending("a comparison", path, known, Form::Text, ".html, .md, .csv, .json or .txt")
}
