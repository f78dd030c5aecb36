//! The depot: stacks for all threads, behind one lock.
//!
//! Workers take and give batches; what they keep between is theirs. The lock is held for bookkeeping
//! only ([`Ledger`]): mapping, unmapping and giving back pages happen outside of it, with the stacks in
//! question reserved or withheld.
#![allow(unsafe_code, reason = "taking a stack back trusts the caller; advises memory")]

use super::advise::advise;
use super::arena::Arena;
use super::ledger::{Batch, Ledger, Pass};
use super::tract::Tract;
use super::{GuardKind, SizeClass, Stack};
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Hands out stacks, takes them back, and gives their memory back to the kernel when told to.
///
/// Dropping a depot unmaps its arenas. There should be no stack in use then: an arena that has one is
/// leaked, so that no memory is freed under code that runs on it.
///
/// ```
/// use sisal_context::stack::{Depot, SizeClass};
///
/// let depot = Depot::new(Some(3));
/// let mut stacks = Vec::new();
/// assert_eq!(depot.take(SizeClass::DEFAULT, 10, &mut stacks), 3);
/// assert_eq!(depot.counts().in_use, 3);
/// // SAFETY: nothing runs on them, and they came from this depot.
/// unsafe { depot.give(&stacks) };
/// assert_eq!(depot.dirty(), 3);
/// assert_eq!(depot.trim().stacks, 3);
/// assert_eq!(depot.dirty(), 0);
/// ```
pub struct Depot {
    limit: usize,
    strongest: GuardKind,
    /// The ledger's count, for readers without the lock; written under it.
    dirty: AtomicUsize,
    ledger: Mutex<Ledger>,
}

/// What a depot has: see [`Depot::counts`].
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Stacks handed out, and those that are just being mapped for somebody.
    pub in_use: usize,
    /// Stacks that can be had without mapping more.
    pub free: usize,
    /// Free stacks whose pages are still resident.
    pub dirty: usize,
    /// Arenas mapped.
    pub arenas: usize,
    /// Address space of those arenas. What is mapped ahead for more, at most as much again and a GiB, is not in it.
    pub mapped_bytes: usize,
    /// Of that, what the stacks take up that are handed out, their guards included.
    pub in_use_bytes: usize,
}

/// So many stacks of a class are had one by one, if need be.
const FEW: usize = 8;

/// What [`Depot::trim`] or [`Depot::trim_idle`] gave back.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Trimmed {
    /// Free stacks whose pages were resident and no longer are.
    pub stacks: usize,
    /// Arenas unmapped.
    pub arenas: usize,
}

impl Depot {
    /// A depot that has no stacks yet, and never hands out more than `limit` at once, over all classes.
    pub fn new(limit: Option<usize>) -> Depot {
        Depot::with_guards(limit, GuardKind::Marker)
    }

    /// A depot with no stronger guards than `strongest`: for tests, which need each kind on any kernel.
    #[doc(hidden)]
    pub fn with_guards(limit: Option<usize>, strongest: GuardKind) -> Depot {
        Depot { limit: limit.unwrap_or(usize::MAX), strongest, dirty: AtomicUsize::new(0), ledger: Mutex::default() }
    }

    /// Appends up to `want` stacks to `out` and returns how many. None means that none can be had now:
    /// the limit is reached or the kernel refused memory.
    pub fn take(&self, class: SizeClass, want: usize, out: &mut Vec<Stack>) -> usize {
        self.take_within(self.limit, class, want, out)
    }

    /// Takes one stack whatever the limit: for those who can show that nothing moves without it.
    pub fn take_beyond_limit(&self, class: SizeClass) -> Option<Stack> {
        let mut one = Vec::with_capacity(1);
        self.take_within(usize::MAX, class, 1, &mut one);
        one.pop()
    }

    fn take_within(&self, limit: usize, class: SizeClass, want: usize, out: &mut Vec<Stack>) -> usize {
        let already = out.len();
        let mut ledger = self.lock();
        let granted = ledger.reserve(want, limit);
        let mut missing = granted - ledger.take(class, granted, out);
        while missing > 0 {
            let (piece, in_use) = (ledger.cut(Arena::size(class)), ledger.counts().mapped_bytes);
            let has_few = ledger.slots_of(class) < FEW;
            drop(ledger);
            let memory = piece.map_or_else(|| self.map(Arena::size(class), in_use), Ok);
            // Where there is no room for a whole arena there may be for one stack. With a few one gets on; what is left is for others.
            let memory = memory.or_else(|error| if has_few { self.map(class.slot_size(), 0) } else { Err(error) });
            let arena = memory.and_then(|memory| Arena::new(memory, class, self.strongest));
            ledger = self.lock();
            let refused = arena.map(|arena| ledger.add(arena)).is_err();
            missing -= ledger.take(class, missing, out);
            if refused {
                ledger.cancel_reservation(missing);
                break;
            }
        }
        self.publish(&ledger);
        drop(ledger);
        let taken = &out[already..];
        taken.iter().for_each(|stack| stack.arm_canary());
        taken.len()
    }

    /// Memory for an arena, from a new tract; the rest of it is left for others. If there is none to be had, what was mapped ahead may be
    /// in the way.
    fn map(&self, arena: usize, in_use: usize) -> io::Result<Tract> {
        let mut tract = Tract::map(arena, in_use).or_else(|error| {
            if !self.give_up_tract() {
                return Err(error);
            }
            Tract::map(arena, 0)
        })?;
        let piece = tract.cut(arena).ok_or_else(|| io::Error::other("less was mapped than asked for"))?;
        let too_much = self.lock().leave_for_next(tract);
        // If it can't be unmapped, some addresses are lost, and no memory.
        too_much.map(Tract::unmap);
        Ok(piece)
    }

    /// Takes stacks back. Their pages stay resident until they are taken again or trimmed.
    ///
    /// # Safety
    ///
    /// Nothing runs or is suspended on the stacks. Each was taken from this depot, is given back once,
    /// and no copy of it is used afterwards.
    pub unsafe fn give(&self, stacks: &[Stack]) {
        let mut ledger = self.lock();
        stacks.iter().for_each(|&stack| ledger.put(stack));
        self.publish(&ledger);
    }

    /// Gives memory back to the kernel: arenas that are entirely free are unmapped, but for the last used
    /// of each class, and so is the address space that was mapped for more; the pages of all other free stacks are dropped.
    pub fn trim(&self) -> Trimmed {
        let trimmed = self.trim_by(Pass::over_all());
        self.give_up_tract();
        trimmed
    }

    /// As [`trim`](Depot::trim), of as many stacks of each class only as were free and resident all the time since this was last called: so
    /// many nobody has needed. For whoever calls it now and then while others take and give.
    ///
    /// ```
    /// use sisal_context::stack::{Depot, SizeClass};
    ///
    /// let depot = Depot::new(None);
    /// let mut stacks = Vec::new();
    /// depot.take(SizeClass::DEFAULT, 3, &mut stacks);
    /// // SAFETY: nothing runs on them, and they came from this depot.
    /// unsafe { depot.give(&stacks) };
    /// assert_eq!(depot.trim_idle().stacks, 0);
    /// depot.take(SizeClass::DEFAULT, 1, &mut stacks);
    /// assert_eq!(depot.trim_idle().stacks, 2);
    /// # // SAFETY: as above.
    /// # unsafe { depot.give(&stacks[3..]) };
    /// ```
    pub fn trim_idle(&self) -> Trimmed {
        let pass = self.lock().pass_over_idle();
        let trimmed = self.trim_by(pass);
        if trimmed.arenas > 0 {
            self.give_up_tract();
        }
        trimmed
    }

    fn trim_by(&self, mut pass: Pass) -> Trimmed {
        let mut trimmed = Trimmed::default();
        while let Some(batch) = self.begin_trim(&mut pass) {
            self.release(batch, &mut trimmed);
        }
        trimmed
    }

    fn begin_trim(&self, pass: &mut Pass) -> Option<Batch> {
        let mut ledger = self.lock();
        let batch = ledger.begin_trim(pass);
        self.publish(&ledger);
        batch
    }

    /// Unmaps what is mapped ahead; whether there was any. If that is refused, it stays for the next arenas.
    fn give_up_tract(&self) -> bool {
        let Some(spare) = self.lock().give_up_tract() else { return false };
        let Err(refused) = spare.unmap() else { return true };
        // If there is a longer one by now, some addresses are lost, and no memory.
        let _lost = self.lock().leave_for_next(refused);
        false
    }

    fn release(&self, batch: Batch, trimmed: &mut Trimmed) {
        // SAFETY: the ranges are free slots of our arenas, withheld from being taken or unmapped until
        // `end_trim`. If the kernel refuses (locked memory), the pages stay: no harm but their size.
        if unsafe { advise(&batch.ranges, libc::MADV_DONTNEED) }.is_ok() {
            trimmed.stacks += batch.ranges.len();
        }
        let mut departures = Vec::with_capacity(batch.leaving.len());
        for (index, arena) in batch.leaving {
            trimmed.stacks += arena.dirty();
            let departure = arena.unmap();
            trimmed.arenas += usize::from(departure.is_ok());
            departures.push((index, departure));
        }
        self.lock().end_trim(&batch.withheld, departures);
    }

    /// Free stacks whose pages are still resident. Takes no lock.
    #[inline]
    pub fn dirty(&self) -> usize {
        self.dirty.load(Relaxed)
    }

    /// What the depot has at the moment.
    pub fn counts(&self) -> Counts {
        self.lock().counts()
    }

    fn publish(&self, ledger: &Ledger) {
        self.dirty.store(ledger.dirty(), Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Depot {
    fn drop(&mut self) {
        let ledger = self.ledger.get_mut().unwrap_or_else(PoisonError::into_inner);
        // What can't be unmapped is left, here and below, with its pages given back.
        ledger.give_up_tract().map(Tract::unmap);
        for arena in ledger.drain().filter(Arena::is_entirely_free) {
            arena.unmap().ok();
        }
    }
}
