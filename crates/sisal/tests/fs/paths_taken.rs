//! How bytes come that are not in memory, and how they go: by the ring where the kernel has one, by threads where it has none. They are
//! the same bytes, and the other way is not gone.
#![allow(unsafe_code, reason = "a signal is ignored")]

use crate::Folder;
use crate::common::child;
use crate::common::skip::skip;
use crate::common::watchdog::guarded;
use crate::common::{background, fixed, linux, shut_down, watched};
use crate::kernel::rings::{has_rings, refuse_rings};
use rustix::fs::{Advice, fadvise};
use sisal::fs::File;
use sisal::join_all;
use std::io::{self, Read, Seek, Write};
use std::sync::Arc;

const PAGE: usize = 4_096;
const PAGES: u64 = 256;

/// The byte that a page is filled with, and its neighbours are not.
fn byte_of(page: u64) -> u8 {
    (page * 7) as u8
}

/// Reads pages that are not in memory, at places and at the position, and checks them; returns how many threads that took.
fn read_cold_pages() -> usize {
    let folder = Folder::new();
    let path = folder.join("file");
    std::fs::write(&path, (0..PAGES).flat_map(|page| [byte_of(page); PAGE]).collect::<Vec<u8>>()).unwrap();
    // Opened here: that takes a thread, too.
    let file = Arc::new(File::open(&path).unwrap());
    let other = std::fs::File::open(&path).unwrap();
    other.sync_all().unwrap();
    fadvise(&other, 0, None, Advice::DontNeed).unwrap();
    let runtime = watched(fixed(2).name("cold").build().unwrap());
    let readers = (PAGES / 2..PAGES).map(|page| {
        let file = Arc::clone(&file);
        runtime.spawn(move || {
            let mut bytes = [0; PAGE];
            file.read_exact_at(&mut bytes, page * PAGE as u64).unwrap();
            assert_eq!(bytes, [byte_of(page); PAGE]);
        })
    });
    let readers: Vec<_> = readers.collect();
    join_all(readers).into_iter().for_each(Result::unwrap);
    runtime.run(|| {
        for page in 0..PAGES / 2 {
            let mut bytes = [0; PAGE];
            (&*file).read_exact(&mut bytes).unwrap();
            assert_eq!(bytes, [byte_of(page); PAGE]);
        }
    });
    let threads = linux::threads_named("cold-blocking");
    shut_down(runtime);
    threads
}

/// Writes pages, at places and one after the other, and checks them; returns how many threads that took.
fn write_pages() -> usize {
    let folder = Folder::new();
    let (path, other) = (folder.join("file"), folder.join("other"));
    let runtime = watched(fixed(2).name("pen").build().unwrap());
    let file = Arc::new(File::create(&path).unwrap());
    let writers = (0..PAGES).map(|page| {
        let file = Arc::clone(&file);
        runtime.spawn(move || {
            let (bytes, place) = ([byte_of(page); PAGE], page * PAGE as u64);
            match page % 2 {
                0 => file.write_all_at(&bytes, place).unwrap(),
                _ => assert_eq!(file.write_at(&bytes, place).unwrap(), PAGE),
            }
        })
    });
    let mut stream = File::create(&other).unwrap();
    let streamer = runtime.spawn(move || {
        for page in 0..PAGES {
            match page % 2 {
                0 => stream.write_all(&[byte_of(page); PAGE]).unwrap(),
                _ => assert_eq!(stream.write(&[byte_of(page); PAGE]).unwrap(), PAGE),
            }
        }
        assert_eq!(stream.stream_position().unwrap(), PAGES * PAGE as u64);
    });
    let writers: Vec<_> = writers.chain([streamer]).collect();
    join_all(writers).into_iter().for_each(Result::unwrap);
    let threads = linux::threads_named("pen-blocking");
    shut_down(runtime);
    let all: Vec<u8> = (0..PAGES).flat_map(|page| [byte_of(page); PAGE]).collect();
    assert!(std::fs::read(&path).unwrap() == all && std::fs::read(&other).unwrap() == all);
    threads
}

/// Whether files are in memory and nowhere else.
fn is_all_memory() -> bool {
    let folder = Folder::new();
    let system = rustix::fs::statfs(folder.join("")).unwrap();
    [0x0102_1994, 0x8584_58F6].contains(&system.f_type)
}

#[test]
fn the_kernel_reads_from_a_disk_by_itself_and_no_thread_waits_for_it() {
    if is_all_memory() || !has_rings() {
        return skip("no disk, or no io_uring");
    }
    // In a process of its own: threads are counted by name.
    child::run(|| assert_eq!(read_cold_pages(), 0, "threads")).well();
}

#[test]
fn threads_read_from_a_disk_where_the_kernel_does_not_by_itself() {
    if is_all_memory() {
        return skip("no disk");
    }
    child::run(|| {
        refuse_rings();
        assert_ne!(read_cold_pages(), 0, "threads");
    })
    .well();
}

#[test]
fn the_kernel_writes_by_itself_and_no_thread_waits_for_it() {
    if !has_rings() {
        return skip("no io_uring");
    }
    child::run(|| assert_eq!(write_pages(), 0, "threads")).well();
}

#[test]
fn threads_write_where_the_kernel_does_not_by_itself() {
    child::run(|| {
        refuse_rings();
        assert_ne!(write_pages(), 0, "threads");
    })
    .well();
}

/// A disk that is full would do the same: some of it is written, and the rest is an error.
#[test]
fn a_write_that_is_cut_short_is_told_and_goes_as_far_as_it_says() {
    const LIMIT: usize = 10_000;
    child::run(|| {
        // SAFETY: nothing runs when the signal comes.
        unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
        let limit = rustix::process::Rlimit { current: Some(LIMIT as u64), maximum: Some(LIMIT as u64) };
        rustix::process::setrlimit(rustix::process::Resource::Fsize, limit).unwrap();
        let folder = Folder::new();
        let (path, other) = (folder.join("file"), folder.join("other"));
        let bytes: Vec<u8> = (0..64 << 10).map(|place: u32| (place / 3) as u8).collect();
        fixed(1)
            .run(|| {
                let file = File::create(&path).unwrap();
                let error = file.write_all_at(&bytes, 0).unwrap_err();
                assert_eq!(error.raw_os_error(), Some(libc::EFBIG));
                assert_eq!(file.write_at(&bytes, LIMIT as u64 - 1).unwrap(), 1, "as much as there is room for");
                let mut stream = File::create(&other).unwrap();
                assert_eq!(stream.write(&bytes).unwrap(), LIMIT);
                assert_eq!(stream.stream_position().unwrap(), LIMIT as u64);
                assert_eq!(stream.write(&bytes).unwrap_err().raw_os_error(), Some(libc::EFBIG));
            })
            .unwrap();
        assert!(std::fs::read(&other).unwrap() == bytes[..LIMIT]);
        let written = std::fs::read(&path).unwrap();
        assert!(written[..LIMIT - 1] == bytes[..LIMIT - 1]);
        assert_eq!(written[LIMIT - 1..], bytes[..1]);
    })
    .well();
}

#[test]
fn errors_of_writes_are_those_of_the_system_and_a_long_write_is_one() {
    guarded(|| {
        let folder = Folder::new();
        let path = folder.join("file");
        std::fs::write(&path, "as it was").unwrap();
        let runtime = background(1);
        runtime.run(|| {
            let file = File::open(&path).unwrap();
            let refused = |result: io::Result<()>| {
                assert_eq!(result.unwrap_err().raw_os_error(), Some(libc::EBADF), "it was opened to be read")
            };
            refused(file.write_at(b"not", 0).map(drop));
            refused(file.write_all_at(b"not", 0));
            let mut appended = File::options().append(true).open(&path).unwrap();
            let mut also = File::options().append(true).open(&path).unwrap();
            appended.write_all(b", and").unwrap();
            also.write_all(b" more").unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), b"as it was, and more");
            let file = File::create(&path).unwrap();
            let much: Vec<u8> = (0..3 << 20).map(|place: u32| (place >> 3) as u8).collect();
            assert_eq!(file.write_at(&much, 1).unwrap(), much.len());
            assert!(std::fs::read(&path).unwrap()[1..] == much);
            assert!(file.write_all_at(&[], 0).is_ok());
        });
        shut_down(runtime);
        assert_eq!(std::fs::metadata(&path).unwrap().len(), (3 << 20) + 1);
    });
}

/// Two fibers at one file want its position: while one waits for the kernel, the other can only wait for it, and there is no thread to do so.
#[test]
fn fibers_share_a_file_where_no_thread_can_be_had() {
    const ROUNDS: usize = 200;
    child::run(|| {
        let folder = Folder::new();
        let path = folder.join("file");
        let file = File::create(&path).unwrap();
        let runtime = background(1);
        // Its worker has started, and has what it needs.
        runtime.run(|| ());
        // Room for what is small; not for the stack of a thread.
        let all = Some(linux::mapped() as u64 + (1 << 20));
        rustix::process::setrlimit(
            rustix::process::Resource::As,
            rustix::process::Rlimit { current: all, maximum: all },
        )
        .unwrap();
        assert!(std::thread::Builder::new().spawn(|| ()).is_err());
        let writers = [b'a', b'b'].map(|byte| {
            let mut file = file.try_clone().unwrap();
            runtime.spawn(move || (0..ROUNDS).for_each(|_| file.write_all(&[byte; 16]).unwrap()))
        });
        join_all(writers).into_iter().for_each(Result::unwrap);
        let written = std::fs::read(&path).unwrap();
        assert!(written.chunks(16).all(|chunk| chunk.iter().all(|byte| *byte == chunk[0])));
        assert_eq!(written.len(), 2 * ROUNDS * 16);
        std::process::exit(0);
    })
    .well();
}
