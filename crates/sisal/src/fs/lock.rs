//! Locks on a file.

use super::file::File;
use super::on_thread;
use crate::park::pay_fuel_for_system_call;
use std::fs::TryLockError;
use std::io;
use std::panic::Location;

impl File {
    /// Waits until nobody else has locked it, and locks it. The wait takes a thread; many who wait for long are better off trying.
    ///
    /// # Errors
    /// See [`std::fs::File::lock`].
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
        on_thread(|| self.inner.lock())
    }

    /// As [`lock`](Self::lock), for one of several who share it.
    ///
    /// # Errors
    /// See [`std::fs::File::lock_shared`].
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
        on_thread(|| self.inner.lock_shared())
    }

    /// Locks it if nobody else has.
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
