//! Pipes.

use crate::common::child;
use crate::common::places::{everywhere, join_all, settle};
use crate::common::waits::in_fibers_and_a_thread;
use crate::wire::{MUCH, read_much, write_much};
use sisal::io::{Pollable, copy, pipe};
use std::io::{ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

#[test]
fn bytes_arrive_as_they_were_sent_in_chunks_of_any_size() {
    everywhere(|place| {
        let (reader, writer) = pipe().unwrap();
        let writing = place.spawn(move || write_much(writer, MUCH));
        let reading = place.spawn(move || read_much(reader));
        assert_eq!(reading.join(), MUCH);
        writing.join();
    });
}

#[test]
fn copying_copies_everything() {
    everywhere(|place| {
        let ((reader, writer), (last_reader, mut last_writer)) = (pipe().unwrap(), pipe().unwrap());
        let writing = place.spawn(move || write_much(writer, MUCH / 4));
        let mut reader = reader;
        let copying = place.spawn(move || copy(&mut reader, &mut last_writer).unwrap());
        assert_eq!(read_much(last_reader), MUCH / 4);
        assert_eq!(copying.join(), (MUCH / 4) as u64);
        writing.join();
    });
}

#[test]
fn the_end_is_seen_when_the_last_writer_is_gone() {
    everywhere(|place| {
        let (mut reader, writer) = pipe().unwrap();
        let clone = writer.try_clone().unwrap();
        let reading = place.spawn(move || {
            let mut all = String::new();
            reader.read_to_string(&mut all).unwrap();
            all
        });
        (&writer).write_all(b"one").unwrap();
        drop(writer);
        settle();
        assert!(!reading.is_finished());
        (&clone).write_all(b" two").unwrap();
        drop(clone);
        assert_eq!(reading.join(), "one two");
    });
}

#[test]
fn writing_what_nobody_reads_is_an_error() {
    everywhere(|place| {
        let (reader, writer) = pipe().unwrap();
        let writing = place.spawn(move || {
            loop {
                if let Err(error) = (&writer).write(&[0; 10_000]) {
                    return error.kind();
                }
            }
        });
        (&reader).read_exact(&mut [0; 100_000]).unwrap();
        drop(reader);
        assert_eq!(writing.join(), ErrorKind::BrokenPipe);
    });
}

#[test]
fn vectored_reads_and_writes() {
    in_fibers_and_a_thread(|| {
        let (reader, writer) = pipe().unwrap();
        assert_eq!((&writer).write_vectored(&[IoSlice::new(b"ab"), IoSlice::new(b"cde")]).unwrap(), 5);
        let (mut first, mut second) = ([0; 4], [0; 4]);
        let mut slices = [IoSliceMut::new(&mut first), IoSliceMut::new(&mut second)];
        assert_eq!((&reader).read_vectored(&mut slices).unwrap(), 5);
        assert_eq!((&first, &second[..1]), (b"abcd", &b"e"[..]));
    });
}

#[test]
fn closing_wakes_who_reads_and_who_writes() {
    everywhere(|place| {
        let (reader, _writer) = pipe().unwrap();
        let reader = Arc::new(reader);
        let readers = place.sharing(3, &reader, |mut reader, _| reader.read(&mut [0; 8]).unwrap_err().kind());
        settle();
        reader.close();
        assert_eq!(join_all(readers), [ErrorKind::NotConnected; 3]);

        let (_reader, writer) = pipe().unwrap();
        let writer = Arc::new(writer);
        let writers = place.sharing(2, &writer, |mut writer, _| writer.write_all(&[0; 200_000]).unwrap_err().kind());
        settle();
        writer.close();
        assert_eq!(join_all(writers), [ErrorKind::NotConnected; 2]);
    });
}

#[test]
fn an_end_may_be_given_to_another_process() {
    everywhere(|place| {
        let (reader, writer) = pipe().unwrap();
        // The command holds its copy of the end until it is dropped.
        let mut child = child::begin(Command::new("sh").arg("-c").arg("echo hello").stdout(writer));
        let reading = place.spawn(move || {
            let mut all = String::new();
            (&reader).read_to_string(&mut all).unwrap();
            all
        });
        assert_eq!(reading.join(), "hello\n");
        assert!(child.wait().unwrap().success());
    });
}

#[test]
fn a_pipe_is_waited_for_as_long_as_was_said() {
    in_fibers_and_a_thread(|| {
        const SHORT: Duration = Duration::from_millis(2);
        let (mut reader, mut writer) = pipe().unwrap();
        assert_eq!((reader.read_timeout().unwrap(), writer.write_timeout().unwrap()), (None, None));
        assert_eq!(reader.set_read_timeout(Some(Duration::ZERO)).unwrap_err().kind(), ErrorKind::InvalidInput);
        reader.set_read_timeout(Some(SHORT)).unwrap();
        writer.set_write_timeout(Some(SHORT)).unwrap();
        assert_eq!((reader.read_timeout().unwrap(), writer.write_timeout().unwrap()), (Some(SHORT), Some(SHORT)));
        let start = Instant::now();
        assert_eq!(reader.read(&mut [0]).unwrap_err().kind(), ErrorKind::TimedOut);
        assert!(start.elapsed() >= SHORT);
        let full = loop {
            if let Err(error) = writer.write(&[7; 4096]) {
                break error;
            }
        };
        assert_eq!(full.kind(), ErrorKind::TimedOut);
        // What is there is read all the same, and a clone has the time of its original.
        let mut clone = reader.try_clone().unwrap();
        assert_eq!((clone.read(&mut [0]).unwrap(), clone.read_timeout().unwrap()), (1, Some(SHORT)));
        clone.set_read_timeout(None).unwrap();
        assert_eq!(reader.read_timeout().unwrap(), Some(SHORT));
        let pollable = Pollable::new(clone).unwrap();
        pollable.set_write_timeout(Some(SHORT)).unwrap();
        assert_eq!((pollable.read_timeout().unwrap(), pollable.write_timeout().unwrap()), (None, Some(SHORT)));
    });
}
