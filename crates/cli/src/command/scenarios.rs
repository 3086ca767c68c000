use anyhow::{Context, Result, bail};
use flashlag_export::fio::job_file;
use flashlag_runner::{BUILTINS, PURPOSES};
use flashlag_spec::SCENARIO_KEYS;
use flashlag_spec::scenario::Scenario;

use crate::args::{ScenarioFormat, ScenariosArgs};
use crate::exit::Exit;
use crate::say;
use crate::terminal::Terminal;
use flashlag_commands::scenario_text;

/// Lists the built-in scenarios, or prints one as a file.
pub fn scenarios(args: &ScenariosArgs, terminal: &Terminal) -> Result<Exit> {
    if args.keys {
        say::text(&SCENARIO_KEYS)?;
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
    say::text(&text)?;
    Ok(Exit::Done)
}

fn list(terminal: &Terminal) -> Result<Exit> {
    let parsed = BUILTINS.iter().map(|builtin| Scenario::parse(builtin.text(), &[]));
    let scenarios = parsed.collect::<Result<Vec<_>, _>>()?;
    say::view(&flashlag_term::scenarios(&scenarios, terminal.stdout))?;
    for scenario in &scenarios {
        let settings = scenario.settings.iter().map(|(key, value)| format!("{key}={value}"));
        let settings: Vec<_> = settings.collect();
        say::line(&format!("{}: --set {}", scenario.name, settings.join(" ")))?;
    }
    let purposes: Vec<&str> = PURPOSES.iter().map(|purpose| purpose.name).collect();
    say::line(&format!(
        "\nGood enough for … (`flashlag run --for NAME`): {}",
        purposes.join(", ")
    ))?;
    say::text(
        "\n`flashlag scenarios NAME` prints one as a file to start your own from;\n\
         with --format fio, as an fio job file. --keys lists what such a file may say.\n",
    )?;
    Ok(Exit::Done)
}
