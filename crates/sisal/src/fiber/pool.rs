//! Memory for control blocks: each worker keeps those of ended fibers for the next ones.
//!
//! A block is a multiple of a cache line long and starts on one. Threads that are no workers go to the allocator. Allocators are
//! slow at such alignments (glibc's loses a third of `parked-create`'s time in it), so a line more is allocated, and the block
//! begins at the first line's start within; what lies before it, in the word just before the block, is how far in that is.
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
                // SAFETY: blocks of this size came from the allocator with this layout.
                unsafe { to_allocator(block, layout_of(size)) };
            }
        }
    }
}

fn layout_of(size: usize) -> Layout {
    Layout::from_size_align((size + 1) * LINE, LINE)
        .unwrap_or_else(|_| unreachable!("INVARIANT: a few lines are a valid layout"))
}

/// Which size serves `layout`, if one does.
const fn size_for(layout: Layout) -> Option<usize> {
    let size = layout.size().div_ceil(LINE) - 1;
    if size < SIZES && layout.align() <= LINE { Some(size) } else { None }
}

/// Memory for a `T` that is a control block.
#[inline]
pub(super) fn allocate<T>() -> NonNull<T> {
    match const { size_for(Layout::new::<T>()) } {
        None => from_allocator(Layout::new::<T>()).cast(),
        Some(size) => current::with(|current| current.pool().and_then(|pool| pool.take(size)))
            .unwrap_or_else(|| from_allocator(layout_of(size)))
            .cast(),
    }
}

/// What is asked of the allocator for a block: a line more, at an alignment it is fast at.
fn padded(block: Layout) -> Layout {
    let align = if block.align() > LINE { block.align() } else { align_of::<usize>() };
    let padding = if block.align() > LINE { block.align() } else { LINE };
    Layout::from_size_align(block.size() + padding, align)
        .unwrap_or_else(|_| unreachable!("INVARIANT: a control block is far from the largest size"))
}

#[cold]
fn from_allocator(block: Layout) -> NonNull<u8> {
    let padded = padded(block);
    let padding = padded.size() - block.size();
    // SAFETY: a control block is never of size zero.
    let start = NonNull::new(unsafe { alloc(padded) }).unwrap_or_else(|| handle_alloc_error(padded));
    // From one word to one line in, so that there is room for the word before it, and for the block behind.
    let offset = padding - start.addr().get() % padding;
    // SAFETY: both places are within what was allocated, and the word is aligned, since start and block are.
    unsafe {
        let block = start.add(offset);
        block.cast::<usize>().sub(1).write(offset);
        block
    }
}

/// # Safety
/// The block came from [`from_allocator`] with this layout, and nobody uses it any more.
#[cold]
unsafe fn to_allocator(block: NonNull<u8>, layout: Layout) {
    // SAFETY: the word before the block says how far it is from the start of what was allocated.
    unsafe {
        let offset = block.cast::<usize>().sub(1).read();
        dealloc(block.sub(offset).as_ptr(), padded(layout));
    }
}

/// Takes memory from [`allocate`] back.
///
/// # Safety
/// It came from `allocate` with the same `T`, and nobody uses it any more.
#[inline]
pub(super) unsafe fn free<T>(block: NonNull<T>) {
    let block = block.cast::<u8>();
    let layout = match const { size_for(Layout::new::<T>()) } {
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
    unsafe { to_allocator(block, layout) };
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
    fn a_pool_hands_out_what_it_kept_and_releases_the_rest() {
        let pool = Pool::new();
        let layout = layout_of(2);
        let (first, second) = (from_allocator(layout), from_allocator(layout));
        // SAFETY: of this size, and unused.
        assert!(unsafe { pool.keep(2, first) && pool.keep(2, second) });
        assert_eq!((pool.take(2), pool.take(1)), (Some(second), None));
        // SAFETY: as above.
        unsafe { to_allocator(second, layout) };
        pool.release();
        assert_eq!(pool.take(2), None);
    }
}
