//! Queries by parts instead of whole statements.

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

/// The statement of a selection. Whoever selects may read everything, so nothing is escaped; that the
/// statement reads only is the database's to hold.
pub fn selected(selection: &Selection) -> String {
    let columns =
        if selection.columns.is_empty() { "*".to_owned() } else { selection.columns.join(", ") };
    let from = match selection.from.as_str() {
        // What a row of a test lacks of its run comes with it.
        "phases" => {
            "(SELECT p.*, r.device, r.kind, r.filesystem, r.age, r.standing, r.scenario, r.started \
             FROM phases p JOIN runs r ON r.file = p.file) AS phases"
        }
        other => other,
    };
    let condition = selection.condition.as_deref().map(|it| format!(" WHERE ({it})"));
    format!("SELECT {columns} FROM {from}{}", condition.unwrap_or_default())
}
