//! Models of who runs a half of a fork, and who waits for it: with the real claim cell, the real deque and the real way to wait.
#![allow(unsafe_code, reason = "the owner of a job is linked by pointer, and jobs are found by pointer")]

use super::{Waiting, me, park, unpark};
use crate::fiber::claim_cell::ClaimCell;
use crate::fiber::waiter::{Wait, Waiter};
use crate::fiber::who::Who;
use crate::prim::atomic::Ordering;
use crate::prim::object::Object;
use crate::prim::reason::Reason;
use crate::queue::ring::{Ring, Stolen};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::AtomicUsize;
use std::collections::HashSet;
use std::panic::Location;
use std::ptr::NonNull;
use std::sync::Mutex;

/// An owner that has lost its job waits for the thief; true if it was not done yet.
fn wait_for_thief(cell: &ClaimCell<Who>) -> bool {
    let wait = Wait::new(me());
    let waiter = Waiter::solo(&wait);
    // SAFETY: both stay in this frame until the wait is over.
    let has_to_wait = unsafe { cell.enlist(&waiter) };
    if has_to_wait {
        let place = Location::caller();
        let waiting = Waiting { reason: Reason::Job, object: Object::NONE, place, deadline: None, cancellable: false };
        park(&wait, &waiting);
    }
    has_to_wait
}

/// An owner and a thief: one of the two runs the job, and the owner sees the result. Reached: the owner took it back, found it done, and
/// waited.
#[test]
fn loom_claim_cell_runs_a_job_once() {
    let seen: &'static Mutex<HashSet<&str>> = Box::leak(Box::default());
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(move || {
        let shared = Arc::new((ClaimCell::<Who>::new(), AtomicUsize::new(0)));
        let thief = {
            let shared = shared.clone();
            loom::thread::spawn(move || {
                let owner = shared.0.steal(|| shared.1.store(7, Ordering::Relaxed));
                owner.into_iter().for_each(unpark);
            })
        };
        let how = if shared.0.take() {
            shared.1.store(7, Ordering::Relaxed);
            "taken back"
        } else if wait_for_thief(&shared.0) {
            "waited"
        } else {
            "found it done"
        };
        seen.lock().unwrap().insert(how);
        assert_eq!(shared.1.load(Ordering::Relaxed), 7);
        thief.join().unwrap();
    });
    assert_eq!(seen.lock().unwrap().len(), 3);
}

/// What there is of a half in the frame of its owner.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Half {
    PutAside,
    Ended,
    /// The frame was left.
    Gone,
}

/// An exposed job, as the deque has it.
struct Offer {
    name: &'static str,
    cell: ClaimCell<Who>,
    /// Only whoever has taken the job may look, and then its owner. (The model finds whoever looks at the same time as another.)
    frame: UnsafeCell<Half>,
}

impl Offer {
    fn new(name: &'static str) -> Arc<Offer> {
        Arc::new(Offer { name, cell: ClaimCell::new(), frame: UnsafeCell::new(Half::PutAside) })
    }

    /// The half is there, and becomes something else.
    fn change(&self, from: Half, to: Half) {
        // SAFETY: the model checks that nobody else looks.
        let was = self.frame.with_mut(|half| unsafe { half.replace(to) });
        assert_eq!(was, from, "{} half", self.name);
    }

    /// Whoever finds it in a deque runs it, unless another has it.
    fn run(&self) -> bool {
        let mut ran = false;
        let owner = self.cell.steal(|| {
            self.change(Half::PutAside, Half::Ended);
            ran = true;
        });
        owner.into_iter().for_each(unpark);
        ran
    }

    /// The owner runs it or waits for whoever does, and leaves the frame.
    fn settle(&self) -> &'static str {
        if self.cell.take() {
            self.change(Half::PutAside, Half::Gone);
            return "taken back";
        }
        let how = if wait_for_thief(&self.cell) { "waited for" } else { "found done" };
        self.change(Half::Ended, Half::Gone);
        how
    }
}

/// Lets others see a job.
fn expose(deque: &Ring<Offer>, job: &Arc<Offer>) {
    let offer = NonNull::new(Arc::into_raw(job.clone()).cast_mut()).unwrap();
    deque.push(offer).unwrap();
}

/// What is out of a deque belongs to whoever took it out.
fn taken(offer: NonNull<Offer>) -> Arc<Offer> {
    // SAFETY: from `expose`, and in the deque once.
    unsafe { Arc::from_raw(offer.as_ptr()) }
}

/// A fiber with two open jobs parks: both are exposed, the older one first. While it is away, its worker may run one of them, and a thief may
/// have both. When it is back, it settles the newer, then the older one, and leaves their frames. What is found in the deque after that is
/// too late, and finds the cell, but nothing else.
///
/// Reached: each half was run by the thief, and by its owner, who took it back, and the newer one by the worker; the owner waited, and found
/// it done; and the thief came too late.
#[test]
fn loom_jobs_exposed_at_park_are_run_once() {
    const REACHED: [&str; 10] = [
        "older by the thief",
        "newer by the thief",
        "newer by the worker",
        "older taken back",
        "newer taken back",
        "older waited for",
        "newer waited for",
        "older found done",
        "newer found done",
        "too late",
    ];
    let seen: &'static Mutex<HashSet<String>> = Box::leak(Box::default());
    let see = |what: String| _ = seen.lock().unwrap().insert(what);
    for runs_one_meanwhile in [false, true] {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(move || {
            let deque = Arc::new(Ring::new());
            let (older, newer) = (Offer::new("older"), Offer::new("newer"));
            let thief = {
                let deque = deque.clone();
                loom::thread::spawn(move || {
                    for _ in 0..2 {
                        let Stolen::First(stolen) = deque.steal(|_| unreachable!("half of two is one")) else {
                            continue;
                        };
                        let stolen = taken(stolen);
                        see(if stolen.run() { format!("{} by the thief", stolen.name) } else { "too late".to_owned() });
                    }
                })
            };
            expose(&deque, &older);
            expose(&deque, &newer);
            if let Some(offer) = runs_one_meanwhile.then(|| deque.pop_newest()).flatten() {
                let offer = taken(offer);
                assert!(offer.run(), "its owner is away, and nobody else had it");
                see(format!("{} by the worker", offer.name));
            }
            for job in [newer, older] {
                see(format!("{} {}", job.name, job.settle()));
            }
            while let Some(late) = deque.pop_newest() {
                assert!(!taken(late).run(), "it was settled");
            }
            thief.join().unwrap();
        });
    }
    let seen = seen.lock().unwrap();
    assert!(REACHED.iter().all(|outcome| seen.contains(*outcome)), "reached: {seen:?}");
}
