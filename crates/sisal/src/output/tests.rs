//! A stream into a pipe of our own, whose reader is as slow as need be.

use super::sink::Sink;
use super::stream::{ROOM, Stream};
use crate::{RuntimeBuilder, run, sleep, spawn, spawn_local, yield_now};
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, PipeReader, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::panic::Location;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

struct Pipe {
    descriptor: RawFd,
    file: Mutex<File>,
}

impl Sink for Pipe {
    const THREAD: &'static str = "pipe";

    fn descriptor(&self) -> RawFd {
        self.descriptor
    }

    fn locked<R>(&self, f: impl FnOnce(&mut dyn Write) -> R) -> R {
        f(&mut *self.file.lock().unwrap())
    }
}

/// How much a pipe takes without a reader.
const PIPE: usize = 64 << 10;

fn pipe() -> (PipeReader, &'static Stream<Pipe>) {
    let (reader, writer) = io::pipe().unwrap();
    let descriptor = writer.as_raw_fd();
    let file = Mutex::new(File::from(OwnedFd::from(writer)));
    (reader, Box::leak(Box::new(Stream::new(Pipe { descriptor, file }))))
}

#[track_caller]
fn print(stream: &'static Stream<Pipe>, text: String) {
    stream.print(text.into_bytes(), Location::caller());
}

#[track_caller]
fn flush(stream: &'static Stream<Pipe>) -> io::Result<()> {
    stream.settle(Location::caller());
    stream.take_error().map_or(Ok(()), Err)
}

#[test]
fn lines_come_out_whole_and_in_the_order_of_each_printer() {
    const PRINTERS: usize = 6;
    const LINES: usize = 200;
    /// Some short, some longer than what is written at a time, and one longer than there is room for.
    fn line(printer: usize, number: usize) -> String {
        let length = [10, 100, 5_000, 40][number % 4] + if number == 50 { 2 * ROOM } else { 0 };
        format!("{printer} {number} {}\n", "x".repeat(length))
    }
    let (reader, stream) = pipe();
    let reader = thread::spawn(move || {
        let mut lines = BufReader::with_capacity(100, reader).lines();
        let mut next = [0; PRINTERS];
        for _ in 0..PRINTERS * LINES {
            let text = lines.next().unwrap().unwrap() + "\n";
            let printer: usize = text.split(' ').next().unwrap().parse().unwrap();
            assert_eq!(text, line(printer, next[printer]));
            next[printer] += 1;
        }
    });
    let print_all = move |printer| (0..LINES).for_each(|number| print(stream, line(printer, number)));
    thread::scope(|scope| {
        scope.spawn(|| print_all(0));
        run(|| {
            let fibers: Vec<_> = (1..PRINTERS).map(|printer| spawn(move || print_all(printer))).collect();
            fibers.into_iter().for_each(|fiber| fiber.join().unwrap());
        });
    });
    flush(stream).unwrap();
    reader.join().unwrap();
}

#[test]
fn without_a_reader_the_worker_goes_on_and_the_printer_waits() {
    let (mut reader, stream) = pipe();
    let text = || "x".repeat(1 << 10);
    let total = (PIPE + 3 * ROOM) >> 10;
    let run = RuntimeBuilder::default().workers(1).max_workers(1).run(|| {
        static PRINTED: AtomicUsize = AtomicUsize::new(0);
        let printer = spawn_local(move || {
            for _ in 0..total {
                print(stream, text());
                PRINTED.fetch_add(1, Ordering::Relaxed);
            }
        });
        // There is room for that much in the pipe and the queue. Once more is with the writer; the rest has to wait.
        while PRINTED.load(Ordering::Relaxed) < (PIPE + ROOM) >> 10 {
            sleep(Duration::from_millis(1)).unwrap();
        }
        assert!(!printer.is_finished());
        let reader = thread::spawn(move || reader.read_exact(&mut vec![0; total << 10]));
        printer.join().unwrap();
        flush(stream).unwrap();
        reader.join().unwrap().unwrap();
    });
    run.unwrap();
}

#[test]
fn a_flush_waits_until_what_was_printed_is_written() {
    let (mut reader, stream) = pipe();
    let read = AtomicUsize::new(0);
    let total = PIPE + ROOM / 2;
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut buffer = [0; 1 << 10];
            while read.load(Ordering::SeqCst) < 2 * total {
                thread::yield_now();
                let length = reader.read(&mut buffer).unwrap();
                read.fetch_add(length, Ordering::SeqCst);
            }
        });
        let print_and_flush = |before: usize| {
            (0..total >> 10).for_each(|_| print(stream, "x".repeat(1 << 10)));
            flush(stream).unwrap();
            assert!(read.load(Ordering::SeqCst) + PIPE + (1 << 10) >= before + total);
        };
        run(|| print_and_flush(0));
        print_and_flush(total);
    });
}

#[test]
fn when_nobody_reads_any_more_all_who_wait_go_on_and_flush_says_why() {
    let (reader, stream) = pipe();
    let text = || "x".repeat(1 << 10);
    run(|| {
        let printers: Vec<_> =
            (0..10).map(|_| spawn(move || (0..(PIPE + 2 * ROOM) >> 10).for_each(|_| print(stream, text())))).collect();
        let flusher = spawn(move || flush(stream));
        (0..100).for_each(|_| yield_now());
        drop(reader);
        printers.into_iter().for_each(|printer| printer.join().unwrap());
        let errors = [flusher.join().unwrap(), flush(stream)];
        assert!(
            errors.iter().flat_map(|error| error.as_ref().err()).all(|error| error.kind() == ErrorKind::BrokenPipe)
        );
        // What comes late may fail anew; with nothing printed, nothing fails.
        assert!(flush(stream).is_ok());
        print(stream, text());
        assert_eq!(flush(stream).unwrap_err().kind(), ErrorKind::BrokenPipe);
        assert!(flush(stream).is_ok());
    });
}
