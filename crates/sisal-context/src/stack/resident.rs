//! Which pages of a stack are in memory.
#![allow(unsafe_code, reason = "the kernel is asked about a raw range of memory")]

use rustix::param::page_size;
use std::io;
use std::ops::Range;

/// How many pages are asked about at a time.
const BATCH: usize = 1024;

/// The kernel's answer for a page: it is in memory. The other bits are reserved.
const RESIDENT: u8 = 1;

/// The address of the lowest page of `range`, whole pages of a mapping, that is in memory.
pub(super) fn lowest_page(range: Range<usize>) -> io::Result<Option<usize>> {
    let page = page_size();
    let mut answers = [0u8; BATCH];
    for start in range.clone().step_by(BATCH * page) {
        let bytes = (range.end - start).min(BATCH * page);
        let answers = &mut answers[..bytes.div_ceil(page)];
        // SAFETY: there is room for one byte a page. The memory itself is not touched, and an address that is not mapped is an error.
        let result = unsafe { libc::mincore(std::ptr::without_provenance_mut(start), bytes, answers.as_mut_ptr()) };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
        if let Some(first) = answers.iter().position(|answer| answer & RESIDENT != 0) {
            return Ok(Some(start + first * page));
        }
    }
    Ok(None)
}
