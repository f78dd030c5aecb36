//! Threads that read files: as many as there are workers, each with the next file that is left.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::work::{FileReads, Files};

/// Every file so many times.
pub(super) fn read(load: FileReads, files: &Files, repeats: usize) {
    let paths: Vec<_> = files.paths().collect();
    for _ in 0..repeats {
        let next = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..load.workers {
                scope.spawn(|| {
                    while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
                        files.check(fs::read(path));
                    }
                });
            }
        });
    }
}
