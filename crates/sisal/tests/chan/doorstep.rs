//! Rendezvous channels between fibers of different workers, where one stands for a moment before it waits: what goes over there is received in order and
//! dropped once, and what does not go over is given back, whatever ends the meeting.
//!
//! Who else may come to one who stands, and how, is in [`doorstep_ways`](super::doorstep_ways).

use crate::common::flavours::{Counted, Ledger};
use crate::common::{in_main_fiber, rounds, until, with_workers};
use sisal::chan::{Receiver, RecvError, SendError, Sender, bounded};
use sisal::{Cause, spawn_on, timeout, yield_now};
use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Something that counts its drops.
trait Message: Send + 'static {
    /// How large it is: what goes over in one line of memory is small.
    const BYTES: usize;

    fn make(ledger: &Ledger, number: usize) -> Self;

    /// Nothing, if it does not know.
    fn number(&self) -> Option<usize>;

    /// All that were made are gone. So many they were, from 0 on, as far as they are numbered.
    fn check(ledger: &Ledger);
}

/// One without a size. Those of each test are counted by themselves.
struct Nothing<const TEST: usize>;

const TESTS: usize = 5;
static MADE: [AtomicUsize; TESTS] = [const { AtomicUsize::new(0) }; TESTS];
static DROPPED: [AtomicUsize; TESTS] = [const { AtomicUsize::new(0) }; TESTS];

impl<const TEST: usize> Drop for Nothing<TEST> {
    fn drop(&mut self) {
        DROPPED[TEST].fetch_add(1, Ordering::AcqRel);
    }
}

impl<const TEST: usize> Message for Nothing<TEST> {
    const BYTES: usize = 0;

    fn make(_: &Ledger, _: usize) -> Self {
        MADE[TEST].fetch_add(1, Ordering::AcqRel);
        Nothing
    }

    fn number(&self) -> Option<usize> {
        None
    }

    fn check(_: &Ledger) {
        assert_eq!(DROPPED[TEST].load(Ordering::Acquire), MADE[TEST].load(Ordering::Acquire));
    }
}

impl Message for Box<Counted> {
    const BYTES: usize = 8;

    fn make(ledger: &Ledger, number: usize) -> Self {
        Box::new(ledger.make(number))
    }

    fn number(&self) -> Option<usize> {
        Some(self.number)
    }

    fn check(ledger: &Ledger) {
        ledger.check();
    }
}

/// The number a second time, so that both words can be seen to come together.
type Pair = (Box<Counted>, usize);

impl Message for Pair {
    const BYTES: usize = 16;

    fn make(ledger: &Ledger, number: usize) -> Self {
        (Message::make(ledger, number), !number)
    }

    fn number(&self) -> Option<usize> {
        assert_eq!(self.0.number, !self.1, "both words are of one message");
        self.0.number()
    }

    fn check(ledger: &Ledger) {
        ledger.check();
    }
}

impl Message for Counted {
    const BYTES: usize = 24;

    fn make(ledger: &Ledger, number: usize) -> Self {
        ledger.make(number)
    }

    fn number(&self) -> Option<usize> {
        Some(self.number)
    }

    fn check(ledger: &Ledger) {
        ledger.check();
    }
}

fn is_number<M: Message>(message: &M, number: usize) {
    assert_eq!(size_of::<M>(), M::BYTES);
    assert!(message.number().is_none_or(|found| found == number), "{:?}, not {number}", message.number());
}

/// Calls the function for messages of each size, with each number of workers, and with a part of the rounds.
macro_rules! of_each_size {
    ($call:ident, test $test:literal, $rounds:expr) => {
        with_workers(|workers| {
            in_main_fiber(workers, || {
                let rounds = rounds($rounds);
                $call::<Nothing<$test>>(workers, rounds);
                $call::<Box<Counted>>(workers, rounds);
                $call::<Pair>(workers, rounds);
                $call::<Counted>(workers, rounds);
            })
        })
    };
}

/// So that steps of the one side fall on different steps of the other.
fn delay(round: usize, salt: usize) {
    let delay = round.wrapping_add(salt).wrapping_mul(2_654_435_761) >> 7;
    (0..delay % 64).for_each(|_| spin_loop());
}

fn there_and_back<M: Message>(workers: usize, trips: usize) {
    let ledger = Ledger::of(trips);
    let ((ask, asked), (answer, answered)) = (bounded::<M>(0), bounded::<M>(0));
    let echo = spawn_on(0, move || {
        for number in 0..trips {
            let message = asked.recv().unwrap_or_else(|_| unreachable!("the caller sends"));
            is_number(&message, number);
            delay(number / 8, 1);
            answer.send(message).unwrap_or_else(|_| unreachable!("the caller receives"));
        }
    });
    let making = ledger.clone();
    let caller = spawn_on(1 % workers, move || {
        for number in 0..trips {
            ask.send(M::make(&making, number)).unwrap_or_else(|_| unreachable!("the echo receives"));
            delay(number / 8, 2);
            is_number(&answered.recv().unwrap_or_else(|_| unreachable!("the echo sends")), number);
        }
    });
    echo.join().unwrap();
    caller.join().unwrap();
    M::check(&ledger);
}

#[test]
fn messages_of_every_size_go_there_and_back_between_two_workers_and_are_dropped_once() {
    of_each_size!(there_and_back, test 0, 8_000);
}

/// How a channel ends.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum End {
    SenderCloses,
    SenderGoes,
    ReceiverCloses,
    ReceiverGoes,
    /// A thread that does nothing else.
    OtherCloses,
}

impl End {
    fn of(round: usize) -> End {
        use End::*;
        [SenderCloses, SenderGoes, ReceiverCloses, ReceiverGoes, OtherCloses][round % 5]
    }
}

/// How many messages there are for each channel. Some go over before the end comes.
const MOST: usize = 6;

/// How many are sent, or received, by the one that ends it.
fn until_the_end(round: usize) -> usize {
    (round / 5) % MOST
}

/// Sends at most so many, the first of which has this number, until it is told that the channel is closed; returns how many went over.
fn send_some<M: Message>(tx: &Sender<M>, ledger: &Ledger, first: usize, most: usize) -> usize {
    for sent in 0..most {
        match tx.send(M::make(ledger, first + sent)) {
            Ok(()) => {}
            Err(SendError::Closed(message)) => {
                is_number(&message, first + sent);
                // The others are never sent.
                (sent + 1..most).for_each(|number| drop(M::make(ledger, first + number)));
                return sent;
            }
            Err(_) => unreachable!("nothing was cancelled"),
        }
    }
    most
}

/// Receives at most so many, until it is told that the channel is closed; returns how many came.
fn receive_some<M: Message>(rx: &Receiver<M>, first: usize, most: usize) -> usize {
    for received in 0..most {
        match rx.recv() {
            Ok(message) => is_number(&message, first + received),
            Err(RecvError::Closed) => return received,
            Err(_) => unreachable!("nothing was cancelled"),
        }
    }
    most
}

fn send_to_the_end<M: Message>(tx: Sender<M>, round: usize, ledger: &Ledger) -> usize {
    let (first, end) = (round * MOST, End::of(round));
    if let End::SenderCloses | End::SenderGoes = end {
        let sent = send_some(&tx, ledger, first, until_the_end(round));
        (sent..MOST).for_each(|number| drop(M::make(ledger, first + number)));
        delay(round, 1);
        if end == End::SenderCloses {
            assert!(tx.close());
        }
        sent
    } else {
        let sent = send_some(&tx, ledger, first, MOST);
        if sent == MOST {
            drop(tx);
        }
        sent
    }
}

fn receive_to_the_end<M: Message>(rx: Receiver<M>, round: usize) -> usize {
    let (first, end) = (round * MOST, End::of(round));
    if let End::ReceiverCloses | End::ReceiverGoes = end {
        let received = receive_some(&rx, first, until_the_end(round));
        delay(round, 2);
        if end == End::ReceiverCloses {
            assert!(rx.close());
            assert_eq!(rx.recv().err(), Some(RecvError::Closed), "nobody was let in");
        }
        received
    } else {
        let received = receive_some(&rx, first, MOST);
        assert!(received == MOST || rx.try_recv().is_err_and(|error| error.is_closed()));
        received
    }
}

fn end_again_and_again<M: Message>(workers: usize, rounds: usize) {
    let (ledger, begun) = (Ledger::of(rounds * MOST), Arc::new(AtomicUsize::new(0)));
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..rounds).map(|_| bounded::<M>(0)).unzip();
    let closer = {
        let to_close = senders.iter().enumerate().filter(|(round, _)| End::of(*round) == End::OtherCloses);
        let to_close: Vec<_> = to_close.map(|(round, tx)| (round, tx.clone())).collect();
        let begun = Arc::clone(&begun);
        thread::spawn(move || {
            for (round, tx) in to_close {
                until(|| begun.load(Ordering::Acquire) > round);
                delay(round, 3);
                tx.close();
            }
        })
    };
    let making = ledger.clone();
    let sender = spawn_on(0, move || {
        let rounds = senders.into_iter().enumerate().map(|(round, tx)| {
            begun.store(round + 1, Ordering::Release);
            send_to_the_end(tx, round, &making)
        });
        rounds.collect::<Vec<usize>>()
    });
    let receiver = spawn_on(1 % workers, move || {
        let rounds = receivers.into_iter().enumerate().map(|(round, rx)| receive_to_the_end(rx, round));
        rounds.collect::<Vec<usize>>()
    });
    assert_eq!(sender.join().unwrap(), receiver.join().unwrap(), "what was let in is received, and nothing else");
    until(|| closer.is_finished());
    closer.join().unwrap();
    M::check(&ledger);
}

#[test]
fn when_one_who_stands_there_is_met_by_a_close_what_was_sent_is_received_and_the_rest_is_given_back() {
    of_each_size!(end_again_and_again, test 1, 2_000);
}

/// So short that it may be over at any step of what it limits.
const MOMENT: Duration = Duration::from_micros(3);

/// Sends a message, and is cancelled; gives it back then, and says by what.
fn send_or_keep<M: Message>(tx: &Sender<M>, message: M) -> Result<(), (M, Cause)> {
    tx.send(message).map_err(|error| match error {
        SendError::Cancelled(message, cancelled) => (message, cancelled.cause),
        _ => unreachable!("nobody closes it"),
    })
}

/// Receives one, or says by what it was cancelled.
fn receive_or_not<M: Message>(rx: &Receiver<M>) -> Result<M, Cause> {
    rx.recv().map_err(|error| match error {
        RecvError::Cancelled(cancelled) => cancelled.cause,
        _ => unreachable!("nobody closes it"),
    })
}

fn within_moments<M: Message>(workers: usize, messages: usize) {
    let ledger = Ledger::of(2 * messages);
    let ((there, comes), (back, returns)) = (bounded::<M>(0), bounded::<M>(0));
    let making = ledger.clone();
    let hasty = spawn_on(0, move || {
        for number in 0..messages {
            let mut kept = M::make(&making, number);
            while let Err((message, cause)) = timeout(MOMENT, || send_or_keep(&there, kept)) {
                assert_eq!(cause, Cause::Deadline);
                kept = message;
            }
            let message = loop {
                match timeout(MOMENT, || receive_or_not(&returns)) {
                    Ok(message) => break message,
                    Err(cause) => assert_eq!(cause, Cause::Deadline),
                }
            };
            is_number(&message, messages + number);
        }
    });
    let making = ledger.clone();
    let patient = spawn_on(1 % workers, move || {
        for number in 0..messages {
            (0..number % 8).for_each(|_| delay(number, 4));
            is_number(&comes.recv().unwrap_or_else(|_| unreachable!("it comes")), number);
            (0..number / 8 % 8).for_each(|_| delay(number, 5));
            let sent = back.send(M::make(&making, messages + number));
            sent.unwrap_or_else(|_| unreachable!("it is awaited"));
        }
    });
    hasty.join().unwrap();
    patient.join().unwrap();
    M::check(&ledger);
}

#[test]
fn of_one_whose_time_is_up_again_and_again_while_it_stands_there_no_message_is_lost_or_sent_twice() {
    of_each_size!(within_moments, test 2, 2_000);
}

/// One sends and is cancelled at some time, and the other receives until it is gone.
fn cancelled_while_it_sends<M: Message>(workers: usize, rounds: usize) {
    for round in 0..rounds {
        let (ledger, received) = (Ledger::of(MOST), Arc::new(AtomicUsize::new(0)));
        let (tx, rx) = bounded::<M>(0);
        let making = ledger.clone();
        let stander = spawn_on(1 % workers, move || {
            for number in 0..MOST {
                if let Err((message, cause)) = send_or_keep(&tx, M::make(&making, number)) {
                    is_number(&message, number);
                    assert_eq!(cause, Cause::Request);
                    return number;
                }
            }
            MOST
        });
        let counting = Arc::clone(&received);
        let other = spawn_on(2 % workers, move || {
            while let Ok(message) = rx.recv() {
                is_number(&message, counting.fetch_add(1, Ordering::AcqRel));
            }
        });
        until(|| received.load(Ordering::Acquire) > round % MOST);
        delay(round, 6);
        stander.cancel();
        let sent = stander.join().unwrap();
        other.join().unwrap();
        assert_eq!(received.load(Ordering::Acquire), sent, "what it had sent was received, and nothing else");
        (sent + 1..MOST).for_each(|number| drop(M::make(&ledger, number)));
        M::check(&ledger);
    }
}

#[test]
fn one_who_is_cancelled_while_it_stands_there_to_send_has_sent_its_message_or_keeps_it() {
    of_each_size!(cancelled_while_it_sends, test 3, 500);
}

/// One receives and is cancelled at some time, and the other sends until it is gone.
fn cancelled_while_it_receives<M: Message>(workers: usize, rounds: usize) {
    for round in 0..rounds {
        let ledger = Ledger::of(MOST);
        let (tx, rx) = bounded::<M>(0);
        let stander = spawn_on(1 % workers, move || {
            for number in 0..MOST {
                match receive_or_not(&rx) {
                    Ok(message) => is_number(&message, number),
                    Err(cause) => {
                        assert_eq!(cause, Cause::Request);
                        return number;
                    }
                }
            }
            MOST
        });
        let making = ledger.clone();
        let other = spawn_on(2 % workers, move || send_some(&tx, &making, 0, MOST));
        (0..round % 32).for_each(|_| yield_now());
        delay(round, 7);
        stander.cancel();
        // It may not have started.
        let received = stander.join().unwrap_or(0);
        assert_eq!(other.join().unwrap(), received, "what was sent was received, and nothing else");
        M::check(&ledger);
    }
}

#[test]
fn one_who_is_cancelled_while_it_stands_there_to_receive_has_received_the_last_that_was_sent() {
    of_each_size!(cancelled_while_it_receives, test 4, 500);
}
