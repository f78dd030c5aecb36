//! What ends waits from outside ends those for sockets: tokens, enclosing times, the end of the runtime.

use crate::common::places::{Place, everywhere, join_all, settle};
use crate::common::waits::cancel_before_and_during;
use crate::common::watchdog::guarded;
use crate::common::{LONG, background, until};
use crate::wire::{Full, MUCH, fill, read_much, tcp, unix_address, write_much};
use sisal::io::pipe;
use sisal::net::{TcpListener, TcpStream, UdpSocket, UnixListener, UnixStream, copy_bidirectional};
use sisal::{CancelToken, Cancelled, Cause, JoinError, is_cancelled, timeout};
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn cause(error: &io::Error) -> Option<Cause> {
    assert!(is_cancelled(error), "{error}");
    error.get_ref()?.downcast_ref::<Cancelled>().map(|cancelled| cancelled.cause)
}

/// Checks that a token ends the wait, whether it is cancelled before or during it, and that an enclosing time does.
fn ends<T>(place: &Place, what: &str, wait: impl Fn() -> io::Result<T> + Send + Sync + 'static) {
    let wait = Arc::new(move || wait().map(drop).expect_err("nothing comes"));
    let cancelled = {
        let wait = Arc::clone(&wait);
        cancel_before_and_during(place, move || wait())
    };
    assert!(cancelled.iter().all(|error| cause(error) == Some(Cause::Request)), "{what}: {cancelled:?}");
    let actor = place.spawn(move || timeout(Duration::from_millis(3), || wait()));
    assert_eq!(cause(&actor.join()), Some(Cause::Deadline), "{what}");
}

#[test]
fn waits_for_sockets_are_cancelled() {
    everywhere(|place| {
        let (client, server) = tcp();
        fill(&client, |on| client.set_nonblocking(on).unwrap());
        let client = Arc::new(client);
        let reader = Arc::clone(&client);
        ends(place, "read", move || (&*reader).read(&mut [0; 8]));
        let writer = Arc::clone(&client);
        ends(place, "write", move || (&*writer).write_all(&vec![0; 8 << 20]));
        ends(place, "peek", move || client.peek(&mut [0; 8]));

        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        ends(place, "accept", move || listener.accept());
        let listener = UnixListener::bind_addr(&unix_address("cancel")).unwrap();
        ends(place, "Unix accept", move || listener.accept_timeout(LONG));
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        ends(place, "recv_from", move || udp.recv_from(&mut [0; 8]));
        let full = Full::new();
        ends(place, "connect", move || TcpStream::connect(full.address));
        drop(server);
    });
}

#[test]
fn waits_for_room_in_a_unix_queue_are_cancelled() {
    everywhere(|place| {
        let address = unix_address("full");
        let listener = UnixListener::bind_addr(&address).unwrap();
        rustix::net::listen(&listener, 0).unwrap();
        let _queued = UnixStream::connect_addr(&address).unwrap();
        ends(place, "Unix connect", move || UnixStream::connect_addr(&address));
    });
}

#[test]
fn copying_both_ways_is_cancelled() {
    everywhere(|place| {
        let ((_a, near), (far, _b)) = (UnixStream::pair().unwrap(), tcp());
        ends(place, "copy_bidirectional", move || copy_bidirectional(&near, &far));
    });
}

#[test]
fn what_is_there_is_read_also_in_a_cancelled_scope() {
    everywhere(|place| {
        let (client, server) = tcp();
        let token = CancelToken::new();
        token.cancel();
        (&client).write_all(b"!").unwrap();
        let reader = place.spawn(move || {
            // Whether it is there yet is not ours to say, and waiting would be cancelled.
            server.peek(&mut [0; 1]).unwrap();
            token.run(|| (&server).read(&mut [0; 8]).unwrap())
        });
        assert_eq!(reader.join(), 1);
    });
}

#[test]
fn after_a_cancelled_wait_nothing_is_lost() {
    everywhere(|place| {
        let (client, server) = tcp();
        let server = Arc::new(server);
        for round in 0..20u8 {
            let token = CancelToken::new();
            let reader = place.sharing(1, &server, {
                let token = token.clone();
                move |mut server, _| {
                    let mut byte = [0];
                    token.run(|| server.read(&mut byte)).map(|_| byte[0])
                }
            });
            if round % 2 == 0 {
                settle();
            }
            // Both at once: either the byte is read now or it is there afterwards.
            (&client).write_all(&[round]).unwrap();
            token.cancel();
            let byte = match join_all(reader).pop().unwrap() {
                Ok(byte) => byte,
                Err(error) => {
                    assert_eq!(cause(&error), Some(Cause::Request));
                    let mut byte = [0];
                    (&*server).read_exact(&mut byte).unwrap();
                    byte[0]
                }
            };
            assert_eq!(byte, round);
        }
    });
}

/// Does `op` again and again, each time cancelled soon, until it is done.
fn insist(mut op: impl FnMut() -> io::Result<usize>) -> usize {
    for micros in (0..200).step_by(7).cycle() {
        match timeout(Duration::from_micros(micros), &mut op) {
            Ok(length) => return length,
            Err(error) => assert_eq!(cause(&error), Some(Cause::Deadline)),
        }
    }
    unreachable!("it cycles")
}

/// A stream whose reads and writes are cancelled all the time.
struct Harried<S>(S);

impl<S: Read> Read for Harried<S> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        Ok(insist(|| self.0.read(buf)))
    }
}

impl<S: Write> Write for Harried<S> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        Ok(insist(|| self.0.write(buf)))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[test]
fn no_byte_is_lost_or_doubled_by_cancelled_reads_and_writes() {
    everywhere(|place| {
        let (client, server) = tcp();
        let (reader, writer) = pipe().unwrap();
        let (a, b) = UnixStream::pair().unwrap();
        let length = MUCH / 4;
        let writers = [
            place.spawn(move || write_much(Harried(client), length)),
            place.spawn(move || write_much(Harried(writer), length)),
            place.spawn(move || write_much(Harried(a), length)),
        ];
        let readers = [
            place.spawn(move || read_much(Harried(server))),
            place.spawn(move || read_much(Harried(reader))),
            place.spawn(move || read_much(Harried(b))),
        ];
        assert_eq!(join_all(readers), [length; 3]);
        join_all(writers);
    });
}

#[test]
fn the_end_of_the_runtime_ends_waits_for_sockets() {
    guarded(|| {
        for workers in [1, 2, 4] {
            let runtime = background(workers);
            let listener = Arc::new(TcpListener::bind("127.0.0.1:0").unwrap());
            let has_started = Arc::new(AtomicBool::new(false));
            let waiter = runtime.spawn({
                let (listener, has_started) = (Arc::clone(&listener), Arc::clone(&has_started));
                move || {
                    has_started.store(true, Ordering::Release);
                    listener.accept().unwrap_err()
                }
            });
            until(|| has_started.load(Ordering::Acquire));
            let report = runtime.shutdown(LONG);
            assert!(report.is_clean(), "{report}");
            match waiter.join() {
                Ok(error) => assert_eq!(cause(&error), Some(Cause::Shutdown)),
                Err(error) => assert!(matches!(error, JoinError::Cancelled(_)), "{error}"),
            }
            // The socket itself is as good as ever.
            let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            listener.accept().unwrap();
        }
    });
}
