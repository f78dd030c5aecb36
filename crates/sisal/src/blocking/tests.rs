//! Jobs that are done in fibers.
#![allow(unsafe_code, reason = "a job is reached by pointer while its owner waits")]

use super::job::{Job, Taken};
use crate::fiber::in_fiber;
use crate::fiber::waiter::Wait;
use crate::park::{self, Waiting};
use crate::prim::object::Object;
use crate::prim::reason::Reason;
use std::panic::Location;
use std::ptr::NonNull;
use std::sync::mpsc;
use std::thread;

#[test]
fn a_fiber_that_does_the_job_of_another_is_hidden_from_it() {
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        let owner = scope.spawn(|| {
            let mut seen = None;
            let mut call = || seen = Some(in_fiber());
            let wait = Wait::new(park::me());
            let job = Job::new(&mut call, &wait);
            // SAFETY: this frame stays until it is done.
            sender.send(unsafe { Taken::new(NonNull::from(&job)) }).unwrap();
            let (reason, place) = (Reason::Blocking, Location::caller());
            park::park(&wait, &Waiting { reason, object: Object::NONE, place, deadline: None, cancellable: false });
            seen
        });
        crate::run(|| {
            receiver.recv().unwrap().perform();
            assert!(in_fiber());
        });
        assert_eq!(owner.join().unwrap(), Some(false));
    });
}
