//! Files and directories from fibers: everything as in `std`, and nobody else is held up.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/kernel/mod.rs"]
mod kernel;

mod cold;
mod directories;
mod file;
mod names;
mod paths_taken;
mod storms;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A directory for one test, removed at the end.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Folder {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("sisal-fs-test-{}-{number}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Folder(path)
    }

    pub(crate) fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Calls `body` in fibers and on this plain thread.
pub(crate) fn everywhere(body: impl Fn() + Send + Sync) {
    common::in_main_fiber(2, &body);
    common::in_background(1, &body);
    common::watchdog::guarded(&body);
}
