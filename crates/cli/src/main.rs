//! The flashlag command: parse, plan, run, show.
#![forbid(unsafe_code)]

mod args;
mod command;
mod exit;
mod load;
mod signals;
mod simulator;
mod terminal;
mod waiting;

use clap::Parser;

use args::{Cli, Command};
use exit::Exit;

fn main() -> std::process::ExitCode {
    if let Some(ended) = flashlag_runner::lab::be_the_guest() {
        return ended;
    }
    let cli = Cli::parse();
    let terminal = terminal::Terminal::detect(cli.quiet, cli.verbose);
    let done = match cli.command {
        Command::Run(args) => command::run::run(&args, &terminal),
        Command::Compare(args) => command::compare::compare(&args, &terminal),
        Command::Report(args) => command::report::report(&args, &terminal),
        Command::Verify(args) => command::verify::verify(&args),
        Command::Predict(args) => command::predict::predict(&args, &terminal),
        Command::Fit(args) => command::fit::fit(&args, &terminal),
        Command::Profiles(args) => command::profiles::profiles(&args, &terminal),
        Command::Cuts(args) => command::cuts::cuts(&args, &terminal),
        Command::Device(args) => command::device::device(&args, &terminal),
        Command::Scenarios(args) => command::scenarios::scenarios(&args, &terminal),
        Command::Schema => command::schema::schema(),
        Command::Clean(args) => command::clean::clean(&args),
        Command::Completions(args) => command::completions::completions(&args),
    };
    match done {
        Ok(exit) => exit.into(),
        Err(error) if exit::is_closed_pipe(&error) => Exit::Done.into(),
        Err(error) => {
            eprintln!("flashlag: {}", terminal::one_paragraph(&error));
            Exit::CouldNotRun.into()
        }
    }
}
