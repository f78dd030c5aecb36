//! Sockets where there is no runtime, and shared between threads and fibers.

use crate::common::places::mixed;
use crate::common::watchdog::guarded;
use crate::wire::tcp;
use sisal::net::{TcpListener, TcpStream};
use std::io::{Read, Write};
use std::sync::Arc;
use std::thread;

#[test]
fn an_echo_server_of_threads_alone() {
    guarded(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = thread::spawn(move || {
            let servers: Vec<_> = (listener.incoming().take(8))
                .map(|stream| {
                    let stream = stream.unwrap();
                    thread::spawn(move || std::io::copy(&mut &stream, &mut &stream).unwrap())
                })
                .collect();
            servers.into_iter().map(|server| server.join().unwrap()).sum::<u64>()
        });
        let clients: Vec<_> = (0..8)
            .map(|number| {
                thread::spawn(move || {
                    let mut stream = TcpStream::connect(address).unwrap();
                    for _ in 0..50 {
                        stream.write_all(&[number; 100]).unwrap();
                        let mut answer = [0; 100];
                        stream.read_exact(&mut answer).unwrap();
                        assert_eq!(answer, [number; 100]);
                    }
                })
            })
            .collect();
        clients.into_iter().for_each(|client| client.join().unwrap());
        assert_eq!(server.join().unwrap(), 8 * 50 * 100);
    });
}

#[test]
fn a_thread_and_a_fiber_read_one_socket_in_turns() {
    for workers in [1, 2] {
        mixed(workers, |place| {
            let (client, server) = tcp();
            let server = Arc::new(server);
            // Of each two, one is a fiber and one a thread.
            let readers = place.sharing(4, &server, |mut server, _| {
                let mut sum = 0;
                let mut byte = [0];
                while server.read(&mut byte).unwrap() == 1 {
                    sum += u64::from(byte[0]);
                }
                sum
            });
            let writer = place.spawn(move || {
                for round in 0..500u32 {
                    (&client).write_all(&[(round % 251) as u8]).unwrap();
                    if round % 7 == 0 {
                        sisal::yield_now();
                    }
                }
            });
            writer.join();
            let sum: u64 = readers.into_iter().map(|reader| reader.join()).sum();
            assert_eq!(sum, (0..500u64).map(|round| round % 251).sum());
        });
    }
}
