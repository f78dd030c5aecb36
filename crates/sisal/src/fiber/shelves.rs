//! Shelves: all slabs of a size, and which of their blocks are free. What workers keep of them is the pool's.
//!
//! The headers of slabs are read and written under the lock of their [`Shelf`] only. A slab is *whole* if all of its blocks are at home.
//! One whole slab of each size is kept, so that a few fibers that come and go don't cost one each time; more give their memory back.
//!
//! What a worker has no room for is *spilled*, a chain at a time: it serves whoever needs blocks next, and is brought home by the monitor
//! if nobody does, which is not the business of a worker with a million fibers to end.
#![allow(unsafe_code, reason = "raw memory is handed out and taken back")]

use super::slab::{Chain, Slab, capacity, stride};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The number of sizes that slabs are made for: up to half a KiB. Larger ones have large closures, and are rare.
pub(super) const SIZES: usize = 8;

/// How many blocks are brought home under the lock at a time, so that nobody waits long for it.
const BATCH: usize = 128;

/// All slabs of one size, and chains of blocks on their way home.
pub(super) struct Shelf {
    size: usize,
    stock: Mutex<Stock>,
}

struct Stock {
    /// INVARIANT: slabs with a block that is at home or was never handed out, each at its `place`.
    slabs: Vec<Slab>,
    /// Whether one of them is whole.
    has_whole: bool,
    spilled: Vec<Chain>,
    /// The fewest spilled chains there were since idle ones were last brought home: so many nobody has needed.
    idle: usize,
}

/// By size.
pub(super) static SHELVES: [Shelf; SIZES] = {
    let mut shelves = [const { Shelf::new(0) }; SIZES];
    let mut size = 0;
    while size < SIZES {
        shelves[size].size = size;
        size += 1;
    }
    shelves
};

/// How many chains are spilled, over all sizes.
static SPILLED: AtomicUsize = AtomicUsize::new(0);

/// Blocks for a worker, found under the lock and chained without it.
struct Grant {
    home: Chain,
    carved: NonNull<u8>,
    count: u32,
}

impl Shelf {
    const fn new(size: usize) -> Shelf {
        Shelf { size, stock: Mutex::new(Stock { slabs: Vec::new(), has_whole: false, spilled: Vec::new(), idle: 0 }) }
    }

    fn lock(&self) -> MutexGuard<'_, Stock> {
        self.stock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A chain of free blocks: a spilled one, all that are at home in one slab, or up to `want` that were never used.
    pub(super) fn take(&self, want: u32) -> Chain {
        let grant = {
            let mut stock = self.lock();
            if let Some(chain) = stock.take_spilled() {
                return chain;
            }
            let (mut stock, slab) = self.slab_with_blocks(stock);
            stock.grant(slab, self.size, want)
        };
        let mut chain = grant.home;
        for index in (0..grant.count as usize).rev() {
            // SAFETY: the grant's blocks lie side by side from `carved` on, and are ours.
            unsafe { chain.push(grant.carved.add(index * stride(self.size))) };
        }
        chain
    }

    /// One free block, for a thread that keeps none.
    pub(super) fn take_one(&self) -> NonNull<u8> {
        let mut stock = self.lock();
        if stock.slabs.is_empty()
            && let Some(block) = stock.take_one_spilled()
        {
            return block;
        }
        let (mut stock, slab) = self.slab_with_blocks(stock);
        stock.take_one(slab, self.size)
    }

    /// A slab that has blocks to hand out, a new one if there is none.
    fn slab_with_blocks<'a>(&'a self, stock: MutexGuard<'a, Stock>) -> (MutexGuard<'a, Stock>, Slab) {
        if let Some(&slab) = stock.slabs.last() {
            return (stock, slab);
        }
        drop(stock);
        let slab = Slab::new();
        let mut stock = self.lock();
        stock.enter(slab);
        (stock, slab)
    }

    /// Leaves a chain to [`bring_spilled_home`], unless somebody takes it before.
    pub(super) fn spill(&self, chain: Chain) {
        let mut stock = self.lock();
        stock.spilled.push(chain);
        SPILLED.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether there were any.
    fn bring_spilled_home(&self, which: Which) -> bool {
        let chains: Vec<Chain> = {
            let mut stock = self.lock();
            let count = match which {
                Which::Idle => stock.idle,
                Which::All => stock.spilled.len(),
            };
            let chains = stock.spilled.drain(..count).collect();
            stock.idle = stock.spilled.len();
            SPILLED.fetch_sub(count, Ordering::Relaxed);
            chains
        };
        let some = !chains.is_empty();
        chains.into_iter().for_each(|chain| self.bring_home(chain));
        some
    }

    /// Gives one block back.
    ///
    /// # Safety
    /// It is of this size, and nobody uses it any more.
    pub(super) unsafe fn bring_home_one(&self, block: NonNull<u8>) {
        let mut chain = Chain::EMPTY;
        // SAFETY: the caller's promise.
        unsafe { chain.push(block) };
        self.bring_home(chain);
    }

    /// Gives all blocks of a chain back, and the memory of slabs that are whole then.
    pub(super) fn bring_home(&self, mut chain: Chain) {
        while !chain.is_empty() {
            let mut whole = Vec::new();
            let mut stock = self.lock();
            for block in std::iter::from_fn(|| chain.pop()).take(BATCH) {
                // SAFETY: it was in a chain of this size, so it is free and came from one of these slabs.
                whole.extend(unsafe { stock.bring_home(block) });
            }
            drop(stock);
            // SAFETY: they have left the shelf with all their blocks.
            whole.into_iter().for_each(|slab| unsafe { slab.free() });
        }
    }
}

impl Stock {
    fn enter(&mut self, slab: Slab) {
        // SAFETY: called under the lock, and it is the only reference.
        unsafe { slab.header() }.place = Some(self.slabs.len() as u32);
        self.slabs.push(slab);
    }

    fn leave(&mut self, slab: Slab) {
        // SAFETY: as above.
        if let Some(place) = unsafe { slab.header() }.place.take() {
            self.slabs.swap_remove(place as usize);
            if let Some(moved) = self.slabs.get(place as usize) {
                // SAFETY: as above, of another slab.
                unsafe { moved.header() }.place = Some(place);
            }
        }
    }

    fn take_spilled(&mut self) -> Option<Chain> {
        let chain = self.spilled.pop()?;
        self.idle = self.idle.min(self.spilled.len());
        SPILLED.fetch_sub(1, Ordering::Relaxed);
        Some(chain)
    }

    fn take_one_spilled(&mut self) -> Option<NonNull<u8>> {
        let chain = self.spilled.last_mut()?;
        let block = chain.pop();
        if chain.is_empty() {
            self.take_spilled();
        }
        block
    }

    fn take_one(&mut self, slab: Slab, size: usize) -> NonNull<u8> {
        // SAFETY: as above.
        let header = unsafe { slab.header() };
        if header.home.is_empty() {
            return self.grant(slab, size, 1).carved;
        }
        self.has_whole &= !header.is_whole();
        let block = header.home.pop();
        self.leave_if_exhausted(slab, size);
        block.unwrap_or_else(|| unreachable!("INVARIANT: it is not empty"))
    }

    fn leave_if_exhausted(&mut self, slab: Slab, size: usize) {
        // SAFETY: as above.
        let header = unsafe { slab.header() };
        if header.home.is_empty() && header.carved == capacity(size) {
            self.leave(slab);
        }
    }

    fn grant(&mut self, slab: Slab, size: usize, want: u32) -> Grant {
        // SAFETY: as above.
        let header = unsafe { slab.header() };
        self.has_whole &= !header.is_whole();
        let home = std::mem::take(&mut header.home);
        let count = if home.is_empty() { want.min(capacity(size) - header.carved) } else { 0 };
        let carved = slab.block(size, header.carved);
        header.carved += count;
        self.leave_if_exhausted(slab, size);
        Grant { home, carved, count }
    }

    /// Its slab comes back if that is whole now, and another one is.
    ///
    /// # Safety
    /// The block came from a slab of this shelf, and nobody uses it any more.
    unsafe fn bring_home(&mut self, block: NonNull<u8>) -> Option<Slab> {
        // SAFETY: the caller's promise; as above.
        let (slab, header) = unsafe {
            let slab = Slab::of(block);
            (slab, slab.header())
        };
        // SAFETY: the caller's promise.
        unsafe { header.home.push(block) };
        let is_whole = header.is_whole();
        if header.place.is_none() {
            self.enter(slab);
        }
        if !is_whole {
            return None;
        }
        if !self.has_whole {
            self.has_whole = true;
            return None;
        }
        self.leave(slab);
        Some(slab)
    }
}

/// Which of the chains that no worker keeps.
#[derive(Copy, Clone)]
pub(crate) enum Which {
    All,
    /// As many as were there all the time since this was last asked for, by the monitor of any runtime.
    Idle,
}

/// Whether there is something for [`bring_spilled_home`] to do.
#[inline]
pub(super) fn have_spilled() -> bool {
    SPILLED.load(Ordering::Relaxed) > 0
}

/// Gives blocks that no worker keeps back to their slabs; whether there were any.
pub(super) fn bring_spilled_home(which: Which) -> bool {
    SHELVES.iter().filter(|shelf| shelf.bring_spilled_home(which)).count() > 0
}

#[cfg(test)]
mod tests {
    use super::super::slab::LINE;
    use super::*;
    use std::collections::HashSet;

    /// A shelf of the test's own.
    fn shelf(size: usize) -> Shelf {
        Shelf::new(size)
    }

    fn slabs_with_blocks(shelf: &Shelf) -> usize {
        shelf.lock().slabs.len()
    }

    /// Takes so many blocks, by chains of at most `want`, all told apart.
    fn take_many(shelf: &Shelf, many: usize, want: u32) -> Chain {
        let (mut taken, mut seen) = (Chain::EMPTY, HashSet::new());
        while seen.len() < many {
            let mut chain = shelf.take(want);
            while let Some(block) = chain.pop() {
                if seen.len() == many {
                    // SAFETY: it is free, and of this size.
                    unsafe { shelf.bring_home_one(block) };
                    continue;
                }
                assert!(block.addr().get().is_multiple_of(LINE));
                assert!(seen.insert(block), "handed out twice");
                // SAFETY: as above, and ours to its end.
                unsafe {
                    block.write_bytes(0xA5, (shelf.size + 1) * LINE);
                    taken.push(block);
                }
            }
        }
        taken
    }

    #[test]
    fn whole_slabs_go_but_for_one() {
        let shelf = shelf(7);
        let three_slabs = 2 * capacity(7) as usize + 1;
        let taken = take_many(&shelf, three_slabs, 64);
        assert_eq!(slabs_with_blocks(&shelf), 1, "two have no more");
        shelf.bring_home(taken);
        assert_eq!(slabs_with_blocks(&shelf), 1);
        let again = take_many(&shelf, capacity(7) as usize, 1);
        assert_eq!(slabs_with_blocks(&shelf), 0, "all of the one that stayed");
        shelf.bring_home(again);
        release(&shelf);
    }

    #[test]
    fn what_came_home_is_handed_out_before_what_was_never_used() {
        let shelf = shelf(2);
        let blocks: Vec<_> = (0..10).map(|_| shelf.take_one()).collect();
        for &block in &blocks[3..6] {
            // SAFETY: of this size, and unused.
            unsafe { shelf.bring_home_one(block) };
        }
        let mut chain = shelf.take(64);
        assert_eq!(chain.length(), 3);
        let again: Vec<_> = std::iter::from_fn(|| chain.pop()).collect();
        assert_eq!(HashSet::<_>::from_iter(&again), HashSet::from_iter(&blocks[3..6]));
        let fresh = shelf.take(20);
        assert_eq!(fresh.length(), 20);
        shelf.bring_home(fresh);
        for block in blocks[..3].iter().chain(&again).chain(&blocks[6..]) {
            // SAFETY: as above.
            unsafe { shelf.bring_home_one(*block) };
        }
        release(&shelf);
    }

    #[test]
    fn what_is_spilled_serves_the_next_before_all_else() {
        let shelf = shelf(3);
        let chain = take_many(&shelf, 10, 10);
        shelf.spill(chain);
        assert!(have_spilled());
        let again = shelf.take(1);
        assert_eq!(again.length(), 10);
        shelf.bring_home(again);
        release(&shelf);
    }

    #[test]
    fn a_thread_that_keeps_none_is_served_from_what_is_spilled_before_there_is_a_new_slab() {
        let shelf = shelf(7);
        let all = capacity(7) as usize;
        shelf.spill(take_many(&shelf, all, 1_000));
        let one = shelf.take_one();
        assert_eq!((slabs_with_blocks(&shelf), shelf.lock().spilled[0].length()), (0, capacity(7) - 1));
        let rest: Vec<_> = (1..all).map(|_| shelf.take_one()).collect();
        assert!(shelf.lock().spilled.is_empty());
        for block in rest.into_iter().chain([one]) {
            // SAFETY: of this size, and unused.
            unsafe { shelf.bring_home_one(block) };
        }
        release(&shelf);
    }

    #[test]
    fn spilled_chains_are_idle_if_nobody_has_needed_them_for_a_while() {
        let shelf = shelf(3);
        let spilled = |shelf: &Shelf| shelf.lock().spilled.len();
        (0..4).for_each(|_| shelf.spill(take_one_chain(&shelf)));
        shelf.bring_spilled_home(Which::Idle);
        assert_eq!(spilled(&shelf), 4, "they have come just now");
        let (first, second) = (shelf.take(1), shelf.take(1));
        shelf.spill(first);
        shelf.bring_spilled_home(Which::Idle);
        assert_eq!(spilled(&shelf), 1, "two were there all the time");
        shelf.spill(second);
        shelf.bring_spilled_home(Which::All);
        assert_eq!(spilled(&shelf), 0);
        release(&shelf);
    }

    fn take_one_chain(shelf: &Shelf) -> Chain {
        let mut chain = Chain::EMPTY;
        // SAFETY: of this size, and unused.
        unsafe { chain.push(shelf.take_one()) };
        chain
    }

    #[test]
    fn one_that_is_home_keeps_its_slab_and_a_slab_that_was_used_up_comes_back() {
        let shelf = shelf(6);
        let all = capacity(6) as usize;
        let mut first = take_many(&shelf, all, 1_000);
        assert_eq!(slabs_with_blocks(&shelf), 0);
        let second = shelf.take_one();
        assert_eq!(slabs_with_blocks(&shelf), 1);
        let one = first.pop().unwrap();
        // SAFETY: of this size, and unused.
        unsafe { shelf.bring_home_one(one) };
        assert_eq!(slabs_with_blocks(&shelf), 2);
        // SAFETY: as above.
        unsafe { shelf.bring_home_one(second) };
        assert_eq!(slabs_with_blocks(&shelf), 2, "the second is whole, and the first has one");
        shelf.bring_home(first);
        assert_eq!(slabs_with_blocks(&shelf), 1, "one that is whole is enough");
        release(&shelf);
    }

    /// Frees the last slab, which has to be whole.
    fn release(shelf: &Shelf) {
        let mut stock = shelf.lock();
        let slab = stock.slabs[0];
        // SAFETY: under the lock.
        assert_eq!(unsafe { slab.header() }.home.length(), unsafe { slab.header() }.carved);
        assert!(stock.has_whole && stock.slabs.len() == 1);
        stock.leave(slab);
        // SAFETY: whole, and off the shelf.
        unsafe { slab.free() };
    }
}
