//! The HTTP server of the examples, in a process of its own, under curl, wrk and nginx.

#[path = "../../crates/sisal/tests/common/mod.rs"]
mod common;

use common::watchdog::guarded;
use rustix::process::Signal;
use sisal_tests_real::{Folder, Program, Server, hammer, program};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;

/// The example, which ends when all its requests are answered.
fn example() -> Server {
    Server::start(Signal::TERM, "listening on", |port| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_http"));
        command.arg(format!("127.0.0.1:{port}"));
        command
    })
}

/// What curl prints for these arguments.
#[track_caller]
fn curl(program: &Program, arguments: &[&str]) -> String {
    let always = ["--silent", "--show-error", "--noproxy", "*"];
    program.with(always.iter().chain(arguments)).text()
}

#[test]
fn curl_gets_answers_of_all_kinds() {
    guarded(|| {
        let Some(program) = program("curl") else { return };
        let server = example();
        let url = |path: &str| format!("http://{}{path}", server.address());
        assert_eq!(curl(&program, &[&url("/")]), "Hello, World!");
        assert_eq!(curl(&program, &["--data", "to and fro", &url("/echo")]), "to and fro");
        let status = |arguments: &[&str], path: &str| {
            let answer = ["--output", "/dev/null", "--write-out", "%{http_code}", &url(path)];
            curl(&program, &[arguments, &answer].concat())
        };
        assert_eq!(status(&[], "/nowhere"), "404");
        assert_eq!(status(&["--request", "DELETE"], "/"), "405");
        assert_eq!(status(&["--head"], "/"), "200");
        assert_eq!(status(&["--http1.0"], "/"), "200");
        assert_eq!(status(&["--header", "Expect: 100-continue", "--data", "expected"], "/echo"), "200");
    });
}

#[test]
fn curl_keeps_its_connection() {
    guarded(|| {
        let Some(program) = program("curl") else { return };
        let server = example();
        let url = format!("http://{}/", server.address());
        // The number of new connections that each transfer took.
        let each = ["--write-out", " %{num_connects}\n", &url, &url, &url];
        assert_eq!(curl(&program, &each), "Hello, World! 1\nHello, World! 0\nHello, World! 0\n");
    });
}

#[test]
fn curl_gets_back_the_bytes_it_sent() {
    guarded(|| {
        let Some(program) = program("curl") else { return };
        let (server, folder) = (example(), Folder::new());
        for size in [1, 1_000, 60_000] {
            let bytes: Vec<u8> = (0..size).map(|place: u32| (place.wrapping_mul(40_503) >> 8) as u8).collect();
            let (path, url) = (folder.file("sent", &bytes), format!("http://{}/echo", server.address()));
            let sent = format!("@{}", path.display());
            let answer = program.with(["--silent", "--noproxy", "*", "--data-binary", &sent, &url]).output();
            assert!(answer == bytes, "{size} bytes");
        }
    });
}

#[test]
fn wrk_finds_no_errors() {
    guarded(|| {
        let Some(wrk) = program("wrk") else { return };
        let server = example();
        hammer(&wrk, &format!("http://{}/", server.address()));
    });
}

/// nginx in front of a server, in one process, so that nothing of it is left when that is killed. It keeps connections to the
/// server, and makes new ones.
fn nginx(nginx: &Program, folder: &Folder, behind: SocketAddr) -> Server {
    let place = folder.path().display();
    Server::start(Signal::KILL, "using the", |port| {
        let config = format!(
            "daemon off; master_process off; pid {place}/pid; error_log stderr notice;
            events {{ worker_connections 1000; }}
            http {{
                access_log off;
                client_body_temp_path {place}/body; proxy_temp_path {place}/proxy; fastcgi_temp_path {place}/fastcgi;
                uwsgi_temp_path {place}/uwsgi; scgi_temp_path {place}/scgi;
                upstream behind {{ server {behind}; keepalive 20; }}
                server {{
                    listen 127.0.0.1:{port};
                    location / {{ proxy_pass http://behind; proxy_http_version 1.1; proxy_set_header Connection ''; }}
                }}
            }}"
        );
        let mut command = nginx.command();
        command.arg("-p").arg(folder.path()).arg("-c").arg(folder.file("nginx.conf", config));
        command.arg("-e").arg("stderr");
        command
    })
}

#[test]
fn nginx_stands_in_front() {
    guarded(|| {
        let (Some(front), Some(curl_program)) = (program("nginx"), program("curl")) else { return };
        let (server, folder) = (example(), Folder::new());
        let proxy = nginx(&front, &folder, server.address());
        let url = |path: &str| format!("http://{}{path}", proxy.address());
        assert_eq!(curl(&curl_program, &[&url("/")]), "Hello, World!");
        assert_eq!(curl(&curl_program, &["--data", "to and fro", &url("/echo")]), "to and fro");
        if let Some(wrk) = program("wrk") {
            hammer(&wrk, &format!("http://{}/", proxy.address()));
        }
    });
}

/// Reads byte for byte, so that nothing after it is taken.
fn read_until(stream: &mut TcpStream, end: &str) {
    let mut text = Vec::new();
    while !text.ends_with(end.as_bytes()) {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        text.extend(byte);
    }
}

#[test]
fn a_request_that_has_begun_is_answered_after_the_signal_to_end() {
    guarded(|| {
        let mut server = example();
        let connect = || TcpStream::connect(server.address()).unwrap();
        let (mut idle, mut busy) = (connect(), connect());
        idle.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").unwrap();
        read_until(&mut idle, "Hello, World!");
        busy.write_all(b"POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\nexpect: 100-continue\r\n\r\n").unwrap();
        read_until(&mut busy, "100 Continue\r\n\r\n");

        server.signal(Signal::TERM);
        assert_eq!(idle.read(&mut [0]).unwrap(), 0, "what is idle is closed");
        while TcpStream::connect(server.address()).is_ok() {
            std::thread::yield_now();
        }
        busy.write_all(b"late").unwrap();
        let mut answer = String::new();
        busy.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\nlate"), "{answer}");
        assert!(server.wait().success());
    });
}
