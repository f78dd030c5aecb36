//! The servers of bytes and lines.

use crate::common::watchdog::Watchdog;
use crate::program::{Server, connect};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};

/// More than the buffers between two processes hold.
const PLENTY: usize = 16 << 20;

/// Sends all that and then the end, and returns what came back until the end.
fn exchange(mut stream: TcpStream, bytes: &[u8]) -> Vec<u8> {
    std::thread::scope(|scope| {
        let mut writer = stream.try_clone().unwrap();
        scope.spawn(move || {
            writer.write_all(bytes).unwrap();
            writer.shutdown(Shutdown::Write).unwrap();
        });
        let mut back = Vec::new();
        stream.read_to_end(&mut back).unwrap();
        back
    })
}

fn noise(length: usize) -> Vec<u8> {
    (0..length).map(|index| (index * index / 251) as u8).collect()
}

#[test]
fn the_echo_server_sends_everything_back_and_ends_on_a_signal() {
    let body = || {
        let server = Server::start("echo", &["127.0.0.1:0"]);
        let mut idle = server.connect();
        let bytes = noise(PLENTY);
        assert!(exchange(server.connect(), &bytes) == bytes);
        server.terminate();
        assert_eq!(idle.read(&mut [0]).unwrap(), 0);
        server.end();
    };
    let _watchdog = Watchdog::over(&body, "echo");
    body();
}

#[test]
fn the_proxy_passes_bytes_and_ends_on_in_both_directions() {
    let body = || {
        let echo = Server::start("echo", &["127.0.0.1:0"]);
        let proxy = Server::start("proxy", &["127.0.0.1:0", &echo.address]);
        let bytes = noise(PLENTY);
        // That it comes back to the end shows that the end was passed on in both directions.
        assert!(exchange(proxy.connect(), &bytes) == bytes);
        let mut idle = proxy.connect();
        idle.write_all(b"x").unwrap();
        idle.read_exact(&mut [0]).unwrap();
        proxy.terminate();
        assert_eq!(idle.read(&mut [0]).unwrap(), 0);
        proxy.end();
    };
    let _watchdog = Watchdog::over(&body, "proxy");
    body();
}

#[test]
fn the_proxy_of_a_dead_server_hangs_up_and_serves_on() {
    let body = || {
        let dead = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let proxy = Server::start("proxy", &["127.0.0.1:0", &dead]);
        for _ in 0..2 {
            assert_eq!(proxy.connect().read(&mut [0]).unwrap(), 0);
        }
    };
    let _watchdog = Watchdog::over(&body, "proxy");
    body();
}

/// Somebody at the chat server.
struct Guest(BufReader<TcpStream>);

impl Guest {
    /// Connects and says a name.
    fn enter(server: &Server, name: &str) -> Guest {
        let mut guest = Guest(BufReader::new(connect(&server.address)));
        assert_eq!(guest.hear(), "* your name?");
        guest.say(name);
        guest
    }

    fn say(&self, line: &str) {
        self.0.get_ref().write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// The next line; empty at the end.
    fn hear(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }
}

#[test]
fn guests_of_the_chat_hear_one_another_come_talk_and_go() {
    let body = || {
        let server = Server::start("chat", &["127.0.0.1:0"]);
        let mut anna = Guest::enter(&server, "anna");
        assert_eq!(anna.hear(), "* hello, anna; here are: anna");
        let mut taken = Guest::enter(&server, "anna");
        assert_eq!((taken.hear(), taken.hear()), ("* this name is taken".to_owned(), String::new()));
        let mut nobody = Guest::enter(&server, "no body");
        assert!(nobody.hear().starts_with("* a name has"));

        let mut berta = Guest::enter(&server, "berta");
        assert_eq!(berta.hear(), "* hello, berta; here are: anna, berta");
        assert_eq!(anna.hear(), "* berta is here");
        anna.say("good day");
        assert_eq!(berta.hear(), "anna: good day");
        berta.say("/what");
        assert_eq!(berta.hear(), "* /who and /quit are all there is");
        berta.say("/quit");
        assert_eq!((berta.hear(), berta.hear()), ("* goodbye".to_owned(), String::new()));
        assert_eq!(anna.hear(), "* berta has left");
        anna.say("/who");
        assert_eq!(anna.hear(), "* here are: anna");
        server.terminate();
        assert_eq!(anna.hear(), "");
        server.end();
    };
    let _watchdog = Watchdog::over(&body, "chat");
    body();
}

#[test]
fn a_guest_of_the_chat_that_does_not_read_is_shown_the_door() {
    let body = || {
        let server = Server::start("chat", &["127.0.0.1:0"]);
        let mut talker = Guest::enter(&server, "talker");
        assert_eq!(talker.hear(), "* hello, talker; here are: talker");
        let mut sleeper = Guest::enter(&server, "sleeper");
        assert_eq!(talker.hear(), "* sleeper is here");
        let line = "z".repeat(1_000);
        loop {
            (0..100).for_each(|_| talker.say(&line));
            talker.say("/who");
            if talker.hear() == "* here are: talker" {
                break;
            }
        }
        let mut last = String::new();
        loop {
            match sleeper.hear() {
                end if end.is_empty() => break,
                line => last = line,
            }
        }
        assert_eq!(last, "* you read too slowly: goodbye");
    };
    let _watchdog = Watchdog::over(&body, "chat");
    body();
}
