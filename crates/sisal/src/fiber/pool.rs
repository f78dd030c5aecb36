//! Memory for control blocks: each worker keeps those of ended fibers for the next ones.
//!
//! A block is a multiple of a cache line long and starts on one. Threads that are no workers go to the allocator.
#![allow(unsafe_code, reason = "raw memory is handed out and taken back")]

use super::current;
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::ptr::NonNull;

/// Blocks come in multiples of this, and are aligned to it.
const LINE: usize = 64;

/// The number of sizes that are kept: up to half a KiB. Larger ones have large closures, and are rare.
const SIZES: usize = 8;

/// The most blocks of one size that a worker keeps: chosen so that a batch of ten thousand spawns is served (`spawn-10k`).
const MOST_KEPT: u32 = 16_384;

/// A block that waits for its next fiber.
struct FreeBlock {
    next: Option<NonNull<FreeBlock>>,
}

/// The blocks one worker keeps, by size.
pub(crate) struct Pool {
    free: [Cell<Option<NonNull<FreeBlock>>>; SIZES],
    kept: [Cell<u32>; SIZES],
}

impl Pool {
    pub(super) const fn new() -> Pool {
        Pool { free: [const { Cell::new(None) }; SIZES], kept: [const { Cell::new(0) }; SIZES] }
    }

    #[inline]
    fn take(&self, size: usize) -> Option<NonNull<u8>> {
        let block = self.free[size].get()?;
        // SAFETY: kept blocks are free memory in which `keep` wrote a `FreeBlock`.
        self.free[size].set(unsafe { block.as_ref() }.next);
        self.kept[size].set(self.kept[size].get() - 1);
        Some(block.cast())
    }

    /// # Safety
    /// The block is of this size, and nobody uses it any more.
    #[inline]
    unsafe fn keep(&self, size: usize, block: NonNull<u8>) -> bool {
        if self.kept[size].get() >= MOST_KEPT {
            return false;
        }
        let block = block.cast::<FreeBlock>();
        // SAFETY: it is free, and at least a line long.
        unsafe { block.write(FreeBlock { next: self.free[size].get() }) };
        self.free[size].set(Some(block));
        self.kept[size].set(self.kept[size].get() + 1);
        true
    }

    /// Gives all back to the allocator: the worker goes.
    pub(crate) fn release(&self) {
        for size in 0..SIZES {
            while let Some(block) = self.take(size) {
                // SAFETY: blocks of this size were allocated with this layout.
                unsafe { dealloc(block.as_ptr(), layout_of(size)) };
            }
        }
    }
}

fn layout_of(size: usize) -> Layout {
    Layout::from_size_align((size + 1) * LINE, LINE)
        .unwrap_or_else(|_| unreachable!("INVARIANT: a few lines are a valid layout"))
}

/// Which size serves `layout`, if one does.
const fn size_of(layout: Layout) -> Option<usize> {
    let size = layout.size().div_ceil(LINE) - 1;
    if size < SIZES && layout.align() <= LINE { Some(size) } else { None }
}

/// Memory for a `T` that is a control block.
#[inline]
pub(super) fn allocate<T>() -> NonNull<T> {
    match const { size_of(Layout::new::<T>()) } {
        None => from_allocator(Layout::new::<T>()).cast(),
        Some(size) => current::with(|current| current.pool().and_then(|pool| pool.take(size)))
            .unwrap_or_else(|| from_allocator(layout_of(size)))
            .cast(),
    }
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
    let layout = match const { size_of(Layout::new::<T>()) } {
        None => Layout::new::<T>(),
        Some(size) => {
            // SAFETY: the caller's promise.
            if current::with(|current| current.pool().is_some_and(|pool| unsafe { pool.keep(size, block) })) {
                return;
            }
            layout_of(size)
        }
    };
    // SAFETY: allocated with this layout.
    unsafe { dealloc(block.as_ptr(), layout) };
}
