//! Tokens: they form a tree, cancelling goes down it, and waits inside of `run` end with their token.

use crate::common::places::{everywhere, join_all, settle};
use crate::common::waits::{cause, in_fibers_and_a_thread};
use crate::common::watchdog::guarded;
use crate::common::{LONG, until};
use sisal::chan::{RecvError, bounded};
use sisal::sync::Mutex;
use sisal::{CancelToken, Cause, check_cancelled, sleep, timeout};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::Duration;

const SHORT: Duration = Duration::from_millis(1);

#[test]
fn a_token_is_cancelled_once_and_for_all_its_clones() {
    in_fibers_and_a_thread(|| {
        let token = CancelToken::new();
        let clone = token.clone();
        assert!(!token.is_cancelled() && token.cause().is_none());
        clone.cancel();
        assert!(token.is_cancelled() && clone.is_cancelled());
        token.cancel();
        assert_eq!((token.cause(), clone.cause()), (Some(Cause::Request), Some(Cause::Request)));
        token.wait().unwrap();
    });
}

#[test]
fn cancelling_goes_down_the_tree_and_not_up() {
    in_fibers_and_a_thread(|| {
        let root = CancelToken::new();
        let (left, right) = (root.child(), root.child());
        let (leaf, other) = (left.child(), right.child());
        left.cancel();
        assert!(left.is_cancelled() && leaf.is_cancelled());
        assert!(!root.is_cancelled() && !right.is_cancelled() && !other.is_cancelled());
        assert_eq!(leaf.cause(), Some(Cause::Request));
        root.cancel();
        assert!(right.is_cancelled() && other.is_cancelled());
        assert!(other.child().is_cancelled(), "one made afterwards is born cancelled");
    });
}

#[test]
fn a_branch_outlives_the_token_it_was_made_from() {
    in_fibers_and_a_thread(|| {
        let root = CancelToken::new();
        let leaf = root.child().child();
        assert!(!leaf.is_cancelled(), "a dropped token cancels nothing");
        root.cancel();
        assert!(leaf.is_cancelled(), "and still passes on what comes from above");
    });
}

#[test]
fn a_tree_of_tokens_may_be_deep_and_wide() {
    in_fibers_and_a_thread(|| {
        let root = CancelToken::new();
        let mut chain = vec![root.clone()];
        for _ in 0..10_000 {
            chain.push(chain.last().unwrap().child());
        }
        let leaves: Vec<_> = (0..10_000).map(|_| root.child()).collect();
        assert!(!chain.last().unwrap().is_cancelled());
        root.cancel();
        assert!(chain.iter().chain(&leaves).all(CancelToken::is_cancelled));
        let end = chain.pop();
        // Only the last link is left, then nothing.
        drop(chain);
        drop(root);
        drop(end);
    });
}

#[test]
fn waits_inside_run_end_with_the_token() {
    everywhere(|place| {
        let token = CancelToken::new();
        let started = Arc::new(AtomicUsize::new(0));
        let actors = place.crowd(6, |number| {
            let token = if number % 2 == 0 { token.clone() } else { token.child() };
            let started = Arc::clone(&started);
            move || {
                let slept = token.run(|| {
                    started.fetch_add(1, Ordering::Relaxed);
                    cause(sleep(LONG))
                });
                check_cancelled().unwrap();
                slept
            }
        });
        until(|| started.load(Ordering::Relaxed) == 6);
        settle();
        token.cancel();
        assert!(join_all(actors).into_iter().all(|slept| slept == Some(Cause::Request)));
    });
}

#[test]
fn run_returns_what_the_closure_returns_and_leaves_what_need_not_wait_alone() {
    in_fibers_and_a_thread(|| {
        let token = CancelToken::new();
        assert_eq!(token.run(|| 7), 7);
        token.cancel();
        let (send, receive) = bounded(1);
        let mutex = Mutex::new(1);
        let sum = token.run(|| {
            assert_eq!(cause(check_cancelled()), Some(Cause::Request));
            send.send(1).unwrap();
            receive.recv().unwrap() + *mutex.lock()
        });
        assert_eq!(sum, 2);
        check_cancelled().unwrap();
    });
}

#[test]
fn of_two_tokens_around_a_wait_either_ends_it() {
    in_fibers_and_a_thread(|| {
        let (outer, inner) = (CancelToken::new(), CancelToken::new());
        outer.run(|| {
            inner.run(|| {
                check_cancelled().unwrap();
                inner.cancel();
                assert_eq!(cause(sleep(LONG)), Some(Cause::Request));
            });
            sleep(Duration::from_micros(10)).unwrap();
            outer.cancel();
            let fresh = CancelToken::new();
            fresh.run(|| assert_eq!(cause(sleep(LONG)), Some(Cause::Request)));
        });
        check_cancelled().unwrap();
    });
}

#[test]
fn a_limit_inside_a_token_and_a_token_inside_a_limit_both_hold() {
    in_fibers_and_a_thread(|| {
        let token = CancelToken::new();
        assert_eq!(token.run(|| timeout(SHORT, || cause(sleep(LONG)))), Some(Cause::Deadline));
        assert_eq!(timeout(SHORT, || token.run(|| cause(sleep(LONG)))), Some(Cause::Deadline));
        token.cancel();
        assert_eq!(token.run(|| timeout(LONG, || cause(sleep(LONG)))), Some(Cause::Request));
        assert_eq!(timeout(LONG, || token.run(|| cause(sleep(LONG)))), Some(Cause::Request));
    });
}

#[test]
fn a_panic_takes_the_token_along() {
    in_fibers_and_a_thread(|| {
        let token = CancelToken::new();
        token.cancel();
        assert!(catch_unwind(AssertUnwindSafe(|| token.run(|| panic!("on purpose")))).is_err());
        check_cancelled().unwrap();
        sleep(Duration::from_micros(10)).unwrap();
    });
}

#[test]
fn a_token_may_be_waited_for() {
    everywhere(|place| {
        let token = CancelToken::new();
        let actors = place.crowd(6, |number| {
            let token = if number % 2 == 0 { token.clone() } else { token.child() };
            move || token.wait()
        });
        settle();
        assert!(actors.iter().all(|actor| !actor.is_finished()));
        token.cancel();
        join_all(actors).into_iter().for_each(Result::unwrap);
    });
}

#[test]
fn a_wait_for_a_token_is_cancelled_by_what_is_around_it() {
    in_fibers_and_a_thread(|| {
        let (token, around) = (CancelToken::new(), CancelToken::new());
        assert_eq!(cause(timeout(SHORT, || token.wait())), Some(Cause::Deadline));
        around.cancel();
        assert_eq!(cause(around.run(|| token.wait())), Some(Cause::Request));
        assert!(!token.is_cancelled());
    });
}

#[test]
fn a_select_sees_a_token_among_its_arms() {
    everywhere(|place| {
        let (token, started) = (CancelToken::new(), Arc::new(AtomicUsize::new(0)));
        let (send, receive) = bounded::<u8>(0);
        let actors = place.crowd(4, |number| {
            let token = if number % 2 == 0 { token.clone() } else { token.child().child() };
            let (receive, started) = (receive.clone(), Arc::clone(&started));
            move || {
                started.fetch_add(1, Ordering::Relaxed);
                sisal::select! {
                    recv(receive) -> _ => false,
                    recv(token.done()) -> done => matches!(done, Err(RecvError::Closed)),
                }
            }
        });
        until(|| started.load(Ordering::Relaxed) == 4);
        settle();
        token.cancel();
        assert!(join_all(actors).into_iter().all(|saw_it| saw_it));
        assert!(matches!(token.done().recv(), Err(RecvError::Closed)));
        drop(send);
    });
}

#[test]
fn nothing_is_received_from_a_token_that_is_not_cancelled() {
    in_fibers_and_a_thread(|| {
        let token = CancelToken::new();
        assert!(token.done().try_recv().is_err() && !token.done().is_closed());
        let chosen = sisal::select! {
            recv(token.done()) -> _ => 1,
            default => 2,
        };
        assert_eq!(chosen, 2);
        token.cancel();
        assert!(token.done().is_closed());
    });
}

#[test]
fn a_token_cancelled_by_the_one_it_stops_ends_its_next_wait() {
    everywhere(|place| {
        let actors = place.crowd(4, |_| {
            || {
                let token = CancelToken::new();
                token.run(|| {
                    sleep(Duration::from_micros(10)).unwrap();
                    token.cancel();
                    cause(sleep(LONG))
                })
            }
        });
        assert!(join_all(actors).into_iter().all(|slept| slept == Some(Cause::Request)));
    });
}

#[test]
fn a_waker_may_cancel_the_token_that_calls_it() {
    struct Again(CancelToken);
    impl Wake for Again {
        fn wake(self: Arc<Again>) {
            self.0.cancel();
        }
    }
    in_fibers_and_a_thread(|| {
        let done: Result<(), ()> = sisal::nursery(|n| {
            let token = n.token();
            let done = token.done();
            let mut task = Box::pin(done.recv_async());
            let waker = Waker::from(Arc::new(Again(token.clone())));
            assert!(task.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            token.cancel();
            assert!(task.as_mut().poll(&mut Context::from_waker(&waker)).is_ready());
            Ok(())
        });
        done.unwrap();
    });
}

#[test]
fn a_token_may_be_cancelled_when_its_thread_has_nothing_left_of_its_own() {
    struct AtTheEnd(CancelToken);
    impl Drop for AtTheEnd {
        fn drop(&mut self) {
            self.0.cancel();
        }
    }
    thread_local! {
        static LAST: std::cell::RefCell<Option<AtTheEnd>> = const { std::cell::RefCell::new(None) };
    }
    let token = CancelToken::new();
    let child = token.child();
    std::thread::spawn(move || {
        LAST.with(|last| *last.borrow_mut() = Some(AtTheEnd(token)));
        // What comes into being later goes earlier.
        CancelToken::new().cancel();
    })
    .join()
    .unwrap();
    assert!(child.is_cancelled());
}

/// What a task does when it is woken may need the locks of the token, also in a thread that has dropped its own variables.
#[test]
fn tasks_that_are_woken_by_the_end_of_a_thread_may_use_the_token() {
    struct Asks(CancelToken, AtomicUsize);

    impl Wake for Asks {
        fn wake(self: Arc<Asks>) {
            assert!(self.0.child().is_cancelled());
            self.1.fetch_add(1, Ordering::Relaxed);
        }
    }

    struct CancelsAtTheEnd(CancelToken);

    impl Drop for CancelsAtTheEnd {
        fn drop(&mut self) {
            self.0.cancel();
        }
    }

    thread_local! {
        static LAST: RefCell<Option<CancelsAtTheEnd>> = const { RefCell::new(None) };
    }

    guarded(|| {
        let token = CancelToken::new();
        let task = Arc::new(Asks(token.clone(), AtomicUsize::new(0)));
        let waker = Waker::from(Arc::clone(&task));
        let done = token.done();
        let mut waits = pin!(done.recv_async());
        assert!(waits.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        let canceller = token.clone();
        let thread = thread::spawn(move || {
            LAST.set(Some(CancelsAtTheEnd(canceller)));
            // Variables go in the order opposite to that in which they came: this one's before ours.
            CancelToken::new().cancel();
        });
        thread.join().unwrap();
        assert_eq!(task.1.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn a_task_that_is_woken_by_a_look_at_the_time_may_use_the_token() {
    use std::future::Future;
    use std::sync::Arc;
    use std::task::{Context, Wake, Waker};
    struct Cancels(sisal::CancelToken);
    impl Wake for Cancels {
        fn wake(self: Arc<Self>) {
            self.0.cancel();
        }
    }
    crate::common::watchdog::guarded(|| {
        sisal::run(|| {
            let limit = std::time::Duration::from_millis(5);
            let ended = sisal::Nursery::options().timeout(limit).run(|n| {
                let token = n.token();
                let waker = Waker::from(Arc::new(Cancels(token.clone())));
                let mut done = std::pin::pin!(token.done().recv_async());
                assert!(done.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
                // Without a wait, and once: nothing has looked before.
                let begun = std::time::Instant::now();
                while begun.elapsed() <= 2 * limit {}
                assert!(token.is_cancelled());
                Ok::<_, ()>(())
            });
            ended.unwrap();
        });
    });
}
