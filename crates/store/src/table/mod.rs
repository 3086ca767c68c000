//! A table of typed columns.

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole number of 64 bits.
    Integer,
    Real,
    /// `true` or `false`.
    Boolean,
    Text,
}

/// A cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Not known, or not applicable.
    Null,
    /// A whole number.
    Integer(i64),
    Real(f64),
    /// `true` or `false`.
    Boolean(bool),
    Text(String),
}

/// Name and type of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// `p99_ns`: the unit is part of the name.
    pub name: String,
    /// Its type.
    pub kind: Kind,
}

/// A table in memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    pub columns: Vec<Column>,
    /// Its rows, each with a value for each column.
    pub rows: Vec<Vec<Value>>,
}

impl Value {
    /// A number as text in its shortest exact form; text unchanged; empty for null.
    pub fn plain(&self) -> String {
        match self {
            Value::Null => String::new(),
            Value::Integer(value) => value.to_string(),
            Value::Real(value) => value.to_string(),
            Value::Boolean(value) => value.to_string(),
            Value::Text(text) => text.clone(),
        }
    }
}

impl From<u64> for Value {
    /// A value beyond 63 bits, as in a damaged file, becomes null.
    fn from(value: u64) -> Value {
        i64::try_from(value).map_or(Value::Null, Value::Integer)
    }
}

impl From<u32> for Value {
    fn from(value: u32) -> Value {
        Value::Integer(i64::from(value))
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Value {
        if value.is_finite() { Value::Real(value) } else { Value::Null }
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Boolean(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Value {
        Value::Text(value.to_owned())
    }
}

impl From<&String> for Value {
    fn from(value: &String) -> Value {
        Value::Text(value.clone())
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::Null, Into::into)
    }
}
