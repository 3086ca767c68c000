//! Saves of SQLite: rows chosen, bound and executed.

use std::rc::Rc;

use flashlag_spec::Downgrade;
use flashlag_spec::scenario::{Save, Statement};
use flashlag_units::Bytes;
use rusqlite::Statement as Prepared;

use crate::bound::{most_of_a_save, most_to_prepare};
use crate::content::Content;
use crate::database::{Database, sql_of};
use crate::error::SqliteError;
use crate::growth::Sizes;
use crate::rows::Rows;
use crate::saver::Saver;
use crate::storage::Storage;

/// The transactions of a test.
pub(crate) struct Transactions<'a> {
    pub(crate) save: &'a Save,
    pub(crate) databases: &'a [Database],
    pub(crate) statements: Vec<Prepared<'a>>,
    pub(crate) rows: Rows,
    pub(crate) content: Content,
    pub(crate) sizes: Sizes,
    pub(crate) storage: Rc<dyn Storage>,
}

/// What SQLite did instead of atomic writes that the filesystem refused.
pub(crate) fn refused(save: &Save, count: u64) -> Option<Downgrade> {
    (count > 0).then(|| Downgrade {
        requested: format!("atomic writes in {}", save.name),
        effective: format!("{count} refused: those commits used the rollback journal"),
        reason: "the filesystem refused them, as F2FS does when memory or space is short"
            .to_owned(),
    })
}

/// The statement of a save, prepared for each database.
pub(crate) fn prepared_statements<'a>(
    save: &Save,
    databases: &'a [Database],
) -> Result<Vec<Prepared<'a>>, SqliteError> {
    let prepared = databases.iter().map(|database| {
        let prepared = database.connection.prepare(sql_of(save.statement));
        prepared.map_err(|error| database.failure("prepare", &error))
    });
    prepared.collect()
}

impl Saver for Transactions<'_> {
    fn most_of_a_save(&self) -> Bytes {
        most_of_a_save(self.save)
    }

    /// Bytes of content that one save inserts, updates or deletes.
    fn content_of_a_save(&self) -> Bytes {
        let rows = u64::from(self.save.databases.max(1)) * u64::from(self.save.statements);
        Bytes(self.content.row_bytes().0.saturating_mul(rows))
    }

    fn has_run_out(&self) -> bool {
        self.rows.run_out()
    }

    fn most_to_put_back(&self) -> Bytes {
        most_to_prepare(self.save)
    }

    fn put_back(&mut self) -> Result<u64, SqliteError> {
        let added = self.rows.add(u64::MAX);
        let (content, databases) = (&mut self.content, self.databases);
        databases.iter().try_for_each(|database| database.insert_rows(added.clone(), content))?;
        Ok((added.end() - added.start() + 1) as u64)
    }

    fn make_ready(&mut self, number: u64) -> Result<(), SqliteError> {
        // The rows of a transaction of several statements are bound within it.
        if self.save.statements > 1 {
            return Ok(());
        }
        let row = self.next_row()?;
        (0..self.databases.len()).try_for_each(|index| self.bind(index, row, number))
    }

    fn save(&mut self, number: u64) -> Result<(), SqliteError> {
        match self.save.statements {
            1 => (0..self.databases.len()).try_for_each(|index| self.execute(index)),
            statements => self.transaction(statements, number),
        }
    }

    fn grew(&mut self) -> Result<bool, SqliteError> {
        self.sizes.grew().map_err(|errno| {
            let path = self.databases.first().map(|database| database.path.clone());
            SqliteError::os("find", &path.unwrap_or_default(), errno)
        })
    }

    fn size(&self) -> Bytes {
        self.sizes.total()
    }
}

impl Transactions<'_> {
    /// Several statements in one transaction of each database, each statement of a row of its own. Making
    /// and binding a row's content, which takes less than a microsecond for 100 bytes, is within the
    /// save's latency here.
    fn transaction(&mut self, statements: u32, number: u64) -> Result<(), SqliteError> {
        let rows = (0..statements).map(|_| self.next_row()).collect::<Result<Vec<i64>, _>>()?;
        for (index, database) in self.databases.iter().enumerate() {
            database.begin()?;
            for row in &rows {
                self.bind(index, *row, number)?;
                self.execute(index)?;
            }
            database.commit()?;
        }
        Ok(())
    }

    /// Executes the bound statement of a database.
    fn execute(&mut self, index: usize) -> Result<(), SqliteError> {
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
    fn next_row(&mut self) -> Result<i64, SqliteError> {
        self.rows.next().ok_or_else(|| {
            let path = self.databases.first().map(|database| database.path.clone());
            let reason = "there is no row left to change".to_owned();
            SqliteError::wrong("save to", &path.unwrap_or_default(), reason)
        })
    }

    /// Makes the content of a row and binds it; SQLite copies it.
    fn bind(&mut self, index: usize, row: i64, number: u64) -> Result<(), SqliteError> {
        let generation = (number as u32).wrapping_add(1);
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
