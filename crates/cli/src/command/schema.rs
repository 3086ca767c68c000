use std::io::Write;

use anyhow::Result;

use crate::exit::Exit;

/// Prints the JSON Schema of run files.
pub fn schema() -> Result<Exit> {
    let text = serde_json::to_string_pretty(&flashlag_schema::run_json_schema())?;
    writeln!(std::io::stdout().lock(), "{text}")?;
    Ok(Exit::Done)
}
