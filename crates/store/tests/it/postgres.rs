//! A store in a real PostgreSQL, started for the test.
#![cfg(feature = "postgres")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{put, three};
use flashlag_store::{Outcome, Standing, Store, Table, phases_table, read_folder, runs_table};
use flashlag_testing::sample;

/// A server of its own, on a socket in its folder.
struct Server {
    programs: PathBuf,
    folder: tempfile::TempDir,
}

impl Server {
    fn start() -> Result<Server, String> {
        let programs =
            programs().ok_or("there is no PostgreSQL (install the package postgresql)")?;
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let server = Server { programs, folder };
        let owned = Command::new("chown").arg("postgres").arg(server.folder.path()).status();
        if !owned.is_ok_and(|status| status.success()) {
            return Err("a server that does not run as root needs root to start it".to_owned());
        }
        let data = server.folder.path().join("data");
        server.run("initdb", &["-A", "trust", "-U", "flashlag", "-D", data.to_str().unwrap()])?;
        let options =
            format!("-k {} -c listen_addresses= -c fsync=off", server.folder.path().display());
        let log = server.folder.path().join("log");
        let (data, log) = (data.to_str().unwrap(), log.to_str().unwrap());
        server.run("pg_ctl", &["start", "-w", "-D", data, "-l", log, "-o", &options])?;
        Ok(server)
    }

    /// The server refuses to run as root.
    fn run(&self, program: &str, arguments: &[&str]) -> Result<(), String> {
        let mut command = Command::new("runuser");
        command.args(["-u", "postgres", "--"]).arg(self.programs.join(program)).args(arguments);
        let done = command.current_dir(self.folder.path()).output();
        let done = done.map_err(|error| format!("runuser: {error}"))?;
        if done.status.success() {
            Ok(())
        } else {
            Err(format!("{program}: {}", String::from_utf8_lossy(&done.stderr)))
        }
    }

    /// The address for a role that may all.
    fn url(&self) -> String {
        self.url_of("flashlag")
    }

    fn url_of(&self, role: &str) -> String {
        let socket = self.folder.path().to_str().unwrap().replace('/', "%2F");
        format!("postgres://{role}@{socket}/postgres")
    }

    /// A store as one who may only read it has it, as the refusal of a superuser says.
    fn reader(&self) -> Store {
        let mut owner = Store::open(&self.url()).unwrap();
        let refused = owner.query("SELECT 1").unwrap_err().to_string();
        let (_, statements) = refused.split_once("only reads: ").unwrap();
        let (statements, _) = statements.split_once(" then connect").unwrap();
        let again = "SELECT 1 FROM pg_roles WHERE rolname = 'reader'";
        let mut client = postgres::Client::connect(&self.url(), postgres::NoTls).unwrap();
        let is_there = !client.query(again, &[]).unwrap().is_empty();
        let statements = if is_there {
            statements.replace("CREATE ROLE reader LOGIN;", "")
        } else {
            statements.to_owned()
        };
        client.batch_execute(&statements).unwrap();
        Store::open(&self.url_of("reader")).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let data = self.folder.path().join("data");
        let _ = self.run("pg_ctl", &["stop", "-m", "immediate", "-D", data.to_str().unwrap()]);
    }
}

/// Debian keeps the server's programs apart, by version.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let folders = versions.filter_map(|version| Some(version.ok()?.path().join("bin")));
    folders.filter(|folder| folder.join("initdb").exists()).max()
}

fn everything(store: &mut Store) -> [Table; 2] {
    [("runs", "file"), ("phases", "file, phase_index")].map(|(table, order)| {
        store.query(&format!("SELECT * FROM {table} ORDER BY {order}")).unwrap()
    })
}

fn added(store: &mut Store, paths: &[PathBuf]) -> Vec<Outcome> {
    store.add(paths).unwrap().into_iter().map(|added| added.outcome).collect()
}

fn as_made_again(server: &Server) -> [Table; 2] {
    everything(&mut server.reader())
}

#[test]
fn a_real_server_has_the_tables_that_the_files_make_and_makes_them_again() {
    let server = flashlag_need::or_skip!(Server::start());
    let folder = tempfile::tempdir().unwrap();
    let mut paths: Vec<PathBuf> =
        three().iter().map(|(name, run)| put(folder.path(), name, run)).collect();
    paths.push(put(folder.path(), "d.json", &{
        crate::common::changed(sample::quick(), |run| {
            run.label = Some("Nul\u{0} 'quote'".to_owned())
        })
    }));
    let mut store = Store::open(&server.url()).unwrap();
    let outcomes = added(&mut store, &paths);
    assert!(matches!(&outcomes[0], Outcome::New { standing: Standing::Good, .. }), "{outcomes:?}");
    assert!(matches!(&outcomes[3], Outcome::New { standing: Standing::Copy, .. }), "{outcomes:?}");
    let entries = read_folder(folder.path()).unwrap();
    let before = everything(&mut server.reader());
    assert_eq!(before, [runs_table(&entries), phases_table(&entries)]);
    // A file that is known, and one that is no run.
    let old = folder.path().join("old.json");
    std::fs::write(&old, "{\"schema\": \"flashlag.run/0\"}").unwrap();
    let outcomes = added(&mut store, &[paths[0].clone(), old]);
    assert!(matches!(&outcomes[0], Outcome::Known { name } if name == "a.json"), "{outcomes:?}");
    assert!(matches!(&outcomes[1], Outcome::Refused { .. }), "{outcomes:?}");
    drop(store);
    sql(&server, "UPDATE flashlag.made SET by = 'another'; DELETE FROM flashlag.phases");
    assert_eq!(as_made_again(&server), before);
}

/// A statement of somebody who may write.
fn sql(server: &Server, statements: &str) {
    let mut client = postgres::Client::connect(&server.url(), postgres::NoTls).unwrap();
    client.batch_execute(statements).unwrap();
}

#[test]
fn a_query_of_a_real_server_can_not_write() {
    let server = flashlag_need::or_skip!(Server::start());
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&server.url()).unwrap();
    added(&mut store, &[put(folder.path(), "a.json", &sample::quick())]);
    let mut store = server.reader();
    for sql in [
        "DELETE FROM runs",
        "WITH gone AS (DELETE FROM runs RETURNING *) SELECT * FROM gone",
        "SELECT 1; COMMIT; DELETE FROM runs",
        "SELECT pg_advisory_xact_lock(1), nothing FROM nowhere",
    ] {
        let error = store.query(sql).unwrap_err().to_string();
        assert!(error.contains("docs/store.md"), "{sql}: {error}");
    }
    let count = store.query("SELECT count(*) AS n FROM runs").unwrap();
    assert_eq!(count.rows[0][0].plain(), "1");
}

#[test]
fn a_query_of_a_role_that_may_read_the_servers_files_is_refused() {
    let server = flashlag_need::or_skip!(Server::start());
    let mut store = Store::open(&server.url()).unwrap();
    sql(&server, "CREATE ROLE files LOGIN IN ROLE pg_read_server_files");
    sql(&server, "GRANT USAGE ON SCHEMA flashlag TO files; GRANT SELECT ON flashlag.made TO files");
    let mut files = Store::open(&server.url_of("files")).unwrap();
    for store in [&mut store, &mut files] {
        for sql in
            ["SELECT lo_import('/etc/passwd')", "SELECT pg_read_file('/etc/passwd')", "SELECT 1"]
        {
            let error = store.query(sql).unwrap_err().to_string();
            assert!(error.contains("CREATE ROLE reader LOGIN"), "{sql}: {error}");
        }
    }
    // Whoever only reads tables can't take another role, either.
    let mut reader = server.reader();
    for sql in [
        "SELECT pg_read_file('/etc/passwd')",
        "SELECT set_config('role', 'flashlag', false), pg_read_file('/etc/passwd')",
        "SELECT lo_import('/etc/passwd')",
    ] {
        assert!(reader.query(sql).is_err(), "{sql}");
    }
}

#[test]
fn a_server_that_does_not_answer_is_given_up() {
    let server = flashlag_need::or_skip!(Server::start());
    drop(Store::open(&server.url()).unwrap());
    let data = server.folder.path().join("data/postmaster.pid");
    let pid = std::fs::read_to_string(data).unwrap().lines().next().unwrap().to_owned();
    let signal = |name: &str| {
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    };
    signal("-STOP");
    let begun = std::time::Instant::now();
    let opened = Store::open(&server.url()).map(drop);
    signal("-CONT");
    let error = opened.unwrap_err().to_string();
    assert!(error.contains("has not answered for 15 s"), "{error}");
    assert!(begun.elapsed() >= std::time::Duration::from_secs(15));
}

#[test]
fn a_server_that_is_not_there_is_named_with_the_reason() {
    let nowhere = "postgres://flashlag@127.0.0.1:1/x";
    let Err(error) = Store::open(nowhere) else { panic!("opened") };
    assert!(error.to_string().contains("cannot be reached"), "{error}");
    assert!(!Path::new(nowhere).exists());
}
