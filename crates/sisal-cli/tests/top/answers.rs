//! Answers that are none: each is told in one line, with the exit code 1.

use crate::program::Directory;
use crate::samples;
use crate::server::{Server, ok, status};

/// What the three tools say of a server, which is all the same, without their name and the server's address.
#[track_caller]
fn complaint(server: &Server) -> String {
    let directory = Directory::new();
    let address = server.address();
    let mut said = Vec::new();
    for arguments in [&["top", "--once", &address][..], &["dump", "--json", &address]] {
        let ran = directory.sisal(arguments).run();
        assert_eq!((ran.code, ran.stdout.len()), (Some(1), 0), "{ran:?}");
        let line = ran.stderr.strip_suffix('\n').unwrap();
        assert!(!line.contains('\n'), "one line: {line:?}");
        said.push(line.strip_prefix(&format!("sisal {}: {address}: ", arguments[0])).expect(line).to_owned());
    }
    assert_eq!(said[0], said[1]);
    said.remove(0)
}

#[test]
fn what_is_not_http_is_told() {
    let server = Server::new(|_| b"SSH-2.0-OpenSSH_9.2\r\n".to_vec());
    assert_eq!(complaint(&server), "not an answer of sisal: it does not speak HTTP");
    server.says(|_| Vec::new());
    assert_eq!(complaint(&server), "not an answer of sisal: it ends too early");
    server.says(|_| b"\xff\xfe\x00\n\n\n".to_vec());
    assert_eq!(complaint(&server), "not an answer of sisal: it does not speak HTTP");
}

#[test]
fn what_is_not_json_is_told() {
    let server = Server::of("<html>hello</html>".to_owned());
    assert_eq!(complaint(&server), "not an answer of sisal: not JSON: expected value at line 1 column 1");
    server.says(|_| ok("application/json", "[1, 2]"));
    assert!(complaint(&server).starts_with("not an answer of sisal: unexpected JSON: invalid type"));
}

#[test]
fn json_that_is_cut_off_is_told() {
    let json = samples::small();
    let server = Server::of(json[..json.len() / 2].to_owned());
    assert!(complaint(&server).starts_with("not an answer of sisal: the JSON is cut off: EOF while parsing"));
    // The server itself breaks off.
    server.says(move |_| {
        let whole = ok("application/json", &samples::small());
        whole[..whole.len() - 100].to_vec()
    });
    let length = samples::small().len();
    let expected = format!("not an answer of sisal: it ends after {} bytes, and should have {length}", length - 100);
    assert_eq!(complaint(&server), expected);
}

#[test]
fn fields_that_are_missing_or_wrong_are_named() {
    let server = Server::of(samples::small().replacen(r#""counts""#, r#""other""#, 1));
    assert!(complaint(&server).starts_with("not an answer of sisal: unexpected JSON: missing field `counts`"));
    server.says(|_| ok("application/json", &samples::small().replacen(r#""id":1,"#, r#""id":"one","#, 1)));
    assert!(complaint(&server).contains("invalid type: string \"one\", expected u64"));
    // What the complaint quotes can't get at the terminal.
    server.says(|_| {
        ok("application/json", &samples::small().replacen(r#""id":1,"#, "\"id\":\"\\u001b[2J\u{9b}2J\",", 1))
    });
    let said = complaint(&server);
    assert!(said.contains("u{1b}") && !said.contains(char::is_control), "{said:?}");
}

#[test]
fn another_version_is_told() {
    let server = Server::of(r#"{"version":2,"all":"new"}"#.to_owned());
    let expected = "not an answer of sisal: it speaks version 2, and this program only version 1";
    assert_eq!(complaint(&server), expected);
    server.says(|_| ok("application/json", &samples::small().replacen(r#""version":1"#, r#""version":2"#, 1)));
    assert_eq!(complaint(&server), expected);
}

#[test]
fn a_status_that_is_no_success_is_told_with_what_the_server_says() {
    let server = Server::new(|_| status("500 Oh", "text/plain", "too\x1b[1m bad\nsecond line"));
    assert_eq!(complaint(&server), "answered with status 500: too\\u{1b}[1m bad");
    server.says(|_| status("403 Forbidden", "text/html", "<h1>no</h1>"));
    assert_eq!(complaint(&server), "answered with status 403");
}

#[test]
fn answers_in_chunks_and_such_that_end_with_the_connection_are_read() {
    let json = samples::small();
    let (one, two) = json.split_at(1000);
    let chunked = format!(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{one}\r\n{:X};a=b\r\n{two}\r\n0\r\n\r\n",
        one.len(),
        two.len()
    );
    let closed = format!("HTTP/1.0 200 OK\r\n\r\n{json}");
    let directory = Directory::new();
    for answer in [chunked, closed] {
        let server = Server::new(move |_| answer.clone().into_bytes());
        let said = directory.sisal(&["dump", "--json", &server.address()]).output();
        assert_eq!(String::from_utf8(said).unwrap(), format!("{json}\n"));
    }
}

#[test]
fn an_answer_that_says_it_is_too_large_is_refused() {
    let server = Server::new(|_| b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n".to_vec());
    assert_eq!(complaint(&server), "not an answer of sisal: it has more than 512 MB");
}

#[test]
fn an_answer_that_does_not_end_is_given_up() {
    let directory = Directory::new();
    for beginning in [&b""[..], b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{"] {
        let server = Server::small();
        let _stalled = server.stalls(beginning);
        let address = server.address();
        let ran = directory.sisal(&["dump", "--timeout", "0.2", &address]).run();
        let said = format!("sisal dump: {address}: no complete answer within 0.2 s\n");
        assert_eq!((ran.code, ran.stderr), (Some(1), said));
    }
}
