//! The SQL that SQLite and PostgreSQL share.

use crate::rows::{JOINED, PHASES, RUNS, heads};
use crate::table::{Column, Kind};

/// Raise it with every change of the tables: an index of another version is rebuilt.
const TABLES: u32 = 2;

/// The version of the program that made an index. An index of another one is rebuilt from the
/// files.
pub fn made_by() -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!("tables {TABLES}, flashlag {version}, rules {}", flashlag_schema::finding::RULES)
}

/// The two tables: name and columns.
pub fn tables() -> [(&'static str, Vec<Column>); 2] {
    [("runs", heads(RUNS)), ("phases", heads(PHASES))]
}

/// `CREATE TABLE runs (file TEXT, …)`. Names are quoted, since some are keywords of SQL.
pub fn create(table: &str, columns: &[Column], type_of: fn(Kind) -> &'static str) -> String {
    let column = |column: &Column| format!("\"{}\" {}", column.name, type_of(column.kind));
    let columns: Vec<String> = columns.iter().map(column).collect();
    format!("CREATE TABLE {table} ({})", columns.join(", "))
}

/// Table and columns of each index, chosen for filters and joins.
const INDEXES: [(&str, &str); 6] = [
    ("runs", "file"),
    ("runs", "filesystem"),
    ("runs", "device, started"),
    ("runs", "standing"),
    ("phases", "file"),
    ("phases", "name"),
];

/// Statements that create the tables' indexes, in a schema whose name ends in a dot, or in none.
pub fn indexes(schema: &str) -> String {
    let made = INDEXES.iter().map(|(table, columns)| {
        let name = format!("{table}_by_{}", columns.replace(", ", "_"));
        format!("CREATE INDEX {name} ON {schema}{table} ({columns})")
    });
    made.collect::<Vec<_>>().join("; ")
}

/// `INSERT INTO runs VALUES (?1, …)`, with a dialect's placeholders.
pub fn insert(table: &str, columns: usize, sign: char) -> String {
    let places: Vec<String> = (1..=columns).map(|place| format!("{sign}{place}")).collect();
    format!("INSERT INTO {table} VALUES ({})", places.join(", "))
}

/// Why a statement is refused that must only read.
pub fn refused(sql: &str) -> Option<String> {
    let sql = sql.trim().trim_end_matches(';');
    let word: String = sql.chars().take_while(|c| c.is_ascii_alphabetic()).collect();
    match word.to_ascii_uppercase().as_str() {
        "SELECT" | "WITH" | "VALUES" => None,
        "" => Some("there is no statement: begin with SELECT".to_owned()),
        _ => Some(format!("a query reads only: begin with SELECT and not with {word}")),
    }
}

/// The parts of a query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// `runs` or `phases`.
    pub from: String,
    /// Columns; all if empty.
    pub columns: Vec<String>,
    /// A condition in SQL: `filesystem = 'f2fs' AND p99_ns > 100000000`.
    pub condition: Option<String>,
}

/// The statement for a selection. The user may read everything, so nothing is escaped; the database
/// enforces that it only reads.
pub fn selected(selection: &Selection) -> String {
    let columns =
        if selection.columns.is_empty() { "*".to_owned() } else { selection.columns.join(", ") };
    let from = match selection.from.as_str() {
        // Join the columns of the run that a test's row lacks.
        "phases" => {
            let joined = JOINED.join(", r.");
            format!(
                "(SELECT p.*, r.{joined} FROM phases p JOIN runs r ON r.file = p.file) AS phases"
            )
        }
        other => other.to_owned(),
    };
    let condition = selection.condition.as_deref().map(|it| format!(" WHERE ({it})"));
    format!("SELECT {columns} FROM {from}{}", condition.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_read_is_refused_by_its_first_word() {
        for sql in ["SELECT 1", " with a as (select 1) select * from a;", "values (1)"] {
            assert_eq!(refused(sql), None, "{sql}");
        }
        for sql in ["", ";", "DROP TABLE runs", "ATTACH 'x' AS y", "VACUUM INTO 'x'", "-- x"] {
            assert!(refused(sql).is_some(), "{sql}");
        }
    }
}
