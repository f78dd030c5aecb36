//! The alternate signal stack of a thread.
#![allow(unsafe_code, reason = "maps memory and hands it to the kernel")]

use libc::{c_void, stack_t};
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use rustix::param::page_size;
use std::io;
use std::marker::PhantomData;
use std::ptr;

/// Alternate stacks at least this big are kept. Those that std gives its threads may hold little more than
/// one signal frame.
const ENOUGH: usize = 16 << 10;

/// Our own are this big, for the handler and the ones it calls, and by a signal frame bigger.
const BYTES: usize = 64 << 10;

/// The key under which the kernel tells the size of a signal frame, which grows with the machine's vector
/// registers.
const AT_MINSIGSTKSZ: libc::c_ulong = 51;

/// Makes sure that the thread which called [`AltStack::ensure`] has an alternate signal stack.
///
/// An existing one is kept if it has at least 16 KiB. Else there is a new one until this value is dropped;
/// then the former is back.
///
/// ```
/// use sisal_context::fault::AltStack;
///
/// let alt_stack = AltStack::ensure()?;
/// // From here on the thread can report the overflow of any stack that it runs on.
/// drop(alt_stack);
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct AltStack {
    _own: Option<Own>,
    /// An alternate stack is its thread's: neither `Send` nor `Sync`.
    of_this_thread: PhantomData<*mut ()>,
}

impl AltStack {
    /// Gives the calling thread an alternate stack, unless it has one that is big enough.
    ///
    /// # Errors
    ///
    /// If the kernel refuses memory for it.
    pub fn ensure() -> io::Result<AltStack> {
        let former = current()?;
        let is_enough = former.ss_flags & libc::SS_DISABLE == 0 && former.ss_size >= ENOUGH;
        Ok(AltStack { _own: if is_enough { None } else { Some(Own::install(former)?) }, of_this_thread: PhantomData })
    }
}

/// A mapping of our own that is the thread's alternate stack: a page that guards it, and the stack.
struct Own {
    base: *mut c_void,
    bytes: usize,
    former: stack_t,
}

impl Own {
    fn install(former: stack_t) -> io::Result<Own> {
        let own = Own::map(former)?;
        let guard = page_size();
        // SAFETY: the mapping is ours, and `drop` unmaps it even if this fails.
        unsafe {
            let low = own.base.byte_add(guard);
            mprotect(low, own.bytes - guard, MprotectFlags::READ | MprotectFlags::WRITE)?;
        }
        change(&own.as_stack())?;
        Ok(own)
    }

    fn map(former: stack_t) -> io::Result<Own> {
        // SAFETY: no obligations; zero if the kernel has no such entry.
        let frame = unsafe { libc::getauxval(AT_MINSIGSTKSZ) } as usize;
        let bytes = (BYTES + frame).next_multiple_of(page_size()) + page_size();
        let flags = MapFlags::PRIVATE | MapFlags::STACK;
        // SAFETY: a new mapping at an address of the kernel's choice disturbs nobody.
        let base = unsafe { mmap_anonymous(ptr::null_mut(), bytes, ProtFlags::empty(), flags) }?;
        Ok(Own { base, bytes, former })
    }

    fn as_stack(&self) -> stack_t {
        stack_t { ss_sp: self.base.wrapping_byte_add(page_size()), ss_flags: 0, ss_size: self.bytes - page_size() }
    }

    /// Puts the former alternate stack back: whether ours is out of use. If the thread has another one by
    /// now (or none: std takes its own down at a thread's end), that one stays.
    fn uninstall(&self) -> bool {
        match current() {
            Ok(current) if current.ss_sp == self.as_stack().ss_sp => change(&self.former).is_ok(),
            Ok(_) => true,
            Err(_) => false,
        }
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        if self.uninstall() {
            // SAFETY: the mapping is ours, and no longer the alternate stack of its thread (the only one
            // that could use it: `AltStack` is not `Send`).
            unsafe { munmap(self.base, self.bytes) }.ok();
        }
    }
}

fn current() -> io::Result<stack_t> {
    let mut stack = stack_t { ss_sp: ptr::null_mut(), ss_flags: 0, ss_size: 0 };
    // SAFETY: reads into a live struct.
    check(unsafe { libc::sigaltstack(ptr::null(), &mut stack) })?;
    Ok(stack)
}

fn change(stack: &stack_t) -> io::Result<()> {
    // SAFETY: the struct describes memory that stays mapped while it is the alternate stack: ours until
    // `drop`, or one that the thread had before.
    check(unsafe { libc::sigaltstack(stack, ptr::null_mut()) })
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On a thread of its own, which starts with what std gives it.
    fn on_a_thread(test: impl FnOnce() + Send + 'static) {
        std::thread::spawn(test).join().unwrap();
    }

    #[test]
    fn a_thread_has_enough_while_it_lives_and_the_former_afterwards() {
        on_a_thread(|| {
            let former = current().unwrap();
            let alt_stack = AltStack::ensure().unwrap();
            assert!(current().unwrap().ss_size >= ENOUGH);
            assert_eq!(current().unwrap().ss_flags & libc::SS_DISABLE, 0);
            drop(alt_stack);
            assert_eq!(current().unwrap().ss_sp, former.ss_sp);
            assert_eq!(current().unwrap().ss_size, former.ss_size);
        });
    }

    #[test]
    fn one_that_is_big_enough_is_kept() {
        on_a_thread(|| {
            let outer = AltStack::ensure().unwrap();
            let place = current().unwrap().ss_sp;
            let inner = AltStack::ensure().unwrap();
            assert_eq!(current().unwrap().ss_sp, place);
            drop(inner);
            assert_eq!(current().unwrap().ss_sp, place);
            drop(outer);
        });
    }

    #[test]
    fn a_thread_without_any_gets_one_and_loses_it() {
        on_a_thread(|| {
            let disabled = stack_t { ss_sp: ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
            let former = current().unwrap();
            change(&disabled).unwrap();
            let alt_stack = AltStack::ensure().unwrap();
            assert_eq!(current().unwrap().ss_flags & libc::SS_DISABLE, 0);
            drop(alt_stack);
            assert_eq!(current().unwrap().ss_flags & libc::SS_DISABLE, libc::SS_DISABLE);
            change(&former).unwrap();
        });
    }
}
