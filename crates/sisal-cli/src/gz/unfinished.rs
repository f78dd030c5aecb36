//! The file that is half written, as those know it who may have to remove it.
//!
//! That is whoever writes it, and the thread that hears [signals](super::signals). Who makes, removes or finishes the file has the lock meanwhile:
//! what is noted here is there, and nothing else is.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Where the half written file is, if there is one.
#[derive(Debug, Default)]
pub(super) struct Unfinished(Mutex<Option<PathBuf>>);

impl Unfinished {
    /// Keeps all others from making, removing or finishing it.
    pub(super) fn lock(&self) -> MutexGuard<'_, Option<PathBuf>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the file. It is removed when the guard is dropped before it is [finished](UnfinishedGuard::finish).
    pub(super) fn create(&self, path: &Path, options: &OpenOptions) -> io::Result<(File, UnfinishedGuard<'_>)> {
        // On a thread, since a fiber does not wait with a lock in hand.
        let file = sisal::blocking(|| {
            let mut unfinished = self.lock();
            debug_assert!(unfinished.is_none(), "INVARIANT: one file is written at a time");
            let file = options.open(path)?;
            *unfinished = Some(path.to_owned());
            Ok::<_, io::Error>(file)
        })?;
        Ok((file, UnfinishedGuard(self)))
    }
}

/// Whoever writes the file.
#[derive(Debug)]
pub(super) struct UnfinishedGuard<'a>(&'a Unfinished);

impl UnfinishedGuard<'_> {
    /// From now on it stays.
    pub(super) fn finish(self) {
        self.0.lock().take();
    }
}

impl Drop for UnfinishedGuard<'_> {
    fn drop(&mut self) {
        sisal::blocking(|| {
            let mut unfinished = self.0.lock();
            if let Some(path) = unfinished.take() {
                // If it can't be removed, that is told nobody: something worse has been told already.
                let _ = fs::remove_file(path);
            }
        });
    }
}
