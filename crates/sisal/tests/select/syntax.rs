//! What may be written in a `select!`.

use sisal::chan::{Receiver, RecvError, SendError, Sender, bounded, never, unbounded};
use sisal::select;
use std::cell::Cell;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

#[test]
fn it_is_an_expression() {
    let (tx, rx) = unbounded::<i32>();
    let pick = || {
        select! {
            recv(rx) -> received => received.map_or("closed".to_owned(), |number| number.to_string()),
            default => "default".into(),
        }
    };
    assert_eq!(pick(), "default");
    let sent: String = select! {
        send(tx, 7) -> _ => "sent".into(),
        default => unreachable!(),
    };
    assert_eq!((sent.as_str(), pick().as_str()), ("sent", "7"));
}

#[test]
fn a_default_may_stand_alone() {
    assert_eq!(select! { default => 7 }, 7);
    assert_eq!(select! { default(Duration::from_micros(10)) => 8 }, 8);
}

#[test]
fn the_result_of_an_arm_may_be_left_out() {
    let (tx, rx) = bounded::<i32>(1);
    select! {
        send(tx, 1) => {}
        default => unreachable!(),
    }
    let mut count = 0;
    select! {
        recv(rx) => count += 1,
        default => unreachable!(),
    }
    assert_eq!(count, 1);
}

#[test]
fn the_result_of_an_arm_may_be_a_pattern() {
    let (tx, rx) = unbounded();
    tx.send((1, "one")).unwrap();
    select! {
        recv(rx) -> _ => {}
    }
    tx.send((2, "two")).unwrap();
    let number = select! {
        recv(rx) -> received => received.map(|(number, _)| number),
    };
    assert_eq!(number, Ok(2));
    select! {
        recv(rx) -> mut received => {
            received = Ok((3, "three"));
            assert_eq!(received, Ok((3, "three")));
        }
        default => {}
    }
}

#[test]
fn the_results_have_these_types() {
    let (tx, rx) = bounded::<i32>(1);
    select! {
        send(tx, 1) -> sent => { let _: Result<(), SendError<i32>> = sent; }
    }
    select! {
        recv(rx) -> received => { let _: Result<i32, RecvError> = received; }
    }
}

#[test]
fn types_are_inferred_from_what_is_sent_and_received_elsewhere() {
    let (tx, rx) = unbounded();
    select! {
        recv(rx) -> _ => unreachable!(),
        default => {}
    }
    tx.send(1u8).unwrap();
    let (tx, rx) = unbounded();
    select! {
        send(tx, "tea") -> sent => sent.unwrap(),
    }
    assert_eq!(rx.recv(), Ok("tea"));
}

#[test]
fn ends_stand_there_by_name_by_reference_and_as_expressions() {
    struct Ends {
        tx: Sender<i32>,
        rxs: Vec<Receiver<i32>>,
    }
    let (tx, rx) = unbounded();
    let ends = Ends { tx, rxs: vec![rx] };
    let by_reference = &ends.tx;
    select! { send(ends.tx, 1) -> sent => sent.unwrap() }
    select! { send(&ends.tx, 2) -> sent => sent.unwrap() }
    select! { send(by_reference, 3) -> sent => sent.unwrap() }
    select! { recv(ends.rxs[0]) -> received => assert_eq!(received, Ok(1)) }
    select! { recv(&ends.rxs[0]) -> received => assert_eq!(received, Ok(2)) }
    select! { recv(ends.rxs.first().unwrap()) -> received => assert_eq!(received, Ok(3)) }
    select! {
        recv(ends.rxs.get(1).unwrap_or(&never())) -> received => panic!("{received:?}"),
        default => {}
    }
}

#[test]
fn ends_that_are_made_on_the_spot_live_as_long_as_they_are_needed() {
    let (tx, rx) = unbounded::<i32>();
    let (moved_tx, moved_rx) = (Some(tx), Some(rx));
    select! {
        send(moved_tx.unwrap(), 1) -> sent => sent.unwrap(),
        default => unreachable!(),
    }
    select! {
        recv(moved_rx.unwrap()) -> received => assert_eq!(received, Ok(1)),
        default => unreachable!(),
    }
}

#[test]
fn ends_on_the_heap_stand_there_too() {
    let (tx, rx) = unbounded();
    let (tx, rx) = (Box::new(tx), Box::new(rx));
    select! { send(*tx, 1) -> sent => sent.unwrap() }
    select! { recv(*rx) -> received => assert_eq!(received, Ok(1)) }
}

#[test]
fn what_derefs_to_an_end_stands_there_by_its_deref() {
    struct Wrapped(Receiver<i32>);
    impl Deref for Wrapped {
        type Target = Receiver<i32>;
        fn deref(&self) -> &Receiver<i32> {
            &self.0
        }
    }
    let (tx, rx) = unbounded();
    let wrapped = Wrapped(rx);
    tx.send(1).unwrap();
    select! { recv(*wrapped) -> received => assert_eq!(received, Ok(1)) }
}

#[test]
fn each_expression_is_evaluated_once() {
    let (tx, rx) = bounded(1);
    let evaluated = Cell::new([0; 3]);
    let count = |expression: usize| {
        let mut counts = evaluated.get();
        counts[expression] += 1;
        evaluated.set(counts);
    };
    select! {
        send({ count(0); &tx }, { count(1); 7 }) -> sent => sent.unwrap(),
        recv({ count(2); never::<u8>() }) -> _ => unreachable!(),
    }
    assert_eq!(evaluated.get(), [1, 1, 1]);
    assert_eq!(rx.recv(), Ok(7));
}

#[test]
fn values_are_moved_into_the_arm_that_runs() {
    let (tx, rx) = unbounded::<i32>();
    let once = String::from("once");
    select! {
        recv(rx) -> _ => drop(once),
        send(tx, 1) -> _ => drop(once),
    }
    let (one, other) = (Box::new(1), Box::new(2));
    let number = select! {
        recv(rx) -> received => {
            assert_eq!(received, Ok(1));
            *one
        }
        default => *other,
    };
    assert_eq!(number, 1);
}

#[test]
fn arms_leave_loops_and_functions() {
    fn first(rx: &Receiver<i32>) -> Result<i32, RecvError> {
        loop {
            select! {
                recv(rx) -> received => match received? {
                    0 => continue,
                    number if number < 10 => break,
                    number => return Ok(number),
                },
                default => return Ok(-1),
            }
        }
        Ok(1)
    }
    let (tx, rx) = unbounded();
    assert_eq!(first(&rx), Ok(-1));
    [0, 0, 5].into_iter().for_each(|number| tx.send(number).unwrap());
    assert_eq!(first(&rx), Ok(1));
    tx.send(42).unwrap();
    assert_eq!(first(&rx), Ok(42));
    drop(tx);
    assert_eq!(first(&rx), Err(RecvError::Closed));
}

#[test]
fn commas_may_follow_every_arm_and_need_not_follow_a_block() {
    let (tx, rx) = unbounded::<i32>();
    select! {
        send(tx, 1) -> _ => {},
        recv(rx) -> _ => {},
        default => {},
    }
    select! {
        recv(rx) -> _ => {}
        send(tx, 2) -> _ => {}
        default => {}
    }
    select! { recv(rx) -> _ => (), default => () }
}

#[test]
fn a_name_may_be_used_for_the_end_and_the_result() {
    let (_, rx) = unbounded::<i32>();
    select! { recv(rx) -> rx => assert_eq!(rx, Err(RecvError::Closed)) }
}

#[test]
fn an_expression_that_panics_harms_no_channel() {
    let (tx, rx) = unbounded();
    let broken = || -> Receiver<i32> { panic!("on purpose") };
    let result = catch_unwind(AssertUnwindSafe(|| {
        select! {
            send(tx, 1) -> _ => {}
            recv(broken()) -> _ => {}
        }
    }));
    assert!(result.is_err() && rx.is_empty(), "nothing was sent");
    let result = catch_unwind(AssertUnwindSafe(|| {
        select! { send(tx, 2) -> _ => panic!("on purpose") }
    }));
    assert!(result.is_err());
    assert_eq!(rx.recv(), Ok(2), "the arm ran after it was sent");
}

#[test]
fn there_may_be_many_arms() {
    let ends: Vec<_> = (0..16).map(|_| unbounded::<usize>()).collect();
    let rx = |number: usize| &ends[number].1;
    for (number, (tx, _)) in ends.iter().enumerate() {
        tx.send(number).unwrap();
        let received = select! {
            recv(rx(0)) -> received => received,
            recv(rx(1)) -> received => received,
            recv(rx(2)) -> received => received,
            recv(rx(3)) -> received => received,
            recv(rx(4)) -> received => received,
            recv(rx(5)) -> received => received,
            recv(rx(6)) -> received => received,
            recv(rx(7)) -> received => received,
            recv(rx(8)) -> received => received,
            recv(rx(9)) -> received => received,
            recv(rx(10)) -> received => received,
            recv(rx(11)) -> received => received,
            recv(rx(12)) -> received => received,
            recv(rx(13)) -> received => received,
            recv(rx(14)) -> received => received,
            recv(rx(15)) -> received => received,
        };
        assert_eq!(received, Ok(number));
    }
}

#[test]
fn commas_between_angle_brackets_belong_to_what_they_stand_in() {
    fn first<A, B>(channel: &Sender<A>, _: B) -> &Sender<A> {
        channel
    }
    fn both<A: Default, B: Default>() -> (A, B) {
        Default::default()
    }
    let (tx, rx) = unbounded::<i32>();
    let sent = select! {
        send(first::<i32, Option<(u8, u8)>>(&tx, None), 7) -> result => result.is_ok() && 1 < 2 && both::<u8, Vec<u8>>().0 == 0,
        default => false,
    };
    assert!(sent);
    let received = select! {
        recv(rx) -> message => std::convert::identity::<Result<i32, RecvError>>(message).ok().filter(|_| both::<u8, Vec<fn(u8) -> u8>>().1.is_empty()),
        default => None,
    };
    assert_eq!(received, Some(7));
}
