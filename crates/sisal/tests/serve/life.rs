//! How it begins and ends: ports, threads, and the file by which it is found.

use super::client::get;
use super::common::watchdog::guarded;
use super::common::{child, linux, until};
use super::fake::Fake;
use sisal::Runtime;
use sisal::inspect::{ServeOptions, serve};
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

#[test]
fn it_answers_while_all_workers_are_stuck() {
    guarded(|| {
        let runtime = super::common::background(1);
        let server = ServeOptions::new().runtime(runtime.handle()).serve("127.0.0.1:0").unwrap();
        let (let_go, go) = std::sync::mpsc::channel();
        let (tell, told) = std::sync::mpsc::channel();
        let stuck = runtime.spawn(move || {
            tell.send(()).unwrap();
            go.recv().unwrap();
        });
        told.recv().unwrap();
        for path in ["/", "/debug/fibers", "/debug/fibers.json", "/metrics", "/metrics.json", "/debug/trace?seconds=0"]
        {
            assert_eq!(get(server.local_addr(), path).status, 200, "{path}");
        }
        let_go.send(()).unwrap();
        stuck.join().unwrap();
    });
}

#[test]
fn a_fiber_that_waits_is_shown_with_its_reason() {
    guarded(|| {
        let runtime = super::common::background(2);
        let server = ServeOptions::new().runtime(runtime.handle()).serve("127.0.0.1:0").unwrap();
        let (let_go, go) = sisal::chan::bounded::<()>(1);
        let waiter = runtime.handle().builder().name("waits to be let go").spawn(move || go.recv());
        let shown = |path: &str| get(server.local_addr(), path).body;
        let described = || {
            let json = shown("/debug/fibers.json?traces=0");
            json.split("{\"id\":").find(|part| part.contains("\"waits to be let go\"")).map(str::to_owned)
        };
        let reason = "\"reason\":\"receiving from a channel\"";
        until(|| described().is_some_and(|fiber| fiber.contains(reason)));
        assert!(shown("/debug/fibers").contains("waits to be let go"));
        let fiber = described().unwrap();
        let id = fiber.split(',').next().unwrap();
        assert!(shown(&format!("/debug/fibers.json?id={id}")).contains("waits to be let go"));
        assert!(!shown(&format!("/debug/fibers.json?id={id}999")).contains("waits to be let go"));
        assert!(shown("/metrics").contains("sisal_"));
        assert_eq!(shown("/debug/trace?seconds=0"), r#"{"traceEvents":[]}"#, "nobody records");
        let _recorder = sisal::inspect::FlightRecorder::start(runtime.handle());
        assert!(shown("/debug/trace?seconds=0").contains("thread_name"));
        assert!(shown("/debug/trace?seconds=0.1").contains("thread_name"));
        drop(let_go);
        assert!(waiter.join().unwrap().is_err());
    });
}

#[test]
fn it_serves_the_runtime_of_the_caller() {
    guarded(|| {
        sisal::run(|| {
            let server = serve("localhost:0").unwrap();
            assert!(server.local_addr().ip().is_loopback());
            assert_eq!(get(server.local_addr(), "/debug/fibers.json").status, 200);
        });
    });
}

#[test]
fn it_ends_with_connections_open_and_traces_running() {
    let _listener_ends = child::none_begins();
    guarded(|| {
        let fake = Fake::new();
        // A host of its own: nobody else takes the port when it is free.
        let server = ServeOptions::new().serve_from("127.6.0.1:0", fake.clone()).unwrap();
        let address = server.local_addr();
        let idle: Vec<_> = (0..30).map(|_| TcpStream::connect(address).unwrap()).collect();
        let trace =
            std::thread::spawn(move || super::client::send(address, b"GET /debug/trace?seconds=60 HTTP/1.0\r\n\r\n"));
        fake.wait_for_traces(1);
        drop(server);
        let _ = trace.join().unwrap();
        drop(idle);
        drop(TcpListener::bind(address).expect("the port is free"));
    });
}

#[test]
fn its_threads_end_with_it() {
    child::run(|| {
        let server = Fake::new().serve(ServeOptions::new());
        assert_eq!(get(server.local_addr(), "/metrics").status, 200);
        assert!(linux::threads_named("sisal-serve") > 0);
        drop(server);
        // A thread that was joined may still be listed for a moment.
        until(|| linux::threads_named("sisal-serve") == 0);
    })
    .well();
}

#[test]
fn two_servers_show_what_each_was_given() {
    guarded(|| {
        let (one, other) = (Fake::new(), Fake::new());
        *one.fibers.lock().unwrap() = "one".to_owned();
        *other.fibers.lock().unwrap() = "other".to_owned();
        let (first, second) = (one.serve(ServeOptions::new()), other.serve(ServeOptions::new()));
        assert_eq!(get(first.local_addr(), "/debug/fibers.json").body, "one");
        assert_eq!(get(second.local_addr(), "/debug/fibers.json").body, "other");
        drop(first);
        assert_eq!(get(second.local_addr(), "/debug/fibers.json").body, "other");
    });
}

#[test]
fn an_address_that_is_taken_is_an_error() {
    guarded(|| {
        let server = Fake::new().serve(ServeOptions::new());
        let error = ServeOptions::new().serve_from(server.local_addr(), Fake::new()).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse);
    });
}

/// A folder of this test, for the time that it runs.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("sisal-serve-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        // Whatever the umask is.
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_file_by_the_process_number_names_the_address_and_the_token_while_it_serves() {
    let folder = Folder::new("pid-file");
    let ended = child::run_in(&[("XDG_RUNTIME_DIR", folder.0.to_str().unwrap())], || {
        let folder = PathBuf::from(std::env::var_os("XDG_RUNTIME_DIR").unwrap()).join("sisal");
        let file = folder.join(std::process::id().to_string());
        // One that was killed has left these, and one of them leads elsewhere.
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        let elsewhere = folder.with_file_name("elsewhere");
        fs::write(&elsewhere, "untouched").unwrap();
        std::os::unix::fs::symlink(&elsewhere, folder.join(format!(".{}", std::process::id()))).unwrap();
        fs::write(&file, "127.0.0.1:1 stale\n").unwrap();
        let stat = fs::read_to_string("/proc/self/stat").unwrap();
        let started = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap().to_owned();
        let first = Fake::new().serve(ServeOptions::new());
        assert_eq!(fs::read_to_string(&file).unwrap(), format!("{}  {started}\n", first.local_addr()));
        assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "untouched");
        let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder), mode(&file)), (0o700, 0o600));
        // The second is named when the first has gone.
        let second = Fake::new().serve(ServeOptions::new().token("s3cret"));
        assert_eq!(fs::read_to_string(&file).unwrap(), format!("{}  {started}\n", first.local_addr()));
        drop(first);
        assert_eq!(fs::read_to_string(&file).unwrap(), format!("{} s3cret {started}\n", second.local_addr()));
        drop(second);
        assert!(!file.exists());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "no drafts are left");
    });
    ended.well();
}

#[test]
fn a_folder_that_is_open_to_others_gets_no_file_and_it_serves_all_the_same() {
    let folder = Folder::new("open-folder");
    let open = folder.0.join("sisal");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    let ended = child::run_in(&[("XDG_RUNTIME_DIR", folder.0.to_str().unwrap())], || {
        let server = Fake::new().serve(ServeOptions::new().token("s3cret"));
        assert_eq!(get(server.local_addr(), "/metrics?token=s3cret").status, 200);
    });
    ended.well().saying("not to be found by process number").saying("mode 0700");
    assert_eq!(fs::read_dir(&open).unwrap().count(), 0);
}

#[test]
fn a_runtime_that_has_ended_can_still_be_asked() {
    guarded(|| {
        let runtime = Runtime::new().unwrap();
        let server = ServeOptions::new().runtime(runtime.handle()).serve("127.0.0.1:0").unwrap();
        drop(runtime);
        for path in ["/debug/fibers", "/debug/fibers.json", "/metrics", "/metrics.json", "/debug/trace?seconds=0"] {
            assert_eq!(get(server.local_addr(), path).status, 200, "{path}");
        }
    });
}
