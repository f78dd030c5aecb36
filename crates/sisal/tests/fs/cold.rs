//! Reading what is not in memory. (On file systems that are memory, it is: then these are ordinary reads.)

use crate::Folder;
use crate::common::watchdog::guarded;
use crate::common::{background, rounds, shut_down, with_workers};
use rustix::fs::Advice;
use sisal::fs::{self, File};
use sisal::{join_all, timeout};
use std::io::{Read, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The content of a file, by a number.
fn content(number: u64, length: usize) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(number);
    (0..length).map(|_| random.u8(..)).collect()
}

/// Makes the kernel forget what is in a file.
fn forget(path: &Path) {
    let file = std::fs::File::open(path).unwrap();
    file.sync_all().unwrap();
    rustix::fs::fadvise(&file, 0, None, Advice::DontNeed).unwrap();
}

#[test]
fn many_cold_files_are_read_whole() {
    with_workers(|workers| {
        let folder = Arc::new(Folder::new());
        let lengths = [0, 1, 4_095, 4_096, 4_097, 65_536, 100_000];
        let files: Vec<_> = (0..210_u64).map(|number| (number, lengths[number as usize % lengths.len()])).collect();
        for &(number, length) in &files {
            std::fs::write(folder.join(number.to_string()), content(number, length)).unwrap();
        }
        // So that files can be opened without a thread.
        fs::read(folder.join("0")).unwrap();
        for _ in 0..rounds(20) {
            files.iter().for_each(|(number, _)| forget(&folder.join(number.to_string())));
            let runtime = background(workers);
            let readers = files.iter().map(|&(number, length)| {
                let folder = Arc::clone(&folder);
                runtime.spawn(move || {
                    let path = folder.join(number.to_string());
                    // A deadline around it ends nothing in the middle.
                    let bytes = if number % 2 == 0 {
                        timeout(Duration::ZERO, || fs::read(&path)).unwrap()
                    } else {
                        let mut bytes = vec![0; length + 1];
                        let file = File::open(&path).unwrap();
                        let mut filled = 0;
                        while let count @ 1.. = file.read_at(&mut bytes[filled..], filled as u64).unwrap() {
                            filled += count;
                        }
                        bytes.truncate(filled);
                        bytes
                    };
                    assert!(bytes == content(number, length), "{number}");
                })
            });
            let readers: Vec<_> = readers.collect();
            join_all(readers).into_iter().for_each(Result::unwrap);
            shut_down(runtime);
        }
    });
}

/// Every read is of another page that is not in memory, so that many wait for the disk while others want the position.
#[test]
fn a_cold_file_read_by_many_at_its_position_gives_every_page_once() {
    with_workers(|workers| {
        let folder = Folder::new();
        let path = folder.join("file");
        let pages = 256_u32;
        std::fs::write(&path, (0..pages).flat_map(|page| page.to_le_bytes().repeat(1_024)).collect::<Vec<u8>>())
            .unwrap();
        for _ in 0..rounds(20) {
            forget(&path);
            let runtime = background(workers);
            let file = Arc::new(File::open(&path).unwrap());
            rustix::fs::fadvise(file.as_fd(), 0, None, Advice::Random).unwrap();
            let readers = (0..8).map(|_| {
                let file = Arc::clone(&file);
                runtime.spawn(move || {
                    let mut found = Vec::new();
                    let mut page = [0; 4_096];
                    while (&*file).read(&mut page).unwrap() == 4_096 {
                        found.push(u32::from_le_bytes(page[..4].try_into().unwrap()));
                    }
                    found
                })
            });
            let readers: Vec<_> = readers.collect();
            let mut found: Vec<u32> = join_all(readers).into_iter().flat_map(Result::unwrap).collect();
            found.sort_unstable();
            assert!(found.iter().copied().eq(0..pages), "{found:?}");
            shut_down(runtime);
        }
    });
}

#[test]
fn a_cold_file_is_read_in_pieces_from_anywhere() {
    guarded(|| {
        let folder = Folder::new();
        let path = folder.join("file");
        let expected = content(7, 300_000);
        std::fs::write(&path, &expected).unwrap();
        let runtime = background(1);
        runtime.run(|| {
            let mut file = File::open(&path).unwrap();
            let mut random = fastrand::Rng::with_seed(1);
            for _ in 0..rounds(1_000) {
                forget(&path);
                let (start, length) = (random.usize(..expected.len()), random.usize(1..20_000));
                file.seek(SeekFrom::Start(start as u64)).unwrap();
                let mut piece = vec![0; length.min(expected.len() - start)];
                file.read_exact(&mut piece).unwrap();
                assert!(piece == expected[start..start + piece.len()]);
                assert_eq!(file.stream_position().unwrap(), (start + piece.len()) as u64);
            }
        });
        shut_down(runtime);
    });
}

/// Reads that are under way when the runtime stops are waited for.
#[test]
fn cold_reads_are_done_also_when_the_runtime_stops() {
    with_workers(|workers| {
        let folder = Arc::new(Folder::new());
        for number in 0..100_u64 {
            std::fs::write(folder.join(number.to_string()), content(number, 20_000)).unwrap();
            forget(&folder.join(number.to_string()));
        }
        let runtime = background(workers);
        let readers = (0..100_u64).map(|number| {
            let folder = Arc::clone(&folder);
            runtime.spawn(move || {
                assert!(fs::read(folder.join(number.to_string())).unwrap() == content(number, 20_000));
            })
        });
        let readers: Vec<_> = readers.collect();
        runtime.request_stop();
        shut_down(runtime);
        // Each has ended well, or was not begun.
        for reader in join_all(readers) {
            assert!(matches!(reader, Ok(()) | Err(sisal::JoinError::Cancelled(_))), "{reader:?}");
        }
    });
}
