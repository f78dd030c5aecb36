//! A small HTTP/1.1 server of its own: a few routes, keep-alive, pipelining, limits, and a graceful end.
//!
//! ```text
//! cargo run --release --example http                      listens on 127.0.0.1:8080
//! cargo run --release --example http -- 0.0.0.0:80        or elsewhere
//! curl -i http://127.0.0.1:8080/                          Hello, World!
//! curl -i --data 'to and fro' http://127.0.0.1:8080/echo  what was sent
//! curl -i http://127.0.0.1:8080/slow                      takes a second, and holds up nobody
//! curl -i http://127.0.0.1:8080/fibers                    what the runtime has done so far
//! ```
//!
//! On SIGTERM or SIGINT it stops listening, closes connections that are idle, answers requests that have begun, and
//! ends when the last is answered. A second signal ends it at once.
//!
//! This file has the routes; [`server`] is the server, which knows none of them.

mod server;

use server::{Request, Response, Status};
use sisal::net::TcpListener;
use std::io;
use std::process::ExitCode;
use std::time::Duration;

const HELP: &str = "\
A small HTTP server.

    http [ADDRESS]

ADDRESS is where it listens: a host and a port, 127.0.0.1:8080 unless given. Port 0 is any that is free.
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let address = match &arguments[..] {
        [] => "127.0.0.1:8080",
        [flag] if flag == "--help" || flag == "-h" => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        [address] if !address.starts_with('-') => address,
        _ => {
            eprint!("http: one address is all it takes, not {:?}\n\n{HELP}", arguments.join(" "));
            return ExitCode::from(2);
        }
    };
    match sisal::run(|| serve(address)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("http: {address}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve(address: &str) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    sisal::println!("listening on http://{}", listener.local_addr()?);
    server::serve(&listener, &route)?;
    sisal::println!("all requests are answered");
    Ok(())
}

/// Answers a request. A route may wait as long as it likes: it has a fiber to itself.
fn route<'a>(request: &Request<'a>) -> Response<'a> {
    match (request.method, request.path) {
        ("GET" | "HEAD", "/") => Response::text("Hello, World!"),
        ("GET" | "HEAD", "/slow") => match sisal::sleep(Duration::from_secs(1)) {
            Ok(()) => Response::text("It is done."),
            Err(cancelled) => Response::status(Status::Unavailable).with_text(cancelled.to_string()),
        },
        ("GET" | "HEAD", "/fibers") => match sisal::Handle::current() {
            Some(runtime) => Response::text(runtime.stats().to_string()),
            None => Response::status(Status::Unavailable),
        },
        ("POST", "/echo") => Response::bytes(request.body),
        (_, "/" | "/slow" | "/fibers") => Response::not_allowed("GET, HEAD"),
        (_, "/echo") => Response::not_allowed("POST"),
        _ => Response::status(Status::NotFound),
    }
}
