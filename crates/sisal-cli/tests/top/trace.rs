//! `sisal trace`.

use crate::program::{Directory, SISAL};
use crate::server::{Server, ok};
use std::fs;
use std::os::unix::fs::PermissionsExt;

const TRACE: &str = r#"{"traceEvents":[{"ph":"X"}],"displayTimeUnit":"ns"}"#;

#[test]
fn a_trace_is_saved_and_it_is_said_how_to_look_at_it() {
    let (directory, server) = (Directory::new(), Server::small());
    for (seconds, asked) in [(&[][..], "1"), (&["--seconds", "0.5"], "0.5"), (&["--seconds=0"], "0")] {
        let address = server.address();
        let arguments = [&["trace", &address, "-o", "out.json"], seconds].concat();
        let ran = directory.sisal(&arguments).run();
        let said = "sisal trace: out.json is written; open it at https://ui.perfetto.dev or in chrome://tracing\n";
        assert_eq!((ran.code, ran.stdout.len(), ran.stderr.as_str()), (Some(0), 0, said));
        assert_eq!(directory.read("out.json"), TRACE.as_bytes());
        assert_eq!(server.requests().last().unwrap().path, format!("/debug/trace?seconds={asked}"));
    }
    assert_eq!(directory.names(), ["out.json"]);
}

#[test]
fn a_trace_goes_to_standard_output() {
    let (directory, server) = (Directory::new(), Server::small());
    let written = directory.sisal(&["trace", &server.address(), "-o", "-"]).output();
    assert_eq!(String::from_utf8(written).unwrap(), TRACE);
    assert_eq!(directory.names(), [""; 0]);
}

#[test]
fn a_file_that_was_there_stays_if_there_is_no_trace() {
    let directory = Directory::new();
    directory.write("out.json", b"old");
    let server = Server::of(r#"{"no":"events"}"#.to_owned());
    let (address, trace) =
        (server.address(), || directory.sisal(&["trace", &server.address(), "-o", "out.json"]).run());
    let ran = trace();
    let expected = format!("sisal trace: {address}: not an answer of sisal: the JSON is no trace\n");
    assert_eq!((ran.code, ran.stderr), (Some(1), expected));
    server.says(|_| ok("application/json", "{\"traceEvents\":[1,2"));
    let ran = trace();
    assert!(ran.code == Some(1) && ran.stderr.contains("the JSON is cut off"), "{ran:?}");
    assert_eq!((directory.names(), directory.read("out.json")), (vec!["out.json".to_owned()], b"old".to_vec()));
}

#[test]
fn a_place_that_can_not_be_written_to_is_told_before_anything_is_recorded() {
    let (directory, server) = (Directory::new(), Server::small());
    fs::create_dir(directory.path("folder")).unwrap();
    for (path, reason) in [("folder", "is a directory"), ("missing/out.json", "No such file or directory")] {
        let ran = directory.sisal(&["trace", &server.address(), "-o", path]).run();
        assert_eq!((ran.code, ran.stderr), (Some(1), format!("sisal trace: {path}: {reason}\n")));
    }
    assert!(server.requests().is_empty());
}

#[test]
fn devices_and_links_are_written_to_and_not_replaced() {
    let (directory, server) = (Directory::new(), Server::small());
    let ran = directory.sisal(&["trace", &server.address(), "-o", "/dev/null"]).run();
    assert_eq!(ran.code, Some(0));
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
    directory.write("real", b"");
    std::os::unix::fs::symlink("real", directory.path("link")).unwrap();
    directory.sisal(&["trace", &server.address(), "-o", "link"]).run();
    assert!(fs::symlink_metadata(directory.path("link")).unwrap().is_symlink());
    assert_eq!(directory.read("real"), TRACE.as_bytes());
    let ran = directory.sisal(&["trace", &server.address(), "-o", "/dev/full"]).run();
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(1), "sisal trace: /dev/full: No space left on device\n"));
}

#[test]
fn what_is_open_already_is_written_to_and_not_replaced() {
    let (directory, server) = (Directory::new(), Server::small());
    for name in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
        let ran = directory.sisal(&["trace", &server.address(), "-o", name]).run();
        assert_eq!((ran.code, ran.stdout.as_slice()), (Some(0), TRACE.as_bytes()), "{name}: {}", ran.stderr);
        directory.write("log", b"before ");
        let script = format!("exec {SISAL} trace {} -o {name} >>log", server.address());
        assert_eq!(directory.program("sh", &["-c", &script]).run().code, Some(0), "{name}");
        assert_eq!(directory.read("log"), [b"before ", TRACE.as_bytes()].concat(), "{name}");
    }
    assert_eq!(directory.names(), ["log"]);
}

#[test]
fn a_link_to_nothing_stays_and_what_it_leads_to_is_made() {
    let (directory, server) = (Directory::new(), Server::small());
    fs::create_dir(directory.path("folder")).unwrap();
    std::os::unix::fs::symlink("folder/second", directory.path("first")).unwrap();
    std::os::unix::fs::symlink("real", directory.path("folder/second")).unwrap();
    assert_eq!(directory.sisal(&["trace", &server.address(), "-o", "first"]).run().code, Some(0));
    for link in ["first", "folder/second"] {
        assert!(fs::symlink_metadata(directory.path(link)).unwrap().is_symlink(), "{link}");
    }
    assert_eq!(directory.read("folder/real"), TRACE.as_bytes());
    std::os::unix::fs::symlink("round", directory.path("round")).unwrap();
    let ran = directory.sisal(&["trace", &server.address(), "-o", "round"]).run();
    let reason = "sisal trace: round: Too many levels of symbolic links\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(1), reason));
}

#[test]
fn a_file_that_is_replaced_keeps_its_mode() {
    let (directory, server) = (Directory::new(), Server::small());
    for mode in [0o600, 0o640, 0o604] {
        let path = directory.write("out.json", b"old");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(directory.sisal(&["trace", &server.address(), "-o", "out.json"]).run().code, Some(0));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, mode);
        assert_eq!(directory.read("out.json"), TRACE.as_bytes());
    }
}
