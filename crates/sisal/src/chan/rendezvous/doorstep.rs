//! Where one who has nothing else to do stands for a moment before it waits, to be met in the line of memory that whoever comes needs anyhow.
//!
//! A wait is made of a record in the waiter's frame, of its state, and of a place for the value: three lines that change hands when the other side
//! runs on another worker. Here it is one (`pingpong-cross`).
//!
//! # Protocol
//! The *word* says what stands here. All steps but the last are taken under the channel's lock.
//!
//! 1. Vacant → Awaited: a receiver has found nobody, and looks at the word for a moment. Vacant → Offered: a sender, with its value in the *place*.
//! 2. Awaited → Given: a sender has put a value into the place. Offered → Taken: a receiver has moved it out. Either → Dismissed: the channel was closed.
//! 3. Awaited → Vacant, Offered → Vacant: the moment is over, and who stood there goes to wait as everybody does, in the same critical section and before
//!    all who wait on its side. A value that was offered is still its own.
//! 4. Given, Taken, Dismissed → Vacant: who stood there has seen it, and has moved out what was given. Without the lock.
//!
//! The place belongs to whoever has to take the next step: in Given to the one who stood there, else to whoever has the lock.
//! Why nobody is met twice, and nobody missed: 2 and 3 both need the lock, and are both taken from Awaited or Offered only. Whoever stands here came when
//! nobody waited on its side, so it is met before those who wait. A cancellation is heard before and after the moment.
#![allow(unsafe_code, reason = "values are moved by way of a place that both sides reach")]

use crate::prim::atomic::{AtomicU32, Ordering};
use crate::prim::cell::UnsafeCell;
use std::mem::MaybeUninit;

const VACANT: u32 = 0;
const AWAITED: u32 = 1;
const OFFERED: u32 = 2;
const GIVEN: u32 = 3;
const TAKEN: u32 = 4;
const DISMISSED: u32 = 5;

/// Room for small values only: the place shares a line with the lock.
type Place = [MaybeUninit<u64>; 2];

/// See the [module](self).
pub(super) struct Doorstep {
    word: AtomicU32,
    place: UnsafeCell<Place>,
}

// SAFETY: the place is reached by one at a time, as the protocol says.
unsafe impl Sync for Doorstep {}
// SAFETY: what lies in it for longer than a call is Given, or the copy of what is Offered: then somebody in such a call borrows the channel.
unsafe impl Send for Doorstep {}

/// How it ended for one who stood there.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Met {
    /// The value has gone over.
    Yes,
    /// The channel was closed.
    Dismissed,
    /// Not yet.
    No,
}

impl Doorstep {
    pub(super) fn new() -> Doorstep {
        Doorstep { word: AtomicU32::new(VACANT), place: UnsafeCell::new([MaybeUninit::uninit(); 2]) }
    }

    /// Whether values of this type have room.
    pub(super) const fn fits<T>() -> bool {
        size_of::<T>() <= size_of::<Place>() && align_of::<T>() <= align_of::<Place>()
    }

    #[inline(always)]
    fn word(&self) -> u32 {
        // ORDERING: Acquire pairs with the Release in `set`: what was put into the place is seen, and what was moved out has been.
        self.word.load(Ordering::Acquire)
    }

    #[inline(always)]
    fn set(&self, word: u32) {
        // ORDERING: Release pairs with the Acquire in `word`.
        self.word.store(word, Ordering::Release);
    }

    /// # Safety
    /// The place is the caller's, and `T` [fits](Self::fits).
    #[inline(always)]
    unsafe fn put<T>(&self, from: *const T) {
        // SAFETY: the caller's promise; `from` holds a value, as that of whoever calls its callers says.
        self.place.with_mut(|place| unsafe { place.cast::<T>().write(from.read()) });
    }

    /// # Safety
    /// As for [`put`](Self::put), and the place holds a `T`.
    #[inline(always)]
    unsafe fn take<T>(&self, into: *mut T) {
        // SAFETY: the caller's promise.
        self.place.with(|place| unsafe { into.write(place.cast::<T>().read()) });
    }

    /// Whether a receiver stands here. Under the lock.
    #[inline(always)]
    pub(super) fn is_awaited(&self) -> bool {
        self.word() == AWAITED
    }

    /// Whether a sender stands here. Under the lock.
    #[inline(always)]
    pub(super) fn is_offered(&self) -> bool {
        self.word() == OFFERED
    }

    /// Whether there is room to stand. Under the lock.
    #[inline(always)]
    pub(super) fn is_vacant(&self) -> bool {
        self.word() == VACANT
    }

    /// 2, by a sender, if a receiver stands here.
    ///
    /// # Safety
    /// The lock is held, and `from` holds a value, which is gone if this is true.
    #[inline(always)]
    pub(super) unsafe fn give<T>(&self, from: *const T) -> bool {
        if !Self::fits::<T>() || !self.is_awaited() {
            return false;
        }
        // SAFETY: under the lock, and nobody has given yet.
        unsafe { self.put(from) };
        self.set(GIVEN);
        true
    }

    /// 2, by a receiver, if a sender stands here.
    ///
    /// # Safety
    /// The lock is held, and `into` can be written; it holds a value if this is true.
    #[inline(always)]
    pub(super) unsafe fn accept<T>(&self, into: *mut T) -> bool {
        if !Self::fits::<T>() || !self.is_offered() {
            return false;
        }
        // SAFETY: under the lock, and nobody has taken it yet.
        unsafe { self.take(into) };
        self.set(TAKEN);
        true
    }

    /// 2, at the close. Under the lock.
    pub(super) fn dismiss(&self) {
        if self.is_awaited() || self.is_offered() {
            self.set(DISMISSED);
        }
    }

    /// 1, by a receiver. Under the lock, if it [is vacant](Self::is_vacant).
    #[inline(always)]
    pub(super) fn await_value(&self) {
        debug_assert_eq!(self.word(), VACANT, "INVARIANT: one at a time");
        self.set(AWAITED);
    }

    /// 1, by a sender. The value stays the sender's own until it is taken.
    ///
    /// # Safety
    /// The lock is held, the doorstep is vacant, `from` holds a value, and `T` [fits](Self::fits).
    #[inline(always)]
    pub(super) unsafe fn offer<T>(&self, from: *const T) {
        debug_assert_eq!(self.word(), VACANT, "INVARIANT: one at a time");
        // SAFETY: the caller's promise.
        unsafe { self.put(from) };
        self.set(OFFERED);
    }

    /// Whether one who stands here need not look any longer.
    #[inline(always)]
    pub(super) fn is_over(&self) -> bool {
        // ORDERING: looked at again before anything is done.
        !matches!(self.word.load(Ordering::Relaxed), AWAITED | OFFERED)
    }

    /// 4, or nothing.
    ///
    /// # Safety
    /// By the sender that has [offered](Self::offer).
    #[inline(always)]
    pub(super) unsafe fn ask_sender(&self) -> Met {
        let met = match self.word() {
            TAKEN => Met::Yes,
            DISMISSED => Met::Dismissed,
            _ => return Met::No,
        };
        self.set(VACANT);
        met
    }

    /// 4, or nothing.
    ///
    /// # Safety
    /// By the receiver that stands here, whose channel is one of `T`, which fits; `into` can be written, and holds a value if one was met.
    #[inline(always)]
    pub(super) unsafe fn ask_receiver<T>(&self, into: *mut T) -> Met {
        let met = match self.word() {
            GIVEN => {
                // SAFETY: it is Given to the caller.
                unsafe { self.take(into) };
                Met::Yes
            }
            DISMISSED => Met::Dismissed,
            _ => return Met::No,
        };
        self.set(VACANT);
        met
    }

    /// 3. Under the lock, by the one who stands here and has not been met.
    pub(super) fn leave(&self) {
        debug_assert!(self.is_awaited() || self.is_offered(), "INVARIANT: who leaves stands here");
        self.set(VACANT);
    }
}
