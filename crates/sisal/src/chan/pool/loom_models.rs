//! Models of those who want the only thing.
#![allow(unsafe_code, reason = "waiters are put into the list by hand")]

use super::places::Content;
use super::pool;
use crate::fiber::waiter::{Wait, Waiter, Woken};
use crate::park::{Waiting, and_whether_it_waited, me, park};
use crate::prim::atomic::{AtomicUsize, Ordering};
use crate::prim::object::Object;
use crate::prim::reason::Reason;
use loom::thread;
use std::collections::HashSet;
use std::panic::Location;
use std::ptr;
use std::sync::{Arc, Mutex};

fn model(f: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(f);
}

/// Three who want the only thing, one of whom throws it away: nobody waits for ever, nobody has it together with another, and the one
/// who comes after sees what was done before. Reached: a thing that was used and one that was not, each at once and after a wait; and one who
/// waits, two, and nobody.
#[test]
fn loom_pool_serves_all_who_wait_one_at_a_time() {
    let seen: &'static Mutex<HashSet<(&str, bool)>> = Box::leak(Box::default());
    let waiting: &'static Mutex<HashSet<usize>> = Box::leak(Box::default());
    model(move || {
        let users = Arc::new(AtomicUsize::new(0));
        let pool = pool(|| 0, |_| (), 1);
        let user = |throws: bool| {
            let (pool, users) = (pool.clone(), Arc::clone(&users));
            move || {
                let (thing, waited) = and_whether_it_waited(|| pool.get());
                let mut thing = thing.unwrap();
                seen.lock().unwrap().insert((if *thing == 0 { "new" } else { "used" }, waited));
                assert_eq!(users.fetch_add(1, Ordering::Relaxed), 0, "one at a time");
                *thing += 1;
                users.fetch_sub(1, Ordering::Relaxed);
                if throws {
                    thing.discard()
                } else {
                    drop(thing)
                }
                waited
            }
        };
        let others = [thread::spawn(user(false)), thread::spawn(user(true))];
        let own = user(false)();
        let waits = others.map(|other| other.join().unwrap());
        waiting.lock().unwrap().insert([own, waits[0], waits[1]].into_iter().filter(|&waited| waited).count());
        assert_eq!(pool.in_use(), 0);
        assert!(*pool.get().unwrap() <= 2, "the thing of the one who threw it away is gone");
    });
    assert_eq!(*seen.lock().unwrap(), HashSet::from([("new", false), ("new", true), ("used", false), ("used", true)]));
    assert_eq!(*waiting.lock().unwrap(), HashSet::from([0, 1, 2]));
}

/// One gives up while the thing comes back: it has left without, and the thing is idle or goes to the other; or it was handed the
/// thing. Reached: both.
#[test]
fn loom_pool_loses_nothing_to_one_who_gives_up() {
    let seen: &'static Mutex<HashSet<bool>> = Box::leak(Box::default());
    model(move || {
        let pool = pool(|| 7, |_| (), 1);
        let thing = pool.get().unwrap();
        let patient = {
            let pool = pool.clone();
            thread::spawn(move || assert_eq!(*pool.get().unwrap(), 7))
        };
        let hasty = {
            let pool = pool.clone();
            thread::spawn(move || {
                let place = Location::caller();
                let wait = Wait::new(me());
                let waiter = Waiter::solo(&wait);
                let mut handed: Content<i32> = None;
                waiter.set_slot(ptr::from_mut(&mut handed).cast());
                // SAFETY: it gives up, or is claimed by the list and unparked, below.
                if let Some(content) = unsafe { pool.shared.take_or_enlist(&waiter) } {
                    return drop(pool.lend(content));
                }
                let gave_up = wait.claim_own(Woken::Deadline);
                if gave_up {
                    pool.shared.give_up(&waiter);
                    assert!(handed.is_none());
                } else {
                    let waiting = Waiting {
                        reason: Reason::Pool,
                        object: Object::NONE,
                        place,
                        deadline: None,
                        cancellable: true,
                    };
                    assert_eq!(park(&wait, &waiting), Woken::Object(0));
                    assert_eq!(*pool.lend(handed), 7);
                }
                seen.lock().unwrap().insert(gave_up);
            })
        };
        drop(thing);
        patient.join().unwrap();
        hasty.join().unwrap();
        assert_eq!((pool.idle(), pool.in_use()), (1, 0));
    });
    assert_eq!(seen.lock().unwrap().len(), 2);
}
