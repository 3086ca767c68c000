use std::io::Write;

use anyhow::{Context, Result, bail};
use flashlag_runner::BUILTINS;
use flashlag_schema::fio::job_file;
use flashlag_schema::reference::{as_lines, scenario_keys};
use flashlag_schema::scenario::Scenario;

use crate::args::{ScenarioFormat, ScenariosArgs};
use crate::exit::Exit;
use crate::load::scenario_text;
use crate::terminal::Terminal;

/// Lists the built-in scenarios, or prints one as a file.
pub fn scenarios(args: &ScenariosArgs, terminal: &Terminal) -> Result<Exit> {
    if args.keys {
        write!(std::io::stdout().lock(), "{}", as_lines(&scenario_keys()))?;
        return Ok(Exit::Done);
    }
    match &args.name {
        Some(name) => show(name, args),
        None => list(terminal),
    }
}

fn show(name: &str, args: &ScenariosArgs) -> Result<Exit> {
    let text = scenario_text(name)?;
    let text = match args.format {
        ScenarioFormat::Toml if !args.set.is_empty() => {
            bail!("--set is for --format fio: the TOML file keeps its settings, give them to run")
        }
        ScenarioFormat::Toml => text,
        ScenarioFormat::Fio => {
            let scenario = Scenario::parse(&text, &args.set);
            job_file(&scenario.with_context(|| format!("scenario {name}"))?)
        }
    };
    write!(std::io::stdout().lock(), "{text}")?;
    Ok(Exit::Done)
}

fn list(terminal: &Terminal) -> Result<Exit> {
    let mut out = std::io::stdout().lock();
    let parsed = BUILTINS.iter().map(|builtin| Scenario::parse(builtin.text, &[]));
    let scenarios = parsed.collect::<Result<Vec<_>, _>>()?;
    write!(out, "{}", flashlag_term::scenarios(&scenarios, terminal.stdout))?;
    for scenario in &scenarios {
        let settings = scenario.settings.iter().map(|(key, value)| format!("{key}={value}"));
        let settings: Vec<_> = settings.collect();
        writeln!(out, "{}: --set {}", scenario.name, settings.join(" "))?;
    }
    writeln!(out, "\n`flashlag scenarios NAME` prints one as a file to start your own from;")?;
    writeln!(out, "with --format fio, as an fio job file. --keys lists what such a file may say.")?;
    Ok(Exit::Done)
}
