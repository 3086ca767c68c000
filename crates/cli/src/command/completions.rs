use anyhow::Result;
use clap::builder::PossibleValuesParser;
use clap::{Command, CommandFactory};
use flashlag_runner::{BUILTINS, sim};

use crate::args::{Cli, CompletionsArgs};
use crate::exit::Exit;
use crate::say;

/// Prints the completion script of a shell, with the built-in scenarios and profiles.
pub fn completions(args: &CompletionsArgs) -> Result<Exit> {
    let mut command = with_names(Cli::command());
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "flashlag", &mut script);
    say::data(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}

/// The same commands, with the built-in names as possible values. For completion only: these
/// arguments also take files and directories, which every shell offers if no name fits.
fn with_names(command: Command) -> Command {
    let scenarios: Vec<&'static str> = BUILTINS.iter().map(|builtin| builtin.name).collect();
    let profiles: Vec<&'static str> = sim::profile_names().collect();
    // clap needs names of static lifetime; the program ends after printing the script.
    let target = |name: &&str| -> &'static str { String::leak(format!("sim:{name}")) };
    let targets: Vec<&'static str> = profiles.iter().map(target).collect();
    let named = |command: Command, argument: &'static str, names: &[&'static str]| {
        let names = PossibleValuesParser::new(names.iter().copied());
        command.mut_arg(argument, |argument| argument.value_parser(names))
    };
    command
        .mut_subcommand("run", |run| named(named(run, "scenario", &scenarios), "on", &targets))
        .mut_subcommand("scenarios", |command| named(command, "name", &scenarios))
        .mut_subcommand("predict", |command| named(command, "subject", &profiles))
        .mut_subcommand("fit", |command| named(command, "from", &profiles))
        .mut_subcommand("profiles", |command| {
            command
                .mut_subcommand("show", |command| named(command, "name", &profiles))
                .mut_subcommand("check", |command| named(command, "names", &profiles))
        })
}

#[cfg(test)]
mod tests {
    use clap_complete::Shell;

    use super::*;

    #[test]
    fn shells_complete_every_scenario_and_profile() {
        // For fish, clap completes options only: the targets of --on.
        for shell in [Shell::Bash, Shell::Zsh] {
            let mut script = Vec::new();
            clap_complete::generate(
                shell,
                &mut with_names(Cli::command()),
                "flashlag",
                &mut script,
            );
            let script = String::from_utf8_lossy(&script);
            for name in BUILTINS.iter().map(|one| one.name).chain(sim::profile_names()) {
                assert!(script.contains(name), "{shell}: {name}");
            }
        }
    }

    #[test]
    fn a_scenario_or_profile_of_ones_own_is_still_taken() {
        use clap::Parser;
        for words in [["flashlag", "run", "mine.toml"], ["flashlag", "scenarios", "mine.toml"]] {
            assert!(Cli::try_parse_from(words).is_ok());
        }
        assert!(Cli::try_parse_from(["flashlag", "run", "--on", "sim:mine.toml"]).is_ok());
    }
}
