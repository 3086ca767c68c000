use flashlag_units::{Bytes, Nanos, did_you_mean, line_at, nearest, types_in_words};
use thiserror::Error;

use super::builtin::names;
use crate::hint::with_hint;
use crate::target::TargetError;

/// Why a profile can't be used: the parameter, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProfileError {
    #[error("{reason}")]
    File { kind: std::io::ErrorKind, reason: String },
    /// A name of no built-in profile.
    #[error("there is none of that name (`flashlag profiles` lists all); {}", meant(.0))]
    NoSuch(String),
    // The reader's errors are part of the sentence, and so no causes of their own.
    #[error("line {line}: {}", .error.message())]
    Syntax { line: usize, error: Box<toml::de::Error> },
    /// An unknown or missing key before the first section, or a value of another type.
    #[error("the profile's head: {}", with_hint(.0.message()))]
    Head(Box<toml::de::Error>),
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
        with_hint(.error.message())
    )]
    Parameter { key: String, error: Box<toml::de::Error> },
    /// An unknown or missing parameter, or a value of another type.
    #[error("{}", of_model(.0))]
    Model(Box<toml::de::Error>),
    /// A change of a parameter that no profile has.
    #[error(
        "no parameter `{key}`; `flashlag profiles --keys` lists all{}",
        did_you_mean(.key, .known.iter().map(String::as_str))
    )]
    Unknown { key: String, known: Vec<String> },
    #[error("{key}: `{text}` is not {expected}")]
    Value {
        key: String,
        text: String,
        /// The type: `a whole number`.
        expected: &'static str,
    },
    /// A filesystem that can't be simulated, or an option that it does not have.
    #[error("{key}: {source}")]
    Mount {
        /// The key: `check.filesystem`.
        key: &'static str,
        source: Box<TargetError>,
    },
    #[error("{key}: {fault}")]
    Fault { key: &'static str, fault: ParameterFault },
    #[error("{key}: check of {device}: {fault}")]
    Check {
        /// The key: `check.model`.
        key: &'static str,
        device: String,
        fault: CheckFault,
    },
}

/// Why a check of a profile can't be simulated or judged.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CheckFault {
    #[error("{0}")]
    Model(#[source] Box<ProfileError>),
    #[error("{metric}: {percent} % is not between 0 and 100")]
    Bar { metric: String, percent: String },
}

/// Why values of a profile are no valid device.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParameterFault {
    #[error("it is one line, without an end of a line or a control character")]
    NoLine,
    #[error("{count} is not between 1 and {most}")]
    Count { count: u32, most: u32 },
    #[error("{} bytes are no power of two from 512 on", .0.0)]
    Size(Bytes),
    #[error("{0} is not between 1 ns and 10 s")]
    Time(Nanos),
    #[error("not between 1 ns and 60 s")]
    Slice,
    #[error("less than 1 kB a second")]
    Rate,
    #[error("a device without spare blocks can't reclaim any")]
    NoSpare,
    #[error("not between 1 MiB and 16 TiB")]
    Capacity,
    #[error("it is larger than a block of {} bytes", .0.0)]
    LargerThanBlock(Bytes),
    #[error("a map on flash needs a cache of 4 KiB or more")]
    MapCache,
    #[error("a log-block map needs two or more")]
    LogBlocks,
    #[error("one or more, and fewer than map.log_blocks")]
    SequentialLogs,
    #[error("it stands instead of {0}")]
    Instead(&'static str),
    #[error("it needs {0}")]
    Without(&'static str),
    #[error("a zone has a program unit at least, and whole mapping units of {unit}")]
    Zone { unit: Bytes },
    #[error(
        "beside it, map.capacity has to hold one zone at least, and it has to be a multiple of map.unit"
    )]
    NoZone,
    #[error("the write buffer of a zoned device holds two program units at least")]
    ZoneBuffer,
    #[error("a zoned device has no write cache to fold: leave it out")]
    NoCacheOfZones,
    #[error("a zoned device knows discards, since they reset its zones")]
    ZonesReset,
    #[error("it is not longer than {0}")]
    NotAfter(&'static str),
    #[error("up to 8 levels, each after a longer rest")]
    Rests,
    #[error("waking takes at most 10 s")]
    Wake,
    /// Page-type factors that are too many or out of range.
    #[error("up to 16 factors between 0.1 and 10")]
    PageTypes,
    #[error("0 commands")]
    NoCommands,
    #[error("it is due after writes or after bytes: give one of them, above 0")]
    Interval,
    #[error("full = true needs bytes and a write cache, [slc]")]
    Full,
    #[error("not between {least} and {most}")]
    Range { least: &'static str, most: &'static str },
    /// A page of a small durable write that is a multiple neither of mapping units nor of planes.
    #[error(
        "{} bytes are no multiple of map.unit ({}), or do not divide the pages of all planes ({})",
        .page.0, .unit.0, .stripe.0
    )]
    ProgramPage { page: Bytes, unit: Bytes, stripe: Bytes },
    #[error("one unit at least must be open")]
    OpenUnits,
    #[error("d_choices draws one block or more")]
    Choices,
    #[error("{0} is not between 0 and 0.5")]
    Share(String),
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

    pub(super) fn syntax(text: &str, error: toml::de::Error) -> ProfileError {
        let line = error.span().map_or(1, |span| line_at(text, span.start));
        ProfileError::Syntax { line, error: Box::new(error) }
    }
}

/// The profiles that begin with a name, or the one that is similar to it.
fn meant(name: &str) -> String {
    let lower = name.to_lowercase();
    let begins = names().filter(|known| lower.len() > 1 && known.starts_with(&lower));
    let quoted: Vec<String> = begins.map(|known| format!("`{known}`")).collect();
    match quoted.as_slice() {
        [others @ .., last] if !others.is_empty() => {
            format!("did you mean {} or {last}?", others.join(", "))
        }
        _ => match nearest(name, names()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "give one of those, or a TOML file".to_owned(),
        },
    }
}

/// The error with the path to the field, which its message does not have.
fn of_model(error: &toml::de::Error) -> String {
    let text = error.to_string().replacen(error.message(), &types_in_words(error.message()), 1);
    let text: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let near = with_hint(error.message());
    let near = near.strip_prefix(error.message()).unwrap_or_default();
    format!("{}{near}", text.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_gets_the_names_that_begin_with_it_or_the_one_that_is_similar() {
        let said = |name: &str| ProfileError::NoSuch(name.to_owned()).to_string();
        for (name, end) in [
            (
                "moto-x",
                "did you mean `moto-x-2013`, `moto-x-2013-sandisk` or `moto-x-2013-toshiba`?",
            ),
            ("Nexus", "did you mean `nexus7-2012`, `nexus5-2013` or `nexus6-2014`?"),
            ("pixl-2016", "did you mean `pixel-2016`?"),
            ("nexus5", "did you mean `nexus5-2013`?"),
            ("banana", "give one of those, or a TOML file"),
            ("", "give one of those, or a TOML file"),
        ] {
            let text = said(name);
            assert!(
                text.ends_with(end) && text.contains("`flashlag profiles` lists all"),
                "{text}"
            );
        }
    }
}
