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
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
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

/// What harries one end of a stream: the scope it is used in is cancelled by another, again and again, and its time is short.
#[derive(Default)]
struct Hound {
    /// The scope of the operation under way.
    token: Mutex<CancelToken>,
    is_over: AtomicBool,
    /// How many waits were ended by a token, and by time.
    requests: AtomicUsize,
    deadlines: AtomicUsize,
}

impl Hound {
    /// Cancels whatever is under way, until there is nothing more to do.
    fn hunt(&self) {
        until(|| {
            // In a statement of its own, so that the lock is free when whoever waits is woken.
            let token = self.token.lock().unwrap().clone();
            token.cancel();
            self.is_over.load(Ordering::Acquire)
        });
    }

    /// Whether waits have been ended in both ways.
    fn has_bitten(&self) -> bool {
        [&self.requests, &self.deadlines].iter().all(|count| count.load(Ordering::Acquire) > 0)
    }

    /// Does `op` again and again, each time cancelled soon, until it is done.
    fn insist(&self, mut op: impl FnMut() -> io::Result<usize>) -> usize {
        for micros in (0..200).step_by(7).cycle() {
            let token = CancelToken::new();
            // Every other time nobody else knows of it: only time can end it then, however quick the others are.
            if micros % 2 == 0 {
                *self.token.lock().unwrap() = token.clone();
            }
            match token.run(|| timeout(Duration::from_micros(micros), &mut op)) {
                Ok(length) => return length,
                Err(error) => match cause(&error) {
                    Some(Cause::Request) => self.requests.fetch_add(1, Ordering::AcqRel),
                    Some(Cause::Deadline) => self.deadlines.fetch_add(1, Ordering::AcqRel),
                    other => panic!("ended by {other:?}"),
                },
            };
        }
        unreachable!("it cycles")
    }
}

/// A stream whose reads and writes are cancelled all the time.
struct Harried<S> {
    stream: S,
    hound: Arc<Hound>,
}

impl<S: Read> Read for Harried<S> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        Ok(self.hound.insist(|| self.stream.read(buf)))
    }
}

impl<S: Write> Write for Harried<S> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        Ok(self.hound.insist(|| self.stream.write(buf)))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

impl<S> Drop for Harried<S> {
    fn drop(&mut self) {
        self.hound.is_over.store(true, Ordering::Release);
    }
}

/// Sends 4 MiB through a stream both of whose ends are harried, and checks every byte.
fn send_much_harried<R, W>(place: &Place, reader: R, writer: W)
where
    R: Read + Send + 'static,
    W: Write + Send + 'static,
{
    let [reads, writes] = [(); 2].map(|()| Arc::new(Hound::default()));
    let hunting = [&reads, &writes].map(|hound| {
        let hound = Arc::clone(hound);
        place.spawn(move || hound.hunt())
    });
    let reader = Harried { stream: reader, hound: Arc::clone(&reads) };
    let writer = Harried { stream: writer, hound: Arc::clone(&writes) };
    let reading = place.spawn(move || read_much(reader));
    // There is nothing to read yet, so it waits until it has been cancelled in both ways.
    let writing = place.spawn(move || {
        until(|| reads.has_bitten());
        write_much(writer, MUCH);
    });
    assert_eq!(reading.join(), MUCH);
    writing.join();
    join_all(hunting);
}

#[test]
fn no_byte_of_a_tcp_stream_is_lost_or_doubled_by_cancels() {
    everywhere(|place| {
        let (client, server) = tcp();
        send_much_harried(place, server, client);
    });
}

#[test]
fn no_byte_of_a_unix_stream_is_lost_or_doubled_by_cancels() {
    everywhere(|place| {
        let (a, b) = UnixStream::pair().unwrap();
        send_much_harried(place, a, b);
    });
}

#[test]
fn no_byte_of_a_pipe_is_lost_or_doubled_by_cancels() {
    everywhere(|place| {
        let (reader, writer) = pipe().unwrap();
        send_much_harried(place, reader, writer);
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
