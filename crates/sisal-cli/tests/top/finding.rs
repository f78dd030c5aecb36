//! Who is asked, and with which token.

use crate::program::{Directory, Ran};
use crate::samples;
use crate::server::{Server, ok, status};
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

const HOW: &str = "start it with SISAL_SERVE=127.0.0.1:0 in its environment, or let it call sisal::inspect::serve";

#[track_caller]
fn fails(ran: &Ran, code: i32, said: &str) {
    assert_eq!((ran.code, ran.stderr.as_str(), ran.stdout.len()), (Some(code), said, 0));
}

/// When this process started.
fn started() -> String {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap().to_owned()
}

/// Writes what this process, which is a test, would write if it served.
fn enter(directory: &Directory, text: &str) {
    fs::create_dir_all(directory.path("run/sisal")).unwrap();
    fs::set_permissions(directory.path("run/sisal"), fs::Permissions::from_mode(0o700)).unwrap();
    directory.write(&format!("run/sisal/{}", std::process::id()), text.as_bytes());
}

#[test]
fn nobody_at_that_address_is_told() {
    let directory = Directory::new();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    for tool in ["top", "dump"] {
        let ran = directory.sisal(&[tool, &format!(":{port}")]).run();
        fails(&ran, 1, &format!("sisal {tool}: 127.0.0.1:{port}: can't connect: Connection refused\n"));
    }
    let ran = directory.sisal(&["trace", &format!("http://127.0.0.1:{port}"), "-o", "out"]).run();
    fails(&ran, 1, &format!("sisal trace: 127.0.0.1:{port}: can't connect: Connection refused\n"));
    assert_eq!(directory.names(), [""; 0]);
}

#[test]
fn command_lines_that_make_no_sense_end_with_2() {
    let directory = Directory::new();
    let lines = [
        "top",
        "top :0",
        "top host",
        "top https://h:1",
        "top :1 -d 0",
        "top :1 --sort size",
        "top :1 --token=",
        "dump",
        "dump :1 --id x",
        "dump :1 --timeout 0",
        "trace :1",
        "trace :1 -o x --seconds 61",
        "trace :1 -o x --seconds nan",
        "trace -o x",
        "dump :1 --json=3",
    ];
    for line in lines {
        let ran = directory.sisal(&line.split(' ').collect::<Vec<_>>()).run();
        assert!(ran.code == Some(2) && ran.stderr.starts_with("error: "), "{line}: {ran:?}");
    }
    assert_eq!(directory.sisal(&["gz", "--no-such"]).run().code, Some(1), "as gzip does");
}

#[test]
fn help_is_no_error_and_tells_how_to_serve() {
    let directory = Directory::new();
    for tool in ["top", "dump", "trace"] {
        for flag in ["-h", "--help"] {
            let said = String::from_utf8(directory.sisal(&[tool, flag]).output()).unwrap();
            assert!(said.contains("SISAL_SERVE=127.0.0.1:0") && said.contains("ADDR|PID"), "{said}");
        }
    }
}

#[test]
fn a_process_is_found_by_its_number() {
    let (directory, server) = (Directory::new(), Server::small());
    enter(&directory, &format!("{} secret {}\n", server.address(), started()));
    let process = std::process::id().to_string();
    directory.sisal(&["dump", &process]).output();
    let requests = server.requests();
    assert!(requests[0].head.contains(&"Authorization: Bearer secret".to_owned()), "{requests:?}");
    // What is said outright counts more than the file, and the file more than the environment.
    directory.sisal(&["dump", &process, "--token", "mine"]).output();
    directory.sisal(&["dump", &process]).variable("SISAL_SERVE_TOKEN", "theirs").output();
    let sent: Vec<_> = server.requests().into_iter().map(|request| request.head[3].clone()).collect();
    assert_eq!(sent, ["secret", "mine", "secret"].map(|token| format!("Authorization: Bearer {token}")));
}

#[test]
fn a_process_that_does_not_serve_is_told_how_it_would() {
    let directory = Directory::new();
    let process = std::process::id();
    for tool in ["top", "dump"] {
        let ran = directory.sisal(&[tool, &process.to_string()]).run();
        fails(&ran, 1, &format!("sisal {tool}: process {process} does not serve: {HOW}\n"));
    }
    let ran = directory.sisal(&["trace", &process.to_string(), "-o", "out"]).run();
    fails(&ran, 1, &format!("sisal trace: process {process} does not serve: {HOW}\n"));
}

#[test]
fn a_process_that_is_not_there_is_told() {
    let ran = Directory::new().sisal(&["top", "2147483647"]).run();
    fails(&ran, 1, "sisal top: there is no process 2147483647\n");
}

#[test]
fn an_entry_that_was_left_behind_is_told() {
    let directory = Directory::new();
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    enter(&directory, &format!("{address}  {}\n", started()));
    let process = std::process::id();
    let ran = directory.sisal(&["dump", &process.to_string()]).run();
    fails(&ran, 1, &format!("sisal dump: process {process} ({address}): can't connect: Connection refused\n"));
}

#[test]
fn an_entry_that_is_none_or_not_the_owners_is_told() {
    let directory = Directory::new();
    enter(&directory, "nonsense\n");
    let process = std::process::id().to_string();
    let path = directory.path(format!("run/sisal/{process}"));
    let ran = directory.sisal(&["dump", &process]).run();
    fails(&ran, 1, &format!("sisal dump: {}: holds no address\n", path.display()));
    if !rustix::process::geteuid().is_root() {
        fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
        let ran = directory.sisal(&["dump", &process]).run();
        fails(&ran, 1, &format!("sisal dump: {}: Permission denied\n", path.display()));
        return;
    }
    // Ours, but not root's: the test runs as root, and so does the process that is asked.
    std::os::unix::fs::chown(&path, Some(12345), None).unwrap();
    let ran = directory.sisal(&["dump", &process]).run();
    let reason = "belongs to user 12345, and the process to user 0: not trusted";
    fails(&ran, 1, &format!("sisal dump: {}: {reason}\n", path.display()));
}

#[test]
fn an_entry_of_another_process_that_had_this_number_is_not_trusted() {
    let (directory, server) = (Directory::new(), Server::small());
    enter(&directory, &format!("{} secret 1\n", server.address()));
    let process = std::process::id().to_string();
    let path = directory.path(format!("run/sisal/{process}"));
    let ran = directory.sisal(&["dump", &process]).run();
    let reason = "was left behind by another process, which had this number before";
    fails(&ran, 1, &format!("sisal dump: {}: {reason}\n", path.display()));
    assert!(server.requests().is_empty());
}

#[test]
fn an_entry_that_others_could_have_made_is_not_trusted() {
    let (directory, server) = (Directory::new(), Server::small());
    let process = std::process::id().to_string();
    let path = directory.path(format!("run/sisal/{process}"));
    let line = format!("{} secret {}\n", server.address(), started());
    let refused = |reason: &str| {
        let ran = directory.sisal(&["dump", &process]).run();
        fails(&ran, 1, &format!("sisal dump: {}: {reason}: not trusted\n", path.display()));
    };
    enter(&directory, &line);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o622)).unwrap();
    refused("can be written to by others");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    fs::set_permissions(directory.path("run/sisal"), fs::Permissions::from_mode(0o777)).unwrap();
    refused("its directory can be written to by others");
    fs::set_permissions(directory.path("run/sisal"), fs::Permissions::from_mode(0o700)).unwrap();
    fs::rename(&path, directory.path("elsewhere")).unwrap();
    std::os::unix::fs::symlink(directory.path("elsewhere"), &path).unwrap();
    refused("is a link");
    fs::remove_file(&path).unwrap();
    // Nobody writes into it: whoever opened it as a file would wait for ever.
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    refused("is not a file");
    assert!(server.requests().is_empty());
}

#[test]
fn a_token_is_asked_for_and_sent() {
    let directory = Directory::new();
    let server = Server::new(|request| match request.head.iter().any(|line| line == "Authorization: Bearer right") {
        true => ok("application/json", &samples::small()),
        false => status("401 Unauthorized", "text/plain", "no\n"),
    });
    let address = server.address();
    let dump = |more: &[&str]| directory.sisal(&[&["dump", "--json", &address], more].concat());
    let needed = "a token is needed: --token TOKEN, or SISAL_SERVE_TOKEN in the environment";
    fails(&dump(&[]).run(), 1, &format!("sisal dump: {address}: {needed}\n"));
    fails(&dump(&["--token", "wrong"]).run(), 1, &format!("sisal dump: {address}: the token is wrong\n"));
    dump(&["--token", "right"]).output();
    dump(&[]).variable("SISAL_SERVE_TOKEN", "right").output();
    let url = format!("http://{address}/?token=right");
    directory.sisal(&["dump", "--json", &url]).output();
}

#[test]
fn a_token_can_not_bring_headers_of_its_own() {
    let (directory, server) = (Directory::new(), Server::small());
    let evil = "x\r\nHost: evil";
    assert_eq!(directory.sisal(&["dump", &server.address(), "--token", evil]).run().code, Some(2));
    let ran = directory.sisal(&["dump", &server.address()]).variable("SISAL_SERVE_TOKEN", evil).run();
    let expected = "a token has only visible ASCII characters, and no space";
    fails(&ran, 1, &format!("sisal dump: SISAL_SERVE_TOKEN: {expected}\n"));
    assert!(server.requests().is_empty());
}

#[test]
fn hosts_are_named_by_number() {
    let (directory, server) = (Directory::new(), Server::small());
    directory.sisal(&["dump", &format!("http://localhost:{}/", server.port())]).output();
    assert_eq!(server.requests()[0].head[1], format!("Host: {}", server.address()));
}
