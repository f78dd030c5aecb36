//! sisal's fibers at sockets and files.

use std::io::{Read, Write};

use sisal::Runtime;
use sisal::net::{TcpListener, TcpStream};

use super::background;
use crate::work::{BUFFER, Echo, answer, piece};

/// An echo server, beside CPU-bound jobs if there are any.
pub(super) fn echo(load: Echo) -> ! {
    let runtime = background(load.workers);
    for _ in 0..load.jobs {
        // Pieces of fork-join jobs would yield as often when there is something to read.
        drop(runtime.spawn(|| {
            loop {
                piece();
                sisal::yield_now();
            }
        }));
    }
    serve(runtime, |listener| {
        loop {
            let (stream, _) = listener.accept().expect("a connection comes");
            drop(sisal::spawn(move || connection(stream)));
        }
    })
}

fn connection(mut stream: TcpStream) {
    let mut buffer = [0; BUFFER];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        if stream.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
}

/// Has a fiber serve a free port.
fn serve(runtime: &Runtime, server: impl FnOnce(TcpListener) + Send + 'static) -> ! {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("the loopback has a free port");
    let port = listener.local_addr().expect("it is bound").port();
    drop(runtime.spawn(move || server(listener)));
    answer(port)
}
