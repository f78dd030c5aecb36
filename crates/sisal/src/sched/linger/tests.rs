//! Whether it is worth it to linger, and what others are told.

use super::*;
use crate::Runtime;
use crate::chan::bounded;
use crate::sched::worker;

#[test]
fn it_is_tried_less_and_less_in_vain_and_otherwise_left_out_now_and_then() {
    let mut lingers = Lingers::new();
    for expected in [2, 4, 8, 16] {
        lingers = lingers.next(true);
        assert_eq!(lingers.left, expected);
    }
    (0..20).for_each(|_| lingers = lingers.next(true));
    assert_eq!(lingers.left, MOST);
    for _ in 0..3 {
        let left_out = (0..=MOST_IN_A_ROW).filter(|_| {
            lingers = lingers.next(false);
            lingers.left == 1
        });
        assert_eq!(left_out.count(), 1);
    }
    assert_eq!(lingers.next(true).left, 2);
}

/// The worker does not leave the fiber then, and has to know all the same.
#[test]
fn a_fiber_that_was_told_counts_as_one_that_has_waited() {
    let runtime = Runtime::builder().workers(2).max_workers(2).build().unwrap();
    let (ask, asked) = bounded(0);
    let (answer, answers) = bounded(0);
    drop(runtime.handle().builder().spawn_on(1, move || {
        while let Ok(question) = asked.recv() {
            answer.send(question).unwrap();
        }
    }));
    let mut have_waited = 0;
    for number in 0..2_000 {
        let (ask, answers) = (ask.clone(), answers.clone());
        let fiber = runtime.handle().builder().spawn_on(0, move || {
            ask.send(number).unwrap();
            assert_eq!(answers.recv().unwrap(), number);
            worker::with_fiber(|running| {
                let (worker, me) = running.unwrap();
                let presence = &worker.remote().presence;
                (me.is_homed.get(), presence.running_has_waited(), presence.homed_besides_running())
            })
        });
        let (has_waited, is_said_to, others) = fiber.join().unwrap();
        assert_eq!((is_said_to, others), (has_waited, 0), "round {number}");
        have_waited += u32::from(has_waited);
    }
    assert_ne!(have_waited, 0);
}
