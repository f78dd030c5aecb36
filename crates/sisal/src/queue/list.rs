//! An intrusive first-in-first-out list in plain memory, for one thread at a time.
//!
//! With very many fibers the next one's memory is in no cache. So `pop` keeps an eye [`AHEAD`] places ahead: it walks
//! a cursor there and lets its caller prefetch what the cursor finds.
#![allow(unsafe_code, reason = "an intrusive list reaches its things by pointer")]

use super::link::Linked;
use std::cell::Cell;
use std::ptr::NonNull;

/// How many places ahead of the next thing the prefetching cursor stands.
const AHEAD: usize = 6;

/// See the [module](self).
pub(crate) struct List<T> {
    first: Cell<Option<NonNull<T>>>,
    last: Cell<Option<NonNull<T>>>,
    len: Cell<usize>,
    /// INVARIANT: the thing `cursor_place` places behind `first`, or none if the cursor has not started, or few things are left.
    cursor: Cell<Option<NonNull<T>>>,
    cursor_place: Cell<usize>,
}

// SAFETY: the list holds its things by pointer and shares nothing with other threads; whoever owns it may send it.
unsafe impl<T: Send> Send for List<T> {}

impl<T: Linked> List<T> {
    pub(crate) fn new() -> List<T> {
        List {
            first: Cell::new(None),
            last: Cell::new(None),
            len: Cell::new(0),
            cursor: Cell::new(None),
            cursor_place: Cell::new(0),
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.first.get().is_none()
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len.get()
    }

    /// The things in it, in their order. Nothing may be popped meanwhile.
    pub(crate) fn iter(&self) -> impl Iterator<Item = NonNull<T>> {
        // SAFETY: they were pushed alive and have not been popped.
        std::iter::successors(self.first.get(), |thing| unsafe { thing.as_ref() }.link().get())
    }

    /// Adds `thing` at the end.
    ///
    /// # Safety
    /// `thing` is alive, stands in no queue, and stays alive until it is popped.
    #[inline]
    pub(crate) unsafe fn push(&self, thing: NonNull<T>) {
        // SAFETY: alive by the caller's promise.
        unsafe { thing.as_ref() }.link().set(None);
        match self.last.replace(Some(thing)) {
            // SAFETY: it was pushed alive and has not been popped.
            Some(last) => unsafe { last.as_ref() }.link().set(Some(thing)),
            None => self.first.set(Some(thing)),
        }
        self.len.set(self.len.get() + 1);
    }

    /// Takes the first thing. `prefetch` is called with one that is some places ahead, to bring its memory near.
    #[inline]
    pub(crate) fn pop(&self, prefetch: impl FnOnce(&T)) -> Option<NonNull<T>> {
        let thing = self.first.get()?;
        // SAFETY: it was pushed alive and is popped only now.
        let next = unsafe { thing.as_ref() }.link().get();
        self.first.set(next);
        if next.is_none() {
            self.last.set(None);
        }
        let left = self.len.get() - 1;
        self.len.set(left);
        if left < AHEAD {
            // Few things stay near by themselves (`yield-2`).
            self.cursor.set(None);
        } else {
            self.advance_cursor(prefetch);
        }
        Some(thing)
    }

    /// One thing was popped: the cursor came one place nearer. Moves it one on, or two while it is too near.
    #[inline]
    fn advance_cursor(&self, prefetch: impl FnOnce(&T)) {
        let (mut cursor, mut place) = match (self.cursor.get(), self.cursor_place.get()) {
            (Some(cursor), place) if place > 0 => (cursor, place - 1),
            _ => (self.first.get().unwrap_or_else(|| unreachable!("INVARIANT: some are left")), 0),
        };
        let steps = if place + 1 < AHEAD { 2 } else { 1 };
        for _ in 0..steps {
            // SAFETY: the cursor stands on a thing that is still in the list.
            let Some(next) = unsafe { cursor.as_ref() }.link().get() else { break };
            cursor = next;
            place += 1;
        }
        self.cursor.set(Some(cursor));
        self.cursor_place.set(place);
        // SAFETY: as above.
        prefetch(unsafe { cursor.as_ref() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::link::Link;

    struct Thing(usize, Link<Thing>);

    impl Linked for Thing {
        fn link(&self) -> &Link<Thing> {
            &self.1
        }
    }

    fn push(list: &List<Thing>, number: usize) {
        let thing = NonNull::from(Box::leak(Box::new(Thing(number, Link::new()))));
        // SAFETY: a leaked box, pushed once.
        unsafe { list.push(thing) };
    }

    fn pop(list: &List<Thing>, ahead: &mut Vec<usize>) -> Option<usize> {
        let thing = list.pop(|thing| ahead.push(thing.0))?;
        // SAFETY: made by `push` and popped once.
        Some(unsafe { Box::from_raw(thing.as_ptr()) }.0)
    }

    #[test]
    fn things_come_out_in_the_order_they_went_in_whatever_is_pushed_between() {
        let list = List::new();
        let mut ahead = Vec::new();
        let (mut pushed, mut popped) = (0, 0);
        for round in 0..200usize {
            for _ in 0..(round * 7) % 11 {
                push(&list, pushed);
                pushed += 1;
            }
            for _ in 0..(round * 5) % 9 {
                match pop(&list, &mut ahead) {
                    Some(number) => {
                        assert_eq!(number, popped);
                        popped += 1;
                    }
                    None => assert_eq!(popped, pushed),
                }
            }
            assert_eq!(list.len(), pushed - popped);
        }
        while pop(&list, &mut ahead).is_some() {
            popped += 1;
        }
        assert_eq!(popped, pushed);
        assert!(list.is_empty());
    }

    #[test]
    fn the_cursor_runs_ahead_of_what_is_popped_and_meets_everything_far_enough_back() {
        let list = List::new();
        (0..100).for_each(|n| push(&list, n));
        let mut ahead = Vec::new();
        for n in 0..100 {
            assert_eq!(pop(&list, &mut ahead), Some(n));
            if let Some(&at) = ahead.last().filter(|_| (10..80).contains(&n)) {
                assert_eq!(at, n + 1 + AHEAD);
            }
        }
    }
}
