//! Accepted connections end up spread over the workers.

use crate::common::gate::Gate;
use crate::common::{background, shut_down, until, watchdog::guarded};
use rustix::time::{ClockId, clock_gettime};
use sisal::net::{TcpListener, TcpStream};
use sisal::{Handle, JoinHandle};
use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ThreadId};
use std::time::Duration;

const CONNECTIONS: usize = 400;

/// Several times what the monitor allows a fiber before it remembers where that was spawned.
const LONG_COMPUTATION: Duration = Duration::from_millis(100);

#[test]
fn the_fibers_that_serve_connections_are_spread_over_the_workers() {
    guarded(|| {
        for workers in [2, 4] {
            let runtime = background(workers);
            let (listener, address) = listen();
            let server = runtime.spawn(move || serve_all(&listener));
            visit(address);
            assert_spread(&server.join().unwrap(), workers);
            shut_down(runtime);
        }
    });
}

#[test]
fn connections_are_spread_although_others_from_their_place_of_spawn_have_computed_for_long() {
    guarded(|| {
        for workers in [2, 4] {
            let runtime = background(workers);
            let gate = Gate::closed();
            let waiters = one_waiter_on_each(runtime.handle(), &gate);
            let (listener, address) = listen();
            let server = runtime.spawn(move || {
                for _ in 0..3 {
                    spawn_here(Box::new(compute_for_long)).join().unwrap();
                }
                serve_all(&listener)
            });
            visit(address);
            assert_spread(&server.join().unwrap(), workers);
            gate.open();
            waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
            shut_down(runtime);
        }
    });
}

/// Spawns at one and the same place, which it would not if it were compiled for each body. Returns where that ran.
fn spawn_here(body: Box<dyn FnOnce() + Send>) -> JoinHandle<ThreadId> {
    sisal::spawn(|| {
        body();
        // A fiber stays with the worker that ran it first.
        thread::current().id()
    })
}

/// Without a call into the runtime; by the time of the processor, so that it is long on a busy machine as well.
fn compute_for_long() {
    let used = || Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap();
    let start = used();
    while used() - start < LONG_COMPUTATION {}
}

/// Somebody who is delayed by whoever computes, wherever that is: so the monitor looks.
fn one_waiter_on_each(runtime: &Handle, gate: &Gate) -> Vec<JoinHandle<()>> {
    let started = Arc::new(AtomicUsize::new(0));
    let waiters: Vec<_> = (0..runtime.base_workers())
        .map(|worker| {
            let (started, way) = (Arc::clone(&started), gate.way());
            runtime.spawn_on(worker, move || {
                started.fetch_add(1, Ordering::Relaxed);
                way.pass().unwrap();
            })
        })
        .collect();
    until(|| started.load(Ordering::Relaxed) == waiters.len());
    waiters
}

fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// Serves all connections, each in a fiber, and tells where each was served.
fn serve_all(listener: &TcpListener) -> Vec<ThreadId> {
    let serve = |mut stream: TcpStream| {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        stream.write_all(&byte).unwrap();
        // All stay until the last is served: one that came and went weighs nothing.
        assert_eq!(stream.read(&mut byte).unwrap(), 0);
    };
    let serving: Vec<_> = (listener.incoming().take(CONNECTIONS))
        .map(|stream| {
            let stream = stream.unwrap();
            spawn_here(Box::new(move || serve(stream)))
        })
        .collect();
    serving.into_iter().map(|fiber| fiber.join().unwrap()).collect()
}

/// Connects as often as that is served, and leaves when all have been.
fn visit(address: SocketAddr) {
    let mut clients: Vec<_> = (0..CONNECTIONS).map(|_| TcpStream::connect(address).unwrap()).collect();
    for client in &mut clients {
        client.write_all(b"!").unwrap();
        client.read_exact(&mut [0; 1]).unwrap();
    }
}

#[track_caller]
fn assert_spread(served_by: &[ThreadId], workers: usize) {
    let mut homes = HashMap::new();
    served_by.iter().for_each(|home| *homes.entry(home).or_insert(0usize) += 1);
    let most = homes.values().max().unwrap();
    assert!(most * workers * 4 <= CONNECTIONS * 5, "not more than 1.25 times the mean: {homes:?}");
}
