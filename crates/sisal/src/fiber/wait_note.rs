//! What a fiber waits for. Written by the fiber, read by anyone who wants to know.
#![allow(unsafe_code, reason = "places and functions are kept as pointers, in atomics")]

use crate::prim::atomic::{AtomicPtr, AtomicU64, Ordering};
use crate::prim::clock::Moment;
use crate::prim::object::{Look, Object};
use crate::prim::reason::{Place, Reason};
use std::panic::Location;
use std::ptr;

/// The reason is in the low bits of `since`, whose own low bits are below what a clock can tell.
const REASON_BITS: u32 = 8;
const REASON_MASK: u64 = (1 << REASON_BITS) - 1;

/// See the [module](self).
pub(crate) struct WaitNote {
    /// Since when, and why; no reason if it does not wait.
    since: AtomicU64,
    place: AtomicPtr<Location<'static>>,
    object: AtomicPtr<()>,
    /// How to look at the object: a [`Look`].
    look: AtomicPtr<()>,
}

/// What was found in a note.
#[derive(Copy, Clone)]
pub(crate) struct Noted {
    pub(crate) reason: Reason,
    pub(crate) place: Place,
    /// To the next quarter of a microsecond.
    pub(crate) since: Moment,
}

impl WaitNote {
    pub(crate) fn new() -> WaitNote {
        WaitNote {
            since: AtomicU64::new(Reason::None as u64),
            place: AtomicPtr::new(ptr::null_mut()),
            object: AtomicPtr::new(ptr::null_mut()),
            look: AtomicPtr::new(ptr::null_mut()),
        }
    }

    #[inline]
    pub(crate) fn write(&self, reason: Reason, object: Object, place: Place, since: Moment) {
        // ORDERING: Relaxed throughout; a reader of a moving fiber gets a guess, and a parked one is still.
        self.object.store(object.data.cast_mut(), Ordering::Relaxed);
        self.look.store(object.look as *mut (), Ordering::Relaxed);
        self.place.store(ptr::from_ref(place).cast_mut(), Ordering::Relaxed);
        self.since.store(since.0 & !REASON_MASK | reason as u64, Ordering::Relaxed);
    }

    /// Whether it waits for any of several things. For its home worker.
    #[inline]
    pub(crate) fn is_for_any(&self) -> bool {
        self.since.load(Ordering::Relaxed) & REASON_MASK == Reason::Select as u64
    }

    /// Its waker notes when it made the fiber ready.
    pub(crate) fn mark_ready(&self, now: Moment) {
        // ORDERING: Relaxed; the unpark that comes next carries this to the fiber.
        self.since.store(now.0 & !REASON_MASK | Reason::Ready as u64, Ordering::Relaxed);
    }

    /// The fiber waits no more. Tells when it was made ready, if that was noted.
    #[inline]
    pub(crate) fn clear(&self) -> Option<Moment> {
        let since = self.since.load(Ordering::Relaxed);
        self.since.store(Reason::None as u64, Ordering::Relaxed);
        (since & REASON_MASK == Reason::Ready as u64).then_some(Moment(since & !REASON_MASK))
    }

    /// Why and where it waits, on what, and since when, if it does.
    pub(crate) fn read(&self) -> Option<Noted> {
        let since = self.since.load(Ordering::Relaxed);
        let reason = Reason::from_u8((since & REASON_MASK) as u8);
        if reason == Reason::None {
            return None;
        }
        // SAFETY: the pointer is null or was made from a reference that lives for ever.
        let place = unsafe { self.place.load(Ordering::Relaxed).as_ref() }?;
        Some(Noted { reason, place, since: Moment(since & !REASON_MASK) })
    }

    /// The object of a fiber that waits and is still: as long as it is, the object can be looked at.
    pub(crate) fn object(&self) -> Option<Object> {
        let look = self.look.load(Ordering::Relaxed);
        if look.is_null() {
            return None;
        }
        // SAFETY: stored by `write`, from a `Look`.
        let look = unsafe { std::mem::transmute::<*mut (), Look>(look) };
        Some(Object { data: self.object.load(Ordering::Relaxed), look })
    }
}
