//! Addresses and names.

use crate::common::linux::threads_named;
use crate::common::waits::in_fibers_and_a_thread;
use crate::common::{child, in_background};
use sisal::net::{TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

#[track_caller]
fn gives(addrs: impl ToSocketAddrs, expected: &str) {
    let found: Vec<_> = addrs.to_socket_addrs().unwrap().collect();
    assert_eq!(found, [expected.parse::<SocketAddr>().unwrap()]);
}

#[test]
fn everything_that_is_an_address_in_std_is_one_here() {
    in_fibers_and_a_thread(|| {
        let (v4, v6) = (Ipv4Addr::LOCALHOST, Ipv6Addr::LOCALHOST);
        gives(SocketAddr::from((v4, 1)), "127.0.0.1:1");
        gives(SocketAddrV4::new(v4, 2), "127.0.0.1:2");
        gives(SocketAddrV6::new(v6, 3, 0, 0), "[::1]:3");
        gives((IpAddr::V4(v4), 4), "127.0.0.1:4");
        gives((v4, 5), "127.0.0.1:5");
        gives((v6, 6), "[::1]:6");
        gives(("127.0.0.1", 7), "127.0.0.1:7");
        gives(("::1", 8), "[::1]:8");
        gives((String::from("127.0.0.1"), 9), "127.0.0.1:9");
        gives("127.0.0.1:10", "127.0.0.1:10");
        gives("[::1]:11", "[::1]:11");
        gives(String::from("127.0.0.1:12"), "127.0.0.1:12");
        let text = String::from("127.0.0.1:13");
        gives(&text, "127.0.0.1:13");
        gives(text, "127.0.0.1:13");
        gives(&[SocketAddr::from((v4, 14))][..], "127.0.0.1:14");
    });
}

#[test]
fn names_are_looked_up() {
    in_fibers_and_a_thread(|| {
        let addrs: Vec<_> = "localhost:80".to_socket_addrs().unwrap().collect();
        assert!(!addrs.is_empty() && addrs.iter().all(|address| address.ip().is_loopback() && address.port() == 80));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        // Where the name has an address of IPv6 too, that is tried first, and refused.
        let stream = TcpStream::connect(("localhost", address.port())).unwrap();
        assert_eq!(stream.peer_addr().unwrap(), address);
        assert!(UdpSocket::bind("localhost:0").unwrap().local_addr().unwrap().ip().is_loopback());
    });
}

#[test]
fn what_is_no_address_is_refused() {
    in_fibers_and_a_thread(|| {
        for nonsense in ["", "127.0.0.1", "localhost", "127.0.0.1:port", "localhost:70000", ":::"] {
            assert_eq!(nonsense.to_socket_addrs().unwrap_err().kind(), ErrorKind::InvalidInput, "{nonsense}");
            assert_eq!(TcpStream::connect(nonsense).unwrap_err().kind(), ErrorKind::InvalidInput, "{nonsense}");
        }
        assert!(TcpListener::bind("with\0nul:80").is_err());
        assert_eq!(TcpListener::bind(&[][..]).unwrap_err().kind(), ErrorKind::InvalidInput);
    });
}

#[test]
fn of_several_addresses_the_first_that_is_free_is_bound() {
    in_fibers_and_a_thread(|| {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let addrs = [taken.local_addr().unwrap(), SocketAddr::from((Ipv4Addr::LOCALHOST, 0))];
        let listener = TcpListener::bind(&addrs[..]).unwrap();
        assert_ne!(listener.local_addr().unwrap(), addrs[0]);
        assert_eq!(TcpListener::bind(addrs[0]).unwrap_err().kind(), ErrorKind::AddrInUse);
    });
}

#[test]
fn names_are_looked_up_by_other_threads_than_workers() {
    child::run(|| {
        in_background(1, || {
            let others = || threads_named("sisal-blocking");
            "127.0.0.1:80".to_socket_addrs().unwrap();
            ("::1", 80).to_socket_addrs().unwrap();
            assert!("nonsense".to_socket_addrs().is_err());
            assert_eq!(others(), 0, "there is nothing to look up");
            assert!("localhost:80".to_socket_addrs().unwrap().next().is_some());
            assert_eq!(others(), 1);
        });
    })
    .well();
}
