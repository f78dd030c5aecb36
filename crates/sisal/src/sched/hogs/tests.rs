//! Where fibers start that compute for long: counted on the workers themselves.

use super::*;
use crate::chan::{Sender, bounded};
use crate::sched::worker;
use crate::{JoinHandle, Runtime, join_all};
use std::hint::spin_loop;

/// A debug build takes its time for them.
const ROUNDS: usize = if cfg!(debug_assertions) { 20 } else { 200 };

/// A runtime that may double its workers, with a fiber on each of the first ones that waits until it is asked something.
struct Neighbourhood {
    runtime: Runtime,
    asks: Vec<Sender<()>>,
    answers: Arc<AtomicUsize>,
}

impl Neighbourhood {
    fn new(workers: usize) -> Neighbourhood {
        let runtime = Runtime::builder().workers(workers).max_workers(2 * workers).build().unwrap();
        let answers = Arc::new(AtomicUsize::new(0));
        let asks = (0..workers).map(|worker| {
            let (ask, asked) = bounded::<()>(1);
            let answers = Arc::clone(&answers);
            drop(runtime.handle().builder().spawn_on(worker, move || {
                while asked.recv().is_ok() {
                    answers.fetch_add(1, Ordering::Relaxed);
                }
            }));
            ask
        });
        let asks = asks.collect();
        let neighbourhood = Neighbourhood { runtime, asks, answers };
        until(|| (0..workers).all(|worker| neighbourhood.shared().remotes[worker].presence.homed() == 1));
        neighbourhood
    }

    fn shared(&self) -> &Arc<Shared> {
        self.runtime.handle().shared()
    }

    /// A hog. All come from this place: it is one function, so it has one address.
    fn spawn(&self, hog: Box<dyn FnOnce() -> usize + Send>) -> JoinHandle<usize> {
        self.runtime.spawn(hog)
    }

    /// The first hog, which delays one of those who wait, until its place is known.
    fn be_seen(&self) {
        let shared = Arc::clone(self.shared());
        let begins = Arc::new(AtomicUsize::new(0));
        let began = Arc::clone(&begins);
        let hog = self.spawn(Box::new(move || {
            began.store(1, Ordering::Relaxed);
            let place = crate::fiber::current().unwrap().spawned_at();
            while !shared.hogs.are_spawned_at(place) {
                spin_loop();
            }
            waiting_here()
        }));
        until(|| begins.load(Ordering::Relaxed) == 1);
        self.asks.iter().for_each(|ask| ask.send(()).unwrap());
        assert!(hog.join().unwrap() <= 1, "the first starts anywhere");
        until(|| self.answers.load(Ordering::Relaxed) == self.asks.len());
    }

    /// As many hogs at once as there are workers to be added. They go on until all have begun, and all who wait on other workers have answered.
    /// Returns how many waited where a hog began.
    fn round(&self, start: impl Fn(Box<dyn FnOnce() -> usize + Send>) -> JoinHandle<usize>) -> usize {
        let count = self.asks.len();
        let began = Arc::new(AtomicUsize::new(0));
        let answered = self.answers.load(Ordering::Relaxed) + count;
        let hogs: Vec<_> = (0..count)
            .map(|_| {
                let (began, answers) = (Arc::clone(&began), Arc::clone(&self.answers));
                start(Box::new(move || {
                    let delayed = waiting_here();
                    began.fetch_add(1, Ordering::Relaxed);
                    // Who delays somebody would never end.
                    while delayed == 0 && answers.load(Ordering::Relaxed) < answered {
                        spin_loop();
                    }
                    delayed
                }))
            })
            .collect();
        until(|| began.load(Ordering::Relaxed) == count);
        self.asks.iter().for_each(|ask| ask.send(()).unwrap());
        let delayed = join_all(hogs).into_iter().map(Result::unwrap).sum();
        until(|| self.answers.load(Ordering::Relaxed) == answered);
        delayed
    }
}

/// How many fibers wait on the worker of the running one, which never has.
fn waiting_here() -> usize {
    worker::with_current(|worker| worker.unwrap().remote().presence.homed())
}

fn until(condition: impl Fn() -> bool) {
    while !condition() {
        std::thread::yield_now();
    }
}

#[test]
fn fibers_said_to_compute_never_start_where_somebody_waits() {
    for workers in [1, 2, 4] {
        let neighbourhood = Neighbourhood::new(workers);
        for round in 0..ROUNDS {
            let delayed = neighbourhood.round(|hog| neighbourhood.runtime.handle().builder().cpu_bound().spawn(hog));
            assert_eq!(delayed, 0, "round {round} on {workers} workers");
        }
    }
}

#[test]
fn fibers_of_a_place_that_was_seen_to_compute_never_start_where_somebody_waits() {
    for workers in [1, 2, 4] {
        let neighbourhood = Neighbourhood::new(workers);
        neighbourhood.be_seen();
        for round in 0..ROUNDS {
            let delayed = neighbourhood.round(|hog| neighbourhood.spawn(hog));
            assert_eq!(delayed, 0, "round {round} on {workers} workers");
        }
    }
}

#[test]
fn a_place_is_forgiven_when_many_of_it_did_not_compute_for_long() {
    let hogs = Hogs::new();
    let (place, other) = (Location::caller(), Location::caller());
    hogs.remember(place);
    (1..FORGIVEN).for_each(|_| hogs.note_start(place));
    assert!(hogs.are_spawned_at(place) && !hogs.are_spawned_at(other));
    hogs.note_start(place);
    assert!(!hogs.are_spawned_at(place));
    hogs.remember(place);
    assert!(hogs.are_spawned_at(place));
    assert_eq!(hogs.known.load(Ordering::Relaxed), 1, "known once");
}

#[test]
fn short_fibers_of_a_place_that_was_seen_to_compute_start_like_others_in_the_end() {
    for workers in [1, 2] {
        let neighbourhood = Neighbourhood::new(workers);
        neighbourhood.be_seen();
        let place = || crate::fiber::current().unwrap().spawned_at();
        let told = Arc::new(std::sync::Mutex::new(None));
        let tell = Arc::clone(&told);
        neighbourhood.spawn(Box::new(move || tell.lock().unwrap().replace(place()).map_or(0, |_| 1))).join().unwrap();
        let place = told.lock().unwrap().unwrap();
        let hogs = &neighbourhood.shared().hogs;
        let started = (0..).take_while(|_| {
            neighbourhood.spawn(Box::new(|| 0)).join().unwrap();
            hogs.are_spawned_at(place)
        });
        assert!(started.count() < FORGIVEN);
    }
}
