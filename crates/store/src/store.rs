//! A store of run files: a folder with an index, or a database.

use std::collections::HashMap;
use std::path::PathBuf;

use crate::error::StoreError;
use crate::folder;
use crate::outcome::{Added, Outcome};
use crate::sqlite::Index;
use crate::table::Table;

/// The place where a team keeps its runs.
pub enum Store {
    /// A folder of run files with an index.
    Folder(FolderStore),
    /// A database of PostgreSQL, which holds the run files too.
    #[cfg(feature = "postgres")]
    Postgres(Box<crate::postgres::Database>),
}

/// A folder of run files, and its index.
pub struct FolderStore {
    folder: PathBuf,
    index: Index,
}

impl Store {
    /// Opens a store: a folder, which is created if it does not exist, or
    /// `postgres://USER@HOST/DATABASE`. Updates its index.
    ///
    /// # Errors
    /// The folder or its index can't be used; the server can't be reached.
    pub fn open(place: &str) -> Result<Store, StoreError> {
        if place.starts_with("postgres://") || place.starts_with("postgresql://") {
            #[cfg(feature = "postgres")]
            return Ok(Store::Postgres(Box::new(crate::postgres::Database::open(place)?)));
            #[cfg(not(feature = "postgres"))]
            return Err(StoreError::NoPostgres);
        }
        let folder = PathBuf::from(place);
        std::fs::create_dir_all(&folder).map_err(|error| StoreError::Io {
            operation: "make the folder",
            path: folder.clone(),
            error,
        })?;
        let index = Index::open(&folder)?;
        Ok(Store::Folder(FolderStore { folder, index }))
    }

    /// Adds run files. A file that can't be added is refused with the reason; the others are still
    /// added.
    pub fn add(&mut self, paths: &[PathBuf]) -> Result<Vec<Added>, StoreError> {
        match self {
            Store::Folder(store) => store.add(paths),
            #[cfg(feature = "postgres")]
            Store::Postgres(database) => database.add(paths),
        }
    }

    /// The result of a statement that reads the tables `runs` and `phases`.
    pub fn query(&mut self, sql: &str) -> Result<Table, StoreError> {
        match self {
            Store::Folder(store) => store.index.query(sql),
            #[cfg(feature = "postgres")]
            Store::Postgres(database) => database.query(sql),
        }
    }
}

impl FolderStore {
    fn add(&mut self, paths: &[PathBuf]) -> Result<Vec<Added>, StoreError> {
        let lock = folder::Lock::of(&self.folder)?;
        // Include what others have added since this store was opened.
        self.index = Index::open(&self.folder)?;
        let mut added = Vec::with_capacity(paths.len());
        // Files that the index does not know yet, by hash.
        let mut fresh: HashMap<String, String> = HashMap::new();
        for path in paths {
            let known = |sha256: &str| match fresh.get(sha256) {
                Some(name) => Ok(Some(name.clone())),
                None => self.named(sha256),
            };
            let (sha256, outcome) = folder::add(&self.folder, path, known)?;
            if let Outcome::New { name, .. } = &outcome {
                fresh.insert(sha256, name.clone());
            }
            added.push(Added { from: path.clone(), outcome });
            if let Some(lock) = &lock {
                lock.has_added();
            }
        }
        self.index = Index::open(&self.folder)?;
        Ok(added.into_iter().map(|it| self.settled(it)).collect())
    }

    /// The name of the file with these contents.
    fn named(&self, sha256: &str) -> Result<Option<String>, StoreError> {
        let sql = format!("SELECT file FROM runs WHERE file_sha256 = '{sha256}' ORDER BY file");
        let table = self.index.query(&sql)?;
        Ok(table.rows.first().and_then(|row| row.first()).map(crate::table::Value::plain))
    }

    /// The added file with its standing among the others, since it may be a copy.
    fn settled(&self, added: Added) -> Added {
        let Outcome::New { name, standing, reason } = added.outcome else { return added };
        let found = self.index.standing(&name).unwrap_or((standing, reason));
        let (standing, reason) = found;
        Added { outcome: Outcome::New { name, standing, reason }, ..added }
    }
}
