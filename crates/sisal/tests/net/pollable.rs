//! Descriptors of other kinds.

use crate::common::places::{everywhere, join_all, settle};
use crate::common::waits::in_fibers_and_a_thread;
use crate::wire::{MUCH, read_much, write_much};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::inotify;
use rustix::fs::{OFlags, fcntl_getfl};
use sisal::io::Pollable;
use std::io::{ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

fn counter() -> Pollable<OwnedFd> {
    Pollable::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::SEMAPHORE).unwrap()).unwrap()
}

#[test]
fn an_eventfd_wakes_one_for_each_count() {
    everywhere(|place| {
        let counter = Arc::new(counter());
        let actors = place.sharing(5, &counter, |mut counter, _| {
            let mut count = [0; 8];
            counter.read_exact(&mut count).unwrap();
            u64::from_ne_bytes(count)
        });
        settle();
        (&*counter).write_all(&5u64.to_ne_bytes()).unwrap();
        assert_eq!(join_all(actors), [1; 5]);
    });
}

#[test]
fn pipes_of_std_are_read_and_written() {
    everywhere(|place| {
        let (reader, writer) = std::io::pipe().unwrap();
        let (reader, writer) = (Pollable::new(reader).unwrap(), Pollable::new(writer).unwrap());
        let writing = place.spawn(move || write_much(writer, MUCH / 4));
        assert_eq!(read_much(&reader), MUCH / 4);
        writing.join();
    });
}

#[test]
fn operations_are_tried_until_they_would_not_block() {
    everywhere(|place| {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let reader = Arc::new(Pollable::new(reader).unwrap());
        let readable = place.sharing(2, &reader, |reader, _| reader.readable().unwrap());
        let with = place.sharing(1, &reader, |reader, _| {
            let mut tries = 0;
            let read = reader.read_with(|mut pipe| {
                tries += 1;
                pipe.read(&mut [0; 8])
            });
            (read.unwrap(), tries)
        });
        settle();
        writer.write_all(b"hello").unwrap();
        let (length, tries) = join_all(with).pop().unwrap();
        assert!(length == 5 && tries >= 1);
        // One who only looks may come too late, and then waits for the next.
        writer.write_all(b"again").unwrap();
        join_all(readable);
    });
}

#[test]
fn who_waits_for_room_is_woken_by_room() {
    everywhere(|place| {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let writer = Arc::new(Pollable::new(writer).unwrap());
        let size = rustix::pipe::fcntl_getpipe_size(&*writer).unwrap();
        (&*writer).write_all(&vec![0; size]).unwrap();
        let waiting = place.sharing(2, &writer, |writer, _| writer.writable().unwrap());
        settle();
        reader.read_exact(&mut vec![0; size]).unwrap();
        join_all(waiting);
        assert_eq!(writer.write_with(|mut pipe| pipe.write(b"!")).unwrap(), 1);
    });
}

#[test]
fn a_watched_folder_tells_of_a_file() {
    everywhere(|place| {
        let folder = std::env::temp_dir().join(format!("sisal-inotify-{}-{:p}", std::process::id(), place));
        std::fs::create_dir(&folder).unwrap();
        let watch = inotify::init(inotify::CreateFlags::CLOEXEC).unwrap();
        inotify::add_watch(&watch, &folder, inotify::WatchFlags::CREATE).unwrap();
        let watch = Pollable::new(watch).unwrap();
        let watcher = place.spawn(move || {
            let mut event = [0; 512];
            let length = (&watch).read(&mut event).unwrap();
            String::from_utf8_lossy(&event[..length]).contains("news")
        });
        std::fs::write(folder.join("news"), b"").unwrap();
        assert!(watcher.join());
        std::fs::remove_dir_all(folder).unwrap();
    });
}

#[test]
fn times_ends_and_closing_are_as_for_sockets() {
    everywhere(|place| {
        let counter = Arc::new(counter());
        counter.set_read_timeout(Some(Duration::from_millis(3))).unwrap();
        assert_eq!(counter.set_write_timeout(Some(Duration::ZERO)).unwrap_err().kind(), ErrorKind::InvalidInput);
        assert_eq!(counter.readable().unwrap_err().kind(), ErrorKind::TimedOut);
        assert_eq!((&*counter).read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::TimedOut);
        counter.set_read_timeout(None).unwrap();
        let error = sisal::timeout(Duration::from_millis(3), || counter.readable()).unwrap_err();
        assert!(sisal::is_cancelled(&error));
        let actors = place.sharing(4, &counter, |counter, _| counter.readable().unwrap_err().kind());
        settle();
        counter.close();
        assert_eq!(join_all(actors), [ErrorKind::NotConnected; 4]);
        assert_eq!((&*counter).write(&[0; 8]).unwrap_err().kind(), ErrorKind::NotConnected);
    });
}

#[test]
fn what_it_held_blocks_again_if_it_did() {
    in_fibers_and_a_thread(|| {
        let blocks = |fd: &OwnedFd| !fcntl_getfl(fd).unwrap().contains(OFlags::NONBLOCK);
        let blocking = Pollable::new(eventfd(0, EventfdFlags::CLOEXEC).unwrap()).unwrap();
        assert!(!blocks(blocking.get_ref()));
        assert!(blocks(&blocking.into_inner()));
        let not = Pollable::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).unwrap()).unwrap();
        assert!(!blocks(&not.into_inner()));
    });
}

#[test]
fn vectored_reads_and_writes() {
    in_fibers_and_a_thread(|| {
        let (reader, writer) = std::io::pipe().unwrap();
        let (mut reader, mut writer) = (Pollable::new(reader).unwrap(), Pollable::new(writer).unwrap());
        assert_eq!(writer.write_vectored(&[IoSlice::new(b"ab"), IoSlice::new(b"cde")]).unwrap(), 5);
        writer.flush().unwrap();
        let (mut first, mut second) = ([0; 4], [0; 4]);
        let mut slices = [IoSliceMut::new(&mut first), IoSliceMut::new(&mut second)];
        assert_eq!(reader.read_vectored(&mut slices).unwrap(), 5);
        assert_eq!((&first, &second[..1]), (b"abcd", &b"e"[..]));
    });
}

#[test]
fn files_need_no_waiting() {
    in_fibers_and_a_thread(|| {
        let mut file = Pollable::new(std::fs::File::open("/proc/self/status").unwrap()).unwrap();
        file.readable().unwrap();
        let mut all = String::new();
        file.read_to_string(&mut all).unwrap();
        assert!(all.contains("Threads:"));
    });
}

#[test]
fn what_was_blocking_is_so_again() {
    in_fibers_and_a_thread(|| {
        let (reader, writer) = std::io::pipe().unwrap();
        let blocks = || !fcntl_getfl(&reader).unwrap().contains(OFlags::NONBLOCK);
        let borrowed = Pollable::new(&reader).unwrap();
        assert!(!blocks());
        drop(borrowed);
        assert!(blocks());
        let closed = Pollable::new(&reader).unwrap();
        closed.close();
        drop(closed);
        assert!(blocks());
        let kept = Pollable::new(&reader).unwrap();
        drop(Pollable::new(&reader).unwrap());
        assert!(!blocks(), "it was not before");
        kept.into_inner();
        assert!(blocks());
        drop(writer);
    });
}

#[test]
fn what_is_ready_and_of_no_use_times_out_all_the_same() {
    everywhere(|_| {
        let (reader, mut writer) = std::io::pipe().unwrap();
        writer.write_all(b"!").unwrap();
        let reader = Pollable::new(reader).unwrap();
        reader.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        let never = |_: &std::io::PipeReader| Err::<(), _>(ErrorKind::WouldBlock.into());
        assert_eq!(reader.read_with(never).unwrap_err().kind(), ErrorKind::TimedOut);
    });
}
