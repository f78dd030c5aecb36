//! Who may come, and how, to one who stands for a moment before it waits: whoever it is, they meet once.
//!
//! What ends the moment otherwise is in [`doorstep`](super::doorstep).

use crate::common::flavours::{Counted, Ledger};
use crate::common::storm::racer;
use crate::common::{in_main_fiber, rounds, until, with_workers};
use sisal::chan::{Receiver, RecvTimeoutError, SendTimeoutError, Sender, TryRecvError, TrySendError, bounded, never};
use sisal::{block_on, select, spawn_on, yield_now};
use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Waker};
use std::thread;
use std::time::Duration;

/// What goes over in one line of memory.
type Message = Box<Counted>;

/// How one sends or receives.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Way {
    /// As most do. Only so does a fiber stand somewhere.
    Plain,
    /// Again and again.
    Try,
    Limited,
    Select,
    Future,
}

impl Way {
    const ALL: [Way; 5] = [Way::Plain, Way::Try, Way::Limited, Way::Select, Way::Future];
}

/// So short that it may be over at any step of what it limits.
const MOMENT: Duration = Duration::from_micros(3);

fn send(way: Way, tx: &Sender<Message>, mut message: Message) {
    match way {
        Way::Plain => tx.send(message).unwrap(),
        Way::Try => loop {
            match tx.try_send(message) {
                Ok(()) => return,
                Err(TrySendError::Full(back)) => message = back,
                Err(error) => unreachable!("{error}"),
            }
            yield_now();
        },
        Way::Limited => loop {
            match tx.send_timeout(message, MOMENT) {
                Ok(()) => return,
                Err(SendTimeoutError::TimedOut(back)) => message = back,
                Err(error) => unreachable!("{error}"),
            }
        },
        Way::Select => select! {
            send(tx, message) -> sent => sent.unwrap(),
            recv(never::<u8>()) -> _ => unreachable!("it never comes"),
        },
        Way::Future => block_on(tx.send_async(message)).unwrap(),
    }
}

fn receive(way: Way, rx: &Receiver<Message>) -> Message {
    match way {
        Way::Plain => rx.recv().unwrap(),
        Way::Try => loop {
            match rx.try_recv() {
                Ok(message) => return message,
                Err(error) => assert_eq!(error, TryRecvError::Empty),
            }
            yield_now();
        },
        Way::Limited => loop {
            match rx.recv_timeout(MOMENT) {
                Ok(message) => return message,
                Err(error) => assert_eq!(error, RecvTimeoutError::TimedOut),
            }
        },
        Way::Select => select! {
            recv(rx) -> message => message.unwrap(),
            recv(never::<u8>()) -> _ => unreachable!("it never comes"),
        },
        Way::Future => block_on(rx.recv_async()).unwrap(),
    }
}

/// So that steps of the one side fall on different steps of the other.
fn delay(round: usize, salt: usize) {
    let delay = round.wrapping_add(salt).wrapping_mul(2_654_435_761) >> 7;
    (0..delay % 64).for_each(|_| spin_loop());
}

/// Has one send, who stands there or comes to one who does, and another receive, of whom one is a thread if that is asked for.
fn meet(workers: usize, messages: usize, [sends, receives]: [Way; 2], is_thread: bool) {
    let ledger = Ledger::of(messages);
    let (tx, rx) = bounded(0);
    let making = ledger.clone();
    let sender = racer(move || {
        for number in 0..messages {
            delay(number, 1);
            send(sends, &tx, Box::new(making.make(number)));
        }
    });
    let receiver = racer(move || {
        for number in 0..messages {
            delay(number, 2);
            assert_eq!(receive(receives, &rx).number, number);
        }
    });
    // The one who may stand is a fiber in any case.
    let (fiber, other) = if sends == Way::Plain { (sender, receiver) } else { (receiver, sender) };
    let fiber = spawn_on(0, fiber);
    if is_thread {
        let other = thread::spawn(other);
        // Not before: whoever gives way again and again keeps others of its worker from standing anywhere.
        fiber.join().unwrap();
        until(|| other.is_finished());
        other.join().unwrap();
    } else {
        let other = spawn_on(1 % workers, other);
        fiber.join().unwrap();
        other.join().unwrap();
    }
    ledger.check();
}

fn meet_in_every_way(is_thread: bool) {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            for way in Way::ALL {
                meet(workers, rounds(5_000), [Way::Plain, way], is_thread);
                meet(workers, rounds(5_000), [way, Way::Plain], is_thread);
            }
        });
    });
}

#[test]
fn whoever_comes_from_another_worker_to_one_who_stands_there_meets_it_in_whatever_way() {
    meet_in_every_way(false);
}

#[test]
fn a_thread_that_comes_to_one_who_stands_there_meets_it_in_whatever_way() {
    meet_in_every_way(true);
}

/// Two senders, and a receiver who finds what each of them sends in its order. Both send by turns in these ways.
fn send_by_two(workers: usize, each: usize, ways: [Way; 2]) {
    let ledger = Ledger::of(2 * each);
    let (tx, rx) = bounded(0);
    let senders = [0, 1].map(|me| {
        let (tx, making) = (tx.clone(), ledger.clone());
        spawn_on(me % workers, move || {
            for number in 0..each {
                delay(number, me);
                send(ways[number % 2], &tx, Box::new(making.make(me * each + number)));
            }
        })
    });
    drop(tx);
    let receiver = spawn_on(2 % workers, move || {
        let mut next = [0, each];
        for message in rx {
            let next = &mut next[message.number / each];
            assert_eq!(message.number, *next, "in the order in which it was sent");
            *next += 1;
        }
        assert_eq!(next, [each, 2 * each]);
    });
    receiver.join().unwrap();
    senders.into_iter().for_each(|sender| sender.join().unwrap());
    ledger.check();
}

#[test]
fn what_each_of_two_senders_on_two_workers_sends_is_received_in_its_order() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            for other in Way::ALL {
                send_by_two(workers, rounds(2_000), [Way::Plain, other]);
            }
        });
    });
}

#[test]
fn of_two_receivers_on_two_workers_each_receives_in_order_and_together_they_receive_all() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            let messages = rounds(8_000);
            let ledger = Ledger::of(messages);
            let (tx, rx) = bounded::<Message>(0);
            let receivers = [0, 1].map(|me| {
                let rx = rx.clone();
                spawn_on(me % workers, move || {
                    let numbers: Vec<usize> = rx.iter().map(|message| message.number).collect();
                    assert!(numbers.is_sorted_by(|one, next| one < next));
                    numbers.len()
                })
            });
            let making = ledger.clone();
            let sender = spawn_on(2 % workers, move || {
                for number in 0..messages {
                    delay(number, 3);
                    tx.send(Box::new(making.make(number))).unwrap();
                }
            });
            sender.join().unwrap();
            let received: usize = receivers.into_iter().map(|receiver| receiver.join().unwrap()).sum();
            assert_eq!(received, messages);
            ledger.check();
        });
    });
}

/// Each message is handed to a future, which goes without having looked at it, while another receiver comes.
#[test]
fn a_message_that_a_future_leaves_behind_is_received_by_one_who_stands_there() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            let messages = rounds(8_000);
            let ledger = Ledger::of(messages);
            let (tx, rx) = bounded::<Message>(0);
            let (handed, received) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            let (other, has_come, done) = (rx.clone(), Arc::clone(&handed), Arc::clone(&received));
            let stander = spawn_on(1 % workers, move || {
                for number in 0..messages {
                    until(|| has_come.load(Ordering::Acquire) > number);
                    delay(number, 4);
                    assert_eq!(other.recv().unwrap().number, number);
                    done.store(number + 1, Ordering::Release);
                }
            });
            let making = ledger.clone();
            let fickle = spawn_on(0, move || {
                for number in 0..messages {
                    let mut future = Box::pin(rx.recv_async());
                    let mut message = Some(Box::new(making.make(number)));
                    // One that is polled often pauses now and then, and is then not there yet.
                    while let Some(left) = message.take() {
                        assert!(future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
                        message = tx.try_send(left).err().map(TrySendError::into_inner);
                    }
                    handed.store(number + 1, Ordering::Release);
                    (0..number / 8 % 8).for_each(|_| delay(number, 5));
                    drop(future);
                    until(|| received.load(Ordering::Acquire) > number);
                }
            });
            fickle.join().unwrap();
            stander.join().unwrap();
            ledger.check();
        });
    });
}
