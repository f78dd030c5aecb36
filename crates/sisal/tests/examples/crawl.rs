//! The crawler, at a server of a few pages.

use crate::common::until;
use crate::common::watchdog::Watchdog;
use crate::program::example;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// How many connections a server has, and has had at most.
#[derive(Default)]
struct Visitors {
    now: AtomicUsize,
    most: AtomicUsize,
    /// How many have asked for a page that is not there.
    lost: AtomicUsize,
}

impl Visitors {
    fn serve(&self, mut stream: TcpStream) {
        self.most.fetch_max(self.now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        let lines: Vec<String> =
            BufReader::new(&stream).lines().map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
        let path = lines[0].split(' ').nth(1).unwrap();
        let (head, body) = page(path);
        if head.starts_with("404") {
            // All of these are known of at once: two may come together, and more if they only might.
            let pair = self.lost.fetch_add(1, Ordering::SeqCst) / 2 + 1;
            until(|| self.lost.load(Ordering::SeqCst) >= 2 * pair);
        }
        // Before the client hears the end: afterwards it may begin with the next.
        self.now.fetch_sub(1, Ordering::SeqCst);
        write!(stream, "HTTP/1.1 {head}\r\n\r\n{body}").unwrap();
    }
}

fn page(path: &str) -> (&'static str, &'static str) {
    match path {
        "/" => {
            ("200 OK", r##"<a href="a/">a</a> <a href='/b'>b</a> <a href="#top">up</a> <a href="mailto:a@b">post</a>"##)
        }
        "/a/" => {
            ("200 OK", r#"<a href="../b">b</a> <a href="x?p=1&amp;q=2">x</a> <a href="http://127.0.0.1:1/">dead</a>"#)
        }
        "/a/x?p=1&q=2" => (
            "200 OK",
            r#"<a href="?p=2">y</a> <a href="/">home</a> <a href="1">1</a> <a href="2">2</a> <a href="3">3</a>"#,
        ),
        "/b" => ("302 Found\r\nLocation: /a/", ""),
        _ => ("404 Not Found", ""),
    }
}

#[test]
fn every_page_is_fetched_once_and_few_at_a_time() {
    let body = || {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let visitors = Arc::new(Visitors::default());
        let shared = Arc::clone(&visitors);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let shared = Arc::clone(&shared);
                thread::spawn(move || shared.serve(stream.unwrap()));
            }
        });
        let mut command = Command::new(example("crawl"));
        let output = command.args(["--per-host", "2", &format!("http://{address}")]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{text}");
        for (status, path) in [(200, "/"), (200, "/a/"), (302, "/b"), (200, "/a/x?p=1&q=2"), (404, "/a/x?p=2")] {
            let lines = text.lines().filter(|line| line.starts_with(&status.to_string()));
            let found = lines.filter(|line| line.ends_with(&format!("http://{address}{path}"))).count();
            assert_eq!(found, 1, "{path} in {text}");
        }
        assert!(text.contains("---") && text.contains("http://127.0.0.1:1/: "), "{text}");
        assert!(text.ends_with("pages fetched: 8\n"), "{text}");
        assert_eq!(visitors.most.load(Ordering::SeqCst), 2);
    };
    let _watchdog = Watchdog::over(&body, "crawl");
    body();
}
