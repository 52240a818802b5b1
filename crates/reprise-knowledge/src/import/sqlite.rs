//! Rows of another program's database, which is never written to and may be in use.

use std::io::Read;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row};

use crate::prelude::*;

/// Whether a file begins so.
pub(super) fn begins(file: &Path, with: &[u8]) -> Result<bool, ImportError> {
    let mut beginning = Vec::new();
    open_path(file, Access::Read)?
        .take(with.len() as u64)
        .read_to_end(&mut beginning)?;
    Ok(beginning == with)
}

pub(super) fn is_database(file: &Path) -> Result<bool, ImportError> {
    begins(file, b"SQLite format 3\0")
}

/// A database by its name in a folder of its own.
pub(super) fn inside(path: &Path, name: &str) -> PathBuf {
    if path.is_dir() {
        path.join(name)
    } else {
        path.to_owned()
    }
}

pub(super) struct Database {
    path: PathBuf,
    connection: Connection,
    tables: Vec<String>,
}

impl Database {
    pub(super) fn open(path: &Path) -> Result<Self, ImportError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let open = || -> rusqlite::Result<Connection> {
            let connection = Connection::open_with_flags(path, flags)?;
            // A lock is waited for a while; a header that is none shows below.
            connection.busy_timeout(std::time::Duration::from_secs(5))?;
            Ok(connection)
        };
        let mut database = Self {
            path: path.to_owned(),
            connection: open().map_err(|error| damaged(path, &error))?,
            tables: Vec::new(),
        };
        let all = "SELECT name FROM sqlite_master WHERE type = 'table'";
        let mut tables = Vec::new();
        database.rows(all, [], |row| {
            tables.extend(text(row, "name").map(str::to_owned));
            Ok(())
        })?;
        database.tables = tables;
        Ok(database)
    }

    /// The same of a `kind` that is known by a table.
    pub(super) fn with(path: &Path, table: &str, kind: &'static str) -> Result<Self, ImportError> {
        let database = Self::open(path)?;
        if database.has(table) {
            return Ok(database);
        }
        Err(ImportError::NotOfKind {
            path: path.to_owned(),
            kind,
            why: format!("it has no table `{table}`"),
        })
    }

    pub(super) fn has(&self, table: &str) -> bool {
        self.tables.iter().any(|name| name == table)
    }

    /// The rows of a table in the order of a column; none where it is missing.
    pub(super) fn table(
        &self,
        table: &str,
        by: &str,
        each: impl FnMut(&Map<String, Value>) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        if !self.has(table) {
            return Ok(());
        }
        self.rows(&format!("SELECT * FROM {table} ORDER BY {by}"), [], each)
    }

    /// The rows of a query, each as an object of its columns.
    pub(super) fn rows(
        &self,
        query: &str,
        parameters: impl rusqlite::Params,
        mut each: impl FnMut(&Map<String, Value>) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        let failed = |error: rusqlite::Error| damaged(&self.path, &error);
        let mut statement = self.connection.prepare_cached(query).map_err(failed)?;
        let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let mut rows = statement.query(parameters).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            each(&fields(&names, row))?;
        }
        Ok(())
    }
}

fn damaged(path: &Path, error: &rusqlite::Error) -> ImportError {
    ImportError::Database {
        path: path.to_owned(),
        why: error.to_string(),
    }
}

fn fields(names: &[String], row: &Row<'_>) -> Map<String, Value> {
    let value = |at: usize| match row.get_ref(at) {
        Ok(ValueRef::Integer(number)) => json!(number),
        Ok(ValueRef::Real(number)) => json!(number),
        Ok(ValueRef::Text(text)) => json!(String::from_utf8_lossy(text)),
        Ok(ValueRef::Blob(bytes)) => match std::str::from_utf8(bytes) {
            Ok(text) => json!(text),
            Err(_) => Value::Null,
        },
        Ok(ValueRef::Null) | Err(_) => Value::Null,
    };
    names
        .iter()
        .enumerate()
        .map(|(at, name)| (name.clone(), value(at)))
        .collect()
}
