//! The guards below the stacks: what makes an overflow visible.
//!
//! Three kinds, the first that works is taken for a whole arena:
//!
//! 1. **Marker** (`MADV_GUARD_INSTALL`, Linux 6.13): the page tables say that a touch faults. All arenas
//!    stay in one mapping of the kernel (VMA), however many they are. Markers outlive `MADV_DONTNEED`.
//! 2. **Protected** (`PROT_NONE`): a touch faults as well, but each guard splits the mapping, and the
//!    kernel allows a process `vm.max_map_count` of them. Half of that is our budget, over all depots.
//! 3. **Canary**: memory below the stack holds a value that an overflow overwrites. Seen late, at the
//!    next check; what lies between the two, 64 KiB and more, is slack that an overflow may use without harm.
//!
//! A canary's value is computed from its address and a secret of the process, so it is unique to the
//! slot and stored nowhere else.
#![allow(unsafe_code, reason = "system calls on, and accesses to, raw memory")]

use super::advise::advise;
use libc::{c_int, iovec};
use rustix::mm::{MprotectFlags, mprotect};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Guards are at least this wide, at the low end of every slot: C code without stack probes jumps a guard of one
/// page. A multiple of every page size Linux has on these machines (4, 16 and 64 KiB).
pub(super) const GUARD_BYTES: usize = 64 << 10;

const MADV_GUARD_INSTALL: c_int = 102;
const MADV_GUARD_REMOVE: c_int = 103;

/// A `PROT_NONE` guard makes two mappings of one: itself and the slot above it.
const MAPPINGS_PER_PROTECTED_GUARD: usize = 2;

/// The kernel's default for `vm.max_map_count`.
const DEFAULT_MAX_MAP_COUNT: usize = 65_530;

/// Words of a canary. One cache line costs what one word costs, and is harder to step over.
const CANARY_WORDS: usize = 8;

/// What stands guard below a stack, strongest first.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum GuardKind {
    /// A touch faults; marked in the page tables.
    Marker,
    /// A touch faults; a mapping without access.
    Protected,
    /// A touch is seen later, by [`Stack::canary_intact`](super::Stack::canary_intact).
    Canary,
}

/// Puts the strongest guards that can be had, but none stronger than `strongest`, on `guards`, the guard
/// ranges of one fresh arena. Canaries are not written here but when their stack is handed out.
///
/// Markers for the 64 guards of an arena in one call: 0.58-0.92 us a guard, by a loop of `madvise`
/// 0.71-1.09 us (page tables included, 2 cores, Linux 6.18); so the call is vectored.
///
/// # Errors
///
/// If memory was left half protected and can't be restored: the arena is unusable.
///
/// # Safety
///
/// The ranges lie in a readable and writable mapping that the caller owns and nobody uses yet.
pub(super) unsafe fn install(guards: &[iovec], strongest: GuardKind) -> io::Result<GuardKind> {
    // SAFETY: passed on.
    if strongest <= GuardKind::Marker && unsafe { mark(guards) }? {
        return Ok(GuardKind::Marker);
    }
    // SAFETY: passed on.
    if strongest <= GuardKind::Protected && unsafe { protect(guards) }? {
        return Ok(GuardKind::Protected);
    }
    Ok(GuardKind::Canary)
}

/// Gives back what `count` guards of `kind` took of the process's budget, once they are unmapped.
pub(super) fn uninstalled(kind: GuardKind, count: usize) {
    if kind == GuardKind::Protected {
        PROTECTED.put_back(count * MAPPINGS_PER_PROTECTED_GUARD);
    }
}

/// Marks the guards, or none of them: whether it did.
///
/// # Errors
///
/// If the kernel refused in the middle, and the marks before can't be undone.
///
/// # Safety
///
/// As for [`install`].
unsafe fn mark(guards: &[iovec]) -> io::Result<bool> {
    // SAFETY: passed on; nobody uses the memory yet, so its contents may go.
    match unsafe { advise(guards, MADV_GUARD_INSTALL) } {
        Ok(()) => Ok(true),
        // One that does not know of marks has made none.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Ok(false),
        // SAFETY: as above.
        Err(_) => unsafe { advise(guards, MADV_GUARD_REMOVE) }.map(|()| false),
    }
}

/// Makes the guards inaccessible, or none of them: whether it did.
///
/// # Errors
///
/// If the kernel refused in the middle and the guards before can't be undone.
///
/// # Safety
///
/// As for [`install`].
unsafe fn protect(guards: &[iovec]) -> io::Result<bool> {
    let mappings = guards.len() * MAPPINGS_PER_PROTECTED_GUARD;
    if !PROTECTED.reserve(mappings, protected_budget()) {
        return Ok(false);
    }
    // SAFETY: passed on.
    let protected = unsafe { protect_each(guards, MprotectFlags::empty()) };
    if protected.is_err() {
        PROTECTED.put_back(mappings);
        // SAFETY: passed on; this is the access the mapping was made with.
        unsafe { protect_each(guards, MprotectFlags::READ | MprotectFlags::WRITE) }?;
    }
    Ok(protected.is_ok())
}

/// # Safety
///
/// As for [`install`].
unsafe fn protect_each(ranges: &[iovec], access: MprotectFlags) -> io::Result<()> {
    for range in ranges {
        // SAFETY: passed on.
        unsafe { mprotect(range.iov_base, range.iov_len, access) }?;
    }
    Ok(())
}

/// Mappings that protected guards of this process take.
static PROTECTED: Budget = Budget(AtomicUsize::new(0));

/// A count that may rise to a limit. Relaxed throughout: it guards no other memory.
struct Budget(AtomicUsize);

impl Budget {
    #[must_use]
    fn reserve(&self, count: usize, limit: usize) -> bool {
        let raise = |used: usize| used.checked_add(count).filter(|&sum| sum <= limit);
        self.0.fetch_update(Relaxed, Relaxed, raise).is_ok()
    }

    fn put_back(&self, count: usize) {
        let before = self.0.fetch_sub(count, Relaxed);
        debug_assert!(before >= count, "more put back than was reserved");
    }
}

/// Half of the mappings the kernel allows; the rest is for the program and for unmapping in the middle.
fn protected_budget() -> usize {
    static BUDGET: OnceLock<usize> = OnceLock::new();
    *BUDGET.get_or_init(|| {
        let allowed =
            std::fs::read_to_string("/proc/sys/vm/max_map_count").ok().and_then(|text| text.trim().parse().ok());
        allowed.unwrap_or(DEFAULT_MAX_MAP_COUNT) / 2
    })
}

/// Writes the canary of the slot at `slot`.
///
/// # Safety
///
/// The slot's low end is mapped writable, and nobody else accesses it now.
pub(super) unsafe fn arm_canary(slot: *mut u8) {
    // SAFETY: slots are page-aligned, so the pointer is aligned for words; the rest is passed on.
    unsafe { slot.cast::<[u64; CANARY_WORDS]>().write(canary(slot)) };
}

/// Whether the slot at `slot` still holds its canary.
///
/// # Safety
///
/// The slot's low end is mapped readable and was armed.
#[inline]
pub(super) unsafe fn canary_intact(slot: *mut u8) -> bool {
    // SAFETY: slots are page-aligned, so the pointer is aligned for words; the rest is passed on. The
    // read is volatile: what overwrites a canary is nothing the compiler knows of.
    unsafe { slot.cast::<[u64; CANARY_WORDS]>().read_volatile() == canary(slot) }
}

#[inline]
fn canary(slot: *mut u8) -> [u64; CANARY_WORDS] {
    static SECRET: OnceLock<u64> = OnceLock::new();
    let secret = *SECRET.get_or_init(|| RandomState::new().hash_one(0_u64));
    [mix(secret ^ slot as u64); CANARY_WORDS]
}

/// The output function of splitmix64: every bit of the input moves every bit of the output.
#[inline]
fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_not_overdrawn() {
        let budget = Budget(AtomicUsize::new(0));
        assert!(budget.reserve(6, 10));
        assert!(!budget.reserve(6, 10));
        assert!(!budget.reserve(usize::MAX, 10));
        budget.put_back(6);
        assert!(budget.reserve(10, 10));
    }

    #[test]
    fn a_canary_is_unique_to_its_slot_and_any_word_of_it_counts() {
        let mut memory = [[0_u64; CANARY_WORDS]; 2];
        let slots = memory.each_mut().map(|words| words.as_mut_ptr().cast::<u8>());
        // SAFETY: both slots are live words of this frame.
        unsafe {
            arm_canary(slots[0]);
            arm_canary(slots[1]);
            assert_ne!(slots[0].cast::<u64>().read(), slots[1].cast::<u64>().read());
            for word in 0..CANARY_WORDS {
                arm_canary(slots[0]);
                assert!(canary_intact(slots[0]));
                *slots[0].cast::<u64>().add(word) ^= 1;
                assert!(!canary_intact(slots[0]));
            }
            assert!(canary_intact(slots[1]));
        }
    }
}
