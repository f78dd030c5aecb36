//! may's coroutines at sockets; HTTP is may_minihttp's.

use std::io::{self, Read, Write};
use std::net::Ipv4Addr;

use may::net::TcpListener;
use may_minihttp::{HttpServer, HttpService, Request, Response};

use super::{configure, go};
use crate::work::{BUFFER, Echo, HELLO, Http, answer};

/// An echo server.
pub(super) fn echo(load: Echo) -> ! {
    configure(load.workers);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("the loopback has a free port");
    let port = listener.local_addr().expect("it is bound").port();
    go(move || {
        loop {
            let (mut stream, _) = listener.accept().expect("a connection comes");
            go(move || {
                let mut buffer = [0; BUFFER];
                while let Ok(count @ 1..) = stream.read(&mut buffer) {
                    if stream.write_all(&buffer[..count]).is_err() {
                        break;
                    }
                }
            });
        }
    });
    answer(port)
}

/// may_minihttp's server of HTTP. It does not say which port it got: it is told one that was free.
pub(super) fn http(load: Http) -> ! {
    configure(load.workers);
    let free = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("the loopback has a free port");
    let address = free.local_addr().expect("it is bound");
    drop(free);
    HttpServer(Hello).start(address).expect("the port is still free");
    answer(address.port())
}

#[derive(Clone)]
struct Hello;

impl HttpService for Hello {
    fn call(&mut self, _: Request<'_, '_, '_>, response: &mut Response<'_>) -> io::Result<()> {
        response.body(HELLO);
        Ok(())
    }
}
