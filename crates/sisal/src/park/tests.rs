//! A model of who waits for a half of a fork: with the real claim cell and the real way to wait.
#![allow(unsafe_code, reason = "the owner of a job is linked by pointer")]

use super::{Waiting, me, park, unpark};
use crate::fiber::claim_cell::ClaimCell;
use crate::fiber::waiter::{Wait, Waiter};
use crate::fiber::who::Who;
use crate::prim::atomic::Ordering;
use crate::prim::object::Object;
use crate::prim::reason::Reason;
use loom::sync::Arc;
use loom::sync::atomic::AtomicUsize;
use std::collections::HashSet;
use std::panic::Location;
use std::sync::Mutex;

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
                if shared.0.take() {
                    shared.1.store(7, Ordering::Relaxed);
                    if let Some(token) = shared.0.finish() {
                        unpark(token);
                    }
                }
            })
        };
        if shared.0.take() {
            shared.1.store(7, Ordering::Relaxed);
            seen.lock().unwrap().insert("taken back");
        } else {
            let wait = Wait::new(me());
            let waiter = Waiter::solo(&wait);
            // SAFETY: both stay in this frame until the wait is over.
            if unsafe { shared.0.enlist(&waiter) } {
                let place = Location::caller();
                let waiting =
                    Waiting { reason: Reason::Job, object: Object::NONE, place, deadline: None, cancellable: false };
                park(&wait, &waiting);
                seen.lock().unwrap().insert("waited");
            } else {
                seen.lock().unwrap().insert("found it done");
            }
        }
        assert_eq!(shared.1.load(Ordering::Relaxed), 7);
        thief.join().unwrap();
    });
    assert_eq!(seen.lock().unwrap().len(), 3);
}
