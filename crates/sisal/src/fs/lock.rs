//! Locks on a file.

use super::file::File;
use crate::fiber::in_fiber;
use crate::io::pauses::Pauses;
use crate::park::pay_fuel_for_system_call;
use crate::prim::reason::Reason;
use std::fs::TryLockError;
use std::io;
use std::panic::Location;

/// Waits for a lock: a thread in `lock`, a fiber between calls of `try_lock`.
#[track_caller]
fn wait_for(try_lock: impl Fn() -> Result<(), TryLockError>, lock: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    if !in_fiber() {
        return lock();
    }
    let place = Location::caller();
    pay_fuel_for_system_call(place);
    let mut pauses = Pauses::new(Reason::File, None, place);
    loop {
        match try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) => pauses.pause()?,
        }
    }
}

impl File {
    /// Waits until nobody else has locked it, and locks it.
    ///
    /// A fiber tries again and again, less and less often, up to every 32 ms: in a call that blocks it would keep a thread from others, of which one
    /// may be to unlock it. So this wait can be cancelled.
    ///
    /// # Errors
    /// See [`std::fs::File::lock`]; and if the wait was [cancelled](crate::is_cancelled).
    ///
    /// ```
    /// use sisal::fs::{self, File};
    /// let path = std::env::temp_dir().join(format!("sisal-lock-{}", std::process::id()));
    /// let (one, other) = (File::create(&path)?, File::open(&path)?);
    /// one.lock()?;
    /// assert!(other.try_lock().is_err());
    /// one.unlock()?;
    /// other.lock()?;
    /// fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn lock(&self) -> io::Result<()> {
        wait_for(|| self.inner.try_lock(), || self.inner.lock())
    }

    /// As [`lock`](Self::lock), for one of several who share it.
    ///
    /// # Errors
    /// See [`std::fs::File::lock_shared`]; and if the wait was [cancelled](crate::is_cancelled).
    ///
    /// ```
    /// use sisal::fs::{self, File};
    /// let path = std::env::temp_dir().join(format!("sisal-lock-shared-{}", std::process::id()));
    /// let (one, other) = (File::create(&path)?, File::open(&path)?);
    /// one.lock_shared()?;
    /// other.lock_shared()?;
    /// fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn lock_shared(&self) -> io::Result<()> {
        wait_for(|| self.inner.try_lock_shared(), || self.inner.lock_shared())
    }

    /// Locks it if nobody else has. Of a file on a network it is the server that is asked, and the worker waits for the answer.
    ///
    /// # Errors
    /// See [`std::fs::File::try_lock`].
    ///
    /// ```
    /// use sisal::fs::{self, File};
    /// let path = std::env::temp_dir().join(format!("sisal-try-lock-{}", std::process::id()));
    /// let (one, other) = (File::create(&path)?, File::open(&path)?);
    /// one.try_lock()?;
    /// assert!(matches!(other.try_lock(), Err(fs::TryLockError::WouldBlock)));
    /// fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn try_lock(&self) -> Result<(), TryLockError> {
        pay_fuel_for_system_call(Location::caller());
        self.inner.try_lock()
    }

    /// As [`try_lock`](Self::try_lock), for one of several who share it.
    ///
    /// # Errors
    /// See [`std::fs::File::try_lock_shared`].
    ///
    /// ```
    /// use sisal::fs::{self, File};
    /// let path = std::env::temp_dir().join(format!("sisal-try-lock-shared-{}", std::process::id()));
    /// let (one, other) = (File::create(&path)?, File::open(&path)?);
    /// one.try_lock_shared()?;
    /// other.try_lock_shared()?;
    /// assert!(other.try_lock().is_err(), "one shares it");
    /// fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn try_lock_shared(&self) -> Result<(), TryLockError> {
        pay_fuel_for_system_call(Location::caller());
        self.inner.try_lock_shared()
    }

    /// Takes its locks off.
    ///
    /// # Errors
    /// See [`std::fs::File::unlock`].
    ///
    /// ```
    /// use sisal::fs::{self, File};
    /// let path = std::env::temp_dir().join(format!("sisal-unlock-{}", std::process::id()));
    /// let (one, other) = (File::create(&path)?, File::open(&path)?);
    /// one.lock()?;
    /// one.unlock()?;
    /// other.try_lock()?;
    /// fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn unlock(&self) -> io::Result<()> {
        // Not on one of the threads, all of which may be waiting for this.
        pay_fuel_for_system_call(Location::caller());
        self.inner.unlock()
    }
}
