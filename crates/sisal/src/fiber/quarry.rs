//! Memory for slabs, from the kernel: the allocator keeps what is freed for as long as anything behind it is in use (glibc's did with all
//! slabs but those of the first crowd).
//!
//! It is mapped in pieces of many slabs and stays mapped; a slab that goes leaves its addresses here for the next, and the kernel
//! takes its pages.
#![allow(unsafe_code, reason = "maps and advises memory")]

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous};
use std::alloc::{Layout, handle_alloc_error};
use std::ptr::{self, NonNull};
use std::sync::{Mutex, PoisonError};

/// How large a slab is, and how it is aligned: hundreds of blocks. Miri would take minutes for as many.
pub(super) const SLAB: usize = if cfg!(miri) { 8 << 10 } else { 128 << 10 };

/// How many are mapped at once.
const PIECE: usize = 16;

/// Memory that nobody uses.
struct Free(Vec<NonNull<u8>>);

// SAFETY: mappings belong to no thread.
unsafe impl Send for Free {}

static FREE: Mutex<Free> = Mutex::new(Free(Vec::new()));

fn with_free<R>(f: impl FnOnce(&mut Vec<NonNull<u8>>) -> R) -> R {
    f(&mut FREE.lock().unwrap_or_else(PoisonError::into_inner).0)
}

/// Memory for one slab, with anything in it.
pub(super) fn take() -> NonNull<u8> {
    with_free(Vec::pop).unwrap_or_else(|| {
        // Where there is not enough for many, there may be for one; or another has mapped the last of it meanwhile, and left some.
        let Some(mut piece) = map_slabs(PIECE).or_else(|| map_slabs(1)) else {
            return with_free(Vec::pop).unwrap_or_else(|| handle_alloc_error(Layout::new::<[u8; SLAB]>()));
        };
        let first = piece.next();
        with_free(|free| free.extend(piece));
        first.unwrap_or_else(|| unreachable!("INVARIANT: a piece is not empty"))
    })
}

/// Gives the memory of a slab back.
///
/// # Safety
/// It came from [`take`], and nobody uses it any more.
pub(super) unsafe fn give(slab: NonNull<u8>) {
    // Miri knows of no advice.
    if !cfg!(miri) {
        // SAFETY: the caller's promise. If the kernel refuses (locked memory), the pages stay: no harm but their size.
        unsafe { madvise(slab.as_ptr().cast(), SLAB, Advice::LinuxDontNeed) }.ok();
    }
    with_free(|free| free.push(slab));
}

/// A new piece of so many slabs, if the kernel has as much.
fn map_slabs(count: usize) -> Option<impl Iterator<Item = NonNull<u8>>> {
    // One more, since the kernel knows nothing of our alignment. What lies before the first and behind the last is never touched.
    let bytes = (count + 1) * SLAB;
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping at an address of the kernel's choice disturbs nobody.
    let start = unsafe { mmap_anonymous(ptr::null_mut(), bytes, access, MapFlags::PRIVATE) }.ok()?;
    if !cfg!(miri) {
        // SAFETY: it is ours. One fiber is not to take two megabytes. Refused where the kernel has no huge pages, which is as good.
        unsafe { madvise(start, bytes, Advice::LinuxNoHugepage) }.ok();
    }
    let start = NonNull::new(start.cast::<u8>())?;
    let before = start.addr().get().next_multiple_of(SLAB) - start.addr().get();
    // SAFETY: less than a slab before the first, so all of them are within the mapping.
    Some((0..count).map(move |slab| unsafe { start.add(before + slab * SLAB) }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn slabs_are_aligned_writable_and_nobody_elses() {
        let slabs: HashSet<_> = (0..3 * PIECE).map(|_| take()).collect();
        assert_eq!(slabs.len(), 3 * PIECE);
        for &slab in &slabs {
            assert!(slab.addr().get().is_multiple_of(SLAB));
            // SAFETY: ours, to its end.
            unsafe { slab.write_bytes(0xA5, SLAB) };
        }
        // SAFETY: from `take`, and used by nobody.
        slabs.into_iter().for_each(|slab| unsafe { give(slab) });
    }
}
