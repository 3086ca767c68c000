use anyhow::Result;
use clap::CommandFactory;

use crate::args::{Cli, CompletionsArgs};
use crate::exit::Exit;

/// Prints the completion script of a shell.
pub fn completions(args: &CompletionsArgs) -> Result<Exit> {
    let mut command = Cli::command();
    clap_complete::generate(args.shell, &mut command, "flashlag", &mut std::io::stdout());
    Ok(Exit::Done)
}
