//! A TCP proxy: whatever connects to it is connected on, and bytes go both ways.
//!
//! ```text
//! cargo run --release --example proxy -- 127.0.0.1:8080 example.org:80
//! curl -H 'Host: example.org' http://127.0.0.1:8080/
//! ```
//!
//! A connection is a fiber, and has two children: one copies what the client sends, the other what the server does.
//! The end of one direction is passed on as such, while the other goes on; an error ends both.

use sisal::net::{TcpListener, TcpStream};
use sisal::{Nursery, is_cancelled, nursery};
use std::io;
use std::net::Shutdown;
use std::process::ExitCode;
use std::time::Duration;

const HELP: &str = "\
A TCP proxy.

    proxy LISTEN TARGET

LISTEN is where it listens, TARGET where it connects its clients to: a host and a port each, as in
127.0.0.1:8080 and example.org:80. Port 0 to listen on is any that is free.
";

/// How long to wait when the system has no descriptor left for another connection, for instance.
const PAUSE: Duration = Duration::from_millis(100);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (listen, target) = match &arguments[..] {
        [flag] if flag == "--help" || flag == "-h" => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        [listen, target] => (listen, target),
        _ => {
            eprint!("proxy: two addresses are what it takes, not {:?}\n\n{HELP}", arguments.join(" "));
            return ExitCode::from(2);
        }
    };
    match sisal::run(|| serve(listen, target)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("proxy: {listen}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Serves until a signal comes.
fn serve(listen: &str, target: &str) -> io::Result<()> {
    let listener = TcpListener::bind(listen)?;
    sisal::println!("listening on {}", listener.local_addr()?);
    Nursery::options().cancel_on_signals().run(|n| {
        loop {
            match listener.accept() {
                Ok((client, peer)) => drop(n.spawn(move || match relay(&client, target) {
                    Err(error) if !is_cancelled(&error) => sisal::eprintln!("proxy: {peer} to {target}: {error}"),
                    _ => {}
                })),
                Err(error) if is_cancelled(&error) => return Ok(()),
                Err(error) => {
                    sisal::eprintln!("proxy: can't accept: {error}");
                    let _ = sisal::sleep(PAUSE);
                }
            }
        }
    })
}

/// Connects the client to the target, until both have said all they have to say.
fn relay(client: &TcpStream, target: &str) -> io::Result<()> {
    let server = TcpStream::connect(target)?;
    nursery(|n| {
        n.spawn(|| pass_on(client, &server));
        pass_on(&server, client)
    })
}

/// Copies one direction to its end, and passes the end on.
fn pass_on(mut from: &TcpStream, mut to: &TcpStream) -> io::Result<()> {
    io::copy(&mut from, &mut to)?;
    match to.shutdown(Shutdown::Write) {
        // It has gone already, and wants to hear nothing.
        Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(()),
        ended => ended,
    }
}
