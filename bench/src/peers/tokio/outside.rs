//! tokio's tasks at sockets and files; HTTP is hyper's.

use std::convert::Infallible;
use std::sync::Arc;
use std::thread;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::{builder, start};
use crate::work::{BUFFER, Files, HELLO, answer};

/// An echo server.
pub(in crate::peers) fn echo(workers: usize) -> ! {
    serve(workers, |mut stream| async move {
        let mut buffer = [0; BUFFER];
        while let Ok(count @ 1..) = stream.read(&mut buffer).await {
            if stream.write_all(&buffer[..count]).await.is_err() {
                break;
            }
        }
    })
}

/// hyper's server of HTTP.
pub(super) fn http(workers: usize) -> ! {
    serve(workers, |stream| async move {
        let connection = hyper::server::conn::http1::Builder::new()
            .pipeline_flush(true)
            .serve_connection(TokioIo::new(stream), service_fn(hello));
        // A client that goes away amid a request has measured enough.
        let _ = connection.await;
    })
}

async fn hello(_: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    Ok(Response::new(Full::new(Bytes::from_static(HELLO.as_bytes()))))
}

/// Accepts, and has a task for each connection.
fn serve<F: Future<Output = ()> + Send + 'static>(workers: usize, connection: fn(TcpStream) -> F) -> ! {
    let runtime = start(builder(workers).worker_threads(workers).enable_io());
    let bind = TcpListener::bind(("127.0.0.1", 0));
    let listener = runtime.block_on(bind).expect("the loopback has a free port");
    let port = listener.local_addr().expect("it is bound").port();
    // With one worker, this thread is it.
    thread::spawn(move || {
        runtime.block_on(async move {
            loop {
                let (stream, _) = listener.accept().await.expect("a connection comes");
                tokio::spawn(connection(stream));
            }
        })
    });
    answer(port)
}

/// Every file, by a task each, so many times.
pub(super) async fn read(files: Arc<Files>, repeats: usize) {
    for _ in 0..repeats {
        let task = |path: &std::path::Path| {
            let (files, path) = (Arc::clone(&files), path.to_owned());
            tokio::spawn(async move { files.check(tokio::fs::read(path).await) })
        };
        let tasks: Vec<_> = files.paths().map(task).collect();
        for task in tasks {
            task.await.expect("a reading task ends well");
        }
    }
}
