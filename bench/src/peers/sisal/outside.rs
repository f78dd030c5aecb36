//! sisal's fibers at sockets and files; HTTP is that of its example.

#[allow(dead_code, reason = "one route needs little of it")]
#[path = "../../../../crates/sisal/examples/http/server.rs"]
mod server;

use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;

use sisal::Runtime;
use sisal::compat::hyper::Io;
use sisal::net::{TcpListener, TcpStream};

use super::background;
use crate::peers::hyper;
use crate::work::{BUFFER, Echo, Files, HELLO, Http, PARTS, answer, part, piece_done};

/// An echo server, beside CPU-bound jobs if there are any.
pub(super) fn echo(load: Echo) -> ! {
    let runtime = background(load.workers);
    for _ in 0..load.jobs {
        drop(runtime.spawn(|| {
            loop {
                fork(PARTS);
                piece_done();
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

fn fork(parts: usize) {
    if parts == 1 {
        return part(PARTS);
    }
    sisal::par::join(|| fork(parts / 2), || fork(parts / 2));
}

fn connection(mut stream: TcpStream) {
    let mut buffer = [0; BUFFER];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        if stream.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
}

/// The example's server of HTTP.
pub(super) fn http(load: Http) -> ! {
    serve(background(load.workers), |listener| {
        let ended = server::serve(&listener, &|_: &server::Request<'_>| server::Response::text(HELLO));
        ended.expect("the server ends well");
    })
}

/// hyper's server of HTTP.
pub(super) fn http_hyper(load: Http) -> ! {
    serve(background(load.workers), |listener| {
        loop {
            let (stream, _) = listener.accept().expect("a connection comes");
            drop(sisal::spawn(move || sisal::block_on(hyper::serve(Io::new(stream)))));
        }
    })
}

/// Every file, by a fiber each, so many times.
pub(super) fn read(files: &Arc<Files>, repeats: usize) {
    for _ in 0..repeats {
        let fiber = |path: &Path| {
            let (files, path) = (Arc::clone(files), path.to_owned());
            sisal::spawn(move || files.check(sisal::fs::read(path)))
        };
        let fibers: Vec<_> = files.paths().map(fiber).collect();
        for fiber in fibers {
            fiber.join().expect("a reading fiber ends well");
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
