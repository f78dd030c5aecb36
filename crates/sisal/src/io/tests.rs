//! Sources over pipes: by fibers, by threads, and by tasks.

use super::source::{Direction, Request, Source};
use crate::prim::clock::Moment;
use crate::prim::reason::Reason;
use std::io;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake};
use std::thread;
use std::time::Duration;

fn pipe() -> (Source, Source) {
    let (reader, writer) = rustix::pipe::pipe().unwrap();
    (Source::new(reader).unwrap(), Source::new(writer).unwrap())
}

fn request(direction: Direction, deadline: Option<Moment>) -> Request {
    Request { direction, reason: Reason::Read, place: Location::caller(), deadline }
}

fn read(source: &Source, buffer: &mut [u8]) -> io::Result<usize> {
    source.perform(&request(Direction::Read, None), |fd| Ok(rustix::io::read(fd, &mut *buffer)?))
}

fn write_all(source: &Source, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        let request = request(Direction::Write, None);
        let done = source.perform(&request, |fd| Ok(rustix::io::write(fd, bytes)?)).unwrap();
        bytes = &bytes[done..];
    }
}

/// Sends a megabyte from one end to the other, whoever has the ends.
fn send_a_megabyte(
    reader: Source,
    writer: Source,
    reads: impl FnOnce(Box<dyn FnOnce() + Send>),
    writes: impl FnOnce(Box<dyn FnOnce() + Send>),
) {
    reads(Box::new(move || {
        let (mut sum, mut buffer) = (0u64, [0; 1_000]);
        loop {
            match read(&reader, &mut buffer).unwrap() {
                0 => break,
                count => sum += buffer[..count].iter().map(|&byte| u64::from(byte)).sum::<u64>(),
            }
        }
        assert_eq!(sum, 1_048_576 * 3);
    }));
    writes(Box::new(move || {
        let bytes = vec![3; 4_096 * 16];
        (0..16).for_each(|_| write_all(&writer, &bytes));
    }));
}

#[test]
fn fibers_send_to_each_other() {
    for workers in [1, 2] {
        let runtime = crate::Runtime::builder().workers(workers).build().unwrap();
        let (reader, writer) = pipe();
        runtime.run(move || {
            let mut handles = Vec::new();
            let (mut reads, mut writes) = (None, None);
            send_a_megabyte(reader, writer, |f| reads = Some(crate::spawn(f)), |f| writes = Some(crate::spawn(f)));
            handles.extend(reads.into_iter().chain(writes));
            handles.into_iter().for_each(|handle| handle.join().unwrap());
        });
    }
}

#[test]
fn threads_send_to_each_other() {
    let (reader, writer) = pipe();
    let mut threads = Vec::new();
    let mut more = Vec::new();
    send_a_megabyte(reader, writer, |f| threads.push(thread::spawn(f)), |f| more.push(thread::spawn(f)));
    threads.into_iter().chain(more).for_each(|thread| thread.join().unwrap());
}

#[test]
fn closing_wakes_a_fiber_and_a_thread() {
    crate::run(|| {
        let (reader, _writer) = pipe();
        let reader = Arc::new(reader);
        let waiters = crate::sync::WaitGroup::new();
        let (first, second) = (Arc::clone(&reader), Arc::clone(&reader));
        let (one, two) = (waiters.clone(), waiters.clone());
        let fiber = crate::spawn(move || {
            drop(one);
            read(&first, &mut [0; 1]).unwrap_err().kind()
        });
        let thread = thread::spawn(move || {
            drop(two);
            read(&second, &mut [0; 1]).unwrap_err().kind()
        });
        waiters.wait().unwrap();
        reader.close();
        assert_eq!(fiber.join().unwrap(), io::ErrorKind::NotConnected);
        assert_eq!(thread.join().unwrap(), io::ErrorKind::NotConnected);
        assert_eq!(read(&reader, &mut [0; 1]).unwrap_err().kind(), io::ErrorKind::NotConnected);
    });
}

#[test]
fn a_deadline_ends_the_wait_of_a_fiber_and_of_a_thread() {
    let expires = || {
        let (reader, _writer) = pipe();
        let soon = Moment::now().after(Duration::from_millis(5));
        let request = request(Direction::Read, Some(soon));
        reader.perform(&request, |fd| Ok(rustix::io::read(fd, &mut [0u8; 1])?)).unwrap_err().kind()
    };
    assert_eq!(expires(), io::ErrorKind::TimedOut);
    assert_eq!(crate::run(expires), io::ErrorKind::TimedOut);
}

#[test]
fn cancelling_ends_the_wait() {
    crate::run(|| {
        let (reader, _writer) = pipe();
        let fiber = crate::spawn(move || read(&reader, &mut [0; 1]).unwrap_err());
        while !fiber.is_finished() {
            fiber.cancel();
            crate::yield_now();
        }
        match fiber.join() {
            Ok(error) => assert!(super::is_cancelled(&error)),
            Err(never_started) => assert!(matches!(never_started, crate::JoinError::Cancelled(_))),
        }
    });
}

struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[test]
fn a_task_outside_of_the_runtime_is_woken() {
    let (reader, writer) = pipe();
    let waker = Arc::new(Unpark(thread::current())).into();
    let mut context = Context::from_waker(&waker);
    let mut poll = || reader.poll(Direction::Read, 0, &mut context, |fd| Ok(rustix::io::read(fd, &mut [0u8; 1])?));
    assert!(poll().is_pending());
    write_all(&writer, b"x");
    loop {
        match poll() {
            Poll::Ready(result) => break assert_eq!(result.unwrap(), 1),
            Poll::Pending => thread::park(),
        }
    }
}

#[test]
fn a_task_that_got_less_than_it_wanted_does_not_try_again_before_it_is_woken() {
    struct Flag(AtomicBool, thread::Thread);
    impl Wake for Flag {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::Release);
            self.1.unpark();
        }
    }
    let (reader, writer) = pipe();
    let flag = Arc::new(Flag(AtomicBool::new(false), thread::current()));
    let waker = Arc::clone(&flag).into();
    let mut context = Context::from_waker(&waker);
    let mut tries = 0;
    let mut poll = || {
        let polled = reader.poll(Direction::Read, 2, &mut context, |fd| {
            tries += 1;
            Ok(rustix::io::read(fd, &mut [0u8; 2])?)
        });
        (polled, tries)
    };
    let first = poll();
    assert!(first.0.is_pending());
    for round in 0..3 {
        write_all(&writer, b"x");
        // Told before it is asked: nothing comes between the two polls.
        while !flag.0.swap(false, Ordering::Acquire) {
            thread::park();
        }
        let (Poll::Ready(result), tries) = poll() else { panic!("round {round}") };
        assert_eq!(result.unwrap(), 1, "round {round}");
        let (again, tries_by_then) = poll();
        assert!(again.is_pending());
        assert_eq!(tries_by_then, tries, "round {round}");
    }
}

/// A waker that does what fibers do, until its fuel is out.
struct Busy(crate::chan::Sender<()>);

impl Wake for Busy {
    fn wake(self: Arc<Self>) {
        for _ in 0..600 {
            self.0.send(()).unwrap();
        }
        drop(crate::spawn(|| ()));
    }
}

#[test]
fn a_waker_does_nothing_in_the_name_of_a_fiber_that_waits() {
    let runtime = crate::Runtime::builder().workers(1).build().unwrap();
    runtime.run(|| {
        let others: Vec<_> = (0..10)
            .map(|_| {
                crate::spawn(|| {
                    for _ in 0..2_000 {
                        crate::yield_now();
                    }
                })
            })
            .collect();
        for _ in 0..20 {
            let (reader, writer) = pipe();
            let (sender, receiver) = crate::chan::unbounded();
            let waker = Arc::new(Busy(sender)).into();
            let mut context = Context::from_waker(&waker);
            let polled = reader.poll(Direction::Read, 0, &mut context, |fd| Ok(rustix::io::read(fd, &mut [0u8; 1])?));
            assert!(polled.is_pending());
            write_all(&writer, b"x");
            (0..600).for_each(|_| receiver.recv().unwrap());
        }
        others.into_iter().for_each(|other| other.join().unwrap());
    });
}
