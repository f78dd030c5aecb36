//! A TCP echo server: what comes in goes out again, for any number of clients at a time.
//!
//! ```text
//! cargo run --release --example echo                      listens on 127.0.0.1:7000
//! cargo run --release --example echo -- 0.0.0.0:7         or elsewhere
//! nc localhost 7000                                       talk to it; Ctrl-C in its terminal ends it
//! ```
//!
//! Every connection is a fiber of a nursery, in plain blocking code. A signal cancels the nursery: the waits for
//! connections and for input end, and so do the fibers; what was read is sent back before.

use sisal::net::{TcpListener, TcpStream};
use sisal::{Nursery, is_cancelled, shield};
use std::io::{self, Read, Write};
use std::process::ExitCode;
use std::time::Duration;

const HELP: &str = "\
A TCP echo server.

    echo [ADDRESS]

ADDRESS is where it listens: a host and a port, 127.0.0.1:7000 unless given. Port 0 is any that is free.
";

/// How long to wait when the system has no descriptor left for another connection, for instance.
const PAUSE: Duration = Duration::from_millis(100);

/// For how long a client may take nothing of its echo.
const PATIENCE: Duration = Duration::from_secs(30);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let address = match &arguments[..] {
        [] => "127.0.0.1:7000",
        [flag] if flag == "--help" || flag == "-h" => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        [address] if !address.starts_with('-') => address,
        _ => {
            eprint!("echo: one address is all it takes, not {:?}\n\n{HELP}", arguments.join(" "));
            return ExitCode::from(2);
        }
    };
    match sisal::run(|| serve(address)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("echo: {address}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Serves until a signal comes.
fn serve(address: &str) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    sisal::println!("listening on {}", listener.local_addr()?);
    Nursery::options().cancel_on_signals().run(|n| {
        loop {
            match listener.accept() {
                Ok((stream, _)) => drop(n.spawn(move || echo(&stream))),
                Err(error) if is_cancelled(&error) => return Ok(()),
                Err(error) => {
                    sisal::eprintln!("echo: can't accept: {error}");
                    let _ = sisal::sleep(PAUSE);
                }
            }
        }
    })
}

/// Echoes until the client has closed its side, has gone, or the server ends.
fn echo(mut stream: &TcpStream) {
    // An echo is not cut off by the end of the server, but by a client that does not take it.
    if stream.set_write_timeout(Some(PATIENCE)).is_err() {
        return;
    }
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        if shield(|| stream.write_all(&buffer[..count])).is_err() {
            break;
        }
    }
}
