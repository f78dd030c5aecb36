//! Many fibers at files at once, and what holds up nobody.

use crate::Folder;
use crate::common::skip::skip;
use crate::common::watchdog::guarded;
use crate::common::{background, fixed, linux, shut_down, watched, with_workers};
use sisal::fs::{self, File};
use sisal::{join_all, spawn, yield_now};
use std::io::{Read, Seek, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

#[test]
fn a_thousand_fibers_read_and_write_different_files() {
    with_workers(|workers| {
        let folder = Arc::new(Folder::new());
        let runtime = background(workers);
        let fibers = (0..1_000_usize).map(|number| {
            let folder = Arc::clone(&folder);
            runtime.spawn(move || {
                let path = folder.join(number.to_string());
                let text = number.to_string().repeat(1_000);
                fs::write(&path, &text).unwrap();
                let mut read = String::new();
                File::open(&path).unwrap().read_to_string(&mut read).unwrap();
                assert!(read == text, "{number}");
                fs::read(&path).unwrap().len()
            })
        });
        let fibers: Vec<_> = fibers.collect();
        let sum: usize = join_all(fibers).into_iter().map(Result::unwrap).sum();
        assert_eq!(sum, (10 + 90 * 2 + 900 * 3) * 1_000);
        shut_down(runtime);
    });
}

/// A reader of a FIFO that nobody writes to waits; all others go on, also those who wait for files.
#[test]
fn a_file_that_stalls_stalls_nobody_else() {
    with_workers(|workers| {
        let folder = Folder::new();
        let fifo = folder.join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        let runtime = background(workers);
        let (opened, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let reader = runtime.spawn({
            let (fifo, opened, done) = (fifo.clone(), Arc::clone(&opened), Arc::clone(&done));
            move || {
                // To write as well, so that opening does not wait for a writer.
                let mut file = File::options().read(true).write(true).open(&fifo).unwrap();
                opened.store(true, Ordering::Relaxed);
                let mut byte = [0];
                file.read_exact(&mut byte).unwrap();
                done.store(true, Ordering::Relaxed);
                byte[0]
            }
        });
        let opener = runtime.spawn({
            let second = folder.join("second");
            rustix::fs::mknodat(rustix::fs::CWD, &second, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
            move || fs::read(second).unwrap()
        });
        let others = (0..100).map(|number| {
            let path = folder.join(number.to_string());
            runtime.spawn(move || {
                fs::write(&path, path.to_string_lossy().as_bytes()).unwrap();
                yield_now();
                fs::read(&path).unwrap().len()
            })
        });
        let others: Vec<_> = others.collect();
        join_all(others).into_iter().for_each(|fiber| assert!(fiber.unwrap() > 0));
        runtime.run(|| {
            while !opened.load(Ordering::Relaxed) {
                yield_now();
            }
        });
        assert!(!done.load(Ordering::Relaxed) && !opener.is_finished());
        std::fs::OpenOptions::new().write(true).open(&fifo).unwrap().write_all(b"x").unwrap();
        std::fs::OpenOptions::new().write(true).open(folder.join("second")).unwrap().write_all(b"yz").unwrap();
        assert_eq!(reader.join().unwrap(), b'x');
        assert_eq!(opener.join().unwrap(), b"yz");
        shut_down(runtime);
    });
}

/// One fiber waits for a file; others that want its position don't hold their worker up.
#[test]
fn who_wants_the_position_of_a_stalled_file_waits_alone() {
    guarded(|| {
        let folder = Folder::new();
        let fifo = folder.join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        let runtime = background(1);
        let file = Arc::new(File::options().read(true).write(true).open(&fifo).unwrap());
        let read = AtomicUsize::new(0);
        let sum = runtime.run(|| {
            let readers: Vec<_> = (0..10)
                .map(|_| {
                    let file = Arc::clone(&file);
                    spawn(move || {
                        let mut byte = [0];
                        (&*file).read_exact(&mut byte).unwrap();
                        usize::from(byte[0])
                    })
                })
                .collect();
            for byte in 0..10 {
                // All but the first wait for the one before.
                for _ in 0..10 {
                    yield_now();
                }
                read.fetch_add(1, Ordering::Relaxed);
                (&*file).write_all(&[byte]).unwrap();
            }
            join_all(readers).into_iter().map(Result::unwrap).sum::<usize>()
        });
        assert_eq!((sum, read.into_inner()), (45, 10));
        shut_down(runtime);
    });
}

/// Fibers of several workers that read one file by its one position get every byte once.
#[test]
fn one_file_read_by_many_gives_every_byte_once() {
    with_workers(|workers| {
        let folder = Folder::new();
        let path = folder.join("file");
        let chunks = 4_096_u32;
        let content: Vec<u8> = (0..chunks).flat_map(u32::to_le_bytes).collect();
        std::fs::write(&path, &content).unwrap();
        let runtime = background(workers);
        let file = Arc::new(File::open(&path).unwrap());
        let readers = (0..16).map(|_| {
            let file = Arc::clone(&file);
            runtime.spawn(move || {
                let mut found = Vec::new();
                let mut chunk = [0; 4];
                while (&*file).read(&mut chunk).unwrap() == 4 {
                    found.push(u32::from_le_bytes(chunk));
                }
                found
            })
        });
        let readers: Vec<_> = readers.collect();
        let mut found: Vec<u32> = join_all(readers).into_iter().flat_map(Result::unwrap).collect();
        found.sort_unstable();
        assert!(found.into_iter().eq(0..chunks));
        shut_down(runtime);
    });
}

#[test]
fn a_big_file_is_written_and_read_back() {
    guarded(|| {
        let folder = Folder::new();
        let path = folder.join("big");
        let big = std::env::var_os("SISAL_BIG").is_some_and(|value| value == "1");
        let blocks: u64 = if big { 1_024 } else { 64 };
        let block = |number: u64| -> Vec<u8> {
            let mut random = fastrand::Rng::with_seed(number);
            let mut block = vec![0; 1 << 20];
            block.chunks_exact_mut(8).for_each(|word| word.copy_from_slice(&random.u64(..).to_le_bytes()));
            block
        };
        let runtime = background(2);
        runtime.run(|| {
            let mut file = File::create_new(&path).unwrap();
            for number in 0..blocks {
                file.write_all(&block(number)).unwrap();
            }
            file.sync_all().unwrap();
            file.rewind().unwrap();
            let mut read = vec![0; 1 << 20];
            for number in 0..blocks {
                file.read_exact(&mut read).unwrap();
                assert!(read == block(number), "block {number}");
            }
            assert_eq!(file.read(&mut read).unwrap(), 0);
            if !big {
                assert_eq!(fs::read(&path).unwrap().len() as u64, blocks << 20);
            }
        });
        shut_down(runtime);
    });
}

/// What is in the page cache is read on the worker, without a thread, where the kernel can.
#[test]
fn what_is_in_memory_is_read_without_a_thread() {
    guarded(|| {
        let folder = Folder::new();
        let path = folder.join("file");
        let content = "in memory".repeat(10_000);
        std::fs::write(&path, &content).unwrap();
        let file = std::fs::File::open(&path).unwrap();
        let mut byte = [0];
        let mut probe = [std::io::IoSliceMut::new(&mut byte)];
        if rustix::io::preadv2(&file, &mut probe, 0, rustix::io::ReadWriteFlags::NOWAIT).is_err() {
            return skip("no reads without waiting on this file system");
        }
        let runtime = watched(fixed(1).name("hot").build().unwrap());
        runtime.run(|| {
            let mut file = File::from(file);
            let mut text = String::new();
            file.read_to_string(&mut text).unwrap();
            assert!(text == content);
            file.rewind().unwrap();
            file.read_exact(&mut [0; 100]).unwrap();
            file.read_exact_at(&mut [0; 100], 5_000).unwrap();
        });
        assert_eq!(linux::threads_named("hot-blocking"), 0);
        shut_down(runtime);
    });
}

/// A file that is in the caches of the kernel is opened and read on the worker, once its file system is known.
#[test]
fn what_is_known_to_the_kernel_is_opened_without_a_thread() {
    guarded(|| {
        let folder = Folder::new();
        let path = folder.join("file");
        std::fs::write(&path, "known").unwrap();
        let file = std::fs::File::open(&path).unwrap();
        let kind = rustix::fs::fstatfs(&file).unwrap().f_type;
        let mut byte = [0];
        let mut probe = [std::io::IoSliceMut::new(&mut byte)];
        let nowait = rustix::io::preadv2(&file, &mut probe, 0, rustix::io::ReadWriteFlags::NOWAIT);
        if kind != 0xEF53 || nowait.is_err() {
            return skip("not on ext4");
        }
        // On a plain thread, which learns of the file system.
        assert_eq!(fs::read(&path).unwrap(), b"known");
        let runtime = watched(fixed(1).name("warm").build().unwrap());
        runtime.run(|| {
            for _ in 0..10 {
                assert_eq!(fs::read(&path).unwrap(), b"known");
                assert_eq!(fs::read_to_string(&path).unwrap(), "known");
                let mut text = String::new();
                File::open(&path).unwrap().read_to_string(&mut text).unwrap();
                assert_eq!(text, "known");
            }
        });
        assert_eq!(linux::threads_named("warm-blocking"), 0);
        shut_down(runtime);
    });
}
