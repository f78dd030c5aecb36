//! Accepted connections end up spread over the workers.

use crate::common::{background, shut_down, watchdog::guarded};
use sisal::net::{TcpListener, TcpStream};
use std::collections::HashMap;
use std::io::{Read, Write};
use std::thread::{self, ThreadId};

const CONNECTIONS: usize = 400;

#[test]
fn the_fibers_that_serve_connections_are_spread_over_the_workers() {
    guarded(|| {
        for workers in [2, 4] {
            let homes = homes(workers);
            let most = homes.values().max().unwrap();
            assert!(most * workers * 4 <= CONNECTIONS * 5, "not more than 1.25 times the mean: {homes:?}");
        }
    });
}

/// How many connections each worker serves.
fn homes(workers: usize) -> HashMap<ThreadId, usize> {
    let runtime = background(workers);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = runtime.spawn(move || {
        let serve = |mut stream: TcpStream| {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            stream.write_all(&byte).unwrap();
            // All stay until the last is served: one that came and went weighs nothing.
            assert_eq!(stream.read(&mut byte).unwrap(), 0);
            // A fiber stays with the worker that ran it first.
            thread::current().id()
        };
        let serving: Vec<_> = (listener.incoming().take(CONNECTIONS))
            .map(|stream| {
                let stream = stream.unwrap();
                sisal::spawn(move || serve(stream))
            })
            .collect();
        serving.into_iter().map(|fiber| fiber.join().unwrap()).collect::<Vec<_>>()
    });
    let mut clients: Vec<_> = (0..CONNECTIONS).map(|_| TcpStream::connect(address).unwrap()).collect();
    for client in &mut clients {
        client.write_all(b"!").unwrap();
        client.read_exact(&mut [0; 1]).unwrap();
    }
    drop(clients);
    let mut homes = HashMap::new();
    server.join().unwrap().into_iter().for_each(|home| *homes.entry(home).or_insert(0usize) += 1);
    shut_down(runtime);
    homes
}
