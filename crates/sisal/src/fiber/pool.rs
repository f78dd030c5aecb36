//! Memory for control blocks: each worker keeps those of ended fibers for the next ones.
//!
//! A block is a multiple of a cache line long and starts on one. Threads that are no workers go to the allocator. glibc's is slow at
//! such alignments (`sleepers` takes 8 % more CPU time with them), so a line more is allocated, and the block begins at a line's
//! start within; how far in that is stands in the word just before the block.
#![allow(unsafe_code, reason = "raw memory is handed out and taken back")]

use super::current;
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Blocks come in multiples of this, and are aligned to it.
const LINE: usize = 64;

/// The number of sizes that are kept: up to half a KiB. Larger ones have large closures, and are rare.
const SIZES: usize = 8;

/// How many blocks make a full chain: so many that a batch of ten thousand spawns is served by two (`spawn-10k`).
const CHAIN: u32 = 8_192;

/// A block that waits for its next fiber.
struct FreeBlock {
    next: Option<NonNull<FreeBlock>>,
}

/// Blocks of one size.
#[derive(Copy, Clone, Default)]
struct Chain {
    first: Option<NonNull<FreeBlock>>,
    length: u32,
}

// SAFETY: a chain owns its blocks.
unsafe impl Send for Chain {}

impl Chain {
    #[inline]
    fn pop(&mut self) -> Option<NonNull<u8>> {
        let block = self.first?;
        // SAFETY: blocks in a chain are free memory in which `push` wrote a `FreeBlock`.
        self.first = unsafe { block.as_ref() }.next;
        self.length -= 1;
        Some(block.cast())
    }

    /// # Safety
    /// Nobody uses the block any more.
    #[inline]
    unsafe fn push(&mut self, block: NonNull<u8>) {
        let block = block.cast::<FreeBlock>();
        // SAFETY: it is free, and at least a line long.
        unsafe { block.write(FreeBlock { next: self.first }) };
        self.first = Some(block);
        self.length += 1;
    }

    fn release(mut self, size: usize) {
        while let Some(block) = self.pop() {
            // SAFETY: blocks of this size came from the allocator with this layout.
            unsafe { to_allocator(block, layout_of(size)) };
        }
    }
}

/// The blocks one worker keeps, by size: a chain it works on, and perhaps a full one. More than that goes to the [`Depot`].
pub(crate) struct Pool {
    active: [Cell<Chain>; SIZES],
    full: [Cell<Chain>; SIZES],
}

impl Pool {
    pub(super) const fn new() -> Pool {
        const EMPTY: Chain = Chain { first: None, length: 0 };
        Pool { active: [const { Cell::new(EMPTY) }; SIZES], full: [const { Cell::new(EMPTY) }; SIZES] }
    }

    #[inline]
    fn take(&self, size: usize) -> Option<NonNull<u8>> {
        let mut chain = self.active[size].get();
        if chain.first.is_none() {
            chain = self.refill(size)?;
        }
        let block = chain.pop();
        self.active[size].set(chain);
        block
    }

    #[cold]
    fn refill(&self, size: usize) -> Option<Chain> {
        let full = self.full[size].take();
        if full.first.is_some() { Some(full) } else { DEPOT.take(size) }
    }

    /// # Safety
    /// The block is of this size, and nobody uses it any more.
    #[inline]
    unsafe fn keep(&self, size: usize, block: NonNull<u8>) {
        let mut chain = self.active[size].get();
        if chain.length == CHAIN {
            self.put_away(size, chain);
            chain = Chain::default();
        }
        // SAFETY: the caller's promise.
        unsafe { chain.push(block) };
        self.active[size].set(chain);
    }

    #[cold]
    fn put_away(&self, size: usize, chain: Chain) {
        let full = self.full[size].replace(chain);
        if full.first.is_some() {
            DEPOT.give(size, full);
        }
    }

    /// Gives all back to the allocator: the worker goes.
    pub(crate) fn release(&self) {
        for size in 0..SIZES {
            self.active[size].take().release(size);
            self.full[size].take().release(size);
        }
    }
}

/// Full chains that no worker has room for. They are given back to the allocator by whoever has time for it, which is not a
/// worker with a million fibers to end: allocators lock for memory that another thread allocated.
struct Depot {
    chains: Mutex<Vec<(usize, Chain)>>,
    /// INVARIANT: changed under the lock, to the number of chains.
    length: AtomicUsize,
}

static DEPOT: Depot = Depot { chains: Mutex::new(Vec::new()), length: AtomicUsize::new(0) };

impl Depot {
    fn change<R>(&self, f: impl FnOnce(&mut Vec<(usize, Chain)>) -> R) -> R {
        let mut chains = self.chains.lock().unwrap_or_else(PoisonError::into_inner);
        let result = f(&mut chains);
        self.length.store(chains.len(), Ordering::Relaxed);
        result
    }

    fn give(&self, size: usize, chain: Chain) {
        self.change(|chains| chains.push((size, chain)));
    }

    fn take(&self, size: usize) -> Option<Chain> {
        if self.length.load(Ordering::Relaxed) == 0 {
            return None;
        }
        self.change(|chains| {
            let place = chains.iter().rposition(|(found, _)| *found == size)?;
            Some(chains.swap_remove(place).1)
        })
    }
}

/// Whether there is something for [`trim`] to do.
#[inline]
pub(crate) fn has_spilled() -> bool {
    DEPOT.length.load(Ordering::Relaxed) > 0
}

/// Gives the blocks that no worker has room for back to the allocator.
pub(crate) fn trim() {
    for (size, chain) in DEPOT.change(std::mem::take) {
        chain.release(size);
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
            let kept = current::with(|current| current.pool().map(|pool| unsafe { pool.keep(size, block) }));
            if kept.is_some() {
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
    fn a_pool_hands_out_what_it_kept_newest_first_and_releases_the_rest() {
        let pool = Pool::new();
        let layout = layout_of(2);
        let (first, second) = (from_allocator(layout), from_allocator(layout));
        // SAFETY: of this size, and unused.
        unsafe {
            pool.keep(2, first);
            pool.keep(2, second);
        }
        assert_eq!((pool.take(2), pool.take(1)), (Some(second), None));
        // SAFETY: as above.
        unsafe { to_allocator(second, layout) };
        pool.release();
        assert_eq!(pool.take(2), None);
    }

    #[test]
    #[cfg_attr(miri, ignore = "tens of thousands of blocks take minutes there")]
    fn what_is_too_much_for_one_pool_serves_another() {
        let (giver, taker) = (Pool::new(), Pool::new());
        let many = 3 * CHAIN;
        for _ in 0..many {
            // SAFETY: fresh from the allocator, of this size, and unused.
            unsafe { giver.keep(7, from_allocator(layout_of(7))) };
        }
        assert!(has_spilled());
        let taken: Vec<_> = std::iter::from_fn(|| taker.take(7)).collect();
        assert_eq!(taken.len(), CHAIN as usize);
        // SAFETY: as above.
        taken.into_iter().for_each(|block| unsafe { to_allocator(block, layout_of(7)) });
        giver.release();
        taker.release();
        trim();
    }
}
