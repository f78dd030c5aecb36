//! Accepted connections are spread over the workers.

use super::common::watchdog::guarded;
use super::common::{background, shut_down};
use super::descriptors::room_for;
use sisal::net::{TcpListener, TcpStream};
use std::collections::HashMap;
use std::io::{Read, Write};
use std::thread::{self, ThreadId};

const CONNECTIONS: usize = 1_000;

/// How many connections each worker homes, with one fiber that accepts them all.
fn homes(workers: usize) -> HashMap<ThreadId, usize> {
    let runtime = background(workers);
    let homes = runtime.run(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let acceptor = sisal::spawn(move || -> Vec<_> {
            let serve = |mut stream: TcpStream| {
                // It waits once, so that its fiber has a home.
                stream.read_exact(&mut [0]).unwrap();
                stream.write_all(&[0]).unwrap();
                let home = thread::current().id();
                assert_eq!(stream.read(&mut [0]).unwrap(), 0);
                home
            };
            (0..CONNECTIONS)
                .map(|_| listener.accept().unwrap().0)
                .map(|stream| sisal::spawn(move || serve(stream)))
                .collect()
        });
        let mut clients: Vec<_> = (0..CONNECTIONS).map(|_| TcpStream::connect(address).unwrap()).collect();
        for client in &mut clients {
            client.write_all(&[0]).unwrap();
        }
        for client in &mut clients {
            client.read_exact(&mut [0]).unwrap();
        }
        drop(clients);
        let mut homes = HashMap::new();
        for home in acceptor.join().unwrap().into_iter().map(|fiber| fiber.join().unwrap()) {
            *homes.entry(home).or_default() += 1;
        }
        homes
    });
    shut_down(runtime);
    homes
}

/// Whether no worker homes more than a quarter above the mean.
fn is_balanced(workers: usize, homes: &HashMap<ThreadId, usize>) -> bool {
    homes.values().all(|count| 4 * count * workers <= 5 * CONNECTIONS)
}

#[test]
fn no_worker_homes_more_than_a_quarter_above_the_mean() {
    guarded(|| {
        assert_eq!(room_for(2 * CONNECTIONS), 2 * CONNECTIONS);
        for workers in [2, 4] {
            let homes = homes(workers);
            assert!(is_balanced(workers, &homes), "{workers} workers: {homes:?}");
        }
    });
}
