//! hyper 1, HTTP/1 and HTTP/2, as server and as client over our sockets.
//!
//! curl sends one HTTP/2 request over each connection: Debian's, 7.88, can't use one again after `--http2-prior-knowledge`, with
//! any server (<https://github.com/curl/curl/issues/10634>). hyper's own client sends many, side by side.

#[path = "../../crates/sisal/tests/common/mod.rs"]
mod common;

use common::watchdog::guarded;
use common::{background, shut_down};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::{http1 as client1, http2 as client2};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use sisal::compat::hyper::{Executor, Io, Timer};
use sisal::net::TcpStream;
use sisal::{Handle, block_on, spawn, spawn_future};
use sisal_tests_real::{Folder, Listening, hammer, program};
use std::io;
use std::net::SocketAddr;

type Body = BoxBody<Bytes, hyper::Error>;

fn text(text: impl Into<Bytes>) -> Body {
    Full::new(text.into()).map_err(|never| match never {}).boxed()
}

async fn answer(request: Request<Incoming>) -> Result<Response<Body>, hyper::Error> {
    Ok(match (request.method(), request.uri().path()) {
        (&Method::GET, "/") => Response::new(text(format!("hello over {:?}", request.version()))),
        // As it comes, so that neither side has it whole.
        (&Method::POST, "/echo") => Response::new(request.into_body().boxed()),
        (&Method::POST, "/length") => {
            let body = request.into_body().collect().await?.to_bytes();
            Response::new(text(body.len().to_string()))
        }
        _ => {
            let mut response = Response::new(text("nothing there"));
            *response.status_mut() = StatusCode::NOT_FOUND;
            response
        }
    })
}

#[derive(Copy, Clone, Debug, PartialEq)]
enum Version {
    One,
    Two,
}

const BOTH: [Version; 2] = [Version::One, Version::Two];

fn serve(runtime: &Handle, version: Version) -> Listening {
    Listening::start(runtime, move |stream| {
        stream.set_nodelay(true)?;
        let (io, service) = (Io::new(stream), service_fn(answer));
        let served = match version {
            Version::One => block_on(http1::Builder::new().timer(Timer).serve_connection(io, service)),
            Version::Two => block_on(http2::Builder::new(Executor::new()).timer(Timer).serve_connection(io, service)),
        };
        served.map_err(io::Error::other)
    })
}

#[test]
fn curl_speaks_both_versions() {
    guarded(|| {
        let Some(curl) = program("curl") else { return };
        let (runtime, folder) = (background(2), Folder::new());
        let bytes: Vec<u8> = (0..3 << 20).map(|place: u32| (place.wrapping_mul(40_503) >> 8) as u8).collect();
        let large = format!("@{}", folder.file("large", &bytes).display());
        for version in BOTH {
            let server = serve(runtime.handle(), version);
            let (flag, hello) = match version {
                Version::One => ("--http1.1", "hello over HTTP/1.1"),
                Version::Two => ("--http2-prior-knowledge", "hello over HTTP/2.0"),
            };
            let with = |arguments: &[&str], path: &str| {
                let (always, url) = (["--silent", "--show-error", "--noproxy", "*", flag], server.url("http", path));
                curl.with(always.iter().chain(arguments).copied().chain([&url[..]])).output()
            };
            assert_eq!(with(&[], "/"), hello.as_bytes());
            assert_eq!(with(&["--write-out", " %{http_code}"], "/nowhere"), b"nothing there 404");
            assert!(with(&["--data-binary", &large], "/echo") == bytes, "{version:?}");
            assert_eq!(with(&["--data-binary", &large], "/length"), bytes.len().to_string().as_bytes());
        }
        shut_down(runtime);
    });
}

#[test]
fn wrk_finds_no_errors() {
    guarded(|| {
        let Some(wrk) = program("wrk") else { return };
        let runtime = background(2);
        let server = serve(runtime.handle(), Version::One);
        hammer(&wrk, &server.url("http", "/"));
        drop(server);
        shut_down(runtime);
    });
}

/// Sends a request to be echoed, in any version.
macro_rules! ask {
    ($sender:expr, $server:expr, $body:expr) => {{
        let request =
            Request::post(format!("http://{}/echo", $server)).header("host", "here").body(text($body)).unwrap();
        // A connection kept takes the next request once its task has seen the last answer end, which may be after we have.
        $sender.ready().await.unwrap();
        let response = $sender.send_request(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), $body);
    }};
}

fn connect(server: SocketAddr) -> Io<TcpStream> {
    let stream = TcpStream::connect(server).unwrap();
    stream.set_nodelay(true).unwrap();
    Io::new(stream)
}

#[test]
fn clients_keep_their_connections_in_many_fibers() {
    const CLIENTS: usize = 50;
    const ROUNDS: usize = 20;
    guarded(|| {
        let runtime = background(2);
        let server = serve(runtime.handle(), Version::One);
        let address = server.address();
        runtime.run(move || {
            let client = move |number: usize| {
                let (mut sender, connection) = block_on(client1::handshake(connect(address))).unwrap();
                let connection = spawn_future(connection);
                for round in 0..ROUNDS {
                    block_on(async { ask!(sender, address, format!("client {number}, round {round}")) });
                }
                drop(sender);
                connection.join().unwrap().unwrap();
            };
            let clients: Vec<_> = (0..CLIENTS).map(|number| spawn(move || client(number))).collect();
            clients.into_iter().for_each(|client| client.join().unwrap());
        });
        drop(server);
        shut_down(runtime);
    });
}

#[test]
fn many_fibers_share_one_connection() {
    const FIBERS: usize = 100;
    guarded(|| {
        let runtime = background(2);
        let server = serve(runtime.handle(), Version::Two);
        let address = server.address();
        runtime.run(move || {
            let handshake = client2::Builder::new(Executor::new()).timer(Timer).handshake(connect(address));
            let (sender, connection) = block_on(handshake).unwrap();
            let connection = spawn_future(connection);
            let ask = |number: usize| {
                let mut sender = sender.clone();
                spawn(move || {
                    // More than fits into the window of a stream for some, so that they wait for room.
                    let body =
                        Bytes::from(vec![number as u8; if number.is_multiple_of(10) { 300_000 } else { number }]);
                    block_on(async { ask!(sender, address, body.clone()) });
                })
            };
            let fibers: Vec<_> = (0..FIBERS).map(ask).collect();
            fibers.into_iter().for_each(|fiber| fiber.join().unwrap());
            drop(sender);
            connection.join().unwrap().unwrap();
        });
        drop(server);
        shut_down(runtime);
    });
}
