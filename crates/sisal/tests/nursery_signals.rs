//! Nurseries that end when the process is asked to, each test in a process of its own.

mod common;

use common::waits::cause;
use common::{LONG, child, fixed, until};
use rustix::process::Signal;
use sisal::{Cause, Nursery, nursery, sleep, yield_now};
use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

const SIGTERM: i32 = 15;

/// Children that have started, and count those that were told of the signal.
#[derive(Default)]
struct Sleepers {
    started: AtomicUsize,
    told: AtomicUsize,
}

impl Sleepers {
    const COUNT: usize = 4;

    fn spawn_into<'scope>(&'scope self, n: &'scope Nursery<'scope, '_, Infallible>) {
        for _ in 0..Sleepers::COUNT {
            n.spawn(|| {
                self.started.fetch_add(1, Ordering::Relaxed);
                assert_eq!(cause(sleep(LONG)), Some(Cause::Signal));
                yield_now();
                self.told.fetch_add(1, Ordering::Relaxed);
            });
        }
        until(|| self.have_started());
    }

    fn have_started(&self) -> bool {
        self.started.load(Ordering::Relaxed) == Sleepers::COUNT
    }

    fn were_told(&self) {
        assert_eq!(self.told.load(Ordering::Relaxed), Sleepers::COUNT);
    }
}

/// Sends this process a signal.
fn signal_oneself(signal: Signal) {
    rustix::process::kill_process(rustix::process::getpid(), signal).unwrap();
}

/// Sends it in a nursery that is to end on it.
fn a_signal_ends_the_nursery(signal: Signal) {
    let sleepers = Sleepers::default();
    let value = fixed(2)
        .run(|| {
            Nursery::options().cancel_on_signals().run(|n| {
                sleepers.spawn_into(n);
                signal_oneself(signal);
                assert_eq!(cause(sleep(LONG)), Some(Cause::Signal));
                assert!(n.is_cancelled());
                Ok::<_, Infallible>(7)
            })
        })
        .unwrap();
    assert_eq!(value, Ok(7), "the process goes on");
    sleepers.were_told();
}

#[test]
fn an_interrupt_ends_a_nursery_that_asked_for_it() {
    let ended = child::run(|| a_signal_ends_the_nursery(Signal::INT));
    ended.well();
}

#[test]
fn a_request_to_terminate_ends_a_nursery_that_asked_for_it() {
    let ended = child::run(|| a_signal_ends_the_nursery(Signal::TERM));
    ended.well();
}

#[test]
fn one_nursery_after_another_ends_on_signals() {
    let ended = child::run(|| {
        for _ in 0..10 {
            a_signal_ends_the_nursery(Signal::INT);
            a_signal_ends_the_nursery(Signal::TERM);
        }
    });
    ended.well();
}

#[test]
fn two_nurseries_of_two_runtimes_both_end_on_one_signal() {
    let ended = child::run(|| {
        let sleepers = [Sleepers::default(), Sleepers::default()];
        let wait_for_it = |sleepers: &Sleepers| {
            let done = Nursery::options().cancel_on_signals().run(|n| {
                sleepers.spawn_into(n);
                Ok::<_, Infallible>(())
            });
            done.unwrap();
        };
        thread::scope(|scope| {
            for sleepers in &sleepers {
                scope.spawn(move || fixed(1).run(|| wait_for_it(sleepers)).unwrap());
            }
            until(|| sleepers.iter().all(Sleepers::have_started));
            signal_oneself(Signal::INT);
        });
        sleepers.iter().for_each(Sleepers::were_told);
    });
    ended.well();
}

#[test]
fn a_nursery_inside_one_that_ends_on_signals_ends_with_it() {
    let ended = child::run(|| {
        let sleepers = Sleepers::default();
        let run = fixed(2).run(|| {
            Nursery::options().cancel_on_signals().run(|outer| {
                outer.spawn(|| {
                    let inner = nursery(|inner| {
                        sleepers.spawn_into(inner);
                        Ok::<_, Infallible>(())
                    });
                    inner.unwrap();
                });
                until(|| sleepers.have_started());
                signal_oneself(Signal::TERM);
                Ok::<_, Infallible>(())
            })
        });
        run.unwrap().unwrap();
        sleepers.were_told();
    });
    ended.well();
}

#[test]
fn a_second_signal_of_the_other_kind_ends_the_process_too() {
    let ended = child::run(|| {
        let run = fixed(1).run(|| {
            Nursery::options().cancel_on_signals().run(|n| {
                n.spawn(|| ());
                signal_oneself(Signal::INT);
                assert_eq!(cause(sleep(LONG)), Some(Cause::Signal));
                // In this order: a shell's background jobs are born with the other ignored.
                signal_oneself(Signal::TERM);
                sisal::shield(|| sleep(LONG)).unwrap();
                Ok::<_, Infallible>(())
            })
        });
        run.unwrap().unwrap();
    });
    ended.by_signal(SIGTERM);
}

#[test]
fn a_signal_that_no_nursery_asked_for_does_what_it_always_did() {
    let ended = child::run(|| {
        let run = fixed(1).run(|| {
            nursery(|n| {
                n.spawn(|| ());
                signal_oneself(Signal::TERM);
                let _ = sleep(LONG);
                Ok::<_, Infallible>(())
            })
        });
        run.unwrap().unwrap();
    });
    ended.by_signal(SIGTERM);
}
