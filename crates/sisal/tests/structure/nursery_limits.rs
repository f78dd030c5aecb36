//! When the time of a nursery is up, that counts from that moment on, for everybody who asks and for all that has not started.

use crate::common::watchdog::guarded;
use crate::common::{LONG, background, in_fiber_of_each, shut_down};
use sisal::{Cause, Nursery, check_cancelled, deadline, nursery, shield, timeout};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const SHORT: Duration = Duration::from_millis(2);

/// Computes until `is_over`.
fn compute_until(is_over: impl Fn() -> bool) {
    while !is_over() {
        std::hint::spin_loop();
    }
}

#[test]
fn the_body_and_its_children_see_that_time_is_up_while_they_compute() {
    in_fiber_of_each(|| {
        let token = Nursery::options().timeout(SHORT).run(|n| {
            let below = n.token().child();
            n.spawn(|| compute_until(|| n.is_cancelled()));
            n.spawn(|| compute_until(|| check_cancelled().is_err()));
            n.spawn(move || compute_until(|| below.is_cancelled()));
            compute_until(|| n.token().is_cancelled());
            assert_eq!(n.token().cause(), Some(Cause::Deadline));
            Ok::<_, ()>(n.token())
        });
        assert_eq!(token.unwrap().cause(), Some(Cause::Deadline));
    });
}

#[test]
fn a_limit_around_a_nursery_is_seen_in_it_and_one_around_a_shield_is_not() {
    in_fiber_of_each(|| {
        let computes = |n: &Nursery<'_, '_, ()>| {
            compute_until(|| n.is_cancelled());
            Ok(())
        };
        timeout(SHORT, || nursery(|n| computes(n)).unwrap());
        let is_over = deadline(Instant::now(), || shield(|| nursery(|n| Ok::<_, ()>(n.is_cancelled()))));
        assert_eq!(is_over, Ok(false));
    });
}

/// How many of many children run in a nursery whose time is up.
fn run_too_late(options: impl Fn() -> sisal::NurseryOptions, is_local: bool) -> usize {
    let ran = AtomicUsize::new(0);
    let run = || _ = ran.fetch_add(1, Ordering::Relaxed);
    options()
        .deadline(Instant::now())
        .run(|n| {
            (0..1_000).for_each(|_| _ = if is_local { n.spawn_local(run) } else { n.spawn(run) });
            Ok::<_, ()>(())
        })
        .unwrap();
    ran.into_inner()
}

#[test]
fn what_has_not_started_when_time_is_up_never_runs() {
    in_fiber_of_each(|| {
        assert_eq!([true, false].map(|is_local| run_too_late(Nursery::options, is_local)), [0, 0]);
    });
    guarded(|| {
        let runtime = background(2);
        assert_eq!(run_too_late(|| Nursery::options().runtime(runtime.handle()), false), 0);
        shut_down(runtime);
    });
}

#[test]
fn a_token_that_outlives_its_nursery_is_not_ended_by_the_time_that_it_had() {
    in_fiber_of_each(|| {
        let end = Instant::now() + SHORT;
        let token = Nursery::options().deadline(end).run(|n| Ok::<_, ()>(n.token())).unwrap();
        // None, unless the nursery itself was late.
        let at_the_end = token.cause();
        compute_until(|| Instant::now() > end);
        assert_eq!(token.cause(), at_the_end);
        let token = Nursery::options().timeout(LONG).run(|n| Ok::<_, ()>(n.token())).unwrap();
        assert_eq!(token.cause(), None);
    });
}
