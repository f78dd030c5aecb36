//! `sisal dump`.

use crate::program::Directory;
use crate::samples;
use crate::server::{Server, ok};

#[test]
fn a_dump_is_printed_as_text_or_as_json() {
    let (directory, server) = (Directory::new(), Server::small());
    let text = directory.sisal(&["dump", &server.address()]).output();
    assert_eq!(String::from_utf8(text).unwrap(), "fiber 1 [parked]\n\tmain.rs:3\n");
    let json = directory.sisal(&["dump", "--json", &server.address()]).output();
    assert_eq!(String::from_utf8(json).unwrap(), samples::small() + "\n");
    let paths: Vec<_> = server.requests().into_iter().map(|request| request.path).collect();
    assert_eq!(paths, ["/debug/fibers", "/debug/fibers.json"]);
}

#[test]
fn one_fiber_is_printed() {
    let (directory, server) = (Directory::new(), Server::small());
    let text = directory.sisal(&["dump", &server.address(), "--id", "18"]).output();
    assert_eq!(String::from_utf8(text).unwrap(), "fiber 18 [parked]\n");
    let json = directory.sisal(&["dump", &server.address(), "--id=18", "--json"]).output();
    assert_eq!(String::from_utf8(json).unwrap(), samples::one(18) + "\n");
}

#[test]
fn a_fiber_that_is_not_there_is_told() {
    let (directory, server) = (Directory::new(), Server::small());
    for arguments in
        [&["dump", "--id", "5", &server.address()][..], &["dump", "--json", "--id", "5", &server.address()]]
    {
        let ran = directory.sisal(arguments).run();
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(1), "sisal dump: there is no fiber 5\n"));
    }
    // A server that answers with no fiber at all says the same.
    let server = Server::of(samples::small());
    let ran = directory.sisal(&["dump", "--json", "--id", "5", &server.address()]).run();
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(1), "sisal dump: there is no fiber 5\n"));
}

#[test]
fn what_a_terminal_would_act_on_is_written_out() {
    let directory = Directory::new();
    let server = Server::new(|_| ok("text/plain", "fiber \x1b[2J\u{9b}x\r\n\tat a\tb\u{202e}"));
    let text = directory.sisal(&["dump", &server.address()]).output();
    assert_eq!(String::from_utf8(text).unwrap(), "fiber \\u{1b}[2J\\u{9b}x\n\tat a\tb\\u{202e}\n");
}

#[test]
fn what_is_no_text_is_told() {
    let directory = Directory::new();
    let server = Server::new(|_| ok("text/html", "<html>"));
    let dump = || directory.sisal(&["dump", &server.address()]).run();
    let (ran, address) = (dump(), server.address());
    let expected = format!("sisal dump: {address}: not an answer of sisal: it is not plain text\n");
    assert_eq!((ran.code, ran.stderr), (Some(1), expected));
    server.says(|_| b"HTTP/1.1 200 OK\r\n\r\n\xff\xff".to_vec());
    let expected = format!("sisal dump: {address}: not an answer of sisal: it is not UTF-8\n");
    assert_eq!(dump().stderr, expected);
}

#[test]
fn output_that_takes_no_more_is_told() {
    let (directory, server) = (Directory::new(), Server::small());
    let ran = directory.sisal(&["dump", &server.address()]).output_to("/dev/full");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(1), "sisal dump: stdout: No space left on device\n"));
}

#[test]
fn who_reads_no_further_ends_it_silently() {
    const SIGPIPE: i32 = 13;
    let (directory, server) = (Directory::new(), Server::of(samples::crowd()));
    let script = format!("\"$0\" dump --json {} | head -c 1000 > taken; echo ${{PIPESTATUS[0]}}", server.address());
    let ran = directory.program("bash", &["-c", &script, crate::program::SISAL]).run();
    let expected = (format!("{}\n", 128 + SIGPIPE), String::new());
    assert_eq!((String::from_utf8(ran.stdout).unwrap(), ran.stderr), expected);
}

#[test]
fn standard_output_that_is_closed_is_told() {
    let (directory, server) = (Directory::new(), Server::small());
    let closed = "exec \"$0\" dump \"$1\" >&-";
    let ran = directory.program("bash", &["-c", closed, crate::program::SISAL, &server.address()]).run();
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(1), "sisal dump: stdout: Bad file descriptor\n"));
}

#[test]
fn a_pipe_that_nobody_reads_is_told_if_its_signal_is_ignored() {
    let (directory, server) = (Directory::new(), Server::of(samples::crowd()));
    let command = "\"$0\" dump --json \"$1\" | head -c 10 > taken; exit ${PIPESTATUS[0]}";
    let script = format!("trap '' PIPE; {command}");
    let ran = directory.program("bash", &["-c", &script, crate::program::SISAL, &server.address()]).run();
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(1), "sisal dump: stdout: Broken pipe\n"));
}
