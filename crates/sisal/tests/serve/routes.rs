//! What is answered.

use super::client::{ask, get};
use super::common::watchdog::guarded;
use super::fake::Fake;
use sisal::inspect::{Selection, ServeOptions};
use std::sync::atomic::Ordering;

const PATHS: [&str; 6] =
    ["/", "/debug/fibers", "/debug/fibers.json", "/debug/trace?seconds=0", "/metrics", "/metrics.json"];

#[test]
fn every_path_gives_what_it_is_for() {
    guarded(|| {
        let fake = Fake::new();
        *fake.fibers.lock().unwrap() = r#"{"fibers":[]}"#.to_owned();
        let server = fake.serve(ServeOptions::new());
        let check = |path: &str, content_type: &str, part: &str| {
            let answer = get(server.local_addr(), path);
            assert_eq!(answer.status, 200, "{path}");
            assert_eq!(answer.header("content-type"), Some(content_type), "{path}");
            assert!(answer.body.contains(part), "{path}: {}", answer.body);
        };
        check("/", "text/html; charset=utf-8", "<title>");
        check("/?anything=else", "text/html; charset=utf-8", "<title>");
        check("/debug/fibers", "text/plain; charset=utf-8", "id: None, traces: true");
        check("/debug/fibers?id=17&traces=0", "text/plain; charset=utf-8", "id: Some(17), traces: false");
        check("/debug/fibers.json", "application/json", r#"{"fibers":[]}"#);
        check("/debug/trace?seconds=0", "application/json", r#""duration":"None""#);
        check("/debug/trace?seconds=0.1", "application/json", r#""duration":"Some(100ms)""#);
        check("/metrics", "text/plain; version=0.0.4; charset=utf-8", "sisal_fibers 7\n");
        check("/metrics.json", "application/json", r#"{"fibers":7}"#);
    });
}

#[test]
fn the_selection_is_handed_on() {
    guarded(|| {
        let fake = Fake::new();
        let server = fake.serve(ServeOptions::new());
        for query in ["", "?id=5", "?traces=0", "?traces=1&id=18446744073709551615&other=x"] {
            assert_eq!(get(server.local_addr(), &format!("/debug/fibers.json{query}")).status, 200);
        }
        let expected = [(None, true), (Some(5), true), (None, false), (Some(u64::MAX), true)];
        let expected = expected.map(|(id, traces)| Selection { id, traces });
        assert_eq!(*fake.selections.lock().unwrap(), expected);
    });
}

#[test]
fn nothing_is_stored_framed_or_sniffed() {
    guarded(|| {
        let server = Fake::new().serve(ServeOptions::new());
        for path in PATHS.into_iter().chain(["/nowhere"]) {
            let answer = get(server.local_addr(), path);
            assert_eq!(answer.header("cache-control"), Some("no-store"), "{path}");
            assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
            assert_eq!(answer.header("cross-origin-resource-policy"), Some("same-origin"), "{path}");
            assert_eq!(answer.header("access-control-allow-origin"), None, "{path}");
        }
    });
}

#[test]
fn the_page_may_load_nothing_and_runs_only_its_own_script() {
    guarded(|| {
        let server = Fake::new().serve(ServeOptions::new());
        let page = get(server.local_addr(), "/");
        let policy = page.header("content-security-policy").unwrap();
        for part in ["default-src 'none'", "connect-src 'self'", "img-src data:", "frame-ancestors 'none'"] {
            assert!(policy.contains(part), "{policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        let nonce = policy.split_once("script-src 'nonce-").unwrap().1.split_once('\'').unwrap().0;
        assert!(page.body.contains(&format!("<script nonce=\"{nonce}\">")));
        let other = get(server.local_addr(), "/");
        assert!(!other.header("content-security-policy").unwrap().contains(nonce), "each answer has its own");
    });
}

#[test]
fn head_is_get_without_the_body() {
    guarded(|| {
        let server = Fake::new().serve(ServeOptions::new());
        for path in ["/debug/fibers", "/metrics", "/metrics.json", "/nowhere"] {
            let (full, head) = (get(server.local_addr(), path), ask(server.local_addr(), "HEAD", path, &[]));
            assert_eq!(head.body, "", "{path}");
            assert_eq!(head.status, full.status, "{path}");
            assert_eq!(head.header("content-length"), full.header("content-length"), "{path}");
        }
        // Which would take a minute.
        assert_eq!(ask(server.local_addr(), "HEAD", "/debug/trace?seconds=60", &[]).status, 200);
    });
}

#[test]
fn a_panic_while_data_are_made_is_an_answer_and_not_the_end() {
    guarded(|| {
        let fake = Fake::new();
        let server = fake.serve(ServeOptions::new());
        fake.panics.store(true, Ordering::Relaxed);
        assert_eq!(get(server.local_addr(), "/metrics").status, 500);
        fake.panics.store(false, Ordering::Relaxed);
        assert_eq!(get(server.local_addr(), "/metrics").status, 200);
    });
}

#[test]
fn a_second_trace_is_told_to_come_later() {
    guarded(|| {
        let fake = Fake::new();
        let server = fake.serve(ServeOptions::new());
        let address = server.local_addr();
        let first =
            std::thread::spawn(move || super::client::send(address, b"GET /debug/trace?seconds=60 HTTP/1.0\r\n\r\n"));
        fake.wait_for_traces(1);
        let second = get(address, "/debug/trace?seconds=1");
        assert_eq!((second.status, second.header("retry-after")), (503, Some("1")));
        assert_eq!(get(address, "/debug/trace?seconds=0").status, 200, "what is recorded already can be read");
        // And all else is answered meanwhile.
        assert_eq!(get(address, "/metrics").status, 200);
        drop(server);
        first.join().unwrap();
    });
}
