//! Words that many threads change by exchanges, and one thread alone by a load and a store.
//!
//! Most rings are used by fibers of one worker, and there an exchange is most of what a send or receive costs (`chan-4-4`). So as long as one
//! thread alone has to do with the words, it changes them under a lock that is [biased](super) to it. The first other to come,
//! whether to change them or to see what they are, makes them *shared*, for good: from then on everybody exchanges.
//!
//! # Protocol
//! `have_come`: 0 at first, and 1 when the words are shared. It is set under the lock, by whoever finds that another thread has had that before, and then the lock is
//! nobody's own any more: whose own it is need not look at `have_come`.
//! - *Change a word*: if they are shared, by an exchange. Else take the lock. If it was the calling thread's own, or nobody else has come,
//!   compare, store, and give it back. If others have come, set `have_come`, and exchange.
//! - *Alone*: if the lock is the calling thread's own, [take it](Lock::lock_own) for several such changes and whatever belongs to them.
//! - *See*, before something is decided by what is in them: if they are not shared, and the lock is not the calling thread's own, take it, and set `have_come`
//!   likewise. What a store of their user has written before is seen then, as what an exchange has written would be.
//!
//! Why no change is lost: as long as words are not shared they are changed under the lock, and when `have_come` is set nobody is in the middle of that, since it is
//! set under the lock. Whoever takes the lock later finds it set. An owner that takes its own lock without looking again has not lost
//! it, so nobody else has come: who takes the bias away waits until the owner has given the lock back, and it is never biased again. (Another may have had the lock
//! before for something else, or have changed a word before it became the owner's, and have done since what belongs to that: this is for the user to order.)
//!
//! Other changes of such words, which their user makes under the lock, may be exchanges at any time: they are told apart by the lock from changes
//! by a store, and by being exchanges from the rest.

use super::super::atomic::{AtomicU8, AtomicUsize, Ordering};
use super::super::const_fn;
use super::super::thread_number;
use super::{Lock, REVOKED};

/// Whether others than one thread have had to do with words. See the [module](self).
pub(crate) struct Others {
    have_come: AtomicU8,
}

impl Others {
    const_fn! {
        pub(crate) fn none() -> Others {
            Others { have_come: AtomicU8::new(0) }
        }
    }

    /// As far as can be seen; if so, for good.
    #[inline(always)]
    fn have_come(&self) -> bool {
        // ORDERING: Acquire pairs with the Release in `Lock::meet`: changes by a store came before.
        self.have_come.load(Ordering::Acquire) != 0
    }
}

impl<T> Lock<T> {
    /// Changes `word` from `from` to `to`, or says what it is instead.
    ///
    /// An exchange with Acquire and Release, or what amounts to one.
    #[inline(always)]
    pub(crate) fn change(&self, others: &Others, word: &AtomicUsize, from: usize, to: usize) -> Result<(), usize> {
        if others.have_come() {
            // ORDERING: for the user's partners.
            return word.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed).map(drop);
        }
        if !self.try_own(thread_number::current()) {
            return self.change_together(others, word, from, to);
        }
        let result = change_alone(word, from, to);
        // ORDERING: Release pairs with the Acquire in `revoke`.
        self.busy.store(0, Ordering::Release);
        result
    }

    /// Where the lock is not the calling thread's own.
    #[cold]
    #[inline(never)]
    fn change_together(&self, others: &Others, word: &AtomicUsize, from: usize, to: usize) -> Result<(), usize> {
        self.meet(others, || {
            if others.have_come() {
                // ORDERING: for the user's partners.
                word.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed).map(drop)
            } else {
                change_alone(word, from, to)
            }
        })
    }

    /// The calling thread is about to decide something by what the words are.
    #[inline]
    pub(crate) fn see(&self, others: &Others) {
        if !others.have_come() && self.owner.load(Ordering::Relaxed) != thread_number::current() {
            self.see_together(others);
        }
    }

    #[cold]
    #[inline(never)]
    fn see_together(&self, others: &Others) {
        self.meet(others, || ());
    }

    /// Calls `f` with the lock held, like everybody else; others have come if that is so.
    fn meet<R>(&self, others: &Others, f: impl FnOnce() -> R) -> R {
        if self.lock_shared(thread_number::current()) {
            // ORDERING: Release pairs with the Acquire in `have_come`.
            others.have_come.store(1, Ordering::Release);
            self.owner.store(REVOKED, Ordering::Relaxed);
        }
        let result = f();
        // ORDERING: Release pairs with the Acquire in `try_hold`.
        self.held.store(0, Ordering::Release);
        result
    }
}

/// For whoever has the lock, while nobody else may change the word.
#[inline(always)]
fn change_alone(word: &AtomicUsize, from: usize, to: usize) -> Result<(), usize> {
    let now = word.load(Ordering::Relaxed);
    if now != from {
        return Err(now);
    }
    // ORDERING: Release for the user's partners, as the exchange would be.
    word.store(to, Ordering::Release);
    Ok(())
}

#[cfg(all(test, loom))]
mod loom_models {
    use super::*;
    use loom::sync::Arc;
    use std::collections::HashSet;
    use std::sync::Mutex;

    struct Words {
        lock: Lock<()>,
        others: Others,
        word: AtomicUsize,
    }

    impl Words {
        fn new() -> Arc<Words> {
            Arc::new(Words { lock: Lock::new(()), others: Others::none(), word: AtomicUsize::new(0) })
        }

        /// Adds one; what was there before.
        fn add(&self) -> usize {
            let mut found = self.word.load(Ordering::Relaxed);
            while let Err(now) = self.lock.change(&self.others, &self.word, found, found + 1) {
                found = now;
            }
            found
        }
    }

    /// Three threads change a word under the lock of the first: no change is lost. Reached: all orders.
    #[test]
    fn loom_words_of_one_thread_lose_no_change_when_others_come() {
        let seen: &'static Mutex<HashSet<[usize; 3]>> = Box::leak(Box::default());
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(2);
        model.check(move || {
            let words = Words::new();
            words.lock.owner.store(thread_number::current(), Ordering::Relaxed);
            let others = [(); 2].map(|()| {
                let words = words.clone();
                loom::thread::spawn(move || words.add())
            });
            let first = words.add();
            let [second, third] = others.map(|other| other.join().unwrap());
            let mut turns = [first, second, third];
            seen.lock().unwrap().insert(turns);
            turns.sort_unstable();
            assert_eq!(turns, [0, 1, 2]);
            assert!(words.others.have_come());
        });
        assert_eq!(seen.lock().unwrap().len(), 6);
    }

    /// Two threads change a word twice each, under a lock that is nobody's: no change is lost. Reached: all orders.
    #[test]
    fn loom_words_of_nobody_yet_lose_no_change() {
        let seen: &'static Mutex<HashSet<[usize; 4]>> = Box::leak(Box::default());
        loom::model(move || {
            let words = Words::new();
            let other = {
                let words = words.clone();
                loom::thread::spawn(move || [words.add(), words.add()])
            };
            let [first, second] = [words.add(), words.add()];
            let [third, fourth] = other.join().unwrap();
            let mut turns = [first, second, third, fourth];
            seen.lock().unwrap().insert(turns);
            turns.sort_unstable();
            assert_eq!(turns, [0, 1, 2, 3]);
            assert!(words.others.have_come());
        });
        assert_eq!(seen.lock().unwrap().len(), 6);
    }

    /// One changes a word and then looks whether another sleeps; that one says that it sleeps, sees to it that it does not miss what was changed, and looks. At
    /// least one finds out. Reached: one, the other, and both.
    fn at_least_one_finds_out(is_own: bool) {
        let seen: &'static Mutex<HashSet<(bool, bool)>> = Box::leak(Box::default());
        loom::model(move || {
            let words = Words::new();
            if is_own {
                words.lock.owner.store(thread_number::current(), Ordering::Relaxed);
            }
            let sleeps = Arc::new(AtomicUsize::new(0));
            let other = {
                let (words, sleeps) = (words.clone(), sleeps.clone());
                loom::thread::spawn(move || {
                    sleeps.store(1, Ordering::Relaxed);
                    words.lock.see(&words.others);
                    words.word.load(Ordering::Relaxed) == 1
                })
            };
            assert_eq!(words.add(), 0);
            let is_found_asleep = sleeps.load(Ordering::Relaxed) == 1;
            seen.lock().unwrap().insert((is_found_asleep, other.join().unwrap()));
        });
        assert_eq!(*seen.lock().unwrap(), HashSet::from([(true, false), (false, true), (true, true)]));
    }

    #[test]
    fn loom_words_of_one_thread_are_seen_by_another_who_looks() {
        at_least_one_finds_out(true);
    }

    #[test]
    fn loom_words_of_nobody_yet_are_seen_by_another_who_looks() {
        at_least_one_finds_out(false);
    }

    const FLAG: usize = 1;
    const STEP: usize = 2;

    /// One moves a position twice, and keeps the flag that it finds there; another sets that, by an exchange under the lock. Neither is lost. Reached: it was
    /// found at first, the second time, and at the end only.
    fn flag_stays(is_own: bool) {
        let seen: &'static Mutex<HashSet<[bool; 2]>> = Box::leak(Box::default());
        loom::model(move || {
            let words = Words::new();
            if is_own {
                words.lock.owner.store(thread_number::current(), Ordering::Relaxed);
            }
            let other = {
                let words = words.clone();
                loom::thread::spawn(move || {
                    let _guard = words.lock.lock();
                    words.word.fetch_or(FLAG, Ordering::AcqRel);
                })
            };
            let found = [0, 1].map(|position| {
                let mut from = words.word.load(Ordering::Relaxed);
                while let Err(now) = words.lock.change(&words.others, &words.word, from, from + STEP) {
                    from = now;
                }
                assert_eq!(from & !FLAG, position * STEP);
                from & FLAG != 0
            });
            other.join().unwrap();
            assert_eq!(words.word.load(Ordering::Relaxed), 2 * STEP + FLAG);
            seen.lock().unwrap().insert(found);
        });
        assert_eq!(*seen.lock().unwrap(), HashSet::from([[true, true], [false, true], [false, false]]));
    }

    #[test]
    fn loom_words_of_one_thread_keep_a_flag_that_another_sets() {
        flag_stays(true);
    }

    #[test]
    fn loom_words_of_nobody_yet_keep_a_flag_that_another_sets() {
        flag_stays(false);
    }
}
