//! The HTTP server, byte by byte.

use crate::common::watchdog::Watchdog;
use crate::program::Server;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// A connection to the server.
struct Client(BufReader<TcpStream>);

/// An answer.
#[derive(Debug)]
struct Answer {
    status: u16,
    /// In small letters.
    headers: Vec<String>,
    body: String,
}

impl Answer {
    fn has(&self, header: &str) -> bool {
        self.headers.iter().any(|line| line == header)
    }
}

impl Client {
    fn of(server: &Server) -> Client {
        Client(BufReader::new(server.connect()))
    }

    fn send(&self, bytes: impl AsRef<[u8]>) {
        self.0.get_ref().write_all(bytes.as_ref()).unwrap();
    }

    /// The next answer, with a body if it is one to have it.
    #[track_caller]
    fn receive_head(&mut self) -> Answer {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            assert_ne!(self.0.read_line(&mut line).unwrap(), 0, "the server closed the connection after {lines:?}");
            match line.strip_suffix("\r\n").expect("a line ends like that") {
                "" => break,
                line => lines.push(line.to_owned()),
            }
        }
        let status = lines.remove(0).strip_prefix("HTTP/1.1 ").unwrap()[..3].parse().unwrap();
        let headers = lines.iter().map(|line| line.to_ascii_lowercase()).collect();
        Answer { status, headers, body: String::new() }
    }

    #[track_caller]
    fn receive(&mut self) -> Answer {
        let mut answer = self.receive_head();
        let length = answer.headers.iter().find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; length.expect("it says how long it is").parse().unwrap()];
        self.0.read_exact(&mut body).unwrap();
        answer.body = String::from_utf8(body).unwrap();
        answer
    }

    #[track_caller]
    fn is_closed(&mut self) {
        let mut rest = String::new();
        self.0.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "", "nothing more was to come");
    }
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")
}

fn post(path: &str, body: &str) -> String {
    format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

/// Runs a test with a server.
fn with_server<F: FnOnce(&Server)>(body: F) {
    let _watchdog = Watchdog::over(&body, "http");
    body(&Server::start("http", &["127.0.0.1:0"]));
}

#[test]
fn a_connection_is_kept_for_the_next_request() {
    with_server(|server| {
        let mut client = Client::of(server);
        for _ in 0..3 {
            client.send(get("/?what=ever"));
            let answer = client.receive();
            assert_eq!((answer.status, answer.body.as_str()), (200, "Hello, World!"));
            assert!(answer.has("content-type: text/plain; charset=utf-8") && answer.has("connection: keep-alive"));
            assert!(answer.headers.iter().any(|line| line.starts_with("date: ") && line.ends_with(" gmt")));
        }
    });
}

#[test]
fn requests_that_come_at_once_are_answered_in_their_order() {
    with_server(|server| {
        let mut client = Client::of(server);
        client.send([get("/"), post("/echo", "one"), get("/nowhere"), post("/echo", ""), get("/fibers")].concat());
        assert_eq!(client.receive().body, "Hello, World!");
        assert_eq!(client.receive().body, "one");
        assert_eq!(client.receive().status, 404);
        assert_eq!(client.receive().body, "");
        assert!(client.receive().body.contains("spawned"));
        let many = 5_000;
        client.send(get("/").repeat(many));
        for _ in 0..many {
            assert_eq!(client.receive().status, 200);
        }
    });
}

#[test]
fn a_request_may_come_a_byte_at_a_time() {
    with_server(|server| {
        let mut client = Client::of(server);
        client.0.get_ref().set_nodelay(true).unwrap();
        for byte in [post("/echo", "slow"), get("/")].concat().bytes() {
            client.send([byte]);
        }
        assert_eq!(client.receive().body, "slow");
        assert_eq!(client.receive().body, "Hello, World!");
    });
}

#[test]
fn a_body_may_be_as_long_as_the_limit() {
    with_server(|server| {
        let mut client = Client::of(server);
        let body = "0123456789abcdef".repeat((1 << 20) / 16);
        for _ in 0..2 {
            client.send(post("/echo", &body));
            assert!(client.receive().body == body);
        }
    });
}

#[test]
fn what_is_wrong_with_a_request_is_said_and_the_connection_closed() {
    with_server(|server| {
        let long = format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "x".repeat(9_000));
        let endless = format!("GET /{}", "x".repeat(9_000));
        let many = format!("GET / HTTP/1.1\r\nHost: localhost\r\n{}\r\n", "X: y\r\n".repeat(100));
        let cases = [
            (400, "what is this\r\n\r\n"),
            (400, "GET / HTTP/1.1\r\n\r\n"),
            (400, "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"),
            (400, "GET / HTTP/1.1\r\nHost: a\r\nNo colon\r\n\r\n"),
            (400, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n"),
            (400, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\nx"),
            (400, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx"),
            (400, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\nx"),
            (413, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1048577\r\n\r\n"),
            (413, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999999\r\n\r\n"),
            (431, &long),
            (431, &endless),
            (431, &many),
            (501, "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"),
            (400, "GET / HTTP/2.0\r\nHost: a\r\n\r\n"),
        ];
        for (status, request) in cases {
            let mut client = Client::of(server);
            // What came before is answered all the same.
            client.send([&get("/"), request].concat());
            assert_eq!(client.receive().status, 200);
            let answer = client.receive();
            assert_eq!(answer.status, status, "{request:.100}");
            assert!(answer.has("connection: close"));
            client.is_closed();
        }
    });
}

#[test]
fn a_path_has_its_methods_and_others_are_refused() {
    with_server(|server| {
        let mut client = Client::of(server);
        client.send(post("/", "x"));
        let answer = client.receive();
        assert!(answer.status == 405 && answer.has("allow: get, head"), "{answer:?}");
        client.send(get("/echo"));
        let answer = client.receive();
        assert!(answer.status == 405 && answer.has("allow: post"), "{answer:?}");
        client.send(get("/nowhere"));
        assert_eq!(client.receive().status, 404);
    });
}

#[test]
fn the_answer_to_head_has_no_body_but_its_length() {
    with_server(|server| {
        let mut client = Client::of(server);
        client.send("HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned() + &get("/nowhere"));
        let answer = client.receive_head();
        assert!(answer.status == 200 && answer.has("content-length: 13"), "{answer:?}");
        assert_eq!(client.receive().status, 404);
    });
}

#[test]
fn a_connection_ends_when_the_client_asks_or_is_old() {
    with_server(|server| {
        for request in ["GET / HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\n", "GET / HTTP/1.0\r\n\r\n"] {
            let mut client = Client::of(server);
            client.send([request, &get("/")].concat());
            let answer = client.receive();
            assert!(answer.status == 200 && answer.has("connection: close"), "{answer:?}");
            client.is_closed();
        }
        let mut client = Client::of(server);
        for _ in 0..2 {
            client.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
            assert!(client.receive().has("connection: keep-alive"));
        }
    });
}

#[test]
fn a_signal_lets_begun_requests_be_answered_and_idle_connections_close() {
    let body = || {
        let server = Server::start("http", &["127.0.0.1:0"]);
        // The first is accepted by the time that the last is answered.
        let (mut fresh, mut busy, mut idle) = (Client::of(&server), Client::of(&server), Client::of(&server));
        idle.send(get("/"));
        assert_eq!(idle.receive().status, 200);
        // That it is encouraged to go on shows that its request has begun.
        busy.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
        assert_eq!(busy.receive_head().status, 100);
        server.terminate();
        idle.is_closed();
        fresh.is_closed();
        // Who comes now is refused, though the server is still there. One who came just before is sent away.
        while TcpStream::connect(&server.address).is_ok() {
            std::thread::yield_now();
        }
        busy.send("last");
        let answer = busy.receive();
        assert_eq!((answer.status, answer.body.as_str()), (200, "last"));
        assert!(answer.has("connection: close"), "{answer:?}");
        busy.is_closed();
        drop(busy);
        assert_eq!(server.end(), "all requests are answered\n");
    };
    let _watchdog = Watchdog::over(&body, "http");
    body();
}
