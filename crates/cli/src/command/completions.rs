use anyhow::Result;
use clap::builder::PossibleValuesParser;
use clap::{Command, CommandFactory};
use flashlag_runner::{BUILTINS, sim};

use crate::args::{Cli, CompletionsArgs};
use crate::exit::Exit;

/// Prints the completion script of a shell, which knows the built-in scenarios and profiles.
pub fn completions(args: &CompletionsArgs) -> Result<Exit> {
    let mut command = with_names(Cli::command());
    clap_complete::generate(args.shell, &mut command, "flashlag", &mut std::io::stdout());
    Ok(Exit::Done)
}

/// The same commands with the names that arguments usually have. Only for completion: they take
/// files and directories too, which every shell offers where no name fits.
fn with_names(command: Command) -> Command {
    let scenarios: Vec<&'static str> = BUILTINS.iter().map(|builtin| builtin.name).collect();
    let profiles: Vec<&'static str> = sim::profile_names().collect();
    // clap keeps such names for as long as the program runs, which is until the script is printed.
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
                .mut_subcommand("tune", |command| named(command, "name", &profiles))
        })
}
