//! A file as a stream of bytes: reading, writing and seeking at its position.

use super::file::{File, Opened};
use super::nowait::{self, AT_POSITION};
use super::on_thread;
use crate::fiber::in_fiber;
use crate::io::ring;
use crate::park;
use rustix::fs::{OFlags, fcntl_getfl};
use std::fs;
use std::io::{self, IoSlice, IoSliceMut, Read, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::panic::Location;

impl File {
    /// What can be read at the position without waiting; none if nothing is known.
    fn read_quickly(&self, buffers: &mut [IoSliceMut<'_>]) -> Option<usize> {
        let Opened { position, nowait } = &*self.opened;
        let count = position.quick(|| nowait.read(&self.inner, buffers, AT_POSITION)).flatten()?;
        park::pay_fuel_for_system_call(Location::caller());
        Some(count)
    }

    /// Reads at the position while the fiber waits, without a thread; none if that can't be.
    fn read_by_ring(&self, buffer: &mut [u8]) -> Option<usize> {
        if !self.opened.nowait.suits_ring(&self.inner) {
            return None;
        }
        self.move_on(|from| ring::read(self.inner.as_fd(), buffer, from, Location::caller()))
    }

    /// Writes at the position while the fiber waits, without a thread; none if that can't be.
    fn write_by_ring(&self, bytes: &[u8]) -> Option<usize> {
        if !in_fiber() || !self.opened.nowait.suits_ring_write(&self.inner, bytes) {
            return None;
        }
        // Where those write is the kernel's to say.
        let appends = fcntl_getfl(&self.inner).map_or(true, |flags| flags.contains(OFlags::APPEND));
        if appends {
            return None;
        }
        self.move_on(|from| ring::write(self.inner.as_fd(), bytes, from, Location::caller()))
    }

    /// Does an operation of the ring at the position, and moves that. It is not left to the kernel: if an error cuts the operation short, as one
    /// of a full disk does, the ring (of Linux 6.18) says how much was done, and leaves the position where it was.
    fn move_on(&self, op: impl FnOnce(u64) -> Option<usize>) -> Option<usize> {
        let mut file = &self.inner;
        let at_position = || {
            let from = file.stream_position().ok()?;
            let count = op(from)?;
            let moved = file.seek(SeekFrom::Start(from + count as u64));
            debug_assert!(moved.is_ok(), "INVARIANT: one can go where one has read or written");
            Some(count)
        };
        self.opened.position.alone(at_position).flatten()
    }

    /// Does `op`, which uses the position, on a thread.
    fn slowly<T: Send>(&self, op: impl FnOnce(&fs::File) -> T + Send) -> T {
        on_thread(|| self.opened.position.slow(|| op(&self.inner)))
    }

    /// How much is left from the position on, if that is known without waiting.
    fn left(&self) -> Option<usize> {
        let position = self.opened.position.quick(|| (&self.inner).stream_position())?.ok()?;
        nowait::size(&self.inner)?.checked_sub(position)?.try_into().ok()
    }

    /// Reads as much as can be without a thread; true at the end of the file.
    fn read_on(&self, into: &mut Vec<u8>) -> io::Result<bool> {
        /// For files whose size is not known.
        const USUAL: usize = 8 << 10;
        /// Enough to see that a file has ended.
        const PROBE: usize = 32;
        if !self.opened.nowait.is_possible(&self.inner) {
            return Ok(false);
        }
        let Some(mut left) = self.left() else { return Ok(false) };
        into.try_reserve(left.saturating_add(PROBE))?;
        loop {
            let filled = into.len();
            let room = if left > 0 { left } else { (into.capacity() - filled).clamp(PROBE, USUAL) };
            into.resize(filled + room.min(nowait::MOST), 0);
            let buffer = &mut into[filled..];
            let count = self.read_quickly(&mut [IoSliceMut::new(buffer)]).or_else(|| self.read_by_ring(buffer));
            into.truncate(filled + count.unwrap_or(0));
            match count {
                None => return Ok(false),
                Some(0) => return Ok(true),
                Some(count) => left = left.saturating_sub(count),
            }
        }
    }
}

impl Read for &File {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if in_fiber() {
            let count = self.read_quickly(&mut [IoSliceMut::new(buffer)]).or_else(|| self.read_by_ring(buffer));
            if let Some(count) = count {
                return Ok(count);
            }
        }
        self.slowly(|mut file| file.read(buffer))
    }

    fn read_vectored(&mut self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        if in_fiber()
            && let Some(count) = self.read_quickly(buffers)
        {
            return Ok(count);
        }
        self.slowly(|mut file| file.read_vectored(buffers))
    }

    fn read_to_end(&mut self, into: &mut Vec<u8>) -> io::Result<usize> {
        let before = into.len();
        if !(in_fiber() && self.read_on(into)?) {
            self.slowly(|mut file| file.read_to_end(into))?;
        }
        Ok(into.len() - before)
    }

    fn read_to_string(&mut self, into: &mut String) -> io::Result<usize> {
        let mut bytes = Vec::new();
        self.read_to_end(&mut bytes)?;
        let text = String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        if into.is_empty() {
            *into = text;
            return Ok(into.len());
        }
        into.push_str(&text);
        Ok(text.len())
    }
}

impl Write for &File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.write_by_ring(bytes) {
            Some(count) => Ok(count),
            None => self.slowly(|mut file| file.write(bytes)),
        }
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.slowly(|mut file| file.write_vectored(slices))
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let written = self.write_by_ring(bytes).unwrap_or(0);
        match &bytes[written..] {
            [] => Ok(()),
            rest => self.slowly(|mut file| file.write_all(rest)),
        }
    }

    /// Does nothing: what is written is with the kernel.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for &File {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        // Only to find the end somebody may have to be asked.
        if !matches!(to, SeekFrom::End(_))
            && let Some(position) = self.opened.position.quick(|| (&self.inner).seek(to))
        {
            return position;
        }
        self.slowly(|mut file| file.seek(to))
    }
}

impl Read for File {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self).read(buffer)
    }

    fn read_vectored(&mut self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        (&*self).read_vectored(buffers)
    }

    fn read_to_end(&mut self, into: &mut Vec<u8>) -> io::Result<usize> {
        (&*self).read_to_end(into)
    }

    fn read_to_string(&mut self, into: &mut String) -> io::Result<usize> {
        (&*self).read_to_string(into)
    }
}

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self).write(bytes)
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        (&*self).write_vectored(slices)
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        (&*self).write_all(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        (&*self).flush()
    }
}

impl Seek for File {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        (&*self).seek(to)
    }
}
