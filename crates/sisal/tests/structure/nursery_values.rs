//! What the children of a nursery return, and what becomes of it: whoever joins them has it, or it is dropped before the nursery ends.

use crate::common::watchdog::guarded;
use crate::common::{LONG, background, in_fiber_of_each, shut_down, until};
use sisal::{Cause, Handle, Nursery, block_on, chan, nursery, shield, sleep, timeout, yield_now};
use std::cell::Cell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Counts those of its kind that have been dropped, in what the caller lends.
struct Counted<'a>(&'a AtomicUsize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn children_return_what_borrows_from_around_the_nursery() {
    in_fiber_of_each(|| {
        let words = ["plain", "blocking", "code"];
        let longest = nursery(|n| {
            let children = words.each_ref().map(|word| {
                n.spawn(move || {
                    yield_now();
                    Ok::<_, ()>((word.len(), word))
                })
            });
            Ok(children.into_iter().map(|child| child.join().unwrap()).max())
        });
        assert_eq!(longest, Ok(Some((8, &"blocking"))));
    });
}

#[test]
fn a_value_is_kept_for_one_who_comes_later() {
    in_fiber_of_each(|| {
        nursery(|n| {
            let child = n.spawn(|| Ok::<_, ()>(String::from("tea")));
            child.wait().unwrap();
            n.cancel();
            assert_eq!(child.join().unwrap(), "tea", "there is nothing left to wait for");
            Ok(())
        })
        .unwrap();
    });
}

#[test]
fn siblings_join_each_other() {
    in_fiber_of_each(|| {
        let sum = nursery(|n| {
            let (one, two) = (n.spawn(|| Ok::<_, io::Error>(1)), n.spawn(|| Ok(2)));
            n.spawn(move || Ok(one.join()? + two.join()?)).join().map_err(Into::into)
        });
        assert_eq!(sum.unwrap(), 3);
    });
}

#[test]
fn children_are_awaited_as_they_are_joined() {
    in_fiber_of_each(|| {
        let result = nursery(|n| {
            let (mut one, two) = (n.spawn(|| Ok([1; 100])), n.spawn(|| Ok(())));
            block_on(async {
                two.await.unwrap();
                assert_eq!((&mut one).await.unwrap(), [1; 100]);
            });
            let failing = n.spawn(|| Err::<u32, _>("lost"));
            assert_eq!(block_on(failing).unwrap_err().cause, Cause::Failure);
            Ok(())
        });
        assert_eq!(result, Err("lost"));
    });
}

#[test]
fn what_must_stay_on_its_thread_is_returned_there() {
    in_fiber_of_each(|| {
        let count = Rc::new(Cell::new(0));
        let same = nursery(|n| {
            let child = n.spawn_local(|| {
                count.set(7);
                Ok::<_, ()>(Rc::clone(&count))
            });
            Ok(Rc::ptr_eq(&child.join().unwrap(), &count))
        });
        assert_eq!((same, count.get(), Rc::strong_count(&count)), (Ok(true), 7, 1));
    });
}

#[test]
fn whoever_joins_one_that_fails_is_told_so() {
    in_fiber_of_each(|| {
        let result = Nursery::options().run_all(|n| {
            let children = [1, 2].map(|number| n.spawn(move || Err::<u32, _>(number)));
            for child in children {
                assert_eq!(child.join().unwrap_err().cause, Cause::Failure);
            }
            assert!(!n.is_cancelled());
            Ok(())
        });
        let mut errors = result.unwrap_err();
        errors.sort_unstable();
        assert_eq!(errors, [1, 2]);
    });
}

#[test]
fn whoever_joins_one_that_panics_is_told_so() {
    in_fiber_of_each(|| {
        let is_told = AtomicBool::new(false);
        let ended = catch_unwind(AssertUnwindSafe(|| {
            nursery(|n| {
                let child = n.spawn(|| -> Result<u32, ()> { std::panic::resume_unwind(Box::new(7)) });
                assert_eq!(shield(|| child.join()).unwrap_err().cause, Cause::Failure);
                is_told.store(true, Ordering::Relaxed);
                Ok(())
            })
        }));
        assert_eq!(ended.unwrap_err().downcast_ref(), Some(&7));
        assert!(is_told.into_inner());
    });
}

#[test]
fn one_that_never_ran_has_no_value() {
    in_fiber_of_each(|| {
        let has_run = AtomicBool::new(false);
        nursery(|n| {
            n.cancel();
            let child = n.spawn(|| Ok::<_, ()>(has_run.swap(true, Ordering::Relaxed)));
            assert_eq!(shield(|| child.join()).unwrap_err().cause, Cause::Request);
            Ok(())
        })
        .unwrap();
        assert!(!has_run.into_inner());
    });
}

#[test]
fn one_that_was_cancelled_before_it_ran_has_no_value() {
    in_fiber_of_each(|| {
        nursery(|n| {
            let child = n.spawn_local(|| Ok::<_, ()>(7));
            child.cancel();
            assert_eq!(child.join().unwrap_err().cause, Cause::Request);
            Ok(())
        })
        .unwrap();
    });
}

#[test]
fn a_value_is_given_once() {
    in_fiber_of_each(|| {
        nursery(|n| {
            let mut child = n.spawn(|| Ok::<_, ()>(7));
            assert_eq!(block_on(&mut child).unwrap(), 7);
            let again = catch_unwind(AssertUnwindSafe(|| child.join())).unwrap_err();
            assert!(again.downcast_ref::<&str>().unwrap().contains("has given its result already"));
            Ok(())
        })
        .unwrap();
    });
}

#[test]
fn a_wait_that_is_cancelled_leaves_the_child_alone() {
    in_fiber_of_each(|| {
        let (tell, told) = chan::oneshot::<u32>();
        let received = AtomicUsize::new(0);
        nursery(|n| {
            let child = n.spawn(|| {
                let number = told.recv().map_err(drop)?;
                received.store(number as usize, Ordering::Relaxed);
                Ok(number)
            });
            let joined = timeout(Duration::from_millis(1), || child.join());
            assert_eq!(joined.unwrap_err().cause, Cause::Deadline);
            tell.send(7).map_err(drop)
        })
        .unwrap();
        assert_eq!(received.into_inner(), 7);
    });
}

#[test]
fn a_value_that_nobody_takes_is_dropped_before_the_nursery_ends() {
    in_fiber_of_each(|| {
        const CHILDREN: usize = 100;
        let dropped = AtomicUsize::new(0);
        nursery(|n| {
            for number in 0..CHILDREN {
                let child = n.spawn(|| Ok::<_, ()>(Counted(&dropped)));
                match number % 3 {
                    0 => drop(child),
                    1 => until(|| child.is_finished()),
                    _ => drop(child.join().unwrap()),
                }
            }
            Ok(())
        })
        .unwrap();
        assert_eq!(dropped.into_inner(), CHILDREN);
    });
}

#[test]
fn a_panic_of_a_value_that_is_dropped_is_the_nurserys() {
    struct Spiteful;
    impl Drop for Spiteful {
        fn drop(&mut self) {
            std::panic::resume_unwind(Box::new("spite"));
        }
    }
    in_fiber_of_each(|| {
        let ended = catch_unwind(|| {
            nursery(|n| {
                let (tell, told) = chan::oneshot::<()>();
                drop(n.spawn(move || {
                    _ = told.recv();
                    Ok::<_, ()>(Spiteful)
                }));
                tell.send(()).map_err(drop)
            })
        });
        assert_eq!(ended.unwrap_err().downcast_ref(), Some(&"spite"));
    });
}

#[test]
fn one_whose_runtime_stops_gives_what_it_has() {
    guarded(|| {
        let runtime = background(1);
        let joined = runtime.run(|| {
            let has_started = AtomicBool::new(false);
            nursery(|n| {
                let child = n.spawn(|| {
                    has_started.store(true, Ordering::Relaxed);
                    Ok::<_, ()>(sleep(LONG).unwrap_err().cause)
                });
                until(|| has_started.load(Ordering::Relaxed));
                Handle::current().unwrap().request_stop();
                Ok(shield(|| child.join()))
            })
        });
        assert_eq!(joined.unwrap().unwrap(), Cause::Shutdown);
        shut_down(runtime);
    });
}

#[test]
fn siblings_share_a_child_whose_value_can_only_be_sent() {
    in_fiber_of_each(|| {
        nursery(|n| {
            let child = Arc::new(n.spawn(|| Ok::<_, ()>(Cell::new(7))));
            let siblings = [(); 3].map(|()| {
                let child = Arc::clone(&child);
                n.spawn(move || child.wait().map_err(drop))
            });
            siblings.into_iter().for_each(|sibling| sibling.join().unwrap());
            assert!(child.is_finished());
            Ok(())
        })
        .unwrap();
    });
}
