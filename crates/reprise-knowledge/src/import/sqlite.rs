//! Reads rows of another program's database, which is never written to and may be in use.

use std::io::Read;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row};

use crate::prelude::*;

/// Whether a file begins with these bytes.
pub(super) fn begins_with(file: &Path, with: &[u8]) -> Result<bool, ImportError> {
    let mut beginning = Vec::new();
    open_path(file, OpenMode::Read)?
        .take(with.len() as u64)
        .read_to_end(&mut beginning)?;
    Ok(beginning == with)
}

pub(super) fn is_database(file: &Path) -> Result<bool, ImportError> {
    begins_with(file, b"SQLite format 3\0")
}

/// Returns the path of a database: `name` in a folder, or the path itself if it is no folder.
pub(super) fn database_path(path: &Path, name: &str) -> PathBuf {
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
            // Waits for a lock; a broken header is found by the first query.
            connection.busy_timeout(std::time::Duration::from_secs(5))?;
            Ok(connection)
        };
        let mut database = Self {
            path: path.to_owned(),
            connection: open().map_err(|error| database_error(path, &error))?,
            tables: Vec::new(),
        };
        let all = "SELECT name FROM sqlite_master WHERE type = 'table'";
        let mut tables = Vec::new();
        database.for_each_row(all, [], |row| {
            tables.extend(non_blank_text(row, "name").map(str::to_owned));
            Ok(())
        })?;
        database.tables = tables;
        Ok(database)
    }

    /// Opens a database that must have a table, by which its `kind` is recognised.
    pub(super) fn open_with_table(
        path: &Path,
        table: &str,
        kind: &'static str,
    ) -> Result<Self, ImportError> {
        let database = Self::open(path)?;
        if database.has_table(table) {
            return Ok(database);
        }
        Err(ImportError::NotOfKind {
            path: path.to_owned(),
            kind,
            why: format!("it has no table `{table}`"),
        })
    }

    pub(super) fn has_table(&self, table: &str) -> bool {
        self.tables.iter().any(|name| name == table)
    }

    /// Passes the rows of a table to `each`, in the order of a column; none if the table is
    /// missing.
    pub(super) fn for_each_table_row(
        &self,
        table: &str,
        by: &str,
        each: impl FnMut(&Map<String, Value>) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        if !self.has_table(table) {
            return Ok(());
        }
        let columns = self.readable_columns(table)?;
        if columns.is_empty() {
            return Ok(());
        }
        let columns = columns.join(", ");
        self.for_each_row(
            &format!("SELECT {columns} FROM {table} ORDER BY {by}"),
            [],
            each,
        )
    }

    /// Returns the quoted names of a table's columns.
    ///
    /// A name that is no UTF-8 is left out: `rusqlite` panics when it reads one from a result, so
    /// no query here asks for `*`.
    fn readable_columns(&self, table: &str) -> Result<Vec<String>, ImportError> {
        let mut columns = Vec::new();
        let all = "SELECT name FROM pragma_table_info(?1)";
        self.for_each_row(all, [table], |row| {
            let name = non_blank_text(row, "name").filter(|name| !name.contains('\u{fffd}'));
            columns.extend(name.map(|name| format!("\"{}\"", name.replace('"', "\"\""))));
            Ok(())
        })?;
        Ok(columns)
    }

    /// Passes the rows of a query to `each`, each as an object of its columns.
    pub(super) fn for_each_row(
        &self,
        query: &str,
        parameters: impl rusqlite::Params,
        mut each: impl FnMut(&Map<String, Value>) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        let failed = |error: rusqlite::Error| database_error(&self.path, &error);
        let mut statement = self.connection.prepare(query).map_err(failed)?;
        let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let mut rows = statement.query(parameters).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            each(&row_to_object(&names, row))?;
        }
        Ok(())
    }
}

fn database_error(path: &Path, error: &rusqlite::Error) -> ImportError {
    ImportError::Database {
        path: path.to_owned(),
        why: error.to_string(),
    }
}

fn row_to_object(names: &[String], row: &Row<'_>) -> Map<String, Value> {
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
