use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use flashlag_runner::OutputKind;

use super::compare::place_of;
use crate::args::{Cli, ManPagesArgs};
use crate::exit::Exit;

/// Writes flashlag(1), and a page for each command, as roff.
pub fn man_pages(args: &ManPagesArgs) -> Result<Exit> {
    fs::create_dir_all(&args.folder)
        .with_context(|| format!("cannot create {}", args.folder.display()))?;
    let mut command = with_all_options(Cli::command());
    command.build();
    write_pages(&command, "flashlag", &args.folder)?;
    Ok(Exit::Done)
}

/// The same command with the options that only `--help` shows, of which clap_mangen prints the name alone.
fn with_all_options(command: Command) -> Command {
    let below: Vec<String> =
        command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    let command = command.mut_args(|option| option.hide_short_help(false));
    below.into_iter().fold(command, |command, name| command.mut_subcommand(name, with_all_options))
}

/// The page of this command, and those of the commands below it.
fn write_pages(command: &Command, name: &str, folder: &Path) -> Result<()> {
    let path = folder.join(format!("{name}.1"));
    let page = page(command, name).context("cannot format a man page")?;
    place_of(&path, OutputKind::Export, true, &[])?.write(&page)?;
    for below in shown(command) {
        write_pages(below, &format!("{name}-{}", below.get_name()), folder)?;
    }
    Ok(())
}

fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help")
}

fn page(command: &Command, name: &str) -> std::io::Result<Vec<u8>> {
    // clap needs names of static lifetime; the program ends after writing the pages.
    let titled = command.clone().name(&*String::leak(name.to_owned()));
    let man = Man::new(titled)
        .title(name.to_uppercase())
        .section("1")
        .manual("flashlag manual")
        .source(concat!("flashlag ", env!("CARGO_PKG_VERSION")));
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    if shown(command).next().is_some() {
        commands(command, name).to_writer(&mut page)?;
    }
    man.render_options_section(&mut page)?;
    if let Some(help) = command.get_after_long_help().or(command.get_after_help()) {
        notes(&help.to_string()).to_writer(&mut page)?;
    }
    see_also(command, name).to_writer(&mut page)?;
    Ok(page)
}

fn commands(command: &Command, name: &str) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["COMMANDS"]);
    for below in shown(command) {
        roff.control("TP", []);
        roff.text([bold(format!("{name}-{}", below.get_name())), roman("(1)")]);
        roff.text([roman(below.get_about().map(ToString::to_string).unwrap_or_default())]);
    }
    roff
}

/// What follows the options in `--help`: its examples and tables are in columns, which roff would
/// otherwise fill into paragraphs.
fn notes(help: &str) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["NOTES"]);
    roff.control("nf", []);
    for line in help.lines() {
        roff.text([roman(line)]);
    }
    roff.control("fi", []);
    roff
}

fn see_also(command: &Command, name: &str) -> Roff {
    let mut pages: Vec<String> = Vec::new();
    if let Some((parent, _)) = name.rsplit_once('-') {
        pages.push(format!("{parent}(1)"));
    }
    pages.extend(shown(command).map(|below| format!("{name}-{}(1)", below.get_name())));
    pages.extend(
        ["flashlag-scenario(5)", "flashlag-profile(5)", "flashlag-run(5)"].map(str::to_owned),
    );
    let mut roff = Roff::new();
    roff.control("SH", ["SEE ALSO"]);
    roff.text([roman(pages.join(", "))]);
    roff
}
