//! A chat server, a line at a time: every line a client sends goes to all others.
//!
//! ```text
//! cargo run --release --example chat                      listens on 127.0.0.1:7070
//! cargo run --release --example chat -- 0.0.0.0:7070      or elsewhere
//! nc localhost 7070                                       the first line is your name; /who, /quit
//! ```
//!
//! A client is two fibers. One reads lines from the socket into a channel; the other waits for whatever comes first,
//! a line or news from the [`room`], and is the only one that writes. Nobody waits for a client that does not read: the
//! room lays news in the client's queue, and when that is full, shows it the door.

mod room;

use room::Room;
use sisal::chan::{Receiver, Sender, bounded};
use sisal::net::{TcpListener, TcpStream};
use sisal::{Nursery, is_cancelled, nursery, select};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::ExitCode;
use std::time::Duration;

const HELP: &str = "\
A chat server.

    chat [ADDRESS]

ADDRESS is where it listens: a host and a port, 127.0.0.1:7070 unless given. Port 0 is any that is free.
Connect with `nc` or `telnet`: the first line is your name. /who lists who is there, /quit leaves.
";

/// How long to wait when the system has no descriptor left for another connection, for instance.
const PAUSE: Duration = Duration::from_millis(100);
/// How long a client may leave what it is sent unread before it is cut off.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest line.
const LONGEST: u64 = 1024;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let address = match &arguments[..] {
        [] => "127.0.0.1:7070",
        [flag] if flag == "--help" || flag == "-h" => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        [address] if !address.starts_with('-') => address,
        _ => {
            eprint!("chat: one address is all it takes, not {:?}\n\n{HELP}", arguments.join(" "));
            return ExitCode::from(2);
        }
    };
    match sisal::run(|| serve(address)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("chat: {address}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Serves until a signal comes.
fn serve(address: &str) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    sisal::println!("listening on {}", listener.local_addr()?);
    let room = &Room::new();
    Nursery::options().cancel_on_signals().run(|n| {
        loop {
            match listener.accept() {
                Ok((stream, _)) => drop(n.spawn(move || {
                    // An error here is a client that has gone: there is nobody to tell.
                    let _ = client(&stream, room);
                })),
                Err(error) if is_cancelled(&error) => return Ok(()),
                Err(error) => {
                    sisal::eprintln!("chat: can't accept: {error}");
                    let _ = sisal::sleep(PAUSE);
                }
            }
        }
    })
}

/// A client, from its name to its end.
fn client(stream: &TcpStream, room: &Room) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let (sender, lines) = bounded(1);
    nursery(|n| {
        let reader = n.spawn(|| read(stream, sender));
        let ended = talk(stream, &lines, room);
        // It may be waiting for a line that nobody would hear.
        reader.cancel();
        ended
    })
}

/// Hands on the lines that come, until there are no more.
fn read(stream: &TcpStream, lines: Sender<String>) {
    let mut input = BufReader::new(stream);
    loop {
        let mut line = Vec::new();
        match input.by_ref().take(LONGEST).read_until(b'\n', &mut line) {
            Ok(1..) if lines.send(String::from_utf8_lossy(&line).trim().to_owned()).is_ok() => {}
            _ => return,
        }
    }
}

/// Lets the client into the room, and tells each of the other, until one of them has enough.
fn talk(mut stream: &TcpStream, lines: &Receiver<String>, room: &Room) -> io::Result<()> {
    writeln!(stream, "* your name?")?;
    let Ok(name) = lines.recv() else { return Ok(()) };
    let guest = match room.enter(&name) {
        Ok(guest) => guest,
        Err(reason) => return writeln!(stream, "* {reason}"),
    };
    writeln!(stream, "* hello, {name}; {}", room.who())?;
    loop {
        select! {
            recv(lines) -> line => match line.as_deref() {
                Ok("") => {}
                Ok("/who") => writeln!(stream, "* {}", room.who())?,
                Ok("/quit") => return writeln!(stream, "* goodbye"),
                Ok(command) if command.starts_with('/') => writeln!(stream, "* /who and /quit are all there is")?,
                Ok(text) => guest.say(text),
                // The client has gone, or the server ends.
                Err(_) => return Ok(()),
            },
            recv(guest.news()) -> news => match news {
                Ok(text) => writeln!(stream, "{text}")?,
                Err(_) => return writeln!(stream, "* you read too slowly: goodbye"),
            },
        }
    }
}
