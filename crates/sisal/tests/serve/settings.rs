//! Serving because a setting asks for it.

use super::client::get;
use super::common::child;
use super::common::watchdog::guarded;
use sisal::{BuildError, Runtime};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::DirBuilderExt;

/// Where this process serves, from its file.
fn served_at() -> SocketAddr {
    let folder = std::path::PathBuf::from(std::env::var_os("XDG_RUNTIME_DIR").unwrap());
    let line = std::fs::read_to_string(folder.join(format!("sisal/{}", std::process::id()))).unwrap();
    line.split(' ').next().unwrap().parse().unwrap()
}

/// A folder that counts as a user's own, whatever the umask is.
fn private_folder(name: &str) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("sisal-serve-{name}-{}", std::process::id()));
    std::fs::DirBuilder::new().mode(0o700).create(&folder).unwrap();
    folder
}

/// An address that nobody serves at: on a host of this process alone. Not found by listening there, since a child that another test starts at
/// that moment would go on to listen until it has begun.
fn free_address(test: u8) -> SocketAddr {
    let [_, high, middle, low] = std::process::id().to_be_bytes();
    (Ipv4Addr::new(127, 128 | high, middle, low), 6_000 + u16::from(test)).into()
}

#[test]
fn the_environment_can_ask_for_it() {
    let folder = private_folder("asked");
    let variables = [("SISAL_SERVE", "127.6.2.1:0"), ("XDG_RUNTIME_DIR", folder.to_str().unwrap())];
    let ended = child::run_in(&variables, || {
        sisal::run(|| assert_eq!(get(served_at(), "/debug/fibers.json").status, 200));
        let runtime = Runtime::new().unwrap();
        let address = served_at();
        assert_eq!(get(address, "/metrics").status, 200);
        drop(runtime);
        drop(TcpListener::bind(address).expect("the port is free"));
        let runtime = Runtime::new().unwrap();
        assert!(runtime.shutdown(std::time::Duration::from_secs(60)).is_clean());
    });
    ended.well().saying("sisal: serving at http://127.6.2.1:");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_token_comes_from_the_environment_too() {
    let folder = private_folder("token");
    let runtime_dir = ("XDG_RUNTIME_DIR", folder.to_str().unwrap());
    let ended = child::run_in(&[("SISAL_SERVE", "localhost:0"), ("SISAL_SERVE_TOKEN", "s3cret"), runtime_dir], || {
        sisal::run(|| {
            assert_eq!(get(served_at(), "/metrics").status, 401);
            assert_eq!(get(served_at(), "/metrics?token=s3cret").status, 200);
        });
    });
    ended.well().not_saying("s3cret");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn the_second_runtime_of_a_process_goes_without() {
    let address = free_address(1).to_string();
    let ended = child::run_in(&[("SISAL_SERVE", &address)], || {
        let _first = Runtime::new().unwrap();
        sisal::run(|| ());
    });
    ended.well().saying(&format!("SISAL_SERVE={address}: nothing is served: "));
}

#[test]
fn a_builder_that_asks_is_told_when_it_can_not_be() {
    guarded(|| {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let builder = Runtime::builder().workers(1).serve(taken.local_addr().unwrap());
        let error = builder.clone().build().unwrap_err();
        assert!(error.to_string().starts_with("could not make the live view"), "{error}");
        assert!(builder.run(|| ()).is_err());
        let open = Runtime::builder().serve("0.0.0.0:0".parse().unwrap()).build().unwrap_err();
        assert!(matches!(open, BuildError::Setting { .. }));
        assert!(open.to_string().contains("SISAL_SERVE_TOKEN"), "{open}");
    });
}

#[test]
fn a_builder_that_asks_is_served() {
    guarded(|| {
        let address = free_address(2);
        let answer = Runtime::builder().serve(address).run(|| get(address, "/metrics").status);
        assert_eq!(answer.unwrap(), 200);
    });
}
