use anyhow::Result;

use crate::exit::Exit;
use crate::say;

/// Prints the JSON Schema of run files.
pub fn schema() -> Result<Exit> {
    say::json(&flashlag_schema::RUN_JSON_SCHEMA)?;
    Ok(Exit::Done)
}
