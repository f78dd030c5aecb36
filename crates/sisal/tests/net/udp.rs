//! UDP: messages stay whole, and have senders.

use crate::common::child;
use crate::common::places::{everywhere, join_all, settle};
use crate::common::skip::skip;
use crate::common::waits::in_fibers_and_a_thread;
use sisal::net::UdpSocket;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn socket() -> (UdpSocket, SocketAddr) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    (socket, address)
}

#[test]
fn messages_stay_whole_and_say_who_sent_them() {
    everywhere(|place| {
        let ((a, a_address), (b, b_address)) = (socket(), socket());
        let echo = place.spawn(move || {
            let mut buf = [0; 2000];
            for _ in 0..50 {
                let (length, sender) = b.recv_from(&mut buf).unwrap();
                assert_eq!(sender, a_address);
                assert_eq!(b.send_to(&buf[..length], sender).unwrap(), length);
            }
        });
        for size in (0..1500).step_by(30) {
            let message = vec![size as u8; size];
            a.send_to(&message, b_address).unwrap();
            let mut buf = [0; 2000];
            assert_eq!(a.recv_from(&mut buf).unwrap(), (size, b_address));
            assert_eq!(&buf[..size], message);
        }
        echo.join();
    });
}

#[test]
fn each_message_goes_to_one_of_those_who_wait() {
    everywhere(|place| {
        let (receiver, address) = socket();
        let receiver = Arc::new(receiver);
        let actors = place.sharing(6, &receiver, |receiver, _| {
            let mut byte = [0];
            receiver.recv(&mut byte).unwrap();
            byte[0]
        });
        settle();
        let (sender, _) = socket();
        (0..6).for_each(|number| assert_eq!(sender.send_to(&[number], address).unwrap(), 1));
        let mut bytes = join_all(actors);
        bytes.sort_unstable();
        assert_eq!(bytes, [0, 1, 2, 3, 4, 5]);
    });
}

#[test]
fn a_connected_socket_hears_its_peer_only() {
    in_fibers_and_a_thread(|| {
        let ((a, a_address), (b, b_address), (stranger, _)) = (socket(), socket(), socket());
        assert_eq!(a.peer_addr().unwrap_err().kind(), ErrorKind::NotConnected);
        a.connect(b_address).unwrap();
        assert_eq!(a.peer_addr().unwrap(), b_address);
        stranger.send_to(b"no", a_address).unwrap();
        b.send_to(b"yes", a_address).unwrap();
        let mut buf = [0; 8];
        assert_eq!(a.peek(&mut buf).unwrap(), 3);
        assert_eq!(a.recv(&mut buf).unwrap(), 3);
        assert_eq!(&buf[..3], b"yes");
        a.send(b"thanks").unwrap();
        assert_eq!(b.peek_from(&mut buf).unwrap(), (6, a_address));
        assert_eq!(b.recv_from(&mut buf).unwrap(), (6, a_address));
    });
}

#[test]
fn a_message_to_nobody_is_reported_to_who_is_connected() {
    let _listeners_end = child::none_begins();
    in_fibers_and_a_thread(|| {
        // A host of its own: no other test gets the port.
        let nobody = UdpSocket::bind("127.7.0.4:0").unwrap().local_addr().unwrap();
        let (a, _) = socket();
        a.connect(nobody).unwrap();
        a.send(b"anybody?").unwrap();
        assert_eq!(a.recv(&mut [0; 8]).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    });
}

#[test]
fn a_message_that_is_too_long_is_an_error() {
    in_fibers_and_a_thread(|| {
        let (a, address) = socket();
        let error = a.send_to(&vec![0; 70_000], address).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(rustix::io::Errno::MSGSIZE.raw_os_error()));
        assert_eq!(a.send_to(b"x", &[][..]).unwrap_err().kind(), ErrorKind::InvalidInput);
    });
}

#[test]
fn options_are_kept() {
    in_fibers_and_a_thread(|| {
        let (a, address) = socket();
        a.set_broadcast(true).unwrap();
        assert!(a.broadcast().unwrap());
        a.set_multicast_loop_v4(false).unwrap();
        assert!(!a.multicast_loop_v4().unwrap());
        a.set_multicast_ttl_v4(7).unwrap();
        assert_eq!(a.multicast_ttl_v4().unwrap(), 7);
        a.set_ttl(9).unwrap();
        assert_eq!(a.ttl().unwrap(), 9);
        assert!(a.take_error().unwrap().is_none());
        let clone = a.try_clone().unwrap();
        assert_eq!((clone.local_addr().unwrap(), clone.ttl().unwrap()), (address, 9));
        assert!(a.leave_multicast_v4(&Ipv4Addr::new(224, 0, 0, 9), &Ipv4Addr::LOCALHOST).is_err());
    });
}

#[test]
fn whoever_receives_hears_of_a_shutdown_while_it_waits_and_afterwards() {
    everywhere(|place| {
        let ((a, a_address), (b, b_address)) = (socket(), socket());
        a.connect(b_address).unwrap();
        b.connect(a_address).unwrap();
        let b = Arc::new(b);
        let waiting = Arc::clone(&b);
        let waiting = place.spawn(move || waiting.recv(&mut [0; 16]).unwrap());
        settle();
        rustix::net::shutdown(&b, rustix::net::Shutdown::Read).unwrap();
        assert_eq!(waiting.join(), 0);
        assert_eq!(b.recv(&mut [0; 16]).unwrap(), 0);
        assert_eq!(b.peek(&mut [0; 16]).unwrap(), 0);
    });
}

/// An error that is kept for whoever asks for it makes the socket readable, and is not what `recv` takes away.
#[allow(unsafe_code, reason = "the option has no other name")]
#[test]
fn a_thread_does_not_spin_at_what_says_for_ever_that_it_is_ready() {
    use rustix::time::{ClockId, clock_gettime};
    use std::os::fd::AsRawFd;
    let (socket, _) = socket();
    let on: libc::c_int = 1;
    // SAFETY: an option of four bytes, and these.
    let set = unsafe {
        let length = size_of_val(&on) as libc::socklen_t;
        libc::setsockopt(socket.as_raw_fd(), libc::IPPROTO_IP, libc::IP_RECVERR, (&raw const on).cast(), length)
    };
    assert_eq!(set, 0);
    let nobody = self::socket().1;
    socket.connect(nobody).unwrap();
    socket.send(b"hello").unwrap();
    assert_eq!(socket.recv(&mut [0; 16]).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    socket.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let used = || Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap();
    let (before, began) = (used(), Instant::now());
    assert_eq!(socket.recv(&mut [0; 16]).unwrap_err().kind(), ErrorKind::TimedOut);
    // One that spins is kept from its processor by others only.
    assert!(used() - before < began.elapsed() / 2);
}

/// As the kernel's headers have it.
const IPV6_FLOWINFO_SEND: libc::c_int = 33;

#[allow(unsafe_code, reason = "the option has no other name")]
#[test]
fn flow_information_is_as_it_was_said() {
    use std::os::fd::AsRawFd;
    in_fibers_and_a_thread(|| {
        let Ok(peer) = UdpSocket::bind("[::1]:0") else { return skip("no IPv6") };
        let to = std::net::SocketAddrV6::new(std::net::Ipv6Addr::LOCALHOST, peer.local_addr().unwrap().port(), 0, 0);
        let flowing = std::net::SocketAddrV6::new(*to.ip(), to.port(), 0x0550_0000u32.to_be(), 0);
        let socket = UdpSocket::bind("[::1]:0").unwrap();
        let on: libc::c_int = 1;
        // SAFETY: an option of four bytes, and these.
        let set = unsafe {
            let (level, option) = (libc::IPPROTO_IPV6, IPV6_FLOWINFO_SEND);
            libc::setsockopt(
                socket.as_raw_fd(),
                level,
                option,
                (&raw const on).cast(),
                size_of_val(&on) as libc::socklen_t,
            )
        };
        assert_eq!(set, 0);
        socket.connect(flowing).unwrap();
        assert_eq!(socket.peer_addr().unwrap(), SocketAddr::V6(flowing));
    });
}
