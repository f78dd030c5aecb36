//! hyper over our sockets, fibers and time.

use super::common::in_fiber_of_each;
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::{Bytes, Incoming};
use hyper::rt::Timer as _;
use hyper::service::service_fn;
use hyper::{Request, Response, client, server};
use sisal::compat::hyper::{Executor, Io, Timer};
use sisal::net::{TcpListener, TcpStream};
use sisal::{block_on, spawn, spawn_future};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path().to_owned();
    let body = request.into_body().collect().await.map(|body| body.to_bytes().len());
    Ok(Response::new(Full::from(format!("{path} {}", body.unwrap_or(0)))))
}

/// Serves so many connections, each in a fiber; returns the address and a handle that ends when they have.
fn serve(connections: usize, http2: bool) -> (SocketAddr, sisal::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serving = spawn(move || {
        let fibers: Vec<_> = (0..connections)
            .map(|_| {
                let (stream, _) = listener.accept().unwrap();
                let io = Io::new(stream);
                spawn(move || match http2 {
                    false => block_on(
                        server::conn::http1::Builder::new().timer(Timer).serve_connection(io, service_fn(answer)),
                    ),
                    true => block_on(
                        server::conn::http2::Builder::new(Executor::new())
                            .timer(Timer)
                            .serve_connection(io, service_fn(answer)),
                    ),
                })
            })
            .collect();
        fibers.into_iter().for_each(|fiber| fiber.join().unwrap().unwrap());
    });
    (address, serving)
}

async fn text(response: Response<Incoming>) -> String {
    String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
}

#[test]
fn http1_with_keep_alive() {
    in_fiber_of_each(|| {
        let (address, serving) = serve(3, false);
        let clients: Vec<_> = (0..3)
            .map(|number| {
                spawn(move || {
                    let stream = TcpStream::connect(address).unwrap();
                    block_on(async {
                        let (mut sender, connection) = client::conn::http1::handshake(Io::new(stream)).await.unwrap();
                        let connection = spawn_future(connection);
                        for round in 0..5 {
                            let body = Full::new(Bytes::from(vec![b'x'; round * 40_000]));
                            let request = Request::post(format!("/{number}")).header("host", "here").body(body);
                            sender.ready().await.unwrap();
                            let response = sender.send_request(request.unwrap()).await.unwrap();
                            assert_eq!(text(response).await, format!("/{number} {}", round * 40_000));
                        }
                        drop(sender);
                        connection.await.unwrap().unwrap();
                    });
                })
            })
            .collect();
        clients.into_iter().for_each(|client| client.join().unwrap());
        serving.join().unwrap();
    });
}

#[test]
fn http2_with_many_streams_at_once() {
    in_fiber_of_each(|| {
        let (address, serving) = serve(1, true);
        let stream = TcpStream::connect(address).unwrap();
        block_on(async {
            let builder = client::conn::http2::Builder::new(Executor::new());
            let (sender, connection) = builder.handshake(Io::new(stream)).await.unwrap();
            let connection = spawn_future(connection);
            let requests: Vec<_> = (0..20)
                .map(|number| {
                    let mut sender = sender.clone();
                    spawn_future(async move {
                        let request = Request::get(format!("http://here/{number}")).body(Empty::<Bytes>::new());
                        text(sender.send_request(request.unwrap()).await.unwrap()).await
                    })
                })
                .collect();
            drop(sender);
            for (number, request) in requests.into_iter().enumerate() {
                assert_eq!(request.await.unwrap(), format!("/{number} 0"));
            }
            connection.await.unwrap().unwrap();
        });
        serving.join().unwrap();
    });
}

#[test]
fn a_header_that_does_not_come_in_time_ends_the_connection() {
    in_fiber_of_each(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let _silent = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, _) = listener.accept().unwrap();
        let mut builder = server::conn::http1::Builder::new();
        builder.timer(Timer).header_read_timeout(Duration::from_millis(5));
        let served = block_on(builder.serve_connection(Io::new(stream), service_fn(answer)));
        assert!(served.unwrap_err().is_timeout());
    });
}

#[test]
fn a_sleep_is_reset() {
    in_fiber_of_each(|| {
        let start = Instant::now();
        let mut sleep = Timer.sleep(Duration::from_secs(3600));
        let waker = std::task::Waker::noop();
        assert!(sleep.as_mut().poll(&mut std::task::Context::from_waker(waker)).is_pending());
        Timer.reset(&mut sleep, start + Duration::from_millis(3));
        block_on(sleep);
        assert!(start.elapsed() >= Duration::from_millis(3));
    });
}
