use serde::{Deserialize, Serialize};

use crate::table::Value;

/// A cell as it stands in a file.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Cell<'a> {
    Null,
    Integer(i64),
    Real(f64),
    Boolean(bool),
    Text(&'a str),
}

impl Cell<'_> {
    /// Whether a value is the same. Other programs store whole numbers as floating-point ones
    /// where some are null.
    pub fn is(self, value: &Value) -> bool {
        match (self, value) {
            (Cell::Null, Value::Null) => true,
            (Cell::Integer(cell), Value::Integer(value)) => cell == *value,
            (Cell::Real(cell), Value::Integer(value)) => cell == *value as f64,
            (Cell::Real(cell), Value::Real(value)) => cell == *value,
            (Cell::Boolean(cell), Value::Boolean(value)) => cell == *value,
            (Cell::Text(cell), Value::Text(value)) => cell == value,
            _ => false,
        }
    }

    /// A number of nanoseconds; `None` if it is none, or negative.
    pub fn nanos(self) -> Option<u64> {
        match self {
            Cell::Integer(cell) => u64::try_from(cell).ok(),
            Cell::Real(cell) if cell >= 0.0 => Some(cell as u64),
            _ => None,
        }
    }
}
