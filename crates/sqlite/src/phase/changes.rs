//! The changes of a save: rows chosen, bound and executed.

use flashlag_device::WaitMeter;
use flashlag_spec::scenario::Statement;

use super::Phase;
use crate::error::SqliteError;

impl<M: WaitMeter> Phase<'_, M> {
    /// Several statements in one transaction of each database, each on a row of its own. Making and
    /// binding a row's content (less than a microsecond for 100 bytes) counts in the save's latency
    /// here.
    pub(super) fn transaction(&mut self, statements: u32) -> Result<(), SqliteError> {
        let rows = (0..statements).map(|_| self.next_row()).collect::<Result<Vec<i64>, _>>()?;
        for (index, database) in self.databases.iter().enumerate() {
            database.begin()?;
            for row in &rows {
                self.bind(index, *row)?;
                self.execute(index)?;
            }
            database.commit()?;
        }
        Ok(())
    }

    /// Executes the bound statement of a database.
    pub(super) fn execute(&mut self, index: usize) -> Result<(), SqliteError> {
        let (statement, database) = (&mut self.statements[index], &self.databases[index]);
        self.storage.compute();
        let changed =
            statement.raw_execute().map_err(|error| database.failure("save to", &error))?;
        if changed != 1 {
            let reason = format!("{changed} rows were changed, not one");
            return Err(SqliteError::wrong("save to", &database.path, reason));
        }
        Ok(())
    }

    /// The row of the next statement, the same in all databases.
    pub(super) fn next_row(&mut self) -> Result<i64, SqliteError> {
        self.rows.next().ok_or_else(|| {
            let path = self.databases.first().map(|database| database.path.clone());
            let reason = "there is no row left to change".to_owned();
            SqliteError::wrong("save to", &path.unwrap_or_default(), reason)
        })
    }

    /// Makes the content of a row and binds it; SQLite copies it.
    pub(super) fn bind(&mut self, index: usize, row: i64) -> Result<(), SqliteError> {
        let generation = (self.saves as u32).wrapping_add(1);
        let (statement, database) = (&mut self.statements[index], &self.databases[index]);
        let failed = |error| database.failure("bind a row of", &error);
        statement.raw_bind_parameter(1, row).map_err(failed)?;
        if self.save.statement != Statement::Delete {
            let content = self.content.of(database.index, row, generation);
            statement.raw_bind_parameter(2, content).map_err(failed)?;
        }
        Ok(())
    }
}
