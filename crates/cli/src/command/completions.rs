use anyhow::Result;
use clap::CommandFactory;

use crate::args::{Cli, CompletionsArgs};
use crate::exit::Exit;
use crate::say;

/// Prints the completion script of a shell.
pub fn completions(args: &CompletionsArgs) -> Result<Exit> {
    let mut command = Cli::command();
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "flashlag", &mut script);
    say::data(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
