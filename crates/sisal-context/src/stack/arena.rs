//! Up to 64 slots of one class side by side, and which of them are free.
//!
//! A slot is in one of four states; the two words hold the first two apart from the others, the ledger
//! knows which of the others it is:
//!
//! ```text
//!              `free`  `dirty`
//!   clean        1       0       free, no page resident
//!   dirty        1       1       free, pages of its last use still resident
//!   trimming     0       0       free, but withheld while its pages are given back
//!   out          0       0       handed out
//!
//!   clean, dirty --take--> out --put--> dirty --begin_trim--> trimming --end_trim--> clean
//! ```
//!
//! All arenas are cut from memory that is mapped with the same flags ([`Tract`]), and lie side by side, so the kernel merges them into
//! one mapping (VMA), if their guards are markers or canaries.
#![allow(unsafe_code, reason = "has guards installed in raw memory")]

use super::advise;
use super::guard;
use super::tract::Tract;
use super::{GuardKind, SizeClass, Stack};
use libc::iovec;
use std::io;

const MAX_SLOTS: usize = u64::BITS as usize;
/// Not counting what each slot is larger by than a power of two.
const MAX_BYTES: usize = 256 << 20;

/// Owns its memory, but leaves it mapped when dropped: see [`Arena::unmap`].
pub(super) struct Arena {
    memory: Tract,
    class: SizeClass,
    kind: GuardKind,
    free: u64,
    /// INVARIANT: a subset of `free`.
    dirty: u64,
}

impl Arena {
    /// How much memory an arena takes.
    pub(super) fn size(class: SizeClass) -> usize {
        slots_of(class) * class.slot_size()
    }

    /// An arena in fresh memory, of its [`Arena::size`] or of fewer slots, which are all free and clean, with the strongest guards that can be
    /// had, but none stronger than `strongest`.
    pub(super) fn new(memory: Tract, class: SizeClass, strongest: GuardKind) -> io::Result<Arena> {
        debug_assert!(memory.bytes().is_multiple_of(class.slot_size()) && memory.bytes() <= Arena::size(class));
        let mut arena = Arena { memory, class, kind: GuardKind::Canary, free: 0, dirty: 0 };
        arena.free = arena.all_slots();
        let guards = arena.ranges(arena.free, 0, class.guard());
        // SAFETY: the ranges are parts of the arena's memory, which nobody else knows.
        match unsafe { guard::install(&guards, strongest) } {
            Ok(kind) => arena.kind = kind,
            Err(error) => {
                arena.unmap().ok();
                return Err(error);
            }
        }
        Ok(arena)
    }

    pub(super) fn class(&self) -> SizeClass {
        self.class
    }

    pub(super) fn slots(&self) -> usize {
        self.memory.bytes() / self.class.slot_size()
    }

    fn all_slots(&self) -> u64 {
        u64::MAX >> (MAX_SLOTS - self.slots())
    }

    pub(super) fn bytes(&self) -> usize {
        self.memory.bytes()
    }

    pub(super) fn has_room(&self) -> bool {
        self.free != 0
    }

    pub(super) fn is_entirely_free(&self) -> bool {
        self.free == self.all_slots()
    }

    pub(super) fn dirty(&self) -> usize {
        self.dirty.count_ones() as usize
    }

    /// Takes up to `want` free slots, lowest address first, as stacks of arena number `index`.
    pub(super) fn take(&mut self, index: u32, want: usize, out: &mut Vec<Stack>) -> usize {
        let taken = want.min(self.free.count_ones() as usize);
        for _ in 0..taken {
            let slot = self.free.trailing_zeros();
            self.free &= self.free - 1;
            out.push(self.stack(index, slot as u8));
        }
        self.dirty &= self.free;
        taken
    }

    /// Takes a stack back: its slot is free and dirty.
    pub(super) fn put(&mut self, stack: Stack) {
        let bit = 1 << stack.slot;
        debug_assert_eq!(stack.class, self.class, "a stack of another depot");
        debug_assert_eq!(stack.top, self.top_of(stack.slot), "a stack of another depot");
        debug_assert_eq!(self.free & bit, 0, "a stack was given back twice");
        self.free |= bit;
        self.dirty |= bit;
    }

    /// Withholds the dirty slots, but for the `keep` lowest, until [`Arena::end_trim`] gets them back.
    #[must_use]
    pub(super) fn begin_trim(&mut self, keep: usize) -> u64 {
        let mut trimming = self.dirty;
        for _ in 0..keep {
            trimming &= trimming.wrapping_sub(1);
        }
        self.dirty &= !trimming;
        self.free &= !trimming;
        trimming
    }

    pub(super) fn end_trim(&mut self, trimming: u64) {
        debug_assert_eq!(self.free & trimming, 0, "a slot was trimmed while it was free");
        self.free |= trimming;
    }

    /// What may be resident of the given slots and is of no use while they are free. A canary is
    /// written anew each time its stack is handed out, so its page may go.
    pub(super) fn resident_ranges(&self, slots: u64) -> Vec<iovec> {
        let class = self.class;
        match self.kind {
            GuardKind::Canary => self.ranges(slots, 0, class.slot_size()),
            GuardKind::Marker | GuardKind::Protected => self.ranges(slots, class.guard(), class.usable()),
        }
    }

    /// Gives the address space back, or the arena if the kernel refuses. Then at least its pages are given back.
    pub(super) fn unmap(mut self) -> Result<(), Arena> {
        debug_assert!(self.is_entirely_free(), "an arena was unmapped under its stacks");
        let (kind, slots) = (self.kind, self.slots());
        match self.memory.unmap() {
            Ok(()) => {
                guard::uninstalled(kind, slots);
                Ok(())
            }
            Err(memory) => {
                self.memory = memory;
                self.dirty = 0;
                Err(self)
            }
        }
    }

    fn stack(&self, index: u32, slot: u8) -> Stack {
        Stack { top: self.top_of(slot), arena: index, slot, class: self.class, kind: self.kind }
    }

    fn top_of(&self, slot: u8) -> *mut u8 {
        self.at(usize::from(slot) + 1, 0)
    }

    fn at(&self, slot: usize, offset: usize) -> *mut u8 {
        self.memory.start().as_ptr().wrapping_add(slot * self.class.slot_size() + offset)
    }

    /// The part of each of the given slots that starts at `offset` and is `len` long.
    fn ranges(&self, slots: u64, offset: usize, len: usize) -> Vec<iovec> {
        let chosen = (0..self.slots()).filter(|slot| slots >> slot & 1 == 1);
        chosen.map(|slot| advise::range(self.at(slot, offset), len)).collect()
    }
}

fn slots_of(class: SizeClass) -> usize {
    (MAX_BYTES / class.power()).clamp(1, MAX_SLOTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapped(kind: GuardKind) -> Arena {
        let memory = Tract::map(Arena::size(SizeClass::DEFAULT), 0).unwrap();
        Arena::new(memory, SizeClass::DEFAULT, kind).unwrap()
    }

    fn taken(arena: &mut Arena, want: usize) -> Vec<Stack> {
        let mut stacks = Vec::new();
        assert_eq!(arena.take(0, want, &mut stacks), stacks.len());
        stacks
    }

    #[test]
    fn slots_go_out_lowest_address_first_until_none_is_left() {
        let mut arena = mapped(GuardKind::Marker);
        let stacks = taken(&mut arena, 100);
        assert_eq!(stacks.len(), 64);
        assert!(stacks.is_sorted_by_key(|stack| stack.top()));
        assert!(!arena.has_room());
        for slot in [40, 7, 21] {
            arena.put(stacks[slot]);
        }
        let again: Vec<_> = taken(&mut arena, 2).iter().map(|stack| stack.slot).collect();
        assert_eq!(again, [7, 21]);
        assert_eq!(arena.dirty(), 1);
        stacks.iter().filter(|stack| stack.slot != 40).for_each(|&stack| arena.put(stack));
        assert!(arena.unmap().is_ok());
    }

    #[test]
    fn slots_being_trimmed_are_withheld() {
        let mut arena = mapped(GuardKind::Marker);
        let stacks = taken(&mut arena, 2);
        stacks.iter().for_each(|&stack| arena.put(stack));
        let trimming = arena.begin_trim(0);
        assert_eq!((trimming, arena.dirty()), (0b11, 0));
        assert!(!arena.is_entirely_free());
        assert_eq!(arena.resident_ranges(trimming).len(), 2);
        assert_eq!(arena.free.trailing_zeros(), 2);
        arena.end_trim(trimming);
        assert!(arena.is_entirely_free());
        assert!(arena.unmap().is_ok());
    }

    #[test]
    fn the_lowest_dirty_slots_are_kept() {
        let mut arena = mapped(GuardKind::Marker);
        let stacks = taken(&mut arena, 10);
        [2, 4, 9].into_iter().for_each(|slot| arena.put(stacks[slot]));
        let trimming = arena.begin_trim(1);
        assert_eq!((trimming, arena.dirty()), (1 << 4 | 1 << 9, 1));
        arena.end_trim(trimming);
        assert_eq!(arena.begin_trim(100), 0);
        assert_eq!(taken(&mut arena, 1)[0].slot, 2);
    }

    #[test]
    fn big_classes_have_fewer_slots() {
        let slots = |usable| slots_of(SizeClass::for_usable(usable).unwrap());
        assert_eq!(slots(4 << 10), 64);
        assert_eq!(slots(3 << 20), 64);
        assert_eq!(slots(7 << 20), 32);
        assert_eq!(slots(200 << 20), 1);
        assert_eq!(slots(1 << 30), 1);
    }

    #[test]
    fn an_arena_may_have_fewer_slots() {
        let memory = Tract::map(3 * SizeClass::DEFAULT.slot_size(), 0).unwrap();
        let mut arena = Arena::new(memory, SizeClass::DEFAULT, GuardKind::Marker).unwrap();
        assert_eq!((arena.slots(), arena.is_entirely_free()), (3, true));
        let stacks = taken(&mut arena, 5);
        assert_eq!((stacks.len(), arena.has_room()), (3, false));
        stacks.into_iter().for_each(|stack| arena.put(stack));
        assert!(arena.is_entirely_free());
        assert!(arena.unmap().is_ok());
    }

    #[test]
    fn each_kind_of_guard_can_be_had() {
        for kind in [GuardKind::Marker, GuardKind::Protected, GuardKind::Canary] {
            let arena = mapped(kind);
            assert!(arena.kind >= kind, "stronger than allowed");
            assert!(kind == GuardKind::Marker || arena.kind == kind);
            assert!(arena.unmap().is_ok());
        }
    }
}
