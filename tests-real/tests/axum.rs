//! An axum router, served by hyper over our sockets.

#[path = "../../crates/sisal/tests/common/mod.rs"]
mod common;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::{get, post};
use axum::{Json, Router};
use common::watchdog::guarded;
use common::{background, shut_down};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use sisal::compat::hyper::{Executor, Io, Timer};
use sisal::{Handle, block_on};
use sisal_tests_real::{Listening, hammer, program};
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex};
use tower_service::Service;

type Stock = Arc<Mutex<HashMap<String, u32>>>;

async fn look(State(stock): State<Stock>, Path(name): Path<String>) -> impl IntoResponse {
    // A handler is polled in a fiber, and may give way to others like any future.
    let (sender, receiver) = sisal::chan::bounded(1);
    sender.send_async(name).await.unwrap();
    let name = receiver.recv_async().await.unwrap();
    stock.lock().unwrap().get(&name).map(|count| count.to_string()).ok_or(StatusCode::NOT_FOUND)
}

async fn put(State(stock): State<Stock>, Json(news): Json<HashMap<String, u32>>) -> Json<usize> {
    let mut stock = stock.lock().unwrap();
    stock.extend(news);
    Json(stock.len())
}

fn router() -> Router {
    let fallback = || async { (StatusCode::NOT_FOUND, "no such page") };
    let router = Router::new().route("/stock/{name}", get(look)).route("/stock", post(put));
    router.fallback(fallback).with_state(Stock::default())
}

#[derive(Copy, Clone)]
enum Version {
    One,
    Two,
}

fn serve(runtime: &Handle, version: Version, router: Router) -> Listening {
    Listening::start(runtime, move |stream| {
        stream.set_nodelay(true)?;
        let (io, router) = (Io::new(stream), router.clone());
        let service = service_fn(move |request| router.clone().call(request));
        let served = match version {
            Version::One => block_on(http1::Builder::new().timer(Timer).serve_connection(io, service)),
            Version::Two => block_on(http2::Builder::new(Executor::new()).timer(Timer).serve_connection(io, service)),
        };
        served.map_err(io::Error::other)
    })
}

#[test]
fn requests_find_their_handlers() {
    guarded(|| {
        let Some(curl) = program("curl") else { return };
        let runtime = background(2);
        let router = router();
        for (version, flag) in [(Version::One, "--http1.1"), (Version::Two, "--http2-prior-knowledge")] {
            let server = serve(runtime.handle(), version, router.clone());
            let with = |arguments: &[&str], path: &str| {
                let always = ["--silent", "--show-error", "--noproxy", "*", flag, "--write-out", " %{http_code}"];
                let url = server.url("http", path);
                curl.with(always.iter().chain(arguments).copied().chain([&url[..]])).text()
            };
            let json = ["--header", "content-type: application/json", "--data"];
            let put = |news: &str| with(&[&json[..], &[news]].concat(), "/stock");
            assert_eq!(put(r#"{"sisal": 3, "flax": 40}"#), "2 200");
            assert_eq!(with(&[], "/stock/flax"), "40 200");
            assert_eq!(with(&[], "/stock/cotton"), " 404");
            assert_eq!(with(&[], "/elsewhere"), "no such page 404");
            assert_eq!(with(&["--request", "DELETE"], "/stock"), " 405");
            assert!(put("{").ends_with(" 400"));
        }
        shut_down(runtime);
    });
}

#[test]
fn wrk_finds_no_errors() {
    guarded(|| {
        let Some(wrk) = program("wrk") else { return };
        let runtime = background(2);
        let hello = Router::new().route("/", get(|| async { "hello" }));
        let server = serve(runtime.handle(), Version::One, hello);
        hammer(&wrk, &server.url("http", "/"));
        drop(server);
        shut_down(runtime);
    });
}
