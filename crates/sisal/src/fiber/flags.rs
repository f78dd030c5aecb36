//! Small things that are known of a fiber, in one byte.

use std::cell::Cell;

const PINNED: u8 = 1;
const CANCELLABLE: u8 = 2;
const LIMITED: u8 = 16;
const EXTERNAL: u8 = 4;
const UNCHECKED: u8 = 8;
const JOB: u8 = 32;
const STAYS: u8 = 64;
const HOG: u8 = 128;
/// Of one that has started, or must start on its worker; the one above is only of others.
const LENDS: u8 = HOG;

/// See the [module](self).
pub(crate) struct Flags(Cell<u8>);

/// What can end the waits of a fiber.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outlook {
    /// What the runtime knows of.
    Inside,
    /// Also something that it does not know of.
    External,
    /// Whatever it is: they are meant to be.
    Unchecked,
}

impl Flags {
    #[inline]
    pub(crate) fn new(pinned: bool) -> Flags {
        Flags(Cell::new(u8::from(pinned) * PINNED))
    }

    /// Whether it must start on the worker whose inbox or ready list holds it.
    #[inline]
    pub(crate) fn is_pinned(&self) -> bool {
        self.0.get() & PINNED != 0
    }

    /// Whether it runs the half of a fork, or another part of what a fiber computes that waits for it.
    #[inline]
    pub(crate) fn is_job(&self) -> bool {
        self.0.get() & JOB != 0
    }

    /// It runs such a part.
    pub(crate) fn set_job(&self) {
        self.0.set(self.0.get() | JOB);
    }

    /// Whether it will compute for long, and is to start where nobody waits. Of one that has not started.
    #[inline]
    pub(crate) fn is_hog(&self) -> bool {
        self.0.get() & (HOG | PINNED) == HOG
    }

    pub(crate) fn set_hog(&self) {
        self.0.set(self.0.get() | HOG);
    }

    /// It starts.
    pub(crate) fn unset_hog(&self) {
        self.0.set(self.0.get() & !HOG);
    }

    /// Of one that has started: whether it may have given on what can't leave its thread, such as the guard of a lock: to one that it has spawned
    /// there, or that was spawned there with it.
    pub(crate) fn lends(&self) -> bool {
        self.0.get() & LENDS != 0
    }

    pub(crate) fn set_lends(&self) {
        self.0.set(self.0.get() | LENDS);
    }

    /// Whether it must not give way, but where it waits.
    pub(crate) fn stays(&self) -> bool {
        self.0.get() & STAYS != 0
    }

    #[cfg(feature = "tokio")]
    pub(crate) fn set_stays(&self, stays: bool) {
        self.0.set((self.0.get() & !STAYS) | (u8::from(stays) * STAYS));
    }

    /// Whether a cancellation may end the wait it is parked by.
    #[inline]
    pub(crate) fn is_cancellable(&self) -> bool {
        self.0.get() & CANCELLABLE != 0
    }

    /// Whether the wait it is parked by ends by itself.
    pub(crate) fn is_limited(&self) -> bool {
        self.0.get() & LIMITED != 0
    }

    /// It is about to be parked by a wait.
    #[inline]
    pub(crate) fn set_wait(&self, cancellable: bool, limited: bool) {
        let bits = (u8::from(cancellable) * CANCELLABLE) | (u8::from(limited) * LIMITED);
        self.0.set((self.0.get() & !(CANCELLABLE | LIMITED)) | bits);
    }

    pub(crate) fn outlook(&self) -> Outlook {
        match self.0.get() & (EXTERNAL | UNCHECKED) {
            0 => Outlook::Inside,
            EXTERNAL => Outlook::External,
            _ => Outlook::Unchecked,
        }
    }

    pub(crate) fn set_outlook(&self, outlook: Outlook) {
        let bits = match outlook {
            Outlook::Inside => 0,
            Outlook::External => EXTERNAL,
            Outlook::Unchecked => UNCHECKED,
        };
        self.0.set((self.0.get() & !(EXTERNAL | UNCHECKED)) | bits);
    }
}
