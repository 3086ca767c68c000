use flashlag_units::Bytes;
use serde::{Deserialize, Serialize};

/// Bytes that the processes of one name read from and wrote to storage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ProgramBytes {
    /// Their name. Chosen by the program's user: data, never markup.
    pub name: String,
    /// The bytes.
    pub bytes: Bytes,
}
