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

#[cfg(all(test, loom))]
mod loom_models {
    use super::*;
    use crate::prim::lock::Lock;
    use loom::sync::Arc;
    use std::collections::HashSet;
    use std::mem::ManuallyDrop;
    use std::sync::Mutex;

    /// Something that has to be moved once.
    type Item = Box<usize>;

    /// As in the channel, with nobody who waits.
    struct Channel {
        doorstep: Doorstep,
        is_closed: Lock<bool>,
    }

    /// What came of standing there, and of coming to one who stands.
    #[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
    enum Came {
        Over,
        /// What was seen only when the moment was over, and the lock was had.
        OverLate,
        Closed,
        ClosedLate,
        ToNothing,
    }

    use Came::{Closed, ClosedLate, Over, OverLate, ToNothing};

    impl Channel {
        fn new() -> Arc<Channel> {
            Arc::new(Channel { doorstep: Doorstep::new(), is_closed: Lock::new(false) })
        }

        /// A moment of so many looks.
        fn stand(&self, looks: usize, ask: impl Fn() -> Met) -> Came {
            (0..looks).any(|_| {
                loom::thread::yield_now();
                self.doorstep.is_over()
            });
            match ask() {
                Met::Yes => return Over,
                Met::Dismissed => return Closed,
                Met::No => {}
            }
            let _guard = self.is_closed.lock();
            match ask() {
                Met::Yes => OverLate,
                Met::Dismissed => ClosedLate,
                Met::No => {
                    self.doorstep.leave();
                    ToNothing
                }
            }
        }

        /// Stands there to receive, if there is room and it is open.
        fn stand_to_receive(&self, looks: usize) -> (Came, Option<Item>) {
            let is_closed = self.is_closed.lock();
            if *is_closed || !self.doorstep.is_vacant() {
                return (ToNothing, None);
            }
            self.doorstep.await_value();
            drop(is_closed);
            let mut item = MaybeUninit::<Item>::uninit();
            let into = item.as_mut_ptr();
            // SAFETY: it is this receiver that stands there.
            let came = self.stand(looks, || unsafe { self.doorstep.ask_receiver(into) });
            // SAFETY: it was given.
            let item = matches!(came, Over | OverLate).then(|| unsafe { item.assume_init() });
            (came, item)
        }

        /// Stands there to send, if there is room and it is open; the item comes back unless it was taken.
        fn stand_to_send(&self, looks: usize, item: usize) -> (Came, Option<Item>) {
            let item = ManuallyDrop::new(Box::new(item));
            let is_closed = self.is_closed.lock();
            if *is_closed || !self.doorstep.is_vacant() {
                return (ToNothing, Some(ManuallyDrop::into_inner(item)));
            }
            // SAFETY: under the lock, it is vacant, and boxes fit.
            unsafe { self.doorstep.offer(&raw const *item) };
            drop(is_closed);
            // SAFETY: it is this sender that stands there.
            let came = self.stand(looks, || unsafe { self.doorstep.ask_sender() });
            let is_left = !matches!(came, Over | OverLate);
            (came, is_left.then(|| ManuallyDrop::into_inner(item)))
        }

        /// Gives the item to one who stands there; else it comes back.
        fn give(&self, item: usize) -> Option<Item> {
            let item = ManuallyDrop::new(Box::new(item));
            let _guard = self.is_closed.lock();
            // SAFETY: under the lock, and the item is gone if it is given.
            let is_given = unsafe { self.doorstep.give(&raw const *item) };
            (!is_given).then(|| ManuallyDrop::into_inner(item))
        }

        /// Takes the item of one who stands there.
        fn accept(&self) -> Option<Item> {
            let mut item = MaybeUninit::<Item>::uninit();
            let _guard = self.is_closed.lock();
            // SAFETY: under the lock, and it holds an item if one is taken.
            unsafe { self.doorstep.accept(item.as_mut_ptr()).then(|| item.assume_init()) }
        }

        fn close(&self) {
            let mut is_closed = self.is_closed.lock();
            *is_closed = true;
            self.doorstep.dismiss();
        }

        fn is_vacant(&self) -> bool {
            let _guard = self.is_closed.lock();
            self.doorstep.is_vacant()
        }
    }

    /// How long the moments are: over at once, and after one look.
    const LOOKS: [usize; 2] = [0, 1];

    fn model<O: Eq + std::hash::Hash + std::fmt::Debug + Send + 'static>(
        run: fn(usize) -> O,
        expected: impl IntoIterator<Item = O>,
    ) {
        let seen: &'static Mutex<HashSet<O>> = Box::leak(Box::default());
        for looks in LOOKS {
            loom::model(move || {
                let outcome = run(looks);
                seen.lock().unwrap().insert(outcome);
            });
        }
        assert_eq!(*seen.lock().unwrap(), expected.into_iter().collect::<HashSet<O>>());
    }

    /// A receiver stands there, and a sender comes: the item goes over, or comes back. Reached: too early, in time, when the moment was over, too late.
    #[test]
    fn loom_doorstep_gives_an_item_to_one_who_awaits_it_or_back() {
        let run = |looks| {
            let channel = Channel::new();
            let sender = {
                let channel = channel.clone();
                loom::thread::spawn(move || channel.give(7))
            };
            let (came, item) = channel.stand_to_receive(looks);
            let back = sender.join().unwrap();
            assert!(item.is_some() != back.is_some() && item.or(back) == Some(Box::new(7)));
            assert!(channel.is_vacant());
            came
        };
        model(run, [Over, OverLate, ToNothing]);
    }

    /// A sender stands there, and a receiver comes: the item goes over, or stays. Reached: as above.
    #[test]
    fn loom_doorstep_lets_an_item_be_taken_or_keeps_it() {
        let run = |looks| {
            let channel = Channel::new();
            let receiver = {
                let channel = channel.clone();
                loom::thread::spawn(move || channel.accept())
            };
            let (came, kept) = channel.stand_to_send(looks, 7);
            let item = receiver.join().unwrap();
            assert!(item.is_some() != kept.is_some() && item.or(kept) == Some(Box::new(7)));
            assert!(channel.is_vacant());
            came
        };
        model(run, [Over, OverLate, ToNothing]);
    }

    /// A receiver stands there, one sends and one closes: what was given is received, whoever was first. Reached: each, in time and late.
    #[test]
    fn loom_doorstep_is_closed_to_one_who_receives_exactly() {
        let run = |looks| {
            let channel = Channel::new();
            let others = {
                let (one, another) = (channel.clone(), channel.clone());
                let sender = loom::thread::spawn(move || one.give(7));
                (sender, loom::thread::spawn(move || another.close()))
            };
            let (came, item) = channel.stand_to_receive(looks);
            let back = others.0.join().unwrap();
            others.1.join().unwrap();
            assert!(item.is_some() != back.is_some() && item.or(back) == Some(Box::new(7)));
            assert!(channel.is_vacant());
            came
        };
        model(run, [Over, OverLate, Closed, ClosedLate, ToNothing]);
    }

    /// A sender stands there, one receives and one closes: as above.
    #[test]
    fn loom_doorstep_is_closed_to_one_who_sends_exactly() {
        let run = |looks| {
            let channel = Channel::new();
            let others = {
                let (one, another) = (channel.clone(), channel.clone());
                let receiver = loom::thread::spawn(move || one.accept());
                (receiver, loom::thread::spawn(move || another.close()))
            };
            let (came, kept) = channel.stand_to_send(looks, 7);
            let item = others.0.join().unwrap();
            others.1.join().unwrap();
            assert!(item.is_some() != kept.is_some() && item.or(kept) == Some(Box::new(7)));
            assert!(channel.is_vacant());
            came
        };
        model(run, [Over, OverLate, Closed, ClosedLate, ToNothing]);
    }

    /// One who was met leaves without the lock, and the other stands there next, with an item of its own, which the first takes or not. Reached: nobody was
    /// met; the first was; and then the second, too.
    #[test]
    fn loom_doorstep_is_ready_for_the_next_when_one_who_was_met_has_left() {
        let run = |looks| {
            let channel = Channel::new();
            let other = {
                let channel = channel.clone();
                loom::thread::spawn(move || {
                    let back = channel.give(1);
                    (back.is_none(), channel.stand_to_send(1, 2))
                })
            };
            let (_, first) = channel.stand_to_receive(looks);
            let second = first.is_some().then(|| channel.accept()).flatten();
            let (is_given, (_, kept)) = other.join().unwrap();
            assert_eq!(first.as_deref(), is_given.then_some(&1));
            assert!(second.is_some() != kept.is_some());
            assert!(second.iter().chain(&kept).all(|item| **item == 2));
            assert!(channel.is_vacant());
            (is_given, second.is_some())
        };
        model(run, [(false, false), (true, false), (true, true)]);
    }
}
