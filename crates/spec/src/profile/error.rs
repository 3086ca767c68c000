use flashlag_units::{Bytes, Nanos, did_you_mean};
use thiserror::Error;

use super::builtin::names;
use crate::hint::with_hint;
use crate::target::TargetError;

/// Why a profile can't be used: the parameter, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProfileError {
    /// A file that can't be read.
    #[error("{reason}")]
    File {
        /// The kind of the system's error.
        kind: std::io::ErrorKind,
        /// The system's message.
        reason: String,
    },
    /// A name of no built-in profile.
    #[error(
        "there is none of that name; there are {}, or give a TOML file{}",
        names().collect::<Vec<_>>().join(", "),
        did_you_mean(.0, names())
    )]
    NoSuch(String),
    /// A text that is no TOML.
    #[error("line {line}: {}", .source.message())]
    Syntax {
        /// The line, from 1 on.
        line: usize,
        /// The parser's error.
        source: Box<toml::de::Error>,
    },
    /// An unknown or missing key before the first section, or a value of another type.
    #[error("the profile's head: {}", with_hint(.0.message()))]
    Head(#[source] Box<toml::de::Error>),
    /// A parameter outside of any section.
    #[error(
        "`{0}` is no section: parameters stand in a section, as `[nand]` and then \
         `read = {{ value = \"50us\", source = \"…\" }}`"
    )]
    NoSection(String),
    /// A parameter that is not written as one.
    #[error(
        "{key}: {}; write {{ value = …, source = \"…\" }}, and where it was fitted \
         range = […, …] and fitted = […]",
        with_hint(.source.message())
    )]
    Parameter {
        /// The parameter.
        key: String,
        /// The parser's error.
        source: Box<toml::de::Error>,
    },
    /// An unknown or missing parameter, or a value of another type.
    #[error("{}", of_model(.0))]
    Model(#[source] Box<toml::de::Error>),
    /// A change of a parameter that the profile lacks.
    #[error(
        "no parameter `{key}`; there are {}{}",
        .known.join(", "),
        did_you_mean(.key, .known.iter().map(String::as_str))
    )]
    Unknown {
        /// The parameter.
        key: String,
        /// The profile's parameters.
        known: Vec<String>,
    },
    /// A change of a parameter to a value of another type.
    #[error("{key}: `{text}` is not {expected}")]
    Value {
        /// The parameter.
        key: String,
        /// The value as it was written.
        text: String,
        /// The type: `a whole number`.
        expected: &'static str,
    },
    /// A filesystem that can't be simulated, or an option that it does not have.
    #[error("{key}: {source}")]
    Mount {
        /// The key: `check.filesystem`.
        key: &'static str,
        /// What is wrong, and what there is.
        source: Box<TargetError>,
    },
    /// A value that makes no device.
    #[error("{key}: {fault}")]
    Fault {
        /// The parameter.
        key: &'static str,
        /// What is wrong with its value.
        fault: ParameterFault,
    },
    /// A check that can't be simulated or judged.
    #[error("{key}: check of {device}: {fault}")]
    Check {
        /// The key: `check.model`.
        key: &'static str,
        /// The device of its rows.
        device: String,
        /// What is wrong with its value.
        fault: CheckFault,
    },
}

/// Why a check of a profile can't be simulated or judged.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CheckFault {
    /// Changed parameters that make no device.
    #[error("{0}")]
    Model(#[source] Box<ProfileError>),
    /// A bar out of its range.
    #[error("{metric}: {percent} % is not between 0 and 100")]
    Bar {
        /// The metric that is judged by it.
        metric: String,
        /// The bar as it was written.
        percent: String,
    },
}

/// Why a value of a profile makes no device.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParameterFault {
    /// A text of several lines, or with a control character.
    #[error("it is one line, without an end of a line or a control character")]
    NoLine,
    /// A count out of its range.
    #[error("{count} is not between 1 and {most}")]
    Count {
        /// The count.
        count: u32,
        /// The highest that can be simulated.
        most: u32,
    },
    /// A size of the flash's geometry that no flash has.
    #[error("{} bytes are no power of two from 512 on", .0.0)]
    Size(Bytes),
    /// A time of a flash operation out of its range.
    #[error("{0} is not between 1 ns and 10 s")]
    Time(Nanos),
    /// A slice of collection out of its range.
    #[error("not between 1 ns and 60 s")]
    Slice,
    /// A rate of a bus or an interface that is too low.
    #[error("less than 1 kB a second")]
    Rate,
    /// No spare blocks.
    #[error("a device without spare blocks can't reclaim any")]
    NoSpare,
    /// A capacity out of its range.
    #[error("not between 1 MiB and 16 TiB")]
    Capacity,
    /// A mapping unit or a program unit larger than a block.
    #[error("it is larger than a block of {} bytes", .0.0)]
    LargerThanBlock(Bytes),
    /// A map on flash with too small a cache.
    #[error("a map on flash needs a cache of 4 KiB or more")]
    MapCache,
    /// A log-block map with too few log blocks.
    #[error("a log-block map needs two or more")]
    LogBlocks,
    /// Log blocks for writes in order that leave none for others.
    #[error("one or more, and fewer than map.log_blocks")]
    SequentialLogs,
    /// A parameter that excludes another one that is given, too.
    #[error("it stands instead of {0}")]
    Instead(&'static str),
    /// A parameter that has no meaning without another one.
    #[error("it needs {0}")]
    Without(&'static str),
    /// A rest that is no longer than the one it has to follow.
    #[error("it is not longer than {0}")]
    NotAfter(&'static str),
    /// Levels of rest that are too many or not in order.
    #[error("up to 8 levels, each after a longer rest")]
    Rests,
    /// A wake-up that takes too long.
    #[error("waking takes at most 10 s")]
    Wake,
    /// Factors of page types that are too many or out of their range.
    #[error("up to 16 factors between 0.1 and 10")]
    PageTypes,
    /// A journal of the map after no command.
    #[error("0 commands")]
    NoCommands,
    /// A number out of its range.
    #[error("not between {least} and {most}")]
    Range {
        /// The least that can be simulated.
        least: &'static str,
        /// The most that can be simulated.
        most: &'static str,
    },
    /// A page of a small durable write that fits neither mapping units nor planes.
    #[error(
        "{} bytes are no multiple of map.unit ({}), or do not divide the pages of all planes ({})",
        .page.0, .unit.0, .stripe.0
    )]
    ProgramPage {
        /// The page.
        page: Bytes,
        /// The mapping unit.
        unit: Bytes,
        /// The pages of all planes.
        stripe: Bytes,
    },
    /// No open unit.
    #[error("one unit at least must be open")]
    OpenUnits,
    /// Collection by random choices without any.
    #[error("d_choices draws one block or more")]
    Choices,
    /// A share out of its range.
    #[error("{0} is not between 0 and 0.5")]
    Share(String),
    /// A number of retries out of its range.
    #[error("not between 0 and 1000")]
    Retries,
}

impl ProfileError {
    /// A parameter that is not between `least` and `most`.
    pub(super) fn range(
        key: &'static str,
        least: &'static str,
        most: &'static str,
    ) -> ProfileError {
        ProfileError::Fault { key, fault: ParameterFault::Range { least, most } }
    }

    pub(super) fn file(error: &std::io::Error) -> ProfileError {
        ProfileError::File { kind: error.kind(), reason: error.to_string() }
    }

    pub(super) fn syntax(text: &str, source: toml::de::Error) -> ProfileError {
        let at = source.span().map_or(0, |span| span.start.min(text.len()));
        let line = text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
        ProfileError::Syntax { line, source: Box::new(source) }
    }
}

/// The error with the path to the field, which its message alone lacks.
fn of_model(error: &toml::de::Error) -> String {
    let text = error.to_string();
    let text: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let near = with_hint(error.message());
    let near = near.strip_prefix(error.message()).unwrap_or_default();
    format!("{}{near}", text.join(" "))
}
