//! Slabs: memory for control blocks, many of one size in each.
//!
//! A block is a multiple of a cache line long and starts on one. A slab is aligned to its size, so that a block's address says where it
//! belongs. It starts with a [`Header`]; all the rest are blocks, an odd number of lines apart, so that their first lines share no few
//! sets of the processor's caches.
//!
//! ```text
//!   |header|block|block|block|block|  ...  |block|block|  ...  |
//!                                          carved: from here on none was ever handed out, and no page is touched
//! ```
#![allow(unsafe_code, reason = "raw memory is handed out and taken back")]

use super::quarry::{self, SLAB};
use std::ptr::NonNull;

/// Blocks come in multiples of this, and are aligned to it.
pub(super) const LINE: usize = 64;

/// A block that waits for its next fiber.
struct FreeBlock {
    next: Option<NonNull<FreeBlock>>,
}

/// Blocks of one size.
#[derive(Copy, Clone, Default)]
pub(super) struct Chain {
    first: Option<NonNull<FreeBlock>>,
    length: u32,
}

// SAFETY: a chain owns its blocks.
unsafe impl Send for Chain {}

impl Chain {
    pub(super) const EMPTY: Chain = Chain { first: None, length: 0 };

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    #[inline]
    pub(super) fn length(&self) -> u32 {
        self.length
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<NonNull<u8>> {
        let block = self.first?;
        // SAFETY: blocks in a chain are free memory in which `push` wrote a `FreeBlock`.
        self.first = unsafe { block.as_ref() }.next;
        self.length -= 1;
        Some(block.cast())
    }

    /// # Safety
    /// The block is of the chain's size, and nobody uses it any more.
    #[inline]
    pub(super) unsafe fn push(&mut self, block: NonNull<u8>) {
        let block = block.cast::<FreeBlock>();
        // SAFETY: it is free, and at least a line long.
        unsafe { block.write(FreeBlock { next: self.first }) };
        self.first = Some(block);
        self.length += 1;
    }
}

/// What stands at the start of a slab.
pub(super) struct Header {
    /// The blocks that are at home, of those that were handed out.
    pub(super) home: Chain,
    /// How many blocks were ever handed out: the first ones.
    pub(super) carved: u32,
    /// Where it is among those with blocks to hand out, if it is.
    pub(super) place: Option<u32>,
}

impl Header {
    /// One that is new counts as none: it is handed out from at once.
    pub(super) fn is_whole(&self) -> bool {
        self.carved > 0 && self.home.length() == self.carved
    }
}

/// A slab, by its address. Its header belongs to whoever has its shelf's lock.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Slab(NonNull<u8>);

// SAFETY: it is an address; what may be done with it is said at each use.
unsafe impl Send for Slab {}

impl Slab {
    #[cold]
    pub(super) fn new() -> Slab {
        let memory = quarry::take();
        // SAFETY: it is large enough, aligned, and nobody else's.
        unsafe { memory.cast::<Header>().write(Header { home: Chain::EMPTY, carved: 0, place: None }) };
        Slab(memory)
    }

    /// # Safety
    /// The block came from a slab.
    pub(super) unsafe fn of(block: NonNull<u8>) -> Slab {
        let within = block.addr().get() % SLAB;
        // SAFETY: a slab is aligned to its size, so its start is that far below, in the same allocation.
        Slab(unsafe { block.sub(within) })
    }

    /// # Safety
    /// The caller has the shelf's lock, and no other reference from here.
    pub(super) unsafe fn header<'a>(self) -> &'a mut Header {
        // SAFETY: written by `new`; the rest is the caller's promise.
        unsafe { self.0.cast().as_mut() }
    }

    /// Where the block of a size begins that has so many before it: at most as many as there are.
    pub(super) fn block(self, size: usize, before: u32) -> NonNull<u8> {
        assert!(before <= capacity(size));
        // SAFETY: within the slab, or one past its end.
        unsafe { self.0.add(LINE + before as usize * stride(size)) }
    }

    /// # Safety
    /// All its blocks are at home, and no shelf has it.
    pub(super) unsafe fn free(self) {
        // SAFETY: taken by `new`; nobody uses it any more.
        unsafe { quarry::give(self.0) };
    }
}

/// How far apart blocks of a size are.
pub(super) const fn stride(size: usize) -> usize {
    ((size + 1) | 1) * LINE
}

/// How many blocks of a size a slab has.
pub(super) const fn capacity(size: usize) -> u32 {
    ((SLAB - LINE) / stride(size)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_lie_apart_within_their_slab_an_odd_number_of_lines_from_one_to_the_next() {
        for size in 0..8 {
            assert!(stride(size) >= (size + 1) * LINE);
            assert_eq!(stride(size) / LINE % 2, 1);
            assert!(LINE + capacity(size) as usize * stride(size) <= SLAB);
            assert!(size_of::<Header>() <= LINE);
        }
    }
}
