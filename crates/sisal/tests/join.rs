//! Joining: one waiter or many, before and after the end, all, any, or the first that succeeds.

mod common;

use common::gate::Gate;
use common::watchdog::guarded;
use common::{LONG, background, in_fiber_of_each, rounds, until};
use sisal::{Cause, JoinError, Lost, RaceError, join_all, join_any, race, spawn, yield_now};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

#[test]
fn why_there_is_no_result_goes_wherever_errors_go() {
    in_fiber_of_each(|| {
        type Any = Box<dyn std::error::Error + Send + Sync>;
        let asked = || -> Result<u32, Any> { Ok(spawn(|| -> u32 { panic!("no more tea") }).join()?) };
        let error = asked().unwrap_err();
        assert!(error.to_string().ends_with("panicked: no more tea"), "{error}");
        assert!(error.downcast::<JoinError>().unwrap().is_panic());
        let lost = race(vec![spawn(|| Err::<(), _>("fell"))]).unwrap_err();
        assert_eq!(Any::from(lost).to_string(), "none of 1 fibers succeeded; fell");

        let waited = || -> std::io::Result<()> { Ok(sisal::timeout(Duration::ZERO, || sisal::sleep(LONG))?) };
        assert!(sisal::is_cancelled(&waited().unwrap_err()));
        let refused = || -> std::io::Result<()> {
            drop(sisal::Builder::new().stack_size(usize::MAX).try_spawn(|| ())?);
            Ok(())
        };
        assert!(refused().unwrap_err().to_string().contains("stack"), "{:?}", refused());
    });
}

#[test]
fn a_result_is_kept_for_a_later_join() {
    in_fiber_of_each(|| {
        let handle = spawn(|| vec![1, 2, 3]);
        until(|| handle.is_finished());
        spawn(|| ()).join().unwrap();
        assert_eq!(handle.join().unwrap(), [1, 2, 3]);
    });
}

#[test]
fn is_finished_tells_the_end_and_nothing_before() {
    in_fiber_of_each(|| {
        let gate = Gate::closed();
        let way = gate.way();
        let handle = spawn(move || way.pass().unwrap());
        (0..100).for_each(|_| yield_now());
        assert!(!handle.is_finished());
        gate.open();
        handle.wait().unwrap();
        assert!(handle.is_finished());
        handle.join().unwrap();
    });
}

#[test]
fn waiting_takes_nothing_and_may_be_done_again() {
    in_fiber_of_each(|| {
        let handle = spawn(|| {
            yield_now();
            7
        });
        handle.wait().unwrap();
        handle.wait().unwrap();
        assert_eq!(handle.join().unwrap(), 7);
    });
}

#[test]
fn several_fibers_and_threads_may_wait_on_one_handle_by_reference() {
    in_fiber_of_each(|| {
        let gate = Gate::closed();
        let way = gate.way();
        let handle = Arc::new(spawn(move || way.pass().unwrap()));
        let fibers: Vec<_> = (0..10)
            .map(|_| {
                let handle = Arc::clone(&handle);
                spawn(move || handle.wait())
            })
            .collect();
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let handle = Arc::clone(&handle);
                thread::spawn(move || handle.wait())
            })
            .collect();
        gate.open();
        join_all(fibers).into_iter().for_each(|waited| waited.unwrap().unwrap());
        threads.into_iter().for_each(|waited| waited.join().unwrap().unwrap());
        Arc::into_inner(handle).unwrap().join().unwrap();
    });
}

#[test]
fn a_handle_may_be_joined_by_a_fiber_that_did_not_spawn_it() {
    in_fiber_of_each(|| {
        let handle = spawn(|| 7);
        let joiner = spawn(move || handle.join().unwrap() + 1);
        assert_eq!(joiner.join().unwrap(), 8);
    });
}

#[test]
fn a_dropped_result_is_dropped_once() {
    in_fiber_of_each(|| {
        let alive = Arc::new(());
        let result = Arc::clone(&alive);
        let finished = spawn(move || result);
        finished.wait().unwrap();
        assert_eq!(Arc::strong_count(&alive), 2, "kept as long as it may be joined");
        drop(finished);
        assert_eq!(Arc::strong_count(&alive), 1);
    });
}

#[test]
fn a_shared_handle_gives_every_joiner_a_clone_and_keeps_the_result() {
    in_fiber_of_each(|| {
        let alive = Arc::new(());
        let result = Arc::clone(&alive);
        let shared = spawn(move || {
            yield_now();
            result
        });
        let id = shared.id();
        let shared = shared.shared();
        assert_eq!(shared.id(), id);
        let joined: Vec<_> =
            (0..10).map(|_| shared.clone()).map(|shared| spawn(move || shared.join().unwrap())).collect();
        let joined: Vec<_> = join_all(joined).into_iter().map(Result::unwrap).collect();
        assert!(shared.is_finished());
        assert_eq!(Arc::strong_count(&alive), 2 + joined.len());
        drop((joined, shared));
        assert_eq!(Arc::strong_count(&alive), 1);
    });
}

#[test]
fn join_all_keeps_the_order_of_the_handles() {
    in_fiber_of_each(|| {
        let handles = (0..100).map(|number| {
            spawn(move || {
                (0..(100 - number) % 7).for_each(|_| yield_now());
                assert!(number != 50, "on purpose");
                number
            })
        });
        for (number, result) in join_all(handles).into_iter().enumerate() {
            match result {
                Ok(joined) => assert_eq!(joined, number),
                Err(error) => assert!(number == 50 && matches!(error, JoinError::Panicked(_))),
            }
        }
        assert!(join_all(Vec::<sisal::JoinHandle<()>>::new()).is_empty());
    });
}

#[test]
fn join_any_takes_the_first_that_ends_and_leaves_the_others() {
    in_fiber_of_each(|| {
        let gates: Vec<_> = (0..3).map(|_| Gate::closed()).collect();
        let mut handles: Vec<_> = gates
            .iter()
            .enumerate()
            .map(|(number, gate)| {
                let way = gate.way();
                spawn(move || {
                    way.pass().unwrap();
                    number
                })
            })
            .collect();
        gates[1].open();
        let (index, result) = join_any(&mut handles).unwrap();
        assert_eq!((index, result.unwrap(), handles.len()), (1, 1, 2));
        gates[2].open();
        let (index, result) = join_any(&mut handles).unwrap();
        assert_eq!((index, result.unwrap(), handles.len()), (1, 2, 1));
        gates[0].open();
        assert_eq!(join_any(&mut handles).unwrap().1.unwrap(), 0);
        assert!(join_any(&mut handles).is_none());
    });
}

#[test]
fn join_any_finds_one_that_has_ended_before() {
    in_fiber_of_each(|| {
        let gate = Gate::closed();
        let way = gate.way();
        let ended = spawn(|| 7);
        ended.wait().unwrap();
        let mut handles = vec![
            spawn(move || {
                way.pass().unwrap();
                8
            }),
            ended,
        ];
        assert_eq!(join_any(&mut handles).unwrap().1.unwrap(), 7);
        gate.open();
        assert_eq!(handles.pop().unwrap().join().unwrap(), 8);
    });
}

#[test]
fn join_any_gives_a_panic_as_the_end_it_is() {
    in_fiber_of_each(|| {
        let gate = Gate::closed();
        let way = gate.way();
        let mut handles = vec![spawn(move || way.pass().unwrap()), spawn(|| panic!("on purpose"))];
        let (index, result) = join_any(&mut handles).unwrap();
        assert!(index == 1 && matches!(result, Err(JoinError::Panicked(_))));
        gate.open();
        handles.pop().unwrap().join().unwrap();
    });
}

#[test]
fn two_fibers_may_join_any_of_the_same_shared_work() {
    in_fiber_of_each(|| {
        for _ in 0..rounds(200) {
            let (left, right) = (spawn(yield_now).shared(), spawn(yield_now).shared());
            let watchers: Vec<_> = (0..2)
                .map(|_| {
                    let (left, right) = (left.clone(), right.clone());
                    spawn(move || {
                        let mut both = vec![spawn(move || left.join()), spawn(move || right.join())];
                        while let Some((_, result)) = join_any(&mut both) {
                            result.unwrap().unwrap();
                        }
                    })
                })
                .collect();
            join_all(watchers).into_iter().for_each(Result::unwrap);
        }
    });
}

#[test]
fn a_race_is_won_by_the_first_success_and_the_others_go_on() {
    in_fiber_of_each(|| {
        let gate = Gate::closed();
        let way = gate.way();
        let finished = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&finished);
        let slow = spawn(move || {
            way.pass().unwrap();
            count.fetch_add(1, Ordering::Relaxed);
            Ok(1)
        });
        let runners = vec![slow, spawn(|| Err("fell")), spawn(|| panic!("on purpose")), spawn(|| Ok(4))];
        assert_eq!(race(runners).unwrap(), 4);
        assert_eq!(finished.load(Ordering::Relaxed), 0);
        gate.open();
        until(|| finished.load(Ordering::Relaxed) == 1);
    });
}

#[test]
fn a_race_without_a_winner_tells_how_each_lost() {
    in_fiber_of_each(|| {
        let runners: Vec<_> = vec![spawn(|| Err("fell")), spawn(|| panic!("on purpose")), spawn(|| Err("tired"))];
        let error = race::<(), _>(runners).unwrap_err();
        assert!(error.to_string().starts_with("none of 3 fibers succeeded"), "{error}");
        let RaceError::AllLost(lost) = error else { panic!("{error}") };
        let mut failed: Vec<_> = lost
            .into_iter()
            .map(|lost| match lost {
                Lost::Failed(why) => why,
                Lost::NoResult(JoinError::Panicked(_)) => "panicked",
                Lost::NoResult(error) => panic!("{error}"),
            })
            .collect();
        failed.sort_unstable();
        assert_eq!(failed, ["fell", "panicked", "tired"]);
        let nobody = race::<(), ()>(Vec::new());
        assert!(matches!(nobody, Err(RaceError::AllLost(lost)) if lost.is_empty()));
    });
}

#[test]
fn threads_join_any_and_race_too() {
    guarded(|| {
        let runtime = background(2);
        let gate = Gate::closed();
        let way = gate.way();
        let slow = runtime.spawn(move || {
            way.pass().unwrap();
            Ok(1)
        });
        let mut handles = vec![slow, runtime.spawn(|| Err("fell"))];
        assert_eq!(join_any(&mut handles).unwrap().1.unwrap(), Err("fell"));
        handles.push(runtime.spawn(|| Ok(2)));
        assert_eq!(race(handles).unwrap(), 2);
        let all = join_all((0..10).map(|number| runtime.spawn(move || number)));
        assert_eq!(all.into_iter().map(Result::unwrap).sum::<i32>(), 45);
        gate.open();
        common::shut_down(runtime);
    });
}

#[test]
fn a_fiber_that_joins_itself_through_a_shared_handle_hangs_nobody_else() {
    guarded(|| {
        let runtime = background(1);
        let (give, take) = std::sync::mpsc::channel::<sisal::SharedHandle<bool>>();
        let own = runtime.spawn(move || take.recv().unwrap().join().is_err()).shared();
        give.send(own.clone()).unwrap();
        // It waits for its own end, which only the end of the runtime ends.
        assert_eq!(runtime.run(|| spawn(|| 7).join().unwrap()), 7);
        assert!(!own.is_finished());
        common::shut_down(runtime);
        assert!(own.join().unwrap(), "the wait was cancelled");
    });
}

#[test]
fn any_clone_of_a_shared_handle_waits_and_cancels() {
    in_fiber_of_each(|| {
        let gate = Gate::closed();
        let way = gate.way();
        let handle = spawn(move || way.pass().map_err(|cancelled| cancelled.cause)).shared();
        let waiters: Vec<_> = (0..3)
            .map(|_| {
                let handle = handle.clone();
                spawn(move || handle.wait().map(|()| handle.is_finished()))
            })
            .collect();
        let thread = {
            let handle = handle.clone();
            thread::spawn(move || handle.wait())
        };
        handle.clone().cancel();
        assert!(waiters.into_iter().all(|waiter| waiter.join().unwrap() == Ok(true)));
        until(|| thread.is_finished());
        thread.join().unwrap().unwrap();
        match handle.join() {
            Ok(passed) => assert_eq!(passed, Err(Cause::Request)),
            Err(error) => assert!(matches!(error, JoinError::Cancelled(_)), "it may not have begun"),
        }
    });
}
