//! The unwind tables of the program and of the libraries it has loaded.
//!
//! Tables are read where the loader has mapped them. A library may be unloaded by any thread at any time, so they are used only within
//! [`Modules::with_tables`]: there the loader's lock is held, under which it changes the set of its modules, and the set is known to be the
//! one that was read. (`dl_iterate_phdr` calls back under that lock, and tells how often modules have come and gone. Where the C library does
//! not hold a lock meanwhile, as musl, it never unloads anything.)
//!
//! Whoever uses tables should not be long: threads that unwind or load a library may wait for the lock.
#![allow(unsafe_code, reason = "the loader's records are read through pointers")]

use super::{Cache, Unwinder};
use framehop::{ExplicitModuleSectionInfo, Module, Unwinder as _};
use libc::{Elf64_Phdr, PT_GNU_EH_FRAME, PT_LOAD, c_int, c_void, dl_phdr_info};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// How often modules have been loaded and unloaded: if both are the same, the set is.
pub(super) type Generation = (u64, u64);

/// See the [module](self).
pub(super) struct Modules {
    generation: Option<Generation>,
    tables: Tables,
}

/// What a stack is unwound with.
pub(super) struct Tables {
    pub(super) unwinder: Unwinder,
    pub(super) cache: Cache,
}

impl Modules {
    pub(super) fn new() -> Modules {
        Modules { generation: None, tables: Tables { unwinder: Unwinder::new(), cache: Cache::new_in() } }
    }

    /// Calls `f` with the tables of all modules that are loaded, none of which is unloaded meanwhile. Nothing is allocated or read anew
    /// from when `f` is called until it returns, so it may stop other threads, whatever locks they hold.
    pub(super) fn with_tables<R>(&mut self, f: impl FnOnce(&mut Tables) -> R) -> R {
        let mut f = Some(f);
        loop {
            let mut result = None;
            let mut fresh = Vec::new();
            let mut generation = None;
            for_each_module(&mut |info| {
                let now = (info.dlpi_adds, info.dlpi_subs);
                if self.generation == Some(now) {
                    // Nothing may unwind through the loader.
                    result = f.take().map(|f| catch_unwind(AssertUnwindSafe(|| f(&mut self.tables))));
                    return false;
                }
                fresh.extend(module(info));
                generation = Some(now);
                true
            });
            if let Some(result) = result {
                return result.unwrap_or_else(|payload| resume_unwind(payload));
            }
            if generation.is_none()
                && let Some(f) = f.take()
            {
                // No modules at all, so there is nothing to be unloaded.
                return f(&mut self.tables);
            }
            self.tables.unwinder = Unwinder::new();
            fresh.into_iter().for_each(|module| self.tables.unwinder.add_module(module));
            self.generation = generation;
        }
    }
}

/// How often modules have been loaded and unloaded so far.
pub(super) fn generation() -> Option<Generation> {
    let mut generation = None;
    for_each_module(&mut |info| {
        generation = Some((info.dlpi_adds, info.dlpi_subs));
        false
    });
    generation
}

/// Calls `f` with each module, until it says false.
fn for_each_module(f: &mut dyn FnMut(&dl_phdr_info) -> bool) {
    unsafe extern "C" fn call(info: *mut dl_phdr_info, _: usize, data: *mut c_void) -> c_int {
        // SAFETY: what was passed below, and what the loader passes, for the time of this call.
        let (f, info) = unsafe { (&mut *data.cast::<&mut dyn FnMut(&dl_phdr_info) -> bool>(), &*info) };
        c_int::from(!f(info))
    }
    let mut f = f;
    // SAFETY: the function takes what is passed; it does not outlive this call.
    unsafe { libc::dl_iterate_phdr(Some(call), (&raw mut f).cast()) };
}

/// What is to be known of a module, if it has unwind tables.
fn module(info: &dl_phdr_info) -> Option<Module<&'static [u8]>> {
    // SAFETY: the loader's own record, which stays while we are called.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let loaded =
        |address: u64| headers.iter().filter(|header| header.p_type == PT_LOAD).find(|h| range(h).contains(&address));
    let index = range(headers.iter().find(|header| header.p_type == PT_GNU_EH_FRAME)?);
    loaded(index.start).filter(|segment| index.end <= range(segment).end)?;
    let base = info.dlpi_addr;
    // SAFETY: the index is a part of a segment that is loaded.
    let index_bytes = unsafe { bytes(base, &index) };
    // Where the table ends is not said. It is read from where the index points to, and ends with the segment.
    let start = table_address(index_bytes, index.start)?;
    let table = start..range(loaded(start)?).end;
    // SAFETY: as for the index.
    let table_bytes = unsafe { bytes(base, &table) };
    let code = headers.iter().filter(|header| header.p_type == PT_LOAD).map(range);
    let code = code.reduce(|all, next| all.start.min(next.start)..all.end.max(next.end))?;
    let sections = ExplicitModuleSectionInfo {
        eh_frame_hdr_svma: Some(index),
        eh_frame_hdr: Some(index_bytes),
        eh_frame_svma: Some(table),
        eh_frame: Some(table_bytes),
        ..ExplicitModuleSectionInfo::default()
    };
    Some(Module::new(String::new(), base + code.start..base + code.end, base, sections))
}

/// The addresses of a segment, as its file states them.
fn range(header: &Elf64_Phdr) -> Range<u64> {
    header.p_vaddr..header.p_vaddr.saturating_add(header.p_memsz)
}

/// # Safety
/// The range is a part of a segment of a module that is loaded at `base`. The result is used as long as it is, whatever its type says.
unsafe fn bytes(base: u64, range: &Range<u64>) -> &'static [u8] {
    let start = std::ptr::with_exposed_provenance((base + range.start) as usize);
    // SAFETY: the caller's promise; segments that hold tables are not written to.
    unsafe { std::slice::from_raw_parts(start, (range.end - range.start) as usize) }
}

/// Where the table is that `index`, which stands at `address`, leads to.
///
/// The index starts with its version, three encodings, and the table's address in the first of these. All linkers write that relative to
/// where it stands, in four bytes.
fn table_address(index: &[u8], address: u64) -> Option<u64> {
    const VERSION: u8 = 1;
    const RELATIVE_IN_FOUR_BYTES: u8 = 0x1b;
    let (&[VERSION, RELATIVE_IN_FOUR_BYTES, _, _], rest) = index.split_first_chunk()? else { return None };
    let (offset, _) = rest.split_first_chunk()?;
    address.checked_add(4)?.checked_add_signed(i32::from_le_bytes(*offset).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_where_the_index_says() {
        let mut index = vec![1, 0x1b, 3, 0x3b];
        index.extend((-16i32).to_le_bytes());
        assert_eq!(table_address(&index, 0x1000), Some(0x1004 - 16));
        assert_eq!(table_address(&index[..7], 0x1000), None, "cut off");
        assert_eq!(table_address(&index, 4), None, "before the first address");
        index[0] = 2;
        assert_eq!(table_address(&index, 0x1000), None, "of another version");
    }

    #[test]
    fn the_tables_of_this_program_are_among_those_that_are_read() {
        let here = (the_tables_of_this_program_are_among_those_that_are_read as *const ()).addr() as u64;
        let mut is_covered = false;
        for_each_module(&mut |info| {
            is_covered |= module(info).is_some_and(|module| module.avma_range().contains(&here));
            !is_covered
        });
        assert!(is_covered);
        let mut modules = Modules::new();
        assert!(modules.with_tables(|tables| tables.unwinder.max_known_code_address()) > here);
        assert!(modules.generation.is_some());
    }

    #[test]
    fn a_panic_passes_the_loader_by() {
        let mut modules = Modules::new();
        let payload =
            catch_unwind(AssertUnwindSafe(|| modules.with_tables(|_| resume_unwind(Box::new(17))))).unwrap_err();
        assert_eq!(payload.downcast_ref(), Some(&17));
        modules.with_tables(|_| ());
    }
}
