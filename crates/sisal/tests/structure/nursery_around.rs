//! Nurseries that are cancelled by what is around them: limits, tokens, other nurseries, their fiber, the runtime.

use crate::common::gate::Gate;
use crate::common::waits::cause;
use crate::common::watchdog::guarded;
use crate::common::{LONG, background, in_fiber_of_each, shut_down};
use crate::sleepers::{Sleepers, Sure, with_enough_time};
use sisal::{CancelToken, Cause, nursery, sleep, spawn, timeout};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

#[test]
fn children_inherit_the_limit_around_the_nursery() {
    in_fiber_of_each(|| {
        with_enough_time(|time| {
            let sleepers = Sleepers::expecting(Cause::Deadline);
            let body = timeout(time, || {
                nursery(|n| {
                    for _ in 0..Sleepers::COUNT {
                        n.spawn(|| sleepers.sleep());
                    }
                    Ok::<_, Infallible>(cause(sleep(LONG)))
                })
            });
            assert_eq!(body, Ok(Some(Cause::Deadline)));
            sleepers.all_started_were_told() == Sleepers::COUNT
        });
    });
}

#[test]
fn grandchildren_inherit_the_limit_too() {
    in_fiber_of_each(|| {
        with_enough_time(|time| {
            let sleepers = Sleepers::expecting(Cause::Deadline);
            let spawn_all = || {
                let inner: Sure<()> = nursery(|inner| {
                    for _ in 0..Sleepers::COUNT {
                        inner.spawn(|| sleepers.sleep());
                    }
                    Ok(())
                });
                inner.unwrap();
            };
            let outer: Sure<()> = timeout(time, || {
                nursery(|outer| {
                    outer.spawn(spawn_all);
                    Ok(())
                })
            });
            outer.unwrap();
            sleepers.all_started_were_told() == Sleepers::COUNT
        });
    });
}

#[test]
fn children_inherit_the_token_around_the_nursery() {
    in_fiber_of_each(|| {
        let (token, sleepers) = (CancelToken::new(), Sleepers::expecting(Cause::Request));
        let done = token.run(|| {
            nursery(|n| {
                sleepers.spawn_into(n);
                token.cancel();
                Ok::<_, Infallible>(())
            })
        });
        done.unwrap();
        sleepers.were_told();
    });
}

#[test]
fn cancelling_the_outer_nursery_ends_the_children_of_the_inner() {
    in_fiber_of_each(|| {
        let sleepers = Sleepers::expecting(Cause::Request);
        let done: Sure<()> = nursery(|outer| {
            outer.spawn(|| {
                let inner: Sure<()> = nursery(|inner| {
                    sleepers.spawn_into(inner);
                    assert_eq!(cause(sleep(LONG)), Some(Cause::Request));
                    Ok(())
                });
                inner.unwrap();
            });
            sleepers.until_all_started();
            outer.cancel();
            Ok(())
        });
        done.unwrap();
        sleepers.were_told();
    });
}

#[test]
fn cancelling_the_inner_nursery_leaves_the_outer_alone() {
    in_fiber_of_each(|| {
        let gate = Gate::closed();
        let done: Sure<()> = nursery(|outer| {
            let way = gate.way();
            let sibling = outer.spawn(move || way.pass().unwrap());
            let sleepers = Sleepers::expecting(Cause::Request);
            let inner: Sure<()> = nursery(|inner| {
                sleepers.spawn_into(inner);
                inner.cancel();
                Ok(())
            });
            inner.unwrap();
            sleepers.were_told();
            assert!(!outer.is_cancelled() && !sibling.is_finished());
            sleep(Duration::from_micros(50)).unwrap();
            gate.open();
            Ok(())
        });
        done.unwrap();
    });
}

/// The body of a fiber that has a nursery of sleepers, and does `inside` in it.
fn with_nursery(sleepers: &Arc<Sleepers>, inside: fn(&Sleepers)) -> impl FnOnce() + Send + 'static {
    let sleepers = Arc::clone(sleepers);
    move || {
        let done: Sure<()> = nursery(|n| {
            sleepers.spawn_into(n);
            inside(&sleepers);
            Ok(())
        });
        done.unwrap();
    }
}

#[test]
fn cancelling_the_fiber_that_has_the_nursery_ends_its_children() {
    in_fiber_of_each(|| {
        let sleepers = Arc::new(Sleepers::expecting(Cause::Request));
        let fiber = spawn(with_nursery(&sleepers, |_| ()));
        sleepers.until_all_started();
        fiber.cancel();
        fiber.join().unwrap();
        sleepers.were_told();
    });
}

#[test]
fn cancelling_a_fiber_reaches_the_children_of_its_nursery_while_its_own_body_computes() {
    in_fiber_of_each(|| {
        let sleepers = Arc::new(Sleepers::expecting(Cause::Request));
        // It gives way, but never waits.
        let fiber = spawn(with_nursery(&sleepers, Sleepers::until_all_ended));
        sleepers.until_all_started();
        fiber.cancel();
        fiber.join().unwrap();
        sleepers.were_told();
    });
}

#[test]
fn the_end_of_the_runtime_ends_the_children() {
    guarded(|| {
        let runtime = background(2);
        let sleepers = Arc::new(Sleepers::expecting(Cause::Shutdown));
        let fiber = runtime.spawn(with_nursery(&sleepers, |_| ()));
        sleepers.until_all_started();
        shut_down(runtime);
        fiber.join().unwrap();
        sleepers.were_told();
    });
}
