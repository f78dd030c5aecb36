//! Who is served, in which order; and how much stack that needs.
#![allow(unsafe_code, reason = "waiters are put into the list by hand")]

use super::places::{Content, Vacancy};
use super::pool;
use crate::fiber::waiter::{Wait, Waiter, Woken};
use crate::park::me;
use std::ptr;

#[test]
fn those_who_wait_are_served_in_the_order_they_came_and_one_who_gave_up_is_passed_over() {
    let pool = pool(|| 7, |_| (), 1);
    let thing = pool.get().unwrap();
    let waits: [_; 4] = std::array::from_fn(|_| Wait::new(me()));
    let waiters = waits.each_ref().map(Waiter::solo);
    let mut handed: [Content<i32>; 4] = Default::default();
    for (waiter, handed) in waiters.iter().zip(&mut handed) {
        waiter.set_slot(ptr::from_mut(handed).cast());
        // SAFETY: all are claimed by the list, or give up, before the end of the test.
        assert!(unsafe { pool.shared.take_or_enlist(waiter) }.is_none());
    }
    assert!(waits[1].claim_own(Woken::Deadline));
    let is_served = |number: usize| waits[number].woken() == Some(Woken::Object(0));
    drop(thing);
    assert!(is_served(0) && !is_served(2));
    assert!(pool.try_get().is_none(), "nobody is served before those who wait");
    // Without a thing.
    drop(Vacancy(&pool.shared));
    assert!(is_served(2) && !is_served(3));
    pool.shared.give_up(&waiters[1]);
    pool.shared.give_up(&waiters[3]);
    assert_eq!(handed.map(|content| content.map(|thing| thing.value)), [Some(7), None, None, None]);
    assert_eq!((pool.idle(), pool.in_use()), (0, 1));
}

#[test]
fn a_long_list_of_idle_things_goes_without_a_deep_stack() {
    let pool = pool(|| [0u8; 64], |_| (), usize::MAX);
    let many: Vec<_> = (0..100_000).map(|_| pool.get().unwrap()).collect();
    drop(many);
    assert_eq!(pool.idle(), 100_000);
    std::thread::Builder::new().stack_size(64 << 10).spawn(move || drop(pool)).unwrap().join().unwrap();
}
