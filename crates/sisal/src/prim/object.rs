//! What is waited for: its number, and how to look at it.
//!
//! A waiter writes down an [`Object`] with its wait. Whoever looks at a waiter that is still may look at the object too: it is borrowed
//! by the wait, and so alive. A look reads atomics and what never changes, and takes no lock.
#![allow(unsafe_code, reason = "objects are looked at through pointers, while a waiter borrows them")]

use super::id::FiberId;
use super::reason::Reason;
use std::ptr;

/// Something that can be waited for.
pub(crate) trait Watched {
    /// What can be seen of it. Called from any thread, while somebody waits for it.
    fn sight(&self) -> Sight;
}

/// See the [module](self).
#[derive(Copy, Clone, Debug)]
pub(crate) struct Object {
    pub(crate) data: *const (),
    pub(crate) look: Look,
}

pub(crate) type Look = unsafe fn(*const ()) -> Sight;

impl Object {
    /// Nothing in particular.
    pub(crate) const NONE: Object = Object { data: ptr::null(), look: see_nothing };

    #[inline]
    pub(crate) fn of<T: Watched>(object: &T) -> Object {
        Object { data: ptr::from_ref(object).cast(), look: see::<T> }
    }

    /// # Safety
    /// Somebody waits for it, and goes on to until this returns.
    pub(crate) unsafe fn look(self) -> Sight {
        // SAFETY: as the caller promises, it is there.
        unsafe { (self.look)(self.data) }
    }
}

unsafe fn see_nothing(_data: *const ()) -> Sight {
    Sight::default()
}

unsafe fn see<T: Watched>(data: *const ()) -> Sight {
    // SAFETY: made from a reference to a `T` by `of`, which is alive, as the caller promises.
    unsafe { &*data.cast::<T>() }.sight()
}

/// What can be seen of an object. Fields that say nothing are none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sight {
    /// Empty if there is nothing to be seen.
    pub(crate) kind: &'static str,
    pub(crate) capacity: Option<usize>,
    pub(crate) length: Option<usize>,
    pub(crate) closed: Option<bool>,
    /// Who has it, and will give it back.
    pub(crate) owner: Option<Owner>,
    /// The fiber that it is, and its runtime, as a number that tells it from others.
    pub(crate) fiber: Option<(usize, FiberId)>,
    /// Several things, of which the first to come counts, and what each is waited for.
    pub(crate) parts: Vec<(Reason, Object)>,
    /// Whether something outside of the runtime can end the wait.
    pub(crate) is_outside: bool,
}

impl Sight {
    pub(crate) fn new(kind: &'static str) -> Sight {
        Sight { kind, ..Sight::default() }
    }

    /// A channel that is open.
    pub(crate) fn channel(capacity: Option<usize>, length: usize) -> Sight {
        Sight { capacity, length: Some(length), closed: Some(false), ..Sight::new("channel") }
    }
}

/// A fiber or a thread.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// A fiber of the runtime with this number.
    Fiber { runtime: u32, id: FiberId },
    /// By its number.
    Thread(u32),
}

/// How many bits of a word are a runtime's number: far more than a process makes.
const RUNTIME_BITS: u32 = 20;

impl Owner {
    /// As a word that is not 0.
    #[inline]
    pub(crate) fn to_word(self) -> u64 {
        match self {
            Owner::Fiber { runtime, id } => {
                ((id.0 + 1) << RUNTIME_BITS | u64::from(runtime) & ((1 << RUNTIME_BITS) - 1)) << 1
            }
            Owner::Thread(number) => u64::from(number) * 2 + 1,
        }
    }

    pub(crate) fn from_word(word: u64) -> Option<Owner> {
        match (word, word % 2) {
            (0, _) => None,
            (_, 0) => {
                let (id, runtime) = (word >> 1 >> RUNTIME_BITS, word >> 1 & ((1 << RUNTIME_BITS) - 1));
                Some(Owner::Fiber { runtime: runtime as u32, id: FiberId(id.wrapping_sub(1)) })
            }
            _ => Some(Owner::Thread((word / 2) as u32)),
        }
    }
}

/// Who has taken something last. Written by whoever takes it, and read by those who look.
#[derive(Debug)]
pub(crate) struct OwnerWord(std::sync::atomic::AtomicU64);

impl OwnerWord {
    pub(crate) const fn new() -> OwnerWord {
        OwnerWord(std::sync::atomic::AtomicU64::new(0))
    }

    #[inline]
    pub(crate) fn set(&self, owner: Owner) {
        self.0.store(owner.to_word(), std::sync::atomic::Ordering::Relaxed);
    }

    /// Nobody has it, or whoever does has not said so yet.
    pub(crate) fn clear(&self) {
        self.0.store(0, std::sync::atomic::Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> Option<Owner> {
        Owner::from_word(self.0.load(std::sync::atomic::Ordering::Relaxed))
    }
}

/// A number that is changed under a lock, and read without it by those who look.
#[derive(Debug)]
pub(crate) struct Tally(std::sync::atomic::AtomicUsize);

impl Tally {
    pub(crate) const fn new(number: usize) -> Tally {
        Tally(std::sync::atomic::AtomicUsize::new(number))
    }

    #[inline]
    pub(crate) fn get(&self) -> usize {
        self.0.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// The caller has the lock.
    #[inline]
    pub(crate) fn set(&self, number: usize) {
        self.0.store(number, std::sync::atomic::Ordering::Relaxed);
    }
}

#[cfg(all(test, not(modelled)))]
mod tests {
    use super::*;

    #[test]
    fn owners_are_found_again_in_their_words() {
        let fiber = |runtime, id| Owner::Fiber { runtime, id: FiberId(id) };
        for owner in [fiber(1, 0), fiber(3, 7), fiber(0, 0), Owner::Thread(1), Owner::Thread(u32::MAX)] {
            let word = OwnerWord::new();
            assert_eq!(word.get(), None);
            word.set(owner);
            assert_eq!(word.get(), Some(owner));
        }
    }
}
