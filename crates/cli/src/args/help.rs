//! Builds the help of the whole program: commands in groups; `-h` fits a terminal of 24 lines.

use std::num::{IntErrorKind, ParseFloatError, ParseIntError};

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// The commands by their purpose. The short help lists the last group by name alone.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Measure", &["run", "trace", "watch"]),
    ("Compare and report", &["compare", "report", "verify", "share"]),
    ("Explain", &["explain"]),
    ("Forecast", &["predict", "fit"]),
    ("Many runs", &["site", "store", "sweep"]),
    (
        "More",
        &[
            "cuts",
            "device",
            "profiles",
            "scenarios",
            "schema",
            "clean",
            "completions",
            "bug",
            "help",
        ],
    ),
];

/// clap's own description of the command `help`.
const HELP_ABOUT: &str = "Print this message or the help of the given subcommand(s)";

const TEMPLATE: &str =
    "{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}Options:\n{options}{after-help}";

pub(super) const AFTER_HELP: &str = "\
Begin with:
  flashlag run                     measure this directory's storage: a minute
  flashlag run lifecycle --on DIR  new, full, deleted, trimmed, as AnandTech did
  flashlag compare A.json B.json   two runs side by side, with intervals
  flashlag run lifecycle --on sim:nexus7-2012 --set protocol=published
                                   a simulated device beside what AnandTech
                                   measured on it, in seconds
  flashlag predict pixel-2016 --change fs=f2fs,nobarrier=on
                                   the effect of a change, and why

Exit status: 0 done; 1 a --fail-if limit was crossed; 2 it could not run;
3 it ran, but a trust check failed; 130 it was stopped by Ctrl-C (143 by
SIGTERM).";

pub(super) const EXPLAIN_HELP: &str = "\
Nothing is measured or written: of a directory, flashlag reads what the system
says about the path to the disk. Root can read more. With -v each finding has
its ground.

  flashlag explain              what this directory lies on, and what to change
  flashlag explain RUN.json     why that run lagged, layer by layer, by cost
  flashlag explain adb:         what the phone's storage is made of
  flashlag explain sim:PROFILE  why a simulated device lags in `run quick`

An effect that the run did not measure is forecast on the profile that it was
simulated on, on --profile, or on the nearest built-in one. All forecasts
together take 15 s at most.";

pub(super) const CHANGES: &str = "\
Changes: fs=f2fs, nobarrier=on, fuse=off, journal=wal, full=90%, age=12mo, ...

Example:
  flashlag predict pixel-2016 --change fs=f2fs,nobarrier=on";

pub(super) const PREDICT_HELP: &str = "\
Changes:
  fs=raw|ext4|f2fs|btrfs  nobarrier=on|off  discard=on|off  encrypt=on|off
  fuse=on|off  fast_commit=on|off
  journal=wal|delete|truncate|persist|memory|off  sync=extra|full|normal
  full=90%  age=12mo (at --daily)  idle_maintenance=on|off  spare=512MB
  buffer=1MB|none  worn=90% (of the rated cycles)
  untrimmed=on|off (deleted, not trimmed)
  or any parameter of the profile: nand.program=1.5ms

On a full device, or one months old, all that is stored is written at random
until figures are steady, a day's writes (--daily) at least.

Examples:
  flashlag predict nexus5-2013 --change full=90%
Durable 4 KiB writes fall from 3.01 to 1.51 MB/s: collection copies what is
stored.
  flashlag predict sim:sd-a1+ext4 --change fs=f2fs
Whether F2FS helps saves depends on the journal mode.";

/// The command line with its commands listed in groups instead of one list.
pub fn grouped(command: Command) -> Command {
    let (short, long) = (short(&command), long(&command));
    command.before_help(short).before_long_help(long).help_template(TEMPLATE)
}

/// One line for each command, with the name of its group before the first; the last group in one
/// line, without `help`.
fn short(command: &Command) -> String {
    let mut lines = Vec::new();
    for (group, names) in GROUPS {
        let names = present(command, names);
        if group == "More" {
            // Whoever reads this knows of help; there is room for the others.
            let names: Vec<&str> =
                names.iter().map(|(name, _)| *name).filter(|name| *name != "help").collect();
            lines.push(format!("{group:<11}{}", names.join(", ")));
            continue;
        }
        // A long name continues before the second command.
        let (first, second) =
            group.split_once(' ').filter(|_| group.len() > 10).unwrap_or((group, ""));
        let heads = [first, second].into_iter().chain(std::iter::repeat(""));
        let line =
            |(head, (name, about)): (&str, &(&str, String))| format!("{head:<11}{name:<10}{about}");
        lines.extend(heads.zip(&names).map(line));
    }
    lines.join("\n")
}

/// Each group below its name.
fn long(command: &Command) -> String {
    let group = |(group, names): &(&str, &[&str])| {
        let names = present(command, names);
        let lines: Vec<String> =
            names.iter().map(|(name, about)| format!("  {name:<13}{about}")).collect();
        format!("{group}:\n{}", lines.join("\n"))
    };
    let some = |(_, names): &&(&str, &[&str])| !present(command, names).is_empty();
    GROUPS.iter().filter(some).map(group).collect::<Vec<_>>().join("\n\n")
}

/// The name of a command that was asked for, if only this program lacks it: other builds have it.
pub fn built_without(error: &clap::Error) -> Option<&str> {
    let name = context(error, ContextKind::InvalidSubcommand)?;
    let known = GROUPS.iter().flat_map(|(_, names)| *names).any(|known| *known == name);
    (known && error.kind() == ErrorKind::InvalidSubcommand).then_some(name)
}

/// What an error says of this kind.
fn context(error: &clap::Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text),
        _ => None,
    }
}

/// Why the value of an option is none of its numbers, in a sentence; `None` for any other error.
pub fn no_number(error: &clap::Error) -> Option<String> {
    let given = context(error, ContextKind::InvalidArg)?;
    let is_negative = |word: &str| {
        word.strip_prefix('-')
            .is_some_and(|rest| rest.starts_with(|next: char| next.is_ascii_digit()))
    };
    // `--seed -1`
    if error.kind() == ErrorKind::UnknownArgument && is_negative(given) {
        return Some(format!("{given}: no option takes a number below zero"));
    }
    let source = std::error::Error::source(error)?;
    let wrong = match (source.downcast_ref::<ParseIntError>(), source.is::<ParseFloatError>()) {
        (Some(source), _) if *source.kind() == IntErrorKind::PosOverflow => "is too large",
        (Some(_), _) => "is no whole number",
        (None, true) => "is no number",
        (None, false) => return None,
    };
    let value = context(error, ContextKind::InvalidValue)?;
    let wrong = if is_negative(value) { "is below zero" } else { wrong };
    let option = given.split(' ').next().unwrap_or(given);
    Some(format!("{option}: {value:?} {wrong}; write one such as {option} 3"))
}

/// The commands that have the option which the typed command does not know, in a sentence: `--probe` is an option of
/// `flashlag watch`. A guess by spelling, as clap makes, would hide them.
pub fn option_of_others(
    command: &Command,
    words: &[String],
    error: &clap::Error,
) -> Option<String> {
    /// More are not listed.
    const SHOWN: usize = 3;
    let given = context(error, ContextKind::InvalidArg)
        .filter(|_| error.kind() == ErrorKind::UnknownArgument)?;
    let name = given.strip_prefix("--")?;
    let (mut typed, mut at) = ("flashlag".to_owned(), command);
    let names = words.iter().filter(|word| !word.starts_with('-'));
    for below in names.map_while(|word| at.find_subcommand(word)) {
        at = below;
        typed = format!("{typed} {}", at.get_name());
    }
    let mut owners = Vec::new();
    owners_of(command, "flashlag", name, &mut owners);
    let shown: Vec<String> = owners.iter().take(SHOWN).map(|owner| format!("`{owner}`")).collect();
    let others = match (owners.len(), shown.split_last()) {
        (_, None) => return None,
        (1, Some((only, _))) => only.clone(),
        (2..=SHOWN, Some((last, before))) => format!("{} and {last}", before.join(", ")),
        (all, Some(_)) => format!("{} and {} more", shown.join(", "), all - SHOWN),
    };
    Some(format!("`{typed}` has no option {given}, which is one of {others}: see `{typed} --help`"))
}

/// The commands below this one that have an option of this name, and are listed in its help.
fn owners_of(command: &Command, path: &str, name: &str, owners: &mut Vec<String>) {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        let path = format!("{path} {}", below.get_name());
        if below.get_arguments().any(|argument| argument.get_long() == Some(name)) {
            owners.push(path.clone());
        }
        owners_of(below, &path, name, owners);
    }
}

/// Those of the named commands that this program was built with, with their descriptions.
fn present<'n>(command: &Command, names: &[&'n str]) -> Vec<(&'n str, String)> {
    let about = |name: &&'n str| {
        // clap adds `help` only when it builds the command, and no start of the program should wait
        // for that.
        if *name == "help" {
            return Some((*name, HELP_ABOUT.to_owned()));
        }
        let found = command.find_subcommand(name)?;
        Some((*name, found.get_about().map(ToString::to_string).unwrap_or_default()))
    };
    names.iter().filter_map(about).collect()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn every_command_that_is_not_hidden_stands_in_one_group() {
        let mut command = crate::args::Cli::command();
        command.build();
        let mut shown: Vec<&str> = command
            .get_subcommands()
            .filter(|command| !command.is_hide_set())
            .map(Command::get_name)
            .collect();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        shown.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, shown);
        let help = command.find_subcommand("help").unwrap().get_about().unwrap();
        assert_eq!(help.to_string(), HELP_ABOUT);
    }

    #[test]
    fn what_is_no_number_is_called_so_by_its_option() {
        let said = |words: &[&str]| {
            let words = ["flashlag"].iter().chain(words);
            let error = crate::args::Cli::command().try_get_matches_from(words).unwrap_err();
            no_number(&error)
        };
        for (words, expected) in [
            (
                &["run", "--seed", "abc"][..],
                "--seed: \"abc\" is no whole number; write one such as --seed 3",
            ),
            (&["run", "--seed=-1"], "--seed: \"-1\" is below zero; write one such as --seed 3"),
            (&["run", "--seed", "-1"], "-1: no option takes a number below zero"),
            (
                &["run", "--runs", "2x"],
                "--runs: \"2x\" is no whole number; write one such as --runs 3",
            ),
            (
                &["run", "--seed", "99999999999999999999"],
                "--seed: \"99999999999999999999\" is too large; write one such as --seed 3",
            ),
        ] {
            assert_eq!(said(words).as_deref(), Some(expected), "{words:?}");
        }
        // Outside a range clap says the range.
        assert_eq!(said(&["run", "--runs", "5000"]), None);
        assert_eq!(said(&["run", "--no-such"]), None);
    }

    /// The short help of a command and its subcommands, by name, for a terminal of 80 columns.
    fn short_helps(command: &Command, above: &str, helps: &mut Vec<(String, String)>) {
        let name = format!("{above} {}", command.get_name());
        helps.push((name.clone(), command.clone().term_width(80).render_help().to_string()));
        let below = command.get_subcommands().filter(|it| !it.is_hide_set());
        below.filter(|it| it.get_name() != "help").for_each(|it| short_helps(it, &name, helps));
    }

    #[test]
    fn a_command_of_other_builds_is_told_from_one_that_does_not_exist() {
        // As a program without that feature would parse it.
        let parse = |name: &str| {
            clap::Command::new("flashlag")
                .subcommand(clap::Command::new("run"))
                .try_get_matches_from(["flashlag", name])
        };
        let error = parse("store").unwrap_err();
        assert_eq!(built_without(&error), Some("store"));
        assert_eq!(built_without(&parse("stroe").unwrap_err()), None);
        assert_eq!(built_without(&parse("--store").unwrap_err()), None);
    }

    #[test]
    fn an_option_of_another_command_is_said_to_be_that_commands() {
        let answer = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let mut command = crate::args::Cli::command();
            let all = ["flashlag".to_owned()].into_iter().chain(words.clone());
            let error = command.try_get_matches_from_mut(all).unwrap_err();
            option_of_others(&command, &words, &error)
        };
        assert_eq!(
            answer("report run.json --probe 10s").unwrap(),
            "`flashlag report` has no option --probe, which is one of `flashlag watch`: see `flashlag report --help`"
        );
        let many = answer("schema --output x").unwrap();
        assert!(
            many.contains(", ") && many.contains(" more: see `flashlag schema --help`"),
            "{many}"
        );
        assert!(
            answer("-q report run.json --probe=10s")
                .unwrap()
                .starts_with("`flashlag report` has no")
        );
        assert_eq!(answer("report run.json --nothing-has-this"), None);
        assert_eq!(answer("report run.json --limit-write=5GB"), None);
        assert_eq!(answer("report -Z"), None);
        assert_eq!(answer("nothing --probe"), None, "an unknown command is another error");
    }

    #[test]
    fn a_group_without_commands_is_not_shown() {
        let few =
            clap::Command::new("flashlag").subcommand(clap::Command::new("run").about("Runs"));
        assert_eq!(
            long(&few),
            "Measure:\n  run          Runs\n\nMore:\n  help         ".to_owned() + HELP_ABOUT
        );
    }

    #[test]
    fn what_follows_the_options_is_no_wider_than_the_help_itself() {
        let mut commands = vec![crate::args::Cli::command()];
        while let Some(command) = commands.pop() {
            let after = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
            let wide = after.lines().find(|line| line.chars().count() > 80);
            assert_eq!(wide, None, "{}", command.get_name());
            commands.extend(command.get_subcommands().cloned());
        }
    }

    /// clap removes the indentation of a text's first line: an example there would look like a heading.
    #[test]
    fn what_follows_the_options_begins_with_a_heading() {
        let mut commands = vec![crate::args::Cli::command()];
        while let Some(command) = commands.pop() {
            for text in [command.get_after_help(), command.get_after_long_help()] {
                let first = text.map(ToString::to_string).unwrap_or_default();
                let command_first = first.trim_start().starts_with("flashlag ");
                let indented = first.starts_with(' ');
                assert!(!indented && !command_first, "{}: {first}", command.get_name());
            }
            commands.extend(command.get_subcommands().cloned());
        }
    }

    #[test]
    fn the_short_help_of_every_command_fits_a_terminal() {
        let mut command = grouped(crate::args::Cli::command());
        command.build();
        let mut helps = Vec::new();
        short_helps(&command, "", &mut helps);
        assert!(helps.len() > 25, "{}", helps.len());
        let too_large = |help: &String| {
            help.lines().count() > 24 || help.lines().any(|line| line.chars().count() > 80)
        };
        helps.retain(|(_, help)| too_large(help));
        let all: Vec<String> = helps
            .iter()
            .map(|(name, help)| format!("{name}: {} lines\n{help}", help.lines().count()))
            .collect();
        assert!(all.is_empty(), "{}", all.join("\n"));
    }
}
