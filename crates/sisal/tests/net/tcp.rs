//! TCP: bytes arrive as they were sent, ends are seen, and errors are errors.

use crate::common::child;
use crate::common::places::{everywhere, join_all};
use crate::common::waits::in_fibers_and_a_thread;
use crate::wire::{MUCH, byte_at, read_much, tcp, write_much};
use rustix::net::sockopt;
use sisal::net::{TcpListener, TcpStream, UnixStream};
use std::io::{ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::time::Duration;

#[test]
fn bytes_arrive_as_they_were_sent_in_chunks_of_any_size() {
    everywhere(|place| {
        let (client, server) = tcp();
        let writer = place.spawn(move || write_much(&client, MUCH));
        let reader = place.spawn(move || read_much(&server));
        assert_eq!(reader.join(), MUCH);
        writer.join();
    });
}

#[test]
fn nothing_is_written_at_once_even_where_there_is_no_room() {
    in_fibers_and_a_thread(|| {
        let (mut client, _server) = tcp();
        client.set_write_timeout(Some(Duration::from_millis(1))).unwrap();
        while client.write(&[0; 1 << 16]).is_ok() {}
        client.set_write_timeout(None).unwrap();
        assert_eq!(client.write(&[]).unwrap(), 0);
    });
}

#[test]
fn connections_that_have_ended_do_not_begin_again() {
    in_fibers_and_a_thread(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut incoming = listener.incoming();
        sisal::timeout(Duration::from_millis(1), || assert!(incoming.next().is_none()));
        let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert!(incoming.next().is_none());
    });
}

#[test]
fn both_ends_read_and_write_at_once() {
    everywhere(|place| {
        let (client, server) = tcp();
        let ends = [Arc::new(client), Arc::new(server)];
        let length = MUCH / 4;
        let writers = place.crowd(2, |number| {
            let end = Arc::clone(&ends[number]);
            move || {
                write_much(&*end, length);
                end.shutdown(Shutdown::Write).unwrap();
            }
        });
        let readers = place.crowd(2, |number| {
            let end = Arc::clone(&ends[number]);
            move || read_much(&*end)
        });
        join_all(writers);
        assert_eq!(join_all(readers), [length; 2]);
    });
}

#[test]
fn a_half_closed_stream_still_reads() {
    everywhere(|place| {
        let (client, server) = tcp();
        let echo = place.spawn(move || {
            let mut all = Vec::new();
            (&server).read_to_end(&mut all).unwrap();
            // The other has ended its direction, and this one still works.
            (&server).write_all(&all).unwrap();
        });
        (&client).write_all(b"one way").unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        assert_eq!((&client).write(b"!").unwrap_err().kind(), ErrorKind::BrokenPipe);
        let mut answer = String::new();
        (&client).read_to_string(&mut answer).unwrap();
        assert_eq!(answer, "one way");
        echo.join();
    });
}

#[test]
fn writing_to_one_who_is_gone_is_an_error() {
    in_fibers_and_a_thread(|| {
        let (client, server) = tcp();
        drop(server);
        let error = loop {
            // The first write may pass: only its answer tells that nobody is there.
            match (&client).write_all(&[7; 1024]) {
                Ok(()) => sisal::yield_now(),
                Err(error) => break error,
            }
        };
        assert!(matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset), "{error}");
        let error = (&client).write_vectored(&[IoSlice::new(b"a"), IoSlice::new(b"b")]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
    });
}

#[test]
fn writing_to_one_who_is_gone_raises_no_signal() {
    child::run(|| {
        // SAFETY: the default action needs no handler.
        #[allow(unsafe_code, reason = "programs that are not started by Rust have it so")]
        unsafe {
            libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        }
        let (client, server) = tcp();
        drop(server);
        while (&client).write_all(&[7; 1024]).is_ok() {}
        assert_eq!((&client).write_vectored(&[IoSlice::new(b"!")]).unwrap_err().kind(), ErrorKind::BrokenPipe);
        let (unix, other) = UnixStream::pair().unwrap();
        drop(other);
        assert_eq!((&unix).write(b"!").unwrap_err().kind(), ErrorKind::BrokenPipe);
        assert_eq!((&unix).write_vectored(&[IoSlice::new(b"!")]).unwrap_err().kind(), ErrorKind::BrokenPipe);
    })
    .well();
}

#[test]
fn a_reset_connection_is_an_error_for_who_reads() {
    everywhere(|place| {
        let (client, server) = tcp();
        let reader = place.spawn(move || (&server).read(&mut [0; 8]).unwrap_err().kind());
        sockopt::set_socket_linger(&client, Some(Duration::ZERO)).unwrap();
        drop(client);
        assert_eq!(reader.join(), ErrorKind::ConnectionReset);
    });
}

#[test]
fn connecting_where_nobody_listens_is_refused() {
    let _listeners_end = child::none_begins();
    in_fibers_and_a_thread(|| {
        // A host of its own: no other test gets the port.
        let address = TcpListener::bind("127.7.0.1:0").unwrap().local_addr().unwrap();
        let refused =
            |stream: std::io::Result<TcpStream>| assert_eq!(stream.unwrap_err().kind(), ErrorKind::ConnectionRefused);
        refused(TcpStream::connect(address));
        refused(TcpStream::connect_timeout(&address, Duration::from_secs(60)));
    });
}

#[test]
fn of_several_addresses_the_first_that_answers_is_taken() {
    let _listeners_end = child::none_begins();
    in_fibers_and_a_thread(|| {
        let dead = TcpListener::bind("127.7.0.2:0").unwrap().local_addr().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let alive = listener.local_addr().unwrap();
        let stream = TcpStream::connect(&[dead, alive][..]).unwrap();
        assert_eq!(stream.peer_addr().unwrap(), alive);
        let error = TcpStream::connect(&[dead, dead][..]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        assert_eq!(TcpStream::connect(&[][..]).unwrap_err().kind(), ErrorKind::InvalidInput);
    });
}

/// The kernel has room for some of these, and for a part of one.
const CHUNK: usize = 4093;

#[test]
fn vectored_writes_and_reads_take_what_fits() {
    everywhere(|place| {
        let (client, server) = tcp();
        sockopt::set_socket_send_buffer_size(&client, 16 * CHUNK).unwrap();
        let length = MUCH / 2;
        let writer = place.spawn(move || {
            let all: Vec<u8> = (0..length).map(byte_at).collect();
            let mut sent = 0;
            let mut partial = 0;
            while sent < length {
                // More slices than the kernel takes at once, and some empty ones.
                let slices: Vec<_> = all[sent..]
                    .chunks(CHUNK)
                    .take(1500)
                    .flat_map(|chunk| [IoSlice::new(chunk), IoSlice::new(&[])])
                    .collect();
                let wanted: usize = slices.iter().map(|slice| slice.len()).sum();
                let now = (&client).write_vectored(&slices).unwrap();
                assert!(0 < now && now <= wanted);
                // Within a slice: the kernel had no room for the rest.
                partial += usize::from(now < wanted && now % CHUNK != 0);
                sent += now;
            }
            partial
        });
        let mut received = Vec::new();
        loop {
            let (mut a, mut b, mut c) = ([0; 3], [0; 4001], [0; 100]);
            let mut slices = [IoSliceMut::new(&mut a), IoSliceMut::new(&mut b), IoSliceMut::new(&mut c)];
            let now = (&server).read_vectored(&mut slices).unwrap();
            if now == 0 {
                break;
            }
            received.extend(a.into_iter().chain(b).chain(c).take(now));
        }
        assert_eq!(received.len(), length);
        assert!(received.iter().enumerate().all(|(position, byte)| *byte == byte_at(position)));
        assert!(writer.join() > 0, "no write was partial");
    });
}

#[test]
fn a_second_reader_gets_its_turn() {
    everywhere(|place| {
        let (client, server) = tcp();
        let server = Arc::new(server);
        let readers = place.sharing(3, &server, |server, _| {
            let mut byte = [0];
            let mut server = server;
            server.read_exact(&mut byte).unwrap();
            byte[0]
        });
        crate::common::places::settle();
        (&client).write_all(&[1, 2, 3]).unwrap();
        let mut bytes = join_all(readers);
        bytes.sort_unstable();
        assert_eq!(bytes, [1, 2, 3]);
    });
}

#[test]
fn several_writers_of_one_stream_lose_nothing() {
    everywhere(|place| {
        let (client, server) = tcp();
        let client = Arc::new(client);
        let each = 300_000;
        let writers = place.sharing(3, &client, move |mut client, number| {
            client.write_all(&vec![number as u8; each]).unwrap();
        });
        let reader = place.spawn(move || {
            let mut counts = [0; 3];
            let mut chunk = [0; 4000];
            while counts.iter().sum::<usize>() < 3 * each {
                let length = (&server).read(&mut chunk).unwrap();
                chunk[..length].iter().for_each(|byte| counts[usize::from(*byte)] += 1);
            }
            counts
        });
        join_all(writers);
        assert_eq!(reader.join(), [each; 3]);
    });
}

#[test]
fn many_connections_are_served_by_fibers_of_their_own() {
    everywhere(|place| {
        let listener = Arc::new(TcpListener::bind("127.0.0.1:0").unwrap());
        let address = listener.local_addr().unwrap();
        let clients = place.crowd(20, |number| {
            move || {
                let mut stream = TcpStream::connect(address).unwrap();
                let word = vec![number as u8; 1000];
                stream.write_all(&word).unwrap();
                let mut answer = vec![0; 1000];
                stream.read_exact(&mut answer).unwrap();
                assert_eq!(answer, word);
            }
        });
        let servers: Vec<_> = (listener.incoming().take(20))
            .map(|stream| {
                let stream = stream.unwrap();
                place.spawn(move || std::io::copy(&mut &stream, &mut &stream).unwrap())
            })
            .collect();
        join_all(clients);
        assert_eq!(join_all(servers), [1000; 20]);
    });
}

#[test]
fn what_was_peeked_at_is_read_again() {
    in_fibers_and_a_thread(|| {
        let (client, server) = tcp();
        (&client).write_all(b"hello").unwrap();
        let mut buf = [0; 3];
        assert_eq!(server.peek(&mut buf).unwrap(), 3);
        assert_eq!(&buf, b"hel");
        let mut all = [0; 5];
        (&server).read_exact(&mut all).unwrap();
        assert_eq!(&all, b"hello");
    });
}

#[test]
fn options_are_kept() {
    in_fibers_and_a_thread(|| {
        let (client, server) = tcp();
        client.set_nodelay(true).unwrap();
        assert!(client.nodelay().unwrap() && !server.nodelay().unwrap());
        client.set_ttl(42).unwrap();
        assert_eq!(client.ttl().unwrap(), 42);
        client.set_linger(Some(Duration::from_secs(7))).unwrap();
        assert_eq!((client.linger().unwrap(), server.linger().unwrap()), (Some(Duration::from_secs(7)), None));
        client.set_linger(None).unwrap();
        assert_eq!(client.linger().unwrap(), None);
        client.set_quickack(false).unwrap();
        assert!(!client.quickack().unwrap());
        assert!(client.take_error().unwrap().is_none());
        assert_eq!(client.peer_addr().unwrap(), server.local_addr().unwrap());
        assert_eq!(client.local_addr().unwrap(), server.peer_addr().unwrap());
        let listener = TcpListener::bind("[::1]:0");
        if let Ok(listener) = listener {
            listener.only_v6().unwrap();
            #[allow(deprecated, reason = "std has it")]
            let set = listener.set_only_v6(true);
            assert_eq!(set.unwrap_err().kind(), ErrorKind::InvalidInput, "it is bound");
        }
    });
}

#[test]
fn nothing_is_read_at_once_into_no_room() {
    in_fibers_and_a_thread(|| {
        let ((mut client, mut server), (mut near, _far)) = (tcp(), UnixStream::pair().unwrap());
        let mut nothing = [0; 0];
        assert_eq!(client.read_vectored(&mut []).unwrap(), 0);
        assert_eq!(near.read_vectored(&mut [IoSliceMut::new(&mut nothing)]).unwrap(), 0);
        server.write_all(b"!").unwrap();
        assert_eq!(client.read_vectored(&mut [IoSliceMut::new(&mut [0; 8])]).unwrap(), 1);
        assert_eq!(client.read_vectored(&mut [IoSliceMut::new(&mut nothing)]).unwrap(), 0);
    });
}

#[test]
fn nothing_can_be_written_also_after_the_end_of_writing() {
    everywhere(|_| {
        let (client, _server) = tcp();
        client.shutdown(Shutdown::Write).unwrap();
        assert_eq!((&client).write_vectored(&[]).unwrap(), 0);
        assert_eq!((&client).write_vectored(&[IoSlice::new(b"")]).unwrap(), 0);
    });
}
