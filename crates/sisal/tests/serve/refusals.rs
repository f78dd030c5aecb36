//! Whom it refuses.

use super::client::{ask, get, send};
use super::common::watchdog::guarded;
use super::fake::Fake;
use sisal::inspect::{ServeOptions, Server};
use std::io::ErrorKind;

fn plain() -> Server {
    Fake::new().serve(ServeOptions::new())
}

fn with_token() -> Server {
    Fake::new().serve(ServeOptions::new().token("s3cret"))
}

const DATA: [&str; 5] = ["/debug/fibers", "/debug/fibers.json", "/debug/trace?seconds=0", "/metrics", "/metrics.json"];

#[test]
fn unknown_paths_are_told_which_there_are() {
    guarded(|| {
        let server = plain();
        for path in
            ["/nowhere", "/debug", "/debug/fibers/", "//", "/..", "/%00", "/debug/fibers.json/../../etc/passwd", "*"]
        {
            let answer = get(server.local_addr(), path);
            assert_eq!(answer.status, 404, "{path}");
            assert!(answer.body.contains("/debug/fibers.json"), "{}", answer.body);
        }
    });
}

#[test]
fn methods_that_change_things_are_refused() {
    guarded(|| {
        let server = plain();
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "get", "BREW"] {
            let answer = ask(server.local_addr(), method, "/metrics", &[]);
            assert_eq!((answer.status, answer.header("allow")), (405, Some("GET, HEAD")), "{method}");
        }
    });
}

#[test]
fn bodies_are_refused() {
    guarded(|| {
        let server = plain();
        let with_body = |header: &str, body: &str| {
            let request = format!("GET /metrics HTTP/1.1\r\nHost: localhost\r\n{header}\r\n\r\n{body}");
            send(server.local_addr(), request.as_bytes()).unwrap().status
        };
        assert_eq!(with_body("Content-Length: 5", "hello"), 413);
        assert_eq!(with_body("Content-Length: 99999999999999999999", ""), 413);
        assert_eq!(with_body("Transfer-Encoding: chunked", "0\r\n\r\n"), 413);
        assert_eq!(with_body("Content-Length: 0", ""), 200);
        // The answer comes through even if much is sent that nobody reads.
        assert_eq!(with_body("Content-Length: 60000", &"x".repeat(60_000)), 413);
    });
}

#[test]
fn heads_have_limits() {
    guarded(|| {
        let server = plain();
        let long = format!("/{}", "x".repeat(20_000));
        assert_eq!(ask(server.local_addr(), "GET", &long, &[]).status, 431);
        let many = vec![("X-More", "1"); 100];
        assert_eq!(ask(server.local_addr(), "GET", "/metrics", &many).status, 431);
    });
}

#[test]
fn parameters_that_make_no_sense_are_refused_and_named() {
    guarded(|| {
        let server = plain();
        for (path, name) in [
            ("/debug/fibers?id=abc", "id"),
            ("/debug/fibers.json?id=-1", "id"),
            ("/debug/fibers.json?traces=2", "traces"),
            ("/debug/trace?seconds=61", "seconds"),
            ("/debug/trace?seconds=NaN", "seconds"),
            ("/debug/trace?seconds=-0.5", "seconds"),
        ] {
            let answer = get(server.local_addr(), path);
            assert_eq!(answer.status, 400, "{path}");
            assert!(answer.body.starts_with(&format!("{name}=")), "{}", answer.body);
        }
    });
}

#[test]
fn hosts_with_names_are_refused_as_one_could_lead_here() {
    guarded(|| {
        let server = plain();
        let status = |host: &str, path: &str| ask(server.local_addr(), "GET", path, &[("Host", host)]).status;
        for path in DATA.into_iter().chain(["/"]) {
            for host in
                ["evil.example", "evil.example:6060", "localhost.evil.example", "127.0.0.1.evil.example", "a", ""]
            {
                assert_eq!(status(host, path), 403, "{host} {path}");
            }
            for host in ["localhost", "localhost:1", "127.0.0.1", "[::1]:7", "10.0.0.1:80"] {
                assert_eq!(status(host, path), 200, "{host} {path}");
            }
        }
        let nameless = send(server.local_addr(), b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
        assert_eq!(nameless.status, 400);
        let twice =
            send(server.local_addr(), b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n").unwrap();
        assert_eq!(twice.status, 400);
    });
}

#[test]
fn pages_of_other_origins_are_refused() {
    guarded(|| {
        let server = plain();
        let host = server.local_addr().to_string();
        let status = |headers: &[(&str, &str)], path: &str| ask(server.local_addr(), "GET", path, headers).status;
        for path in DATA {
            for origin in ["http://evil.example", "https://127.0.0.1", "null", "http://localhost", "file://"] {
                assert_eq!(status(&[("Origin", origin)], path), 403, "{origin} {path}");
            }
            let script_tag = [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "no-cors")];
            assert_eq!(status(&script_tag, path), 403, "{path}");
            let link = [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate")];
            assert_eq!(status(&link, path), 403, "{path}");
            let frame = [("Sec-Fetch-Site", "same-origin"), ("Sec-Fetch-Dest", "iframe")];
            assert_eq!(status(&frame, path), 403, "{path}");
            assert_eq!(status(&[("Origin", &format!("http://{host}"))], path), 200, "{path}");
            let own = [("Sec-Fetch-Site", "same-origin"), ("Sec-Fetch-Mode", "cors")];
            assert_eq!(status(&own, path), 200, "{path}");
        }
    });
}

#[test]
fn data_need_the_token_if_there_is_one() {
    guarded(|| {
        let server = with_token();
        let with = |headers: &[(&str, &str)], path: &str| ask(server.local_addr(), "GET", path, headers);
        for path in DATA {
            let answer = with(&[], path);
            assert_eq!((answer.status, answer.header("www-authenticate")), (401, Some("Bearer")), "{path}");
            for wrong in
                ["Bearer wrong", "Bearer s3cre", "Bearer s3cre7", "Bearer s3crett", "Bearer ", "Basic s3cret", "s3cret"]
            {
                assert_eq!(with(&[("Authorization", wrong)], path).status, 401, "{wrong} {path}");
            }
            assert_eq!(with(&[("Authorization", "Bearer s3cret")], path).status, 200, "{path}");
            let mark = if path.contains('?') { '&' } else { '?' };
            assert_eq!(with(&[], &format!("{path}{mark}token=s3cret")).status, 200, "{path}");
            assert_eq!(with(&[], &format!("{path}{mark}token=wrong")).status, 401, "{path}");
        }
        // Not even which paths there are.
        assert_eq!(with(&[], "/nowhere").status, 401);
    });
}

#[test]
fn the_page_comes_without_the_token_to_ask_for_it_and_says_so() {
    guarded(|| {
        let server = with_token();
        let without = get(server.local_addr(), "/");
        assert_eq!(without.status, 401);
        assert!(without.body.contains("<title>") && !without.body.contains("s3cret"));
        assert_eq!(get(server.local_addr(), "/?token=s3cret").status, 200);
        assert_eq!(ask(server.local_addr(), "GET", "/?token=s3cret", &[("Host", "evil.example")]).status, 403);
    });
}

#[test]
fn addresses_that_others_reach_need_a_token() {
    guarded(|| {
        for address in ["0.0.0.0:0", "[::]:0", "[::ffff:0.0.0.0]:0"] {
            let error = ServeOptions::new().serve_from(address, Fake::new()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{address}");
            let text = error.to_string();
            assert!(text.contains("needs a token") && text.contains("127.0.0.1:0"), "{text}");
        }
        for token in ["", "two words", "tab\t", "é", "line\n"] {
            let error = ServeOptions::new().token(token).serve_from("127.0.0.1:0", Fake::new()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{token:?}");
        }
        let server = ServeOptions::new().token("s3cret").serve_from("0.0.0.0:0", Fake::new()).unwrap();
        let local = (std::net::Ipv4Addr::LOCALHOST, server.local_addr().port()).into();
        assert_eq!(get(local, "/metrics").status, 401);
        assert_eq!(get(local, "/metrics?token=s3cret").status, 200);
    });
}

#[test]
fn outside_of_a_runtime_serve_says_what_to_do() {
    guarded(|| {
        let error = sisal::inspect::serve("127.0.0.1:0").unwrap_err();
        assert!(error.to_string().contains("ServeOptions::runtime"), "{error}");
    });
}

#[test]
fn debug_output_does_not_tell_the_token() {
    let shown =
        format!("{:?} {:?}", ServeOptions::new().token("s3cret"), sisal::Runtime::builder().serve_token("s3cret"));
    assert!(!shown.contains("s3cret"), "{shown}");
}
