//! PostgreSQL, through `tokio-postgres` over our sockets, without a runtime of tokio's.

#[path = "../../crates/sisal/tests/common/mod.rs"]
mod common;

use common::watchdog::guarded;
use common::{background, shut_down};
use rustix::process::Signal;
use sisal::net::TcpStream;
use sisal::{JoinHandle, block_on, spawn, spawn_future};
use sisal_tests_real::{Folder, Owner, Run, Server, program};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config, Error, NoTls};

const USER: &str = "tester";

/// A server with a fresh database, and the folder it is in.
struct Postgres {
    // Dropped in this order.
    server: Server,
    _folder: Folder,
}

impl Postgres {
    fn start() -> Option<Postgres> {
        let (initdb, postgres) = (program("initdb")?, program("postgres")?);
        let owner = Owner::not_root("postgres");
        let folder = Folder::of(owner);
        let data = folder.path().join("data");
        let mut command = initdb.command();
        command.arg("--pgdata").arg(&data).current_dir(folder.path());
        command.args(["--username", USER, "--auth", "trust", "--encoding", "UTF8", "--locale", "C", "--no-sync"]);
        owner.run(&mut command);
        Run::of(command).output();
        // By this signal it ends without waiting for its clients.
        let server = Server::start(Signal::QUIT, "ready to accept connections", |port| {
            let mut command = postgres.command();
            command.arg("-D").arg(&data).args(["-h", "127.0.0.1", "-p", &port.to_string(), "-k", "", "-F"]);
            command.current_dir(folder.path());
            owner.run(&mut command);
            command
        });
        Some(Postgres { server, _folder: folder })
    }

    fn address(&self) -> SocketAddr {
        self.server.address()
    }
}

/// Connects. A fiber moves what the client sends and gets, and ends with it.
fn connect(server: SocketAddr) -> (Client, JoinHandle<Result<(), Error>>) {
    let stream = TcpStream::connect(server).unwrap();
    stream.set_nodelay(true).unwrap();
    let mut config = Config::new();
    config.user(USER).dbname("postgres");
    let (client, connection) = block_on(config.connect_raw(stream, NoTls)).unwrap();
    (client, spawn_future(connection))
}

fn with_server(workers: usize, body: impl FnOnce(SocketAddr) + Send) {
    let Some(postgres) = Postgres::start() else { return };
    let (runtime, address) = (background(workers), postgres.address());
    runtime.run(move || body(address));
    shut_down(runtime);
}

#[test]
fn rows_are_stored_and_found() {
    guarded(|| {
        with_server(2, |server| {
            let (client, connection) = connect(server);
            block_on(async {
                client.batch_execute("CREATE TABLE plants (name TEXT PRIMARY KEY, fibers INT8)").await?;
                let insert = client.prepare("INSERT INTO plants VALUES ($1, $2)").await?;
                for (name, fibers) in [("sisal", 1_000_i64), ("flax", 30), ("nettle", 7)] {
                    assert_eq!(client.execute(&insert, &[&name, &fibers]).await?, 1);
                }
                let rows = client.query("SELECT * FROM plants WHERE fibers > $1 ORDER BY name", &[&10_i64]).await?;
                let found: Vec<(String, i64)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
                assert_eq!(found, [("flax".to_owned(), 30), ("sisal".to_owned(), 1_000)]);

                // An error of the server's is an error of the query, and the connection lives on.
                let error = client.execute(&insert, &[&"flax", &0_i64]).await.unwrap_err();
                assert_eq!(error.code(), Some(&SqlState::UNIQUE_VIOLATION));
                client.query_one("SELECT 1", &[]).await
            })
            .unwrap();
            drop(client);
            connection.join().unwrap().unwrap();
        });
    });
}

#[test]
fn megabytes_come_back_unchanged() {
    guarded(|| {
        with_server(1, |server| {
            let (client, _connection) = connect(server);
            let bytes: Vec<u8> =
                (0..4 << 20).map(|place: u32| (place.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
            let row = block_on(client.query_one("SELECT $1::BYTEA", &[&bytes])).unwrap();
            assert!(row.get::<_, &[u8]>(0) == bytes);
        });
    });
}

#[test]
fn fibers_share_a_connection_and_have_their_own() {
    const FIBERS: i32 = 20;
    const ROUNDS: i32 = 20;
    guarded(|| {
        with_server(2, |server| {
            let (client, _connection) = connect(server);
            block_on(client.batch_execute("CREATE TABLE counts (number INT4)")).unwrap();
            // Their queries go out one behind the other, without waiting for the answers.
            let shared = Arc::new(client);
            let sharing = (0..FIBERS).map(|fiber| {
                let client = Arc::clone(&shared);
                spawn(move || (0..ROUNDS).for_each(|round| insert(&client, fiber * ROUNDS + round)))
            });
            let sharing: Vec<_> = sharing.collect();
            let own = (FIBERS..2 * FIBERS).map(|fiber| {
                spawn(move || {
                    let (client, connection) = connect(server);
                    (0..ROUNDS).for_each(|round| insert(&client, fiber * ROUNDS + round));
                    drop(client);
                    connection.join().unwrap().unwrap();
                })
            });
            sharing.into_iter().chain(own.collect::<Vec<_>>()).for_each(|fiber| fiber.join().unwrap());
            let counts =
                block_on(shared.query_one("SELECT COUNT(*), COUNT(DISTINCT number) FROM counts", &[])).unwrap();
            let expected = i64::from(2 * FIBERS * ROUNDS);
            assert_eq!((counts.get::<_, i64>(0), counts.get::<_, i64>(1)), (expected, expected));
        });
    });
}

fn insert(client: &Client, number: i32) {
    let row = block_on(client.query_one("INSERT INTO counts VALUES ($1) RETURNING number", &[&number])).unwrap();
    assert_eq!(row.get::<_, i32>(0), number);
}

#[test]
fn a_timeout_ends_the_wait_for_a_query() {
    guarded(|| {
        with_server(1, |server| {
            let (client, _connection) = connect(server);
            let waited = sisal::timeout(Duration::from_millis(20), || {
                sisal::try_block_on(client.query_one("SELECT pg_sleep(3600)", &[])).map(drop)
            });
            assert_eq!(waited.unwrap_err().cause, sisal::Cause::Deadline);
            let (other, _connection) = connect(server);
            assert_eq!(block_on(other.query_one("SELECT 7", &[])).unwrap().get::<_, i32>(0), 7);
        });
    });
}
