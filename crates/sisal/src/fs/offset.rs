//! Reading and writing at an offset, wherever the position of the file is.

use super::file::File;
use super::nowait::AT_POSITION;
use super::on_thread;
use crate::fiber::in_fiber;
use crate::io::ring;
use crate::park;
use std::io::{self, IoSliceMut};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::panic::Location;

impl File {
    /// Reads from `offset` on, wherever the position is; returns how much.
    ///
    /// # Errors
    /// See [`std::os::unix::fs::FileExt::read_at`].
    ///
    /// ```
    /// let mut two = [0; 2];
    /// assert_eq!(sisal::fs::File::open("/proc/self/status")?.read_at(&mut two, 2)?, 2);
    /// assert_eq!(&two, b"me");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        if in_fiber() && offset != AT_POSITION {
            let read = self.opened.nowait.read(&self.inner, &mut [IoSliceMut::new(buffer)], offset);
            if let Some(count) = read {
                park::pay_fuel_for_system_call(Location::caller());
                return Ok(count);
            }
            if self.opened.nowait.suits_ring(&self.inner)
                && let Some(count) = ring::read(self.inner.as_fd(), buffer, offset, Location::caller())
            {
                return Ok(count);
            }
        }
        on_thread(|| self.inner.read_at(buffer, offset))
    }

    /// Writes at `offset`, wherever the position is; returns how much.
    ///
    /// # Errors
    /// See [`std::os::unix::fs::FileExt::write_at`].
    ///
    /// ```
    /// use sisal::fs::{self, File};
    /// let path = std::env::temp_dir().join(format!("sisal-write-at-{}", std::process::id()));
    /// let file = File::create(&path)?;
    /// assert_eq!(file.write_at(b"!", 2)?, 1);
    /// assert_eq!(fs::read(&path)?, b"\0\0!");
    /// fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        match self.write_at_by_ring(bytes, offset) {
            Some(count) => Ok(count),
            None => on_thread(|| self.inner.write_at(bytes, offset)),
        }
    }

    /// Writes at an offset while the fiber waits, without a thread; none if that can't be.
    #[track_caller]
    fn write_at_by_ring(&self, bytes: &[u8], offset: u64) -> Option<usize> {
        if !in_fiber() || offset == AT_POSITION || !self.opened.nowait.suits_ring_write(&self.inner, bytes) {
            return None;
        }
        ring::write(self.inner.as_fd(), bytes, offset, Location::caller())
    }

    /// Fills `buffer` from `offset` on, wherever the position is.
    ///
    /// # Errors
    /// See [`std::os::unix::fs::FileExt::read_exact_at`].
    ///
    /// ```
    /// let mut name = [0; 4];
    /// sisal::fs::File::open("/proc/self/status")?.read_exact_at(&mut name, 0)?;
    /// assert_eq!(&name, b"Name");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        FileExt::read_exact_at(self, buffer, offset)
    }

    /// Writes all of `bytes` at `offset`, wherever the position is.
    ///
    /// # Errors
    /// See [`std::os::unix::fs::FileExt::write_all_at`].
    ///
    /// ```
    /// use sisal::fs::{self, File};
    /// let path = std::env::temp_dir().join(format!("sisal-write-all-at-{}", std::process::id()));
    /// let file = File::create(&path)?;
    /// file.write_all_at(b"there", 6)?;
    /// file.write_all_at(b"hello ", 0)?;
    /// assert_eq!(fs::read(&path)?, b"hello there");
    /// fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let written = self.write_at_by_ring(bytes, offset).unwrap_or(0);
        match &bytes[written..] {
            [] => Ok(()),
            rest => on_thread(|| self.inner.write_all_at(rest, offset + written as u64)),
        }
    }
}

impl FileExt for File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.read_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.write_at(bytes, offset)
    }
}
