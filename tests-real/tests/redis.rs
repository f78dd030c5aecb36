//! Redis, through the `redis` crate over our sockets.

#[path = "../../crates/sisal/tests/common/mod.rs"]
mod common;

use common::watchdog::guarded;
use common::{background, shut_down};
use redis::{Commands, ConnectionLike, Parser, RedisResult, Value, cmd, pipe};
use rustix::process::Signal;
use sisal::net::TcpStream;
use sisal_tests_real::{Folder, Server, program};
use std::collections::HashMap;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::time::Duration;

/// The crate's own packing and parsing, over a stream of ours.
struct Connection {
    stream: TcpStream,
    parser: Parser,
    is_open: bool,
}

impl Connection {
    fn open(server: SocketAddr) -> io::Result<Connection> {
        let stream = TcpStream::connect(server)?;
        stream.set_nodelay(true)?;
        Ok(Connection { stream, parser: Parser::new(), is_open: true })
    }

    fn send(&mut self, packed: &[u8]) -> RedisResult<()> {
        let sent = self.stream.write_all(packed);
        self.is_open &= sent.is_ok();
        Ok(sent?)
    }

    fn receive(&mut self) -> RedisResult<Value> {
        let received = self.parser.parse_value(&self.stream);
        self.is_open &= !received.as_ref().is_err_and(|error| error.is_connection_dropped());
        received?.extract_error()
    }
}

impl ConnectionLike for Connection {
    fn req_packed_command(&mut self, command: &[u8]) -> RedisResult<Value> {
        self.send(command)?;
        self.receive()
    }

    fn req_packed_commands(&mut self, commands: &[u8], offset: usize, count: usize) -> RedisResult<Vec<Value>> {
        self.send(commands)?;
        let answers: Vec<_> = (0..offset + count).map(|_| self.receive()).collect::<RedisResult<_>>()?;
        Ok(answers.into_iter().skip(offset).collect())
    }

    fn get_db(&self) -> i64 {
        0
    }

    fn check_connection(&mut self) -> bool {
        cmd("PING").query::<String>(self).is_ok()
    }

    fn is_open(&self) -> bool {
        self.is_open
    }
}

/// A server, and the folder it runs in.
fn start() -> Option<(Server, Folder)> {
    let redis = program("redis-server")?;
    let folder = Folder::new();
    let server = Server::start(Signal::KILL, "Ready to accept connections", |port| {
        let mut command = redis.command();
        command.args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--save", "", "--appendonly", "no"]);
        command.current_dir(folder.path());
        command
    });
    Some((server, folder))
}

#[test]
fn commands_are_answered() {
    guarded(|| {
        let Some((server, _folder)) = start() else { return };
        let (runtime, address) = (background(2), server.address());
        runtime.run(move || {
            let mut redis = Connection::open(address).unwrap();
            assert!(redis.check_connection());
            let () = redis.set("name", "sisal").unwrap();
            assert_eq!(redis.get::<_, String>("name").unwrap(), "sisal");
            assert_eq!(redis.get::<_, Option<String>>("nobody").unwrap(), None);
            let () = redis.hset_multiple("sizes", &[("one", 1), ("two", 2)]).unwrap();
            let sizes: HashMap<String, u32> = redis.hgetall("sizes").unwrap();
            assert_eq!(sizes, HashMap::from([("one".into(), 1), ("two".into(), 2)]));

            // An error of the server's is an error of the call, and the connection lives on.
            assert!(redis.lpush::<_, _, u32>("name", 1).is_err());
            assert!(redis.is_open() && redis.check_connection());
        });
        shut_down(runtime);
    });
}

#[test]
fn a_value_of_megabytes_comes_back_unchanged() {
    guarded(|| {
        let Some((server, _folder)) = start() else { return };
        let (runtime, address) = (background(2), server.address());
        runtime.run(move || {
            let mut redis = Connection::open(address).unwrap();
            let value: Vec<u8> =
                (0..8 << 20).map(|place: u32| (place.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
            let () = redis.set("value", &value).unwrap();
            assert!(redis.get::<_, Vec<u8>>("value").unwrap() == value);
        });
        shut_down(runtime);
    });
}

#[test]
fn fibers_share_a_server_and_every_increment_counts() {
    const FIBERS: usize = 100;
    const ROUNDS: usize = 20;
    guarded(|| {
        let Some((server, _folder)) = start() else { return };
        let (runtime, address) = (background(2), server.address());
        runtime.run(move || {
            let client = move || {
                let mut redis = Connection::open(address).unwrap();
                for _ in 0..ROUNDS {
                    let (): () = pipe().incr("one", 1).ignore().incr("two", 2).ignore().query(&mut redis).unwrap();
                }
            };
            let fibers: Vec<_> = (0..FIBERS).map(|_| sisal::spawn(client)).collect();
            fibers.into_iter().for_each(|fiber| fiber.join().unwrap());
            let mut redis = Connection::open(address).unwrap();
            let counts: (usize, usize) = redis.mget(("one", "two")).unwrap();
            assert_eq!(counts, (FIBERS * ROUNDS, 2 * FIBERS * ROUNDS));
        });
        shut_down(runtime);
    });
}

#[test]
fn a_fiber_waits_for_what_another_pushes_and_a_timeout_ends_such_a_wait() {
    guarded(|| {
        let Some((server, _folder)) = start() else { return };
        let (runtime, address) = (background(1), server.address());
        runtime.run(move || {
            let waiter = sisal::spawn(move || {
                let mut redis = Connection::open(address).unwrap();
                redis.blpop::<_, (String, String)>("queue", 0.0).unwrap()
            });
            let mut redis = Connection::open(address).unwrap();
            let () = redis.rpush("queue", "parcel").unwrap();
            assert_eq!(waiter.join().unwrap(), ("queue".into(), "parcel".into()));

            let mut waiting = Connection::open(address).unwrap();
            let forever = cmd("BLPOP").arg("queue").arg(0).to_owned();
            let waited = sisal::timeout(Duration::from_millis(20), || waiting.req_command(&forever));
            let error = waited.unwrap_err();
            assert!(error.is_io_error(), "{error}");
            assert!(redis.check_connection());
        });
        shut_down(runtime);
    });
}
