use std::io::Write;

use anyhow::{Result, bail};
use flashlag_runner::{BUILTINS, builtin};
use flashlag_schema::scenario::Scenario;

use crate::args::ScenariosArgs;
use crate::exit::Exit;
use crate::terminal::Terminal;

/// Lists the built-in scenarios, or prints one's file.
pub fn scenarios(args: &ScenariosArgs, terminal: &Terminal) -> Result<Exit> {
    let mut out = std::io::stdout().lock();
    if let Some(name) = &args.name {
        let Some(found) = builtin(name) else {
            let names: Vec<_> = BUILTINS.iter().map(|builtin| builtin.name).collect();
            bail!("no scenario is named `{name}`: there are {}", names.join(", "));
        };
        write!(out, "{}", found.text)?;
        return Ok(Exit::Done);
    }
    let parsed = BUILTINS.iter().map(|builtin| Scenario::parse(builtin.text, &[]));
    let scenarios = parsed.collect::<Result<Vec<_>, _>>()?;
    write!(out, "{}", flashlag_term::scenarios(&scenarios, terminal.stdout))?;
    for scenario in &scenarios {
        let settings = scenario.settings.iter().map(|(key, value)| format!("{key}={value}"));
        let settings: Vec<_> = settings.collect();
        writeln!(out, "{}: --set {}", scenario.name, settings.join(" "))?;
    }
    writeln!(out, "\n`flashlag scenarios NAME` prints one as a file to start your own from.")?;
    Ok(Exit::Done)
}
