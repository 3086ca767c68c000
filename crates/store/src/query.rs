//! Queries built from parts, without writing a whole statement.

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
            "(SELECT p.*, r.device, r.kind, r.filesystem, r.age, r.standing, r.scenario, r.started \
             FROM phases p JOIN runs r ON r.file = p.file) AS phases"
        }
        other => other,
    };
    let condition = selection.condition.as_deref().map(|it| format!(" WHERE ({it})"));
    format!("SELECT {columns} FROM {from}{}", condition.unwrap_or_default())
}
