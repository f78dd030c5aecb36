//! hyper's part in a server of HTTP, whatever runtime it is on.

use std::convert::Infallible;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::rt::{Read, Write};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};

use crate::work::HELLO;

/// Serves a connection to its end. A client that goes away amid a request has measured enough.
pub(super) async fn serve(stream: impl Read + Write + Unpin) {
    let _ = http1::Builder::new().pipeline_flush(true).serve_connection(stream, service_fn(hello)).await;
}

async fn hello(_: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    Ok(Response::new(Full::new(Bytes::from_static(HELLO.as_bytes()))))
}
