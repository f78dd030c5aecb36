//! Web sockets by tungstenite, server and client, over our sockets.

#[path = "../../crates/sisal/tests/common/mod.rs"]
mod common;

use common::watchdog::guarded;
use common::{background, shut_down};
use sisal::net::TcpStream;
use sisal_tests_real::Listening;
use std::io;
use std::net::SocketAddr;
use tungstenite::{Error, Message, WebSocket};

/// Sends back what comes, until the client closes.
fn echo(stream: TcpStream) -> io::Result<()> {
    let mut socket = tungstenite::accept(stream).map_err(|error| io::Error::other(error.to_string()))?;
    loop {
        match socket.read() {
            Ok(message @ (Message::Text(_) | Message::Binary(_))) => socket.send(message).map_err(io::Error::other)?,
            Ok(_) => {}
            Err(Error::ConnectionClosed) => return Ok(()),
            Err(error) => return Err(io::Error::other(error)),
        }
    }
}

fn connect(server: SocketAddr) -> WebSocket<TcpStream> {
    let stream = TcpStream::connect(server).unwrap();
    tungstenite::client(format!("ws://{server}/"), stream).unwrap().0
}

/// Says goodbye, and waits until the other side does.
fn close(mut socket: WebSocket<TcpStream>) {
    socket.close(None).unwrap();
    loop {
        match socket.read() {
            Ok(_) => {}
            Err(Error::ConnectionClosed) => return,
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn messages_of_all_sizes_come_back() {
    guarded(|| {
        let runtime = background(2);
        let server = Listening::start(runtime.handle(), echo);
        let address = server.address();
        runtime.run(move || {
            let mut socket = connect(address);
            for size in [0, 1, 125, 126, 65_535, 65_536, 3 << 20] {
                let bytes: Vec<u8> = (0..size).map(|place: u32| (place.wrapping_mul(40_503) >> 8) as u8).collect();
                socket.send(Message::binary(bytes.clone())).unwrap();
                assert!(socket.read().unwrap().into_data() == bytes, "{size} bytes");
            }
            close(socket);
        });
        drop(server);
        shut_down(runtime);
    });
}

#[test]
fn many_clients_talk_at_once() {
    guarded(|| {
        let runtime = background(2);
        let server = Listening::start(runtime.handle(), echo);
        let address = server.address();
        runtime.run(move || {
            let client = move |number: usize| {
                let mut socket = connect(address);
                for round in 0..50 {
                    let text = format!("client {number}, round {round}");
                    socket.send(Message::text(text.clone())).unwrap();
                    assert_eq!(socket.read().unwrap(), Message::text(text));
                }
                socket.send(Message::Ping(vec![1, 2, 3].into())).unwrap();
                assert_eq!(socket.read().unwrap(), Message::Pong(vec![1, 2, 3].into()));
                close(socket);
            };
            let fibers: Vec<_> = (0..100).map(|number| sisal::spawn(move || client(number))).collect();
            fibers.into_iter().for_each(|fiber| fiber.join().unwrap());
        });
        drop(server);
        shut_down(runtime);
    });
}
