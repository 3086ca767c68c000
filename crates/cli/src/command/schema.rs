use anyhow::Result;

use crate::exit::Exit;
use crate::say;

/// Prints the JSON Schema of run files.
pub fn schema() -> Result<Exit> {
    let text = serde_json::to_string_pretty(&flashlag_schema::run_json_schema())?;
    say::json(&format!("{text}\n"))?;
    Ok(Exit::Done)
}
