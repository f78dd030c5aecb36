//! Sockets, blocking calls and the other processors.

use crate::Outcome;
use crate::print::{grouped, line, milliseconds, nanoseconds, section};
use sisal::net::{TcpListener, TcpStream};
use std::io::{Read, Write};
use std::time::{Duration, Instant};

/// Sockets as in `std`: a fiber for each end of each connection, which reads and writes as if it were alone.
pub(crate) fn many_connections() -> Outcome {
    const CONNECTIONS: u64 = 200;
    const ROUNDS: u64 = 50;
    section(16, "An echo server, and its clients");
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let start = Instant::now();
    let answered = sisal::nursery(|n| {
        n.spawn(|| {
            for stream in listener.incoming().flatten().take(CONNECTIONS as usize) {
                n.spawn(move || echo(stream));
            }
        });
        let clients = (0..CONNECTIONS).map(|_| sisal::spawn(move || ask(TcpStream::connect(address)?, ROUNDS)));
        let clients: Vec<_> = clients.collect();
        let answered = clients.into_iter().map(sisal::JoinHandle::join).filter(|client| matches!(client, Ok(Ok(()))));
        Ok::<_, std::io::Error>(answered.count())
    })?;
    line("connections, all at once", grouped(answered as u64));
    line("for each question and its echo", nanoseconds(start.elapsed(), CONNECTIONS * ROUNDS));
    Ok(())
}

fn echo(mut stream: TcpStream) {
    let mut buffer = [0; 256];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        if stream.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
}

fn ask(mut stream: TcpStream, rounds: u64) -> std::io::Result<()> {
    let mut answer = [0; 8];
    for round in 0..rounds {
        stream.write_all(&round.to_le_bytes())?;
        stream.read_exact(&mut answer)?;
        assert_eq!(u64::from_le_bytes(answer), round);
    }
    Ok(())
}

/// Calls that block their thread have threads of their own.
pub(crate) fn calls_that_block() -> Outcome {
    section(17, "Calls that block");
    let start = Instant::now();
    let nap = || sisal::blocking(|| std::thread::sleep(Duration::from_millis(20)));
    let naps: Vec<_> = (0..50).map(|_| sisal::spawn(nap)).collect();
    naps.into_iter().try_for_each(sisal::JoinHandle::join)?;
    line("fifty calls of 20 ms each took", milliseconds(start.elapsed()));
    Ok(())
}

/// A fork at every call, on all processors.
pub(crate) fn forks() -> Outcome {
    const NUMBER: u64 = 30;
    section(18, "Forks");
    let start = Instant::now();
    let (value, calls) = fib(NUMBER);
    line("Fibonacci's thirtieth number", grouped(value));
    line("for each fork, and the call in it", nanoseconds(start.elapsed(), calls));
    let start = Instant::now();
    let mut numbers: Vec<u64> = (0..1_000_000u64).map(|n| n.wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect();
    sisal::par::sort_unstable(&mut numbers);
    line("a million numbers, made and sorted", milliseconds(start.elapsed()));
    assert!(numbers.is_sorted());
    Ok(())
}

/// The number, and how many calls it took.
fn fib(n: u64) -> (u64, u64) {
    if n < 2 {
        return (n, 1);
    }
    let (a, b) = sisal::par::join(|| fib(n - 1), || fib(n - 2));
    (a.0 + b.0, a.1 + b.1 + 1)
}
