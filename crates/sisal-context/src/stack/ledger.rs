//! The bookkeeping of a depot: its arenas, and where the next stack comes from.
//!
//! Pure data under the depot's lock; the system calls are made by the depot, outside of it.
//!
//! *Taking*, in this order: the class's `current` arena (the one last freed into or taken from, whose
//! pages are the warmest), the lowest numbered arena of the class that has room, and if there is none the
//! depot makes one and adds it, in memory cut from the tract that was mapped ahead, or from a new one.
//!
//! *Idle* are as many dirty slots of a class as there were at least, at any time since idle ones were last trimmed: whoever took stacks
//! meanwhile got along without them. The others are kept, those in arenas with low numbers, which mostly are the next to be taken.
//!
//! *Trimming* is done in batches, so that few stacks are withheld at a time:
//! 1. [`Ledger::begin_trim`], locked: takes arenas that are entirely free, but for each class's current
//!    one, out of the ledger, and withholds the dirty slots of the others, as far as the [`Pass`] goes.
//! 2. Unlocked: the depot unmaps the first and gives back the pages of the second.
//! 3. [`Ledger::end_trim`], locked: slots are free again and clean; numbers of arenas that are gone can
//!    be used again; arenas that could not be unmapped come back.

use super::arena::Arena;
use super::index_set::IndexSet;
use super::tract::Tract;
use super::{Counts, SizeClass, Stack};
use libc::iovec;

/// Stacks given back to the kernel in one system call.
const TRIM_BATCH: usize = 512;

/// Arenas looked at under the lock at a time.
const TRIM_LOOKS: usize = 1_024;

#[derive(Default)]
pub(super) struct Ledger {
    /// By arena number; `None` where an arena was released or is being released.
    arenas: Vec<Option<Arena>>,
    /// Numbers that may be used again.
    vacant: Vec<u32>,
    pools: [Pool; SizeClass::COUNT],
    /// Arenas that have dirty slots or are entirely free.
    to_trim: IndexSet,
    /// INVARIANT: sums over `arenas`; `in_use` also counts stacks reserved but not yet taken.
    counts: Counts,
    slots: usize,
    /// Where the next arenas come from.
    tract: Option<Tract>,
}

/// The arenas of one class.
#[derive(Default)]
struct Pool {
    current: Option<u32>,
    /// Arenas with a free slot.
    room: IndexSet,
    slots: usize,
    dirty: usize,
    /// The fewest dirty slots that there were since [`Ledger::pass_over_idle`].
    idle: usize,
}

impl Pool {
    /// One of its arenas had so many dirty slots, and has so many now.
    fn note_dirty(&mut self, before: usize, after: usize) {
        self.dirty = self.dirty - before + after;
        self.idle = self.idle.min(self.dirty);
    }
}

/// Memory on its way back to the kernel.
#[derive(Default)]
pub(super) struct Batch {
    /// Entirely free arenas, out of the ledger.
    pub(super) leaving: Vec<(u32, Arena)>,
    /// The pages of the withheld slots.
    pub(super) ranges: Vec<iovec>,
    /// Arena numbers and their withheld slots.
    pub(super) withheld: Vec<(u32, u64)>,
}

/// A trim under way, over all arenas: how far it has come, and what is left for it to do.
#[derive(Copy, Clone)]
pub(super) struct Pass {
    /// The number of the next arena.
    next: usize,
    /// By class.
    shares: [Share; SizeClass::COUNT],
}

/// What a pass has to do with the dirty slots of one class.
#[derive(Copy, Clone)]
struct Share {
    /// So many are passed over first.
    keep: usize,
    /// So many are trimmed then.
    trim: usize,
}

impl Pass {
    /// Trims everything.
    pub(super) fn over_all() -> Pass {
        Pass { next: 0, shares: [Share { keep: 0, trim: usize::MAX }; SizeClass::COUNT] }
    }
}

impl Share {
    /// How many of the dirty slots of an arena are to be trimmed.
    fn take(&mut self, dirty: usize) -> usize {
        let passed_over = self.keep.min(dirty);
        let trimmed = self.trim.min(dirty - passed_over);
        self.keep -= passed_over;
        self.trim -= trimmed;
        trimmed
    }
}

/// What became of an arena that was to be unmapped.
pub(super) type Departure = (u32, Result<(), Arena>);

impl Ledger {
    /// Counts up to `want` stacks as in use, but not more than `limit` altogether: how many.
    #[must_use]
    pub(super) fn reserve(&mut self, want: usize, limit: usize) -> usize {
        let granted = want.min(limit.saturating_sub(self.counts.in_use));
        self.counts.in_use += granted;
        granted
    }

    /// Takes back what [`Ledger::reserve`] granted and could not be taken.
    pub(super) fn cancel_reservation(&mut self, count: usize) {
        self.counts.in_use -= count;
    }

    /// Takes up to `want` reserved stacks from the arenas there are: how many.
    pub(super) fn take(&mut self, class: SizeClass, want: usize, out: &mut Vec<Stack>) -> usize {
        let mut taken = 0;
        while taken < want {
            let Some(index) = self.arena_with_room(class) else {
                break;
            };
            taken += self.update(index, |arena| arena.take(index, want - taken, out));
            self.pools[class.index()].current = Some(index);
        }
        self.counts.in_use_bytes += taken * class.slot_size();
        taken
    }

    /// How many stacks of a class there are, in use or free.
    pub(super) fn slots_of(&self, class: SizeClass) -> usize {
        self.pools[class.index()].slots
    }

    /// Takes a stack back, which is free and dirty then.
    pub(super) fn put(&mut self, stack: Stack) {
        self.update(stack.arena, |arena| arena.put(stack));
        self.to_trim.insert(stack.arena as usize);
        self.pools[stack.class.index()].current = Some(stack.arena);
        self.counts.in_use -= 1;
        self.counts.in_use_bytes -= stack.class.slot_size();
    }

    /// Adds a new arena under a number that no other has.
    pub(super) fn add(&mut self, arena: Arena) {
        let index = self.vacant.pop().unwrap_or_else(|| {
            self.arenas.push(None);
            (self.arenas.len() - 1) as u32
        });
        self.place(index, arena);
    }

    /// Memory for an arena of so many bytes, if the tract has as much left.
    pub(super) fn cut(&mut self, bytes: usize) -> Option<Tract> {
        self.tract.as_mut()?.cut(bytes)
    }

    /// Leaves the rest of a tract for the next arenas. What comes back can be unmapped: the shorter one, if there is one already.
    pub(super) fn leave_for_next(&mut self, rest: Tract) -> Option<Tract> {
        match &self.tract {
            Some(present) if present.bytes() >= rest.bytes() => Some(rest),
            _ => self.tract.replace(rest),
        }
    }

    /// What is left of the tract, to be unmapped.
    pub(super) fn give_up_tract(&mut self) -> Option<Tract> {
        self.tract.take()
    }

    /// A pass over the idle slots; from now on it is counted anew which are.
    pub(super) fn pass_over_idle(&mut self) -> Pass {
        let shares = self.pools.each_ref().map(|pool| Share { keep: pool.dirty - pool.idle, trim: pool.idle });
        self.pools.iter_mut().for_each(|pool| pool.idle = pool.dirty);
        Pass { next: 0, shares }
    }

    /// Starts on the next arenas of the pass. None if it is over; a batch may be empty before that.
    #[must_use]
    pub(super) fn begin_trim(&mut self, pass: &mut Pass) -> Option<Batch> {
        let mut batch = Batch::default();
        for _ in 0..TRIM_LOOKS {
            if batch.ranges.len() + batch.leaving.len() >= TRIM_BATCH {
                break;
            }
            let Some(index) = self.to_trim.next(pass.next) else {
                return (!batch.is_empty()).then_some(batch);
            };
            pass.next = index + 1;
            let arena = self.arena(index as u32);
            let (class, dirty) = (arena.class(), arena.dirty());
            let trimmed = pass.shares[class.index()].take(dirty);
            self.begin_trim_of(index as u32, dirty - trimmed, &mut batch);
        }
        Some(batch)
    }

    fn begin_trim_of(&mut self, index: u32, kept: usize, batch: &mut Batch) {
        let arena = self.arena(index);
        let entirely_free = arena.is_entirely_free();
        if entirely_free && kept == 0 && self.pools[arena.class().index()].current != Some(index) {
            batch.leaving.push((index, self.remove(index)));
            return;
        }
        let slots = self.update(index, |arena| arena.begin_trim(kept));
        if slots != 0 {
            batch.ranges.extend(self.arena(index).resident_ranges(slots));
            batch.withheld.push((index, slots));
        }
        // An entirely free one is looked at again: it may not be current the next time.
        self.to_trim.set(index as usize, entirely_free || kept > 0);
    }

    /// Ends what [`Ledger::begin_trim`] started.
    pub(super) fn end_trim(&mut self, withheld: &[(u32, u64)], departures: Vec<Departure>) {
        for &(index, slots) in withheld {
            self.update(index, |arena| arena.end_trim(slots));
            if self.arena(index).is_entirely_free() {
                self.to_trim.insert(index as usize);
            }
        }
        for (index, departure) in departures {
            match departure {
                Ok(()) => self.vacant.push(index),
                Err(arena) => self.place(index, arena),
            }
        }
    }

    /// Removes all arenas, for good.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Arena> {
        std::mem::take(&mut self.arenas).into_iter().flatten()
    }

    pub(super) fn dirty(&self) -> usize {
        self.counts.dirty
    }

    pub(super) fn counts(&self) -> Counts {
        Counts { free: self.slots.saturating_sub(self.counts.in_use), ..self.counts }
    }

    fn arena_with_room(&self, class: SizeClass) -> Option<u32> {
        let pool = &self.pools[class.index()];
        let current = pool.current.filter(|&index| self.arena(index).has_room());
        current.or_else(|| pool.room.next(0).map(|index| index as u32))
    }

    fn arena(&self, index: u32) -> &Arena {
        let arena = self.arenas[index as usize].as_ref();
        arena.expect("an arena with stacks out, or in a set of the ledger, is in its place")
    }

    /// Changes an arena, and keeps the sums and sets in step.
    fn update<R>(&mut self, index: u32, change: impl FnOnce(&mut Arena) -> R) -> R {
        let arena = self.arenas[index as usize].as_mut();
        let arena = arena.expect("an arena with stacks out, or in a set of the ledger, is in its place");
        let pool = &mut self.pools[arena.class().index()];
        let before = arena.dirty();
        let result = change(arena);
        let after = arena.dirty();
        self.counts.dirty = self.counts.dirty - before + after;
        pool.note_dirty(before, after);
        pool.room.set(index as usize, arena.has_room());
        result
    }

    fn place(&mut self, index: u32, arena: Arena) {
        debug_assert!(arena.is_entirely_free() && arena.dirty() == 0);
        self.counts.arenas += 1;
        self.counts.mapped_bytes += arena.bytes();
        self.slots += arena.slots();
        let pool = &mut self.pools[arena.class().index()];
        pool.slots += arena.slots();
        pool.room.insert(index as usize);
        self.to_trim.insert(index as usize);
        self.arenas[index as usize] = Some(arena);
    }

    fn remove(&mut self, index: u32) -> Arena {
        let arena = self.arenas[index as usize].take();
        let arena = arena.expect("only an arena in its place is removed");
        self.counts.arenas -= 1;
        self.counts.mapped_bytes -= arena.bytes();
        self.counts.dirty -= arena.dirty();
        self.slots -= arena.slots();
        let pool = &mut self.pools[arena.class().index()];
        pool.slots -= arena.slots();
        pool.note_dirty(arena.dirty(), 0);
        pool.room.remove(index as usize);
        self.to_trim.remove(index as usize);
        arena
    }
}

impl Batch {
    pub(super) fn is_empty(&self) -> bool {
        self.leaving.is_empty() && self.withheld.is_empty()
    }
}
