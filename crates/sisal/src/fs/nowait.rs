//! Reading what the kernel has at hand.

use super::cached;
use crate::io::MOST_SLICES;
use rustix::fs::{AtFlags, OFlags, StatxFlags};
use rustix::io::{Errno, ReadWriteFlags};
use std::fs;
use std::io::IoSliceMut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// How much is copied in one go: the worker is busy meanwhile, for a tenth of a millisecond or so.
pub(super) const MOST: usize = 1 << 20;

/// Stands for the position of the file, which is moved.
pub(super) const AT_POSITION: u64 = u64::MAX;

/// Whether it is worth asking.
#[derive(Debug)]
pub(super) struct Nowait {
    /// The file can't be read this way.
    refused: AtomicBool,
    /// Whether it is a regular file, once that was asked.
    is_regular: OnceLock<bool>,
    /// Whether it was opened with `O_DIRECT`, once that was asked.
    is_direct: OnceLock<bool>,
}

impl Nowait {
    pub(super) fn new() -> Nowait {
        Nowait { refused: AtomicBool::new(false), is_regular: OnceLock::new(), is_direct: OnceLock::new() }
    }

    pub(super) fn is_possible(&self, file: &fs::File) -> bool {
        !self.refused.load(Ordering::Relaxed) && kernel_is_right() && !self.is_direct(file)
    }

    /// Whether it is read past the page cache: then to be read at once means to wait for the disk, and the position is not moved by reads that
    /// the kernel finishes later.
    fn is_direct(&self, file: &fs::File) -> bool {
        let asked = || rustix::fs::fcntl_getfl(file).is_ok_and(|flags| flags.contains(OFlags::DIRECT));
        *self.is_direct.get_or_init(asked)
    }

    /// Whether the kernel can read and write the file by itself, and that comes to an end: with a disk, but not with a pipe or a terminal.
    pub(super) fn suits_ring(&self, file: &fs::File) -> bool {
        self.is_possible(file) && *self.is_regular.get_or_init(|| cached::device_of_regular(file).is_some())
    }

    /// Whether the kernel can write this to the file by itself. More than is copied in one go is left to a thread: it may be
    /// the worker that copies, and what is written by one call is not to be parted.
    pub(super) fn suits_ring_write(&self, file: &fs::File, bytes: &[u8]) -> bool {
        (1..=MOST).contains(&bytes.len()) && self.suits_ring(file)
    }

    /// Reads what is in the page cache; none if that says nothing, and one has to wait for the file. Less than there is room for does not
    /// mean that there is no more.
    pub(super) fn read(&self, file: &fs::File, buffers: &mut [IoSliceMut<'_>], at: u64) -> Option<usize> {
        // No file is so long: that the kernel does not read there says nothing of this one.
        let is_beyond_all = at > i64::MAX as u64 && at != AT_POSITION;
        if is_beyond_all || !self.is_possible(file) {
            return None;
        }
        // Empty ones at the front are passed over: what is read into them says nothing.
        let start = buffers.iter().position(|buffer| !buffer.is_empty()).unwrap_or(0);
        let buffers = &mut buffers[start..];
        let whole = fitting(buffers);
        let read = match buffers {
            [first, ..] if whole == 0 => {
                let first = IoSliceMut::new(&mut first[..MOST]);
                rustix::io::preadv2(file, &mut [first], at, ReadWriteFlags::NOWAIT)
            }
            _ => rustix::io::preadv2(file, &mut buffers[..whole], at, ReadWriteFlags::NOWAIT),
        };
        match read {
            Ok(count) => Some(count),
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {
                // Not this file, this file system, or this kernel.
                self.refused.store(true, Ordering::Relaxed);
                None
            }
            // If it is an error, the read that waits tells it.
            Err(_) => None,
        }
    }
}

/// How many of the first buffers have room for what is copied in one go, and no more.
fn fitting(buffers: &[IoSliceMut<'_>]) -> usize {
    let mut left = MOST;
    let fits = |buffer: &&IoSliceMut<'_>| left.checked_sub(buffer.len()).map(|rest| left = rest).is_some();
    buffers.iter().take(MOST_SLICES).take_while(fits).count()
}

/// Linux 5.9 and 5.10 may say that a file has ended where it has not (preadv2(2), BUGS).
fn kernel_is_right() -> bool {
    static RIGHT: OnceLock<bool> = OnceLock::new();
    *RIGHT.get_or_init(|| {
        let uname = rustix::system::uname();
        let release = uname.release().to_str().unwrap_or_default();
        !["5.9.", "5.10."].iter().any(|wrong| release.starts_with(wrong))
    })
}

/// The size of a file, as far as it is known without asking a server.
pub(super) fn size(file: &fs::File) -> Option<u64> {
    let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
    rustix::fs::statx(file, c"", flags, StatxFlags::SIZE).ok().map(|stat| stat.stx_size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_no_file_has_says_nothing_of_this_one() {
        let file = fs::File::open("/proc/self/exe").unwrap();
        let nowait = Nowait::new();
        let read = |at| nowait.read(&file, &mut [IoSliceMut::new(&mut [0; 4])], at);
        if read(0) == Some(4) {
            assert_eq!(read(1 << 63), None);
            assert_eq!(read(0), Some(4));
        }
    }

    fn fitting_of(sizes: &[usize]) -> usize {
        let mut buffers: Vec<Vec<u8>> = sizes.iter().map(|&size| vec![0; size]).collect();
        let slices: Vec<_> = buffers.iter_mut().map(|buffer| IoSliceMut::new(buffer)).collect();
        fitting(&slices)
    }

    #[test]
    fn no_more_is_copied_in_one_go_than_the_worker_has_time_for() {
        assert_eq!(fitting_of(&[]), 0);
        assert_eq!(fitting_of(&[MOST]), 1);
        assert_eq!(fitting_of(&[MOST + 1]), 0, "of which a part is read");
        assert_eq!(fitting_of(&[MOST / 2; 5]), 2);
        assert_eq!(fitting_of(&[100, 0, 200, MOST, 1]), 3);
    }
}
