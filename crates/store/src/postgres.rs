//! A store in PostgreSQL: the run files and the same two tables, in a schema `flashlag` of a database.

use std::path::PathBuf;
use std::time::Duration;

use postgres::types::{FromSql, ToSql, Type};
use postgres::{Client, Config, NoTls, SimpleQueryMessage, Transaction};

use crate::copies::{before_copies, find_copies};
use crate::entry::Entry;
use crate::error::StoreError;
use crate::outcome::{Added, Outcome};
use crate::read::{bytes_of, entry_of};
use crate::rows::{PHASES, RUNS, cells};
use crate::sql::{create, indexes, insert, made_by, refused, tables};
use crate::standing::Standing;
use crate::table::{Column, Kind, Table, Value};

/// Serializes writers: any number that nobody else uses.
const LOCK: i64 = 0x666c_6173_686c_6167;

/// How long a server may take to answer; a stopped one never does.
const TO_CONNECT: Duration = Duration::from_secs(15);
const TO_ANSWER: Duration = Duration::from_secs(60);
/// Adding reads run files, and waits for other processes that add.
const TO_ADD: Duration = Duration::from_secs(300);

/// Roles of PostgreSQL whose members read files of the server, or run programs there.
const PRIVILEGED: &str = "SELECT rolsuper \
     OR pg_has_role(rolname, 'pg_read_server_files', 'MEMBER') \
     OR pg_has_role(rolname, 'pg_write_server_files', 'MEMBER') \
     OR pg_has_role(rolname, 'pg_execute_server_program', 'MEMBER') \
     FROM pg_roles WHERE rolname = session_user";

/// A database.
pub struct Database {
    /// Absent after the server did not answer in time: it may still be working.
    client: Option<Client>,
}

/// Runs something that waits for a server, with a timeout. What is left behind ends with the
/// program.
fn within<T: Send + 'static>(
    operation: &'static str,
    patience: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, StoreError> {
    let (send, receive) = std::sync::mpsc::sync_channel(1);
    std::thread::spawn(move || send.send(work()));
    receive.recv_timeout(patience).map_err(|_| StoreError::Postgres {
        operation,
        reason: format!(
            "the server has not answered for {} s: is it stopped, or is another program of this name there?",
            patience.as_secs()
        ),
    })
}

impl Database {
    /// Connects, and creates the tables if they are missing or of another version.
    pub fn open(url: &str) -> Result<Database, StoreError> {
        let mut config: Config = url.parse().map_err(fail("read the address"))?;
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(TO_CONNECT);
        }
        let client = within("be reached", TO_CONNECT, move || config.connect(NoTls))?;
        let client = client.map_err(fail("be reached"))?;
        let mut database = Database { client: Some(client) };
        if !database.with("read its tables", TO_ANSWER, |client| Ok(is_current(client)))? {
            database.with("make the tables", TO_ADD, prepare)?;
        }
        database.with("use its tables", TO_ANSWER, |client| {
            let settings = format!(
                "SET search_path TO flashlag, public; SET statement_timeout = {}",
                TO_ANSWER.as_millis()
            );
            client.batch_execute(&settings).map_err(fail("use its tables"))
        })?;
        Ok(database)
    }

    /// Uses the server, which must answer in time.
    fn with<T: Send + 'static>(
        &mut self,
        operation: &'static str,
        patience: Duration,
        work: impl FnOnce(&mut Client) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let gone = || StoreError::Postgres {
            operation,
            reason: "the server did not answer before".to_owned(),
        };
        let mut client = self.client.take().ok_or_else(gone)?;
        let (client, done) = within(operation, patience, move || {
            let done = work(&mut client);
            (client, done)
        })?;
        self.client = Some(client);
        done
    }

    /// Adds run files, all in one transaction.
    pub fn add(&mut self, paths: &[PathBuf]) -> Result<Vec<Added>, StoreError> {
        let paths = paths.to_vec();
        self.with("add run files", TO_ADD, move |client| add(client, &paths))
    }

    /// The result of a statement, in a read-only transaction of a role that can read nothing but
    /// tables.
    pub fn query(&mut self, sql: &str) -> Result<Table, StoreError> {
        if let Some(reason) = refused(sql) {
            return Err(StoreError::Query(reason));
        }
        let sql = sql.to_owned();
        let patience = TO_ANSWER + TO_CONNECT;
        self.with("answer the query", patience, move |client| {
            let privileged = client.query_one(PRIVILEGED, &[]).map(|row| row.get::<_, bool>(0));
            if privileged.map_err(|error| StoreError::Query(reason_of(&error)))? {
                return Err(StoreError::Query(PRIVILEGED_ROLE.to_owned()));
            }
            read(client, &sql).map_err(|error| StoreError::Query(reason_of(&error)))
        })
    }
}

/// Why a role may not query.
const PRIVILEGED_ROLE: &str = "the role that connects is a superuser or may read the server's files, and a \
    statement could do that too. Make one that only reads: CREATE ROLE reader LOGIN; \
    GRANT USAGE ON SCHEMA flashlag TO reader; GRANT SELECT ON ALL TABLES IN SCHEMA flashlag TO reader; then \
    connect as postgres://reader@";

/// Whether the tables exist and are of this version. A role that may only read them need not create
/// them.
fn is_current(client: &mut Client) -> bool {
    let found = client.query_one("SELECT max(by) FROM flashlag.made", &[]);
    let found = found.ok().and_then(|row| row.get::<_, Option<String>>(0));
    found.as_deref() == Some(made_by().as_str())
}

/// The result of a statement.
fn read(client: &mut Client, sql: &str) -> Result<Table, postgres::Error> {
    let mut read = client.build_transaction().read_only(true).start()?;
    let statement = read.prepare(sql)?;
    let columns: Vec<Column> = statement
        .columns()
        .iter()
        .map(|it| Column { name: it.name().to_owned(), kind: kind_of(it.type_()) })
        .collect();
    let mut rows = Vec::new();
    for message in read.simple_query(sql.trim().trim_end_matches(';'))? {
        if let SimpleQueryMessage::Row(row) = message {
            let cell = |at: usize| value_of(row.get(at), columns.get(at).map(|it| it.kind));
            rows.push((0..columns.len()).map(cell).collect());
        }
    }
    Ok(Table { columns, rows })
}

/// Creates the tables if they are missing or of another version.
fn prepare(client: &mut Client) -> Result<(), StoreError> {
    let operation = "make the tables";
    let mut change = client.transaction().map_err(fail(operation))?;
    lock(&mut change).map_err(fail(operation))?;
    change
        .batch_execute(
            "CREATE SCHEMA IF NOT EXISTS flashlag; \
             CREATE TABLE IF NOT EXISTS flashlag.made (by TEXT); \
             CREATE TABLE IF NOT EXISTS flashlag.files \
             (file TEXT PRIMARY KEY, sha256 TEXT UNIQUE, contents BYTEA)",
        )
        .map_err(fail(operation))?;
    let found = change
        .query_one("SELECT max(by) FROM flashlag.made", &[])
        .map_err(fail(operation))?
        .get::<_, Option<String>>(0);
    if found.as_deref() != Some(made_by().as_str()) {
        let again = |change: &mut Transaction<'_>| -> Result<(), postgres::Error> {
            for (name, columns) in tables() {
                let name = format!("flashlag.{name}");
                change.batch_execute(&format!("DROP TABLE IF EXISTS {name}"))?;
                change.batch_execute(&create(&name, &columns, type_of))?;
            }
            change.batch_execute("DELETE FROM flashlag.made")?;
            change.execute("INSERT INTO flashlag.made VALUES ($1)", &[&made_by()]).map(drop)
        };
        again(&mut change).map_err(fail(operation))?;
        change.batch_execute(&indexes("flashlag.")).map_err(fail(operation))?;
        index(&mut change).map_err(fail("make the tables again"))?;
    }
    change.commit().map_err(fail(operation))
}

/// Adds run files, all in one transaction.
fn add(client: &mut Client, paths: &[PathBuf]) -> Result<Vec<Added>, StoreError> {
    let operation = "add run files";
    let mut change = client.transaction().map_err(fail(operation))?;
    lock(&mut change).map_err(fail(operation))?;
    let mut added = Vec::with_capacity(paths.len());
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let outcome = match bytes_of(path) {
            Ok(bytes) => add_one(&mut change, &name, &bytes).map_err(fail(operation))?,
            Err(error) => Outcome::Refused { reason: format!("cannot be read: {error}") },
        };
        added.push(Added { from: path.clone(), outcome });
    }
    let standings = settle_copies(&mut change).map_err(fail("find copies"))?;
    change.commit().map_err(fail(operation))?;
    for it in &mut added {
        if let Outcome::New { name, standing, reason } = &mut it.outcome
            && let Some(entry) = standings.iter().find(|entry| entry.run.file == *name)
        {
            (*standing, *reason) = (entry.run.standing, entry.run.reason.clone());
        }
    }
    Ok(added)
}

fn lock(change: &mut Transaction<'_>) -> Result<(), postgres::Error> {
    change.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK]).map(drop)
}

fn add_one(
    change: &mut Transaction<'_>,
    name: &str,
    bytes: &[u8],
) -> Result<Outcome, postgres::Error> {
    let mut entry = entry_of(flashlag_units::harmless(name), bytes);
    if entry.run.standing == Standing::Unreadable {
        return Ok(Outcome::Refused { reason: entry.run.reason.unwrap_or_default() });
    }
    let sha256 = entry.run.file_sha256.clone();
    let known = "SELECT file FROM flashlag.files WHERE sha256 = $1";
    if let Some(row) = change.query_opt(known, &[&sha256])? {
        return Ok(Outcome::Known { name: row.get(0) });
    }
    let taken = "SELECT 1 FROM flashlag.files WHERE file = $1";
    if change.query_opt(taken, &[&entry.run.file])?.is_some() {
        let stem = entry.run.file.trim_end_matches(".json");
        entry = entry_of(format!("{stem}-{}.json", sha256.get(..12).unwrap_or(&sha256)), bytes);
    }
    let file = "INSERT INTO flashlag.files VALUES ($1, $2, $3)";
    change.execute(file, &[&entry.run.file, &sha256, &bytes])?;
    store(change, &entry)?;
    let (standing, reason) = (entry.run.standing, entry.run.reason);
    Ok(Outcome::New { name: entry.run.file, standing, reason })
}

fn store(change: &mut Transaction<'_>, entry: &Entry) -> Result<(), postgres::Error> {
    let mut row = |table: &str, values: Vec<Value>| {
        let sql = insert(&format!("flashlag.{table}"), values.len(), '$');
        let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|it| it as _).collect();
        change.execute(&sql, &values).map(drop)
    };
    row("runs", cells(RUNS, &entry.run))?;
    entry.phases.iter().try_for_each(|phase| row("phases", cells(PHASES, &phase.row)))
}

/// Fills the tables from all files in the database.
fn index(change: &mut Transaction<'_>) -> Result<(), postgres::Error> {
    let names = change.query("SELECT file FROM flashlag.files ORDER BY file", &[])?;
    for name in names.iter().map(|row| row.get::<_, String>(0)) {
        let sql = "SELECT contents FROM flashlag.files WHERE file = $1";
        let contents: Vec<u8> = change.query_one(sql, &[&name])?.get(0);
        store(change, &entry_of(name, &contents))?;
    }
    settle_copies(change).map(drop)
}

/// Finds copies over all files; returns the standing of every file.
fn settle_copies(change: &mut Transaction<'_>) -> Result<Vec<Entry>, postgres::Error> {
    let sql = "SELECT file, standing, reason, run, measurement_sha256, copy_of, shared \
               FROM flashlag.runs ORDER BY file";
    let rows = change.query(sql, &[])?;
    let before: Vec<Entry> = rows
        .iter()
        .map(|row| {
            let standing: String = row.get(1);
            let facts = (row.get(3), row.get(4), row.get(5));
            Entry::standing_only(row.get(0), &standing, row.get(2), facts, row.get(6))
        })
        .collect();
    let mut after: Vec<Entry> = before.iter().cloned().map(before_copies).collect();
    find_copies(&mut after);
    for (new, _) in after.iter().zip(&before).filter(|(new, old)| new != old) {
        let sql =
            "UPDATE flashlag.runs SET standing = $2, reason = $3, copy_of = $4 WHERE file = $1";
        let run = &new.run;
        change.execute(sql, &[&run.file, &run.standing.name(), &run.reason, &run.copy_of])?;
    }
    Ok(after)
}

fn type_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Integer => "BIGINT",
        Kind::Real => "DOUBLE PRECISION",
        Kind::Boolean => "BOOLEAN",
        Kind::Text => "TEXT",
    }
}

fn kind_of(kind: &Type) -> Kind {
    match *kind {
        Type::BOOL => Kind::Boolean,
        Type::INT2 | Type::INT4 | Type::INT8 => Kind::Integer,
        Type::FLOAT4 | Type::FLOAT8 | Type::NUMERIC => Kind::Real,
        _ => Kind::Text,
    }
}

/// A value as the server writes it.
fn value_of(text: Option<&str>, kind: Option<Kind>) -> Value {
    let Some(text) = text else { return Value::Null };
    match kind {
        Some(Kind::Integer) => text.parse().map_or(Value::Null, Value::Integer),
        Some(Kind::Real) => text.parse().map_or(Value::Null, Value::Real),
        Some(Kind::Boolean) => Value::Boolean(text == "t"),
        _ => Value::Text(text.to_owned()),
    }
}

impl ToSql for Value {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut postgres::types::private::BytesMut,
    ) -> Result<postgres::types::IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Value::Null => Ok(postgres::types::IsNull::Yes),
            Value::Integer(value) => value.to_sql(kind, out),
            Value::Real(value) => value.to_sql(kind, out),
            Value::Boolean(value) => value.to_sql(kind, out),
            Value::Text(text) => text.to_sql(kind, out),
        }
    }

    fn accepts(kind: &Type) -> bool {
        <i64 as ToSql>::accepts(kind)
            || <f64 as ToSql>::accepts(kind)
            || <bool as ToSql>::accepts(kind)
            || <&str as FromSql>::accepts(kind)
    }

    postgres::types::to_sql_checked!();
}

fn fail(operation: &'static str) -> impl Fn(postgres::Error) -> StoreError {
    move |error| StoreError::Postgres { operation, reason: reason_of(&error) }
}

/// The server's own message, which the library keeps one level down.
fn reason_of(error: &postgres::Error) -> String {
    match error.as_db_error() {
        Some(server) => server.message().to_owned(),
        None => {
            let below = std::error::Error::source(error);
            below.map_or_else(|| error.to_string(), |below| format!("{error}: {below}"))
        }
    }
}
