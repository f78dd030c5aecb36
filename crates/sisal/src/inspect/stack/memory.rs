//! Reading words of stacks.
//!
//! Inside the bounds of a stack that is known to be there words are just loaded. All others are asked of the kernel, which says no where a
//! load would be a fault: so an unwinder that is led astray reads nonsense at worst. It is asked by pieces of a page, one after the other.
#![allow(unsafe_code, reason = "other stacks are read through addresses")]

use rustix::process::{Pid, getpid};
use std::ops::Range;

/// How much is asked of the kernel at a time, and never across a multiple of it: such a piece is there as a whole, or not at all.
const PIECE: usize = 4096;

const WORD: usize = size_of::<u64>();

/// See the [module](self).
pub(super) struct Memory {
    process: Pid,
    /// May be loaded from.
    known: Range<usize>,
    /// What the kernel has copied, and where from.
    copy: Box<[u8; PIECE]>,
    copied: Range<usize>,
}

impl Memory {
    pub(super) fn new() -> Memory {
        Memory { process: getpid(), known: 0..0, copy: Box::new([0; PIECE]), copied: 0..0 }
    }

    /// From now on `known` may be loaded from; what was read before may have changed.
    ///
    /// # Safety
    /// It is mapped, and nobody writes to it, until the next call.
    pub(super) unsafe fn begin(&mut self, known: Range<usize>) {
        self.known = known;
        self.copied = 0..0;
    }

    /// The word at `address`.
    pub(super) fn read(&mut self, address: u64) -> Result<u64, ()> {
        let address = usize::try_from(address).map_err(drop)?;
        let end = address.checked_add(WORD).ok_or(())?;
        if self.known.start <= address && end <= self.known.end {
            let word = std::ptr::with_exposed_provenance::<u64>(address);
            // SAFETY: by the promise made to `begin`.
            return Ok(unsafe { word.read_unaligned() });
        }
        if address < self.copied.start || end > self.copied.end {
            self.copy(address)?;
        }
        let at = address - self.copied.start;
        let bytes = self.copy.get(at..at + WORD).filter(|_| end <= self.copied.end).ok_or(())?;
        bytes.try_into().map(u64::from_ne_bytes).map_err(drop)
    }

    /// Copies the rest of the piece at `address`.
    fn copy(&mut self, address: usize) -> Result<(), ()> {
        let bytes = PIECE - address % PIECE;
        let to = libc::iovec { iov_base: self.copy.as_mut_ptr().cast(), iov_len: bytes };
        let from = libc::iovec { iov_base: std::ptr::without_provenance_mut(address), iov_len: bytes };
        // SAFETY: there is room for as many bytes. Whether there are any at `address` is for the kernel to find out.
        let copied = unsafe { libc::process_vm_readv(self.process.as_raw_nonzero().get(), &to, 1, &from, 1, 0) };
        self.copied = address..address + usize::try_from(copied).unwrap_or(0);
        if self.copied.is_empty() { Err(()) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_wherever_there_is_memory_and_refused_elsewhere() {
        let words: Vec<u64> = (0..4096).collect();
        let start = words.as_ptr().expose_provenance();
        let mut memory = Memory::new();
        for known in [0, 8, 4096 * 8] {
            // SAFETY: a part of the words.
            unsafe { memory.begin(start..start + known) };
            for (index, word) in words.iter().enumerate() {
                assert_eq!(memory.read((start + index * WORD) as u64), Ok(*word));
            }
            for nowhere in [0, 8, 1 << 60, u64::MAX, u64::MAX - 7] {
                assert_eq!(memory.read(nowhere), Err(()));
            }
        }
    }

    #[test]
    fn what_has_changed_is_read_anew() {
        let word = std::sync::atomic::AtomicU64::new(1);
        let address = word.as_ptr().expose_provenance() as u64;
        let mut memory = Memory::new();
        assert_eq!(memory.read(address), Ok(1));
        word.store(2, std::sync::atomic::Ordering::Relaxed);
        // SAFETY: nothing is known.
        unsafe { memory.begin(0..0) };
        assert_eq!(memory.read(address), Ok(2));
    }
}
