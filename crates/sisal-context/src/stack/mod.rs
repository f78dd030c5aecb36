//! Stacks: where they come from, what guards them, how their memory goes back.
//!
//! A [`Stack`] is a slot in an arena, handed out and taken back by a [`Depot`]. One slot, low addresses
//! to the left:
//!
//! ```text
//!   |<--- guard, 64 KiB and more ---->|<------------ usable, grows to the left ------------|
//!   slot                              usable().start                        usable().end = top
//! ```
//!
//! | file | owns |
//! |---|---|
//! | `class` | the sizes a slot can have |
//! | `guard` | the three kinds of guards and the choice between them |
//! | `advise` | the vectored `madvise` |
//! | `tract` | memory mapped ahead, for arenas to be cut from |
//! | `arena` | the slots of one piece of it, and which of them are free |
//! | `index_set` | a set of arena numbers with a quick "next member" |
//! | `ledger` | all arenas of a depot: pure bookkeeping, no system call |
//! | `of_thread` | where the stack ends that the system has given a thread |
//! | `resident` | how much of a stack is in memory |
//! | `depot` | the lock around the ledger, and the system calls outside of that lock |
//!
//! Nothing here knows what runs on a stack.
#![allow(unsafe_code, reason = "a Stack is an address into a mapping that its depot keeps alive")]

mod advise;
mod arena;
mod class;
mod depot;
mod guard;
mod index_set;
mod ledger;
mod of_thread;
mod resident;
mod tract;

pub use class::{SizeClass, SizeError};
pub use depot::{Counts, Depot, Trimmed};
pub use guard::GuardKind;
pub use of_thread::ThreadStack;

use std::ops::Range;

/// A stack on loan from a [`Depot`]: a plain handle, copied freely, owning nothing.
///
/// The memory stays mapped until the stack is given back; whoever took it decides which copy that is.
/// All methods but [`canary_intact`](Stack::canary_intact) compute with addresses and touch no memory.
///
/// ```
/// use sisal_context::stack::{Depot, SizeClass};
///
/// let depot = Depot::new(None);
/// let mut stacks = Vec::new();
/// assert_eq!(depot.take(SizeClass::DEFAULT, 1, &mut stacks), 1);
/// let stack = stacks[0];
/// assert_eq!(stack.usable().len(), 192 * 1024);
/// assert_eq!(stack.usable().end, stack.top() as usize);
/// // SAFETY: nothing ever ran on it, and it goes back once to the depot it came from.
/// unsafe { depot.give(&stacks) };
/// ```
#[derive(Copy, Clone, Debug)]
pub struct Stack {
    top: *mut u8,
    arena: u32,
    slot: u8,
    class: SizeClass,
    kind: GuardKind,
}

// SAFETY: a Stack is an address and its description. Shared memory is reached through it in one safe
// method only, `canary_intact`, which reads a word that is written before the stack is handed out.
unsafe impl Send for Stack {}
// SAFETY: as for Send.
unsafe impl Sync for Stack {}

impl Stack {
    /// One past the highest usable byte, aligned to 16 (indeed to a page).
    #[inline]
    pub fn top(self) -> *mut u8 {
        self.top
    }

    /// The size class this stack was taken from.
    #[inline]
    pub fn class(self) -> SizeClass {
        self.class
    }

    /// The addresses that may be used.
    #[inline]
    pub fn usable(self) -> Range<usize> {
        let top = self.top as usize;
        top - self.class.usable()..top
    }

    /// The addresses whose touch is an overflow. Touching them faults, unless the kind is
    /// [`GuardKind::Canary`].
    #[inline]
    pub fn guard(self) -> Range<usize> {
        let end = self.usable().start;
        end - self.class.guard()..end
    }

    /// What stands guard below this stack.
    #[inline]
    pub fn guard_kind(self) -> GuardKind {
        self.kind
    }

    /// Whether an overflow of this stack shows only in [`canary_intact`](Stack::canary_intact), which is
    /// then worth a call at each switch.
    #[inline]
    pub fn needs_canary_check(self) -> bool {
        self.kind == GuardKind::Canary
    }

    /// True unless this stack is guarded by a canary that has been overwritten.
    ///
    /// Reads the stack's memory: not for copies of a stack that was given back (which the contract of
    /// [`Depot::give`] excludes).
    #[inline]
    pub fn canary_intact(self) -> bool {
        // SAFETY: the slot is mapped readable for as long as the stack is on loan: a depot unmaps only
        // arenas none of whose stacks is out, and `give` requires that no copy is used afterwards.
        !self.needs_canary_check() || unsafe { guard::canary_intact(self.slot_start()) }
    }

    /// How many bytes from the top down to the lowest page that is in memory: how deep it has been, to the page, since its memory was
    /// last given back. That may have been in the hands of others that had the stack before. Pages that were swapped out don't count.
    ///
    /// One system call (four megabytes of a stack at a time); touches no page, and so brings none in. None if the kernel refuses.
    ///
    /// Not for copies of a stack that was given back.
    ///
    /// ```
    /// use sisal_context::stack::{Depot, SizeClass};
    ///
    /// let depot = Depot::new(None);
    /// let mut stacks = Vec::new();
    /// depot.take(SizeClass::DEFAULT, 1, &mut stacks);
    /// assert!(stacks[0].high_water().unwrap() <= stacks[0].usable().len());
    /// # // SAFETY: nothing ever ran on it, and it goes back once to the depot it came from.
    /// # unsafe { depot.give(&stacks) };
    /// ```
    #[must_use]
    pub fn high_water(self) -> Option<usize> {
        let lowest = resident::lowest_page(self.usable()).ok()?;
        Some(lowest.map_or(0, |lowest| self.usable().end - lowest))
    }

    /// The lowest address of the slot, guard included.
    #[inline]
    fn slot_start(self) -> *mut u8 {
        self.top.wrapping_sub(self.class.slot_size())
    }

    /// Writes the canary, if this stack has one.
    fn arm_canary(self) {
        if self.needs_canary_check() {
            // SAFETY: called by the depot before the stack is handed out, so the slot is mapped and
            // nobody else uses it; the canary kind leaves the whole slot writable.
            unsafe { guard::arm_canary(self.slot_start()) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_is_sixteen_bytes() {
        assert_eq!(size_of::<Stack>(), 16);
        assert_eq!(size_of::<Option<Stack>>(), 16);
    }

    #[test]
    fn guard_usable_and_top_lie_end_to_end_in_the_slot() {
        let class = SizeClass::DEFAULT;
        let stack =
            Stack { top: std::ptr::without_provenance_mut(1 << 20), arena: 0, slot: 0, class, kind: GuardKind::Marker };
        assert_eq!(stack.guard().start, (1 << 20) - class.slot_size());
        assert_eq!(stack.guard().end, stack.usable().start);
        assert_eq!(stack.guard().len(), class.guard());
        assert_eq!(stack.usable().end, 1 << 20);
        assert!(stack.canary_intact(), "no canary, nothing to overwrite");
    }
}
