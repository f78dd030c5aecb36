//! The kernel as it was before it could do this or that: calls for it fail as they did then.

use crate::kernel::filter::{Filter, Test};
use std::io;

/// What an older kernel, or one short of mappings, does not do.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum Lacks {
    /// `MADV_GUARD_INSTALL`, which came with Linux 6.13.
    Markers,
    /// That, and making as much as a stack's guard inaccessible, for which there may be no room among the mappings.
    MarkersAndMappings,
}

/// From now on the kernel lacks that, for this thread and those that it starts.
///
/// # Errors
/// If there are no such filters here.
pub(crate) fn pretend(lacks: Lacks) -> io::Result<()> {
    let is_marker = |index| Test::equal(index, MADV_GUARD_INSTALL);
    let mut filter = Filter::new().refuse(libc::SYS_madvise, &[is_marker(2)], libc::EINVAL).refuse(
        libc::SYS_process_madvise,
        &[is_marker(3)],
        libc::EINVAL,
    );
    if lacks == Lacks::MarkersAndMappings {
        let tests = [Test::equal(2, libc::PROT_NONE.cast_unsigned()), Test::at_least(1, GUARD_BYTES)];
        filter = filter.refuse(libc::SYS_mprotect, &tests, libc::ENOMEM);
    }
    filter.install()
}

const MADV_GUARD_INSTALL: u32 = 102;

/// As much as a guard of a stack is. Whatever else is made inaccessible here is less.
const GUARD_BYTES: u32 = 64 << 10;
