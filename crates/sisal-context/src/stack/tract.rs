//! Address space for the arenas to come, mapped ahead: a mapping costs the same however large it is, and keeps all threads of the
//! process from making or changing another meanwhile.
//!
//! A depot that has much maps much: as much again as it has, from one arena to a GiB. No page of it is touched before its arena is
//! cut off, so it costs nothing but addresses. Where those are limited (`RLIMIT_AS`, `RLIMIT_DATA`, or a system that counts mapped memory as
//! used: `vm.overcommit_memory=2`), others in the process need them, and nothing is mapped ahead. (A process that locks all it maps has pages
//! there, too.) What is left goes when arenas go, and when memory is refused. (A million parked fibers,
//! created on two workers: the two system calls for each arena of 64 took a tenth of the processors' time, and more of the wall's.)
#![allow(unsafe_code, reason = "maps and unmaps memory")]

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use rustix::process::{Resource, getrlimit};
use std::ptr::{self, NonNull};
use std::sync::OnceLock;
use std::{fs, io};

/// No tract is larger, unless one arena is.
const MAX_BYTES: usize = 1 << 30;

/// A piece of a mapping that nobody uses yet. Owns it, but leaves it mapped when dropped: see [`Tract::unmap`].
pub(super) struct Tract {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: a tract is its memory's only owner, and mappings belong to no thread.
unsafe impl Send for Tract {}

impl Tract {
    /// Maps what the next arena takes, and more ahead if as much is in use: `arena` bytes for the one, `in_use` for all before it.
    ///
    /// # Errors
    ///
    /// If the kernel has not even one arena.
    pub(super) fn map(arena: usize, in_use: usize) -> io::Result<Tract> {
        let ahead = in_use.min(MAX_BYTES) / arena * arena;
        if ahead > arena
            && !addresses_are_limited()
            && let Ok(tract) = map_memory(ahead)
        {
            return Ok(tract);
        }
        map_memory(arena)
    }

    /// Cuts `bytes` off the low end, if there are as many.
    pub(super) fn cut(&mut self, bytes: usize) -> Option<Tract> {
        let rest = self.bytes.checked_sub(bytes)?;
        let cut = Tract { start: self.start, bytes };
        // SAFETY: within the mapping, or one past its end.
        self.start = unsafe { self.start.add(bytes) };
        self.bytes = rest;
        Some(cut)
    }

    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Gives the address space back. The kernel may refuse (cutting a hole into a mapping makes two of it, and their number has a
    /// limit); then it is told that no page of it is needed, and the tract comes back.
    pub(super) fn unmap(self) -> Result<(), Tract> {
        // SAFETY: a tract owns its memory, and nobody uses it.
        if self.bytes == 0 || unsafe { munmap(self.start.as_ptr().cast(), self.bytes) }.is_ok() {
            return Ok(());
        }
        // SAFETY: as above. If this is refused as well, the pages stay: nothing else to try.
        unsafe { madvise(self.start.as_ptr().cast(), self.bytes, Advice::LinuxDontNeed) }.ok();
        Err(self)
    }
}

/// Whether what is mapped, and not used, is taken from others.
fn addresses_are_limited() -> bool {
    static COUNTS_ALL: OnceLock<bool> = OnceLock::new();
    let is_limited = |resource| getrlimit(resource).current.is_some();
    let counts_all = || fs::read("/proc/sys/vm/overcommit_memory").is_ok_and(|mode| mode.starts_with(b"2"));
    is_limited(Resource::As) || is_limited(Resource::Data) || *COUNTS_ALL.get_or_init(counts_all)
}

fn map_memory(bytes: usize) -> io::Result<Tract> {
    let access = ProtFlags::READ | ProtFlags::WRITE;
    let flags = MapFlags::PRIVATE | MapFlags::STACK | MapFlags::NORESERVE;
    // SAFETY: a new mapping at an address of the kernel's choice disturbs nobody.
    let memory = unsafe { mmap_anonymous(ptr::null_mut(), bytes, access, flags) }?;
    // SAFETY: it is ours. Refused where the kernel has no huge pages, which is as good.
    unsafe { madvise(memory, bytes, Advice::LinuxNoHugepage) }.ok();
    let start = NonNull::new(memory.cast()).ok_or_else(|| io::Error::other("mapped at address zero"))?;
    Ok(Tract { start, bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARENA: usize = 1 << 20;

    #[test]
    fn as_much_is_mapped_as_there_is_in_whole_arenas_and_at_least_one() {
        for (in_use, arenas) in [(0, 1), (ARENA, 1), (ARENA * 5 / 2, 2), (ARENA * 7, 7), (usize::MAX, 1024)] {
            let tract = Tract::map(ARENA, in_use).unwrap();
            assert_eq!(tract.bytes(), arenas * ARENA, "{in_use} in use");
            assert!(tract.unmap().is_ok());
        }
        let tract = Tract::map(2 * MAX_BYTES, usize::MAX).unwrap();
        assert_eq!(tract.bytes(), 2 * MAX_BYTES);
        assert!(tract.unmap().is_ok());
    }

    #[test]
    fn more_than_there_are_addresses_is_refused() {
        assert!(Tract::map(1 << 56, 0).is_err());
    }

    #[test]
    fn pieces_are_cut_from_the_low_end_until_too_little_is_left() {
        let mut tract = Tract::map(ARENA, 3 * ARENA).unwrap();
        let start = tract.start();
        let first = tract.cut(ARENA).unwrap();
        let second = tract.cut(ARENA).unwrap();
        assert_eq!((first.start(), first.bytes()), (start, ARENA));
        assert_eq!(second.start().addr().get(), start.addr().get() + ARENA);
        assert!(tract.cut(ARENA + 1).is_none());
        assert!(first.unmap().is_ok());
        // SAFETY: the second piece is mapped, whatever became of the first.
        unsafe { second.start().write(1) };
        let third = tract.cut(ARENA).unwrap();
        assert_eq!(tract.bytes(), 0);
        for piece in [second, third, tract] {
            assert!(piece.unmap().is_ok());
        }
    }
}
