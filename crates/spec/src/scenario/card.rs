//! The test that asks whether storage is what it says it is.

use serde::{Deserialize, Serialize};

use super::fault::ScenarioFault;

/// Is this card what it says? Writes the free space, each sector with its own address, and reads it back:
/// the phases `NAME_write` and `NAME_read` in the run file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Card {
    /// The beginning of the names of its phases in the run file.
    pub name: String,
    /// Whether only places spread over the free space are written, instead of all of it: that finds
    /// storage with less than it claims, and no small damage.
    #[serde(default)]
    pub quick: bool,
    /// With `quick`: number of places, 1 MiB each.
    #[serde(default = "places")]
    #[cfg_attr(feature = "json-schema", schemars(range(min = 8, max = 65536)))]
    pub places: u32,
    /// Whether the run stops before it reads back, so that the storage can be taken out and put in
    /// again; `--resume` then reads.
    #[serde(default)]
    pub take_out: bool,
}

const fn places() -> u32 {
    256
}

impl Card {
    /// The name of the phase that writes.
    pub fn write_phase(&self) -> String {
        format!("{}_write", self.name)
    }

    /// The name of the phase that reads.
    pub fn read_phase(&self) -> String {
        format!("{}_read", self.name)
    }
}

/// Checks what is a card's own.
pub(super) fn check_card(card: &Card) -> Result<(), ScenarioFault> {
    const PLACES: std::ops::RangeInclusive<u32> = 8..=65_536;
    if !PLACES.contains(&card.places) {
        let (value, allowed) = (card.places.to_string(), "8 to 65536".to_owned());
        return Err(ScenarioFault::Range { key: "places", value, allowed });
    }
    Ok(())
}
