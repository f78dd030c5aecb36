//! Who searches, who sleeps, and how they are woken. The protocol and its proof are in `README.md` beside this file.

use crate::prim::atomic::{AtomicU32, AtomicU64, AtomicUsize, Backoff, Ordering, fence, fence_after_read_modify_write};
use crate::prim::bell::Bell;
use crate::prim::futex;
use crossbeam_utils::CachePadded;
#[cfg(not(modelled))]
use std::io;
#[cfg(not(modelled))]
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// Where one worker sleeps.
pub(crate) struct Bed {
    epoch: AtomicU32,
    granted: AtomicU32,
    /// Whether it sleeps in its driver, and has to be woken by the bell. Written before it announces its sleep.
    in_driver: AtomicU32,
    bell: Bell,
}

/// The epoch a worker loaded before it announced its sleep.
#[derive(Copy, Clone)]
pub(crate) struct Epoch {
    number: u32,
    /// In which set its bit is.
    secluded: bool,
}

impl Bed {
    pub(crate) fn new() -> Bed {
        Bed { epoch: AtomicU32::new(0), granted: AtomicU32::new(0), in_driver: AtomicU32::new(0), bell: Bell::new() }
    }

    /// What ends a sleep in the driver. Asked for by the worker.
    #[cfg(not(modelled))]
    pub(crate) fn bell(&self) -> io::Result<BorrowedFd<'_>> {
        self.bell.descriptor()
    }

    /// Where the worker itself has chosen to sleep.
    #[cfg(not(modelled))]
    pub(crate) fn is_in_driver(&self) -> bool {
        self.in_driver.load(Ordering::Relaxed) != 0
    }

    /// Says where the sleep will be that is announced next.
    #[cfg(not(modelled))]
    pub(crate) fn choose(&self, in_driver: bool) {
        self.in_driver.store(in_driver.into(), Ordering::Relaxed);
    }

    /// Sleeps until woken; may return early.
    pub(crate) fn sleep(&self, epoch: Epoch, timeout: Option<Duration>) {
        futex::wait(&self.epoch, epoch.number, timeout);
    }

    fn wake(&self, grant: bool) {
        self.granted.store(u32::from(grant), Ordering::Relaxed);
        // ORDERING: Release pairs with the Acquire in `withdraw`: the grant is seen with the epoch.
        self.epoch.fetch_add(1, Ordering::Release);
        // Claiming the bit has made the choice visible.
        if self.in_driver.load(Ordering::Relaxed) == 0 {
            futex::wake_one(&self.epoch);
        } else {
            self.bell.ring();
        }
    }
}

/// How a worker was found that something was published for. It is awake now, or will be.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Awake,
    Asleep,
    /// Asleep, and in no state to take fresh work.
    Secluded,
}

/// The words all workers share.
pub(crate) struct Idle {
    searchers: CachePadded<AtomicUsize>,
    sleepers: CachePadded<Box<[AtomicU64]>>,
    /// Like `sleepers`, for those who can't take fresh work (they retire, or have no stack): woken by mail only.
    secluded: Box<[AtomicU64]>,
    most_searchers: usize,
}

impl Idle {
    /// For up to `most_workers` workers, of which `workers` are there normally.
    pub(crate) fn new(workers: usize, most_workers: usize) -> Idle {
        let bits = || (0..most_workers.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        Idle {
            searchers: CachePadded::new(AtomicUsize::new(0)),
            sleepers: CachePadded::new(bits()),
            secluded: bits(),
            most_searchers: (workers / 2).max(1),
        }
    }

    /// Whether nobody is looking for work and nobody sleeps: all workers are busy. A hint.
    pub(crate) fn all_busy(&self) -> bool {
        self.searchers.load(Ordering::Relaxed) == 0 && !self.has_sleepers()
    }

    /// How many look for work. A hint.
    #[cfg(not(modelled))]
    pub(crate) fn searchers(&self) -> usize {
        self.searchers.load(Ordering::Relaxed)
    }

    /// Whether somebody looks for work, or sleeps for want of it. A hint.
    pub(crate) fn has_hungry(&self) -> bool {
        self.searchers.load(Ordering::Relaxed) != 0 || self.has_sleepers()
    }

    /// How many look for work, or sleep for want of it. A hint: those who would look, but leave it to others for a moment, are not among them.
    #[cfg(not(modelled))]
    pub(super) fn hungry(&self) -> usize {
        let asleep = |word: &AtomicU64| word.load(Ordering::Relaxed).count_ones() as usize;
        self.searchers.load(Ordering::Relaxed) + self.sleepers.iter().map(asleep).sum::<usize>()
    }

    #[inline]
    fn has_sleepers(&self) -> bool {
        self.sleepers.iter().any(|word| word.load(Ordering::Relaxed) != 0)
    }

    /// Whether `worker` sleeps. A hint.
    #[cfg(not(modelled))]
    pub(crate) fn is_sleeping(&self, worker: usize) -> bool {
        [false, true].into_iter().any(|secluded| {
            let (word, bit) = self.bit(worker, secluded);
            word.load(Ordering::Relaxed) & bit != 0
        })
    }

    fn bit(&self, worker: usize, secluded: bool) -> (&AtomicU64, u64) {
        let words = if secluded { &self.secluded } else { &*self.sleepers };
        (&words[worker / 64], 1 << (worker % 64))
    }

    /// Becomes a searcher, unless there are enough.
    pub(crate) fn try_search(&self) -> bool {
        let mut searchers = self.searchers.load(Ordering::Relaxed);
        while searchers < self.most_searchers {
            // ORDERING: Relaxed; what is promised to producers is kept by the fence on leaving.
            match self.searchers.compare_exchange_weak(searchers, searchers + 1, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(seen) => searchers = seen,
            }
        }
        false
    }

    /// A searcher leaves the search. If work is left, it has to act as its producer now.
    pub(crate) fn leave_search(&self) {
        self.searchers.fetch_sub(1, Ordering::Relaxed);
        // ORDERING: README, C: pairs with the fence of a producer that saw us searching.
        fence_after_read_modify_write();
    }

    /// Fresh work was published, and a full fence came after: wakes somebody for it, if that is needed. Returns whether it has.
    #[inline]
    pub(crate) fn wake_for_fresh<'a>(&self, beds: impl Fn(usize) -> &'a Bed) -> bool {
        self.searchers.load(Ordering::Relaxed) == 0 && self.has_sleepers() && self.wake_any(beds)
    }

    #[cold]
    fn wake_any<'a>(&self, beds: impl Fn(usize) -> &'a Bed) -> bool {
        while self.searchers.load(Ordering::Relaxed) == 0 && self.has_sleepers() {
            if self.searchers.compare_exchange(0, 1, Ordering::Relaxed, Ordering::Relaxed).is_err() {
                return false;
            }
            if let Some(worker) = self.claim_any() {
                beds(worker).wake(true);
                return true;
            }
            // We stood as a searcher for a moment, and producers may have relied on it: look again.
            self.searchers.fetch_sub(1, Ordering::Relaxed);
            // ORDERING: README, leaving the search.
            fence_after_read_modify_write();
        }
        false
    }

    /// Claims the sleeper with the lowest number: added workers, which come last, are let sleep.
    fn claim_any(&self) -> Option<usize> {
        for (index, word) in self.sleepers.iter().enumerate() {
            let mut bits = word.load(Ordering::Relaxed);
            while bits != 0 {
                let bit = bits & bits.wrapping_neg();
                // ORDERING: Acquire pairs with the Release in `announce`: the epoch was loaded before we change it.
                bits = word.fetch_and(!bit, Ordering::Acquire);
                if bits & bit != 0 {
                    return Some(index * 64 + bit.trailing_zeros() as usize);
                }
            }
        }
        None
    }

    /// Something for `worker` alone was published: wakes it if it sleeps.
    #[inline]
    pub(crate) fn wake_worker(&self, worker: usize, bed: &Bed) -> Found {
        // ORDERING: README, A: pairs with the fence in `announce`. (The push before was a read-modify-write.)
        fence_after_read_modify_write();
        for secluded in [false, true] {
            let (word, bit) = self.bit(worker, secluded);
            // ORDERING: Acquire pairs with the Release in `announce`: the epoch was loaded before we change it.
            if word.load(Ordering::Relaxed) & bit != 0 && word.fetch_and(!bit, Ordering::Acquire) & bit != 0 {
                bed.wake(false);
                return if secluded { Found::Secluded } else { Found::Asleep };
            }
        }
        Found::Awake
    }

    /// Steps 1 to 4: `worker` is about to sleep.
    pub(crate) fn announce(&self, worker: usize, bed: &Bed, searching: bool, secluded: bool) -> Epoch {
        let epoch = Epoch { number: bed.epoch.load(Ordering::Relaxed), secluded };
        let (word, bit) = self.bit(worker, secluded);
        // ORDERING: Release keeps the epoch's load before it, so that a wake after this changes what was loaded.
        let before = word.fetch_or(bit, Ordering::Release);
        debug_assert_eq!(before & bit, 0, "INVARIANT: a worker announces its sleep once");
        if searching {
            self.searchers.fetch_sub(1, Ordering::Relaxed);
        }
        // ORDERING: README, step 4: pairs with the fences of producers.
        fence_after_read_modify_write();
        epoch
    }

    /// Step 6: the worker has announced its sleep and sees foreign work. True if it may search for it.
    pub(crate) fn try_search_again(&self) -> bool {
        // ORDERING: README, C: what was seen before is seen by the searchers that are read after.
        fence(Ordering::SeqCst);
        self.try_search()
    }

    /// Step 8: `worker` is awake again. True if the wake made it a searcher.
    pub(crate) fn withdraw(&self, worker: usize, bed: &Bed, epoch: Epoch) -> bool {
        let (word, bit) = self.bit(worker, epoch.secluded);
        if word.fetch_and(!bit, Ordering::Relaxed) & bit != 0 {
            return false;
        }
        let mut backoff = Backoff::new();
        // ORDERING: Acquire pairs with the Release in `wake`.
        while bed.epoch.load(Ordering::Acquire) == epoch.number {
            backoff.pause();
        }
        bed.granted.load(Ordering::Relaxed) != 0
    }
}

#[cfg(all(test, loom))]
mod loom_models {
    use super::*;
    use loom::sync::Arc;
    use std::collections::HashSet;
    use std::sync::Mutex;

    /// Two workers, one queue each that only counts, and one inbox each.
    struct Pool {
        idle: Idle,
        beds: [Bed; 2],
        inboxes: [AtomicUsize; 2],
        fresh: AtomicUsize,
        taken: AtomicUsize,
    }

    impl Pool {
        fn new() -> Arc<Pool> {
            Arc::new(Pool {
                idle: Idle::new(2, 2),
                beds: [Bed::new(), Bed::new()],
                inboxes: [AtomicUsize::new(0), AtomicUsize::new(0)],
                fresh: AtomicUsize::new(0),
                taken: AtomicUsize::new(0),
            })
        }

        fn take(&self, from: &AtomicUsize) -> bool {
            let mut found = from.load(Ordering::Relaxed);
            while found > 0 {
                match from.compare_exchange_weak(found, found - 1, Ordering::Relaxed, Ordering::Relaxed) {
                    Ok(_) => {
                        self.taken.fetch_add(1, Ordering::Relaxed);
                        return true;
                    }
                    Err(seen) => found = seen,
                }
            }
            false
        }

        fn spawn(&self) {
            self.fresh.fetch_add(1, Ordering::Relaxed);
            fence_after_read_modify_write();
            self.idle.wake_for_fresh(|worker| &self.beds[worker]);
        }

        fn mail(&self, worker: usize) {
            self.inboxes[worker].fetch_add(1, Ordering::Relaxed);
            self.idle.wake_worker(worker, &self.beds[worker]);
        }

        /// The loop of a worker until `wanted` things were taken in all; returns how often it slept.
        fn work(&self, me: usize, mut enough: impl FnMut() -> bool) -> usize {
            let (mut searching, mut naps) = (false, 0);
            loop {
                let found = self.take(&self.inboxes[me]) || {
                    searching = searching || self.idle.try_search();
                    searching && self.take(&self.fresh)
                };
                if found {
                    if std::mem::take(&mut searching) {
                        self.idle.leave_search();
                        if self.fresh.load(Ordering::Relaxed) > 0 {
                            self.idle.wake_for_fresh(|worker| &self.beds[worker]);
                        }
                    }
                    if enough() {
                        return naps;
                    }
                    continue;
                }
                let epoch = self.idle.announce(me, &self.beds[me], std::mem::take(&mut searching), false);
                let mine = self.inboxes[me].load(Ordering::Relaxed) > 0;
                if mine {
                    searching = self.idle.withdraw(me, &self.beds[me], epoch);
                } else if self.fresh.load(Ordering::Relaxed) > 0 && self.idle.try_search_again() {
                    // A waker may have made us a searcher too: then we are counted twice, and leave once now.
                    if self.idle.withdraw(me, &self.beds[me], epoch) {
                        self.idle.leave_search();
                    }
                    searching = true;
                } else {
                    naps += 1;
                    self.beds[me].sleep(epoch, None);
                    searching = self.idle.withdraw(me, &self.beds[me], epoch);
                }
            }
        }
    }

    /// One worker, a producer of fresh work and one of mail: both arrive, whatever the worker was doing.
    #[test]
    fn loom_idle_one_worker_gets_fresh_work_and_mail() {
        let naps: &'static Mutex<HashSet<usize>> = Box::leak(Box::default());
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(move || {
            let pool = Pool::new();
            let producer = {
                let pool = pool.clone();
                loom::thread::spawn(move || {
                    pool.spawn();
                    pool.mail(0);
                })
            };
            let mut left = 2;
            let slept = pool.work(0, || {
                left -= 1;
                left == 0
            });
            producer.join().unwrap();
            naps.lock().unwrap().insert(slept);
        });
        let naps = naps.lock().unwrap();
        assert!(naps.contains(&0) && naps.contains(&1) && naps.contains(&2), "naps seen: {naps:?}");
    }

    /// A worker that spawns twice and takes one, and another that takes one: no worker sleeps for ever while work is left.
    /// Reached: the other slept and was woken, never slept, and the spawner itself had to sleep after all.
    #[test]
    fn loom_idle_two_workers_share_two_spawns() {
        let naps: &'static Mutex<HashSet<(usize, usize)>> = Box::leak(Box::default());
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.max_branches = 10_000;
        model.check(move || {
            let pool = Pool::new();
            let spawner = {
                let pool = pool.clone();
                loom::thread::spawn(move || {
                    pool.spawn();
                    pool.spawn();
                    pool.work(1, || true)
                })
            };
            let other = pool.work(0, || true);
            let spawner = spawner.join().unwrap();
            assert_eq!(pool.taken.load(Ordering::Relaxed), 2);
            naps.lock().unwrap().insert((other, spawner));
        });
        let naps = naps.lock().unwrap();
        let reached = |other, spawner| naps.iter().any(|nap| (nap.0 > 0, nap.1 > 0) == (other, spawner));
        assert!(reached(false, false) && reached(true, false) && reached(false, true), "naps seen: {naps:?}");
    }
}
