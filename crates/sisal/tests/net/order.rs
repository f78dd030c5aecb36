//! Fibers that wait for descriptors run in the order in which the kernel tells of these.

use crate::common::in_main_fiber;
use sisal::io::pipe;
use sisal::net::UnixStream;
use sisal::{spawn_local, yield_now};
use std::cell::RefCell;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::rc::Rc;

/// How many fibers wait at once: more than a driver is told of at a time.
const FIBERS: usize = 300;

/// How often each has something to read.
const ROUNDS: usize = 5;

/// One end to read from in a fiber, and one that is written to without one.
type Ends<R> = (R, std::fs::File);

/// Has a fiber wait for each of these, writes to all of them in any order before their worker can look, and sees them run in that order.
fn run_in_the_order_of_the_writes<R: Read + 'static>(make: impl Fn() -> Ends<R>) {
    in_main_fiber(1, || {
        let (readers, mut writers): (Vec<R>, Vec<_>) = (0..FIBERS).map(|_| make()).unzip();
        // Who has read, and who is about to.
        let (ran, waiting) = (Rc::new(RefCell::new(Vec::new())), Rc::new(RefCell::new(0)));
        let fibers: Vec<_> = readers
            .into_iter()
            .enumerate()
            .map(|(number, mut reader)| {
                let (ran, waiting) = (Rc::clone(&ran), Rc::clone(&waiting));
                spawn_local(move || {
                    for _ in 0..ROUNDS {
                        *waiting.borrow_mut() += 1;
                        reader.read_exact(&mut [0]).unwrap();
                        ran.borrow_mut().push(number);
                    }
                })
            })
            .collect();
        let mut random = fastrand::Rng::with_seed(7);
        for round in 1..=ROUNDS {
            // Nobody else runs here: who said that it was about to has gone to wait.
            while *waiting.borrow() < round * FIBERS {
                yield_now();
            }
            let mut order: Vec<usize> = (0..FIBERS).collect();
            random.shuffle(&mut order);
            order.iter().for_each(|&number| writers[number].write_all(&[0]).unwrap());
            while ran.borrow().len() < FIBERS {
                yield_now();
            }
            let ran = ran.take();
            // A socket can be written to from the beginning, so at first there is news of all of them.
            if round > 1 {
                assert_eq!(ran, order, "round {round}");
            }
        }
        fibers.into_iter().for_each(|fiber| fiber.join().unwrap());
    });
}

#[test]
fn readers_of_pipes_run_in_the_order_of_the_writes() {
    run_in_the_order_of_the_writes(|| {
        let (reader, writer) = pipe().unwrap();
        (reader, OwnedFd::from(writer).into())
    });
}

#[test]
fn readers_of_sockets_run_in_the_order_of_the_writes() {
    run_in_the_order_of_the_writes(|| {
        let (here, there) = UnixStream::pair().unwrap();
        (here, OwnedFd::from(there).into())
    });
}
