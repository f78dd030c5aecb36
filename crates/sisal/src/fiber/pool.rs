//! Memory for control blocks, at hand: each worker keeps that of ended fibers for the next ones. The rest is in slabs.
//!
//! Threads that are no workers keep none: they take each block from the slabs, and bring it home there.
#![allow(unsafe_code, reason = "raw memory is handed out and taken back")]

use super::current;
pub(crate) use super::shelves::Which;
use super::shelves::{self, SHELVES, SIZES};
use super::slab::{Chain, LINE};
use crate::prim::fork;
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::ptr::NonNull;

/// How many blocks make a full chain: so many that a batch of ten thousand spawns is served by two (`spawn-10k`).
const CHAIN: u32 = 8_192;

/// How many blocks a worker takes at once that were never used: three pages of the common size.
const REFILL: u32 = 64;

/// The blocks one worker keeps, by size: a chain it works on, and perhaps a full one. More than that is spilled.
pub(crate) struct Pool {
    active: [Cell<Chain>; SIZES],
    full: [Cell<Chain>; SIZES],
}

impl Pool {
    pub(super) const fn new() -> Pool {
        Pool { active: [const { Cell::new(Chain::EMPTY) }; SIZES], full: [const { Cell::new(Chain::EMPTY) }; SIZES] }
    }

    #[inline]
    fn take(&self, size: usize) -> Option<NonNull<u8>> {
        let mut chain = self.active[size].get();
        if chain.is_empty() {
            chain = self.refill(size);
        }
        let block = chain.pop();
        self.active[size].set(chain);
        block
    }

    #[cold]
    fn refill(&self, size: usize) -> Chain {
        let full = self.full[size].take();
        if full.is_empty() { SHELVES[size].take(REFILL) } else { full }
    }

    /// # Safety
    /// The block is of this size, and nobody uses it any more.
    #[inline]
    unsafe fn keep(&self, size: usize, block: NonNull<u8>) {
        let mut chain = self.active[size].get();
        if chain.length() == CHAIN {
            self.put_away(size, chain);
            chain = Chain::EMPTY;
        }
        // SAFETY: the caller's promise.
        unsafe { chain.push(block) };
        self.active[size].set(chain);
    }

    #[cold]
    fn put_away(&self, size: usize, chain: Chain) {
        let full = self.full[size].replace(chain);
        if !full.is_empty() {
            SHELVES[size].spill(full);
        }
    }

    /// Leaves all to others, and to [`trim`]: the worker has not needed so much.
    pub(crate) fn spill(&self) {
        for (size, shelf) in SHELVES.iter().enumerate() {
            let chains = [self.active[size].take(), self.full[size].take()];
            chains.into_iter().filter(|chain| !chain.is_empty()).for_each(|chain| shelf.spill(chain));
        }
    }

    /// Gives all back: the worker goes.
    pub(crate) fn release(&self) {
        for (size, shelf) in SHELVES.iter().enumerate() {
            shelf.bring_home(self.active[size].take());
            shelf.bring_home(self.full[size].take());
        }
    }
}

/// Whether there is something for [`trim`] to do.
#[inline]
pub(crate) fn has_spilled() -> bool {
    shelves::have_spilled()
}

/// Gives blocks that no worker keeps back; whether there were any.
pub(crate) fn trim(which: Which) -> bool {
    shelves::bring_spilled_home(which)
}

/// Which size serves `layout`, if one does. Under the address sanitizer none: what is used after it was freed is seen only if the
/// allocator knows.
const fn size_for(layout: Layout) -> Option<usize> {
    let size = layout.size().div_ceil(LINE) - 1;
    if size < SIZES && layout.align() <= LINE && !cfg!(sisal_asan) { Some(size) } else { None }
}

/// Memory for a `T` that is a control block.
#[inline]
pub(super) fn allocate<T>() -> NonNull<T> {
    match const { size_for(Layout::new::<T>()) } {
        None => from_allocator(Layout::new::<T>()).cast(),
        Some(size) => take(size).cast(),
    }
}

#[inline]
fn take(size: usize) -> NonNull<u8> {
    current::with(|current| current.pool().and_then(|pool| pool.take(size))).unwrap_or_else(|| from_slabs(size))
}

#[cold]
fn from_slabs(size: usize) -> NonNull<u8> {
    SHELVES[size].take_one()
}

#[cold]
fn from_allocator(layout: Layout) -> NonNull<u8> {
    // SAFETY: a control block is never of size zero.
    NonNull::new(unsafe { alloc(layout) }).unwrap_or_else(|| handle_alloc_error(layout))
}

/// Takes memory from [`allocate`] back.
///
/// # Safety
/// It came from `allocate` with the same `T`, and nobody uses it any more.
#[inline]
pub(super) unsafe fn free<T>(block: NonNull<T>) {
    let block = block.cast::<u8>();
    match const { size_for(Layout::new::<T>()) } {
        // SAFETY: allocated with this layout.
        None => unsafe { dealloc(block.as_ptr(), Layout::new::<T>()) },
        // SAFETY: the caller's promise.
        Some(size) => unsafe { keep(size, block) },
    }
}

/// # Safety
/// The block is of this size, and nobody uses it any more.
#[inline]
unsafe fn keep(size: usize, block: NonNull<u8>) {
    // SAFETY: the caller's promise.
    let kept = current::with(|current| current.pool().map(|pool| unsafe { pool.keep(size, block) }));
    if kept.is_none() {
        // SAFETY: the caller's promise.
        unsafe { to_slabs(size, block) };
    }
}

/// # Safety
/// The block is of this size, and nobody uses it any more.
#[cold]
unsafe fn to_slabs(size: usize, block: NonNull<u8>) {
    // In the child of a fork, a thread that is not there any more may have the lock.
    if !fork::is_child() {
        // SAFETY: the caller's promise.
        unsafe { SHELVES[size].bring_home_one(block) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(align(64))]
    struct Line<const BYTES: usize>([u8; BYTES]);

    #[repr(align(256))]
    struct Wide(#[expect(dead_code, reason = "only its alignment matters")] [u8; 300]);

    fn comes_and_goes<T>() {
        let blocks: Vec<NonNull<T>> = (0..100).map(|_| allocate::<T>()).collect();
        for block in blocks {
            assert!(block.is_aligned());
            // SAFETY: from `allocate`, written to its end, and given back once.
            unsafe {
                block.write_bytes(0xA5, 1);
                free(block);
            }
        }
    }

    #[test]
    fn blocks_of_all_sizes_are_aligned_and_can_be_used_to_their_ends() {
        comes_and_goes::<Line<1>>();
        comes_and_goes::<Line<192>>();
        comes_and_goes::<Line<512>>();
        comes_and_goes::<Line<5000>>();
        comes_and_goes::<Wide>();
    }

    #[test]
    fn a_pool_hands_out_what_it_kept_newest_first_and_releases_the_rest() {
        let pool = Pool::new();
        let (first, second) = (from_slabs(2), from_slabs(2));
        // SAFETY: of this size, and unused.
        unsafe {
            pool.keep(2, first);
            pool.keep(2, second);
        }
        assert_eq!((pool.take(2), pool.take(2)), (Some(second), Some(first)));
        // SAFETY: as above.
        unsafe {
            pool.keep(2, first);
            pool.keep(2, second);
        }
        pool.release();
        assert!(pool.active[2].get().is_empty());
    }

    #[test]
    #[cfg_attr(miri, ignore = "tens of thousands of blocks take minutes there")]
    fn a_pool_keeps_two_full_chains_and_no_more() {
        let pool = Pool::new();
        for _ in 0..3 * CHAIN {
            // SAFETY: of this size, and unused.
            unsafe { pool.keep(7, from_slabs(7)) };
        }
        assert_eq!((pool.active[7].get().length(), pool.full[7].get().length()), (CHAIN, CHAIN));
        pool.release();
        trim(Which::All);
    }
}
