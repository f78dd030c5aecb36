//! Bounded channels that one thread alone has used for a long time, when another comes for the first time, in whatever way, while the first goes on: nothing is
//! lost, and nothing is dropped twice.

use crate::common::flavours::{Counted, Ledger};
use crate::common::storm::racer;
use crate::common::{in_main_fiber, rounds, until, with_workers};
use sisal::chan::{Receiver, RecvError, Sender, TrySendError, bounded, oneshot};
use sisal::{block_on, select, spawn_on, yield_now};
use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

/// Enough that the channel has become its thread's own.
const LONG: usize = 100;
/// How many items its owner sends after that.
const EACH: usize = 120;
/// How many items another sends or receives.
const FEW: usize = 40;
const ALL: usize = LONG + EACH + FEW;
const CAPACITY: usize = 8;

/// What another thread does.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Visit {
    Close,
    Leave,
    Ask,
    Send,
    Receive,
    Select,
    Future,
}

impl Visit {
    const ALL: [Visit; 7] =
        [Visit::Close, Visit::Leave, Visit::Ask, Visit::Send, Visit::Receive, Visit::Select, Visit::Future];
}

/// What one has sent and received.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
struct Account {
    sent: usize,
    received: usize,
    /// The next number of the owner's may be this.
    next: usize,
}

impl Account {
    /// The items of the owner come in order; who else receives may have had some.
    fn receive(&mut self, item: &Counted) {
        self.received += 1;
        if item.number < LONG + EACH {
            assert!(item.number >= self.next, "{} after {}", item.number, self.next);
            self.next = item.number + 1;
        }
    }
}

/// How far the owner has come.
type Step = Arc<AtomicUsize>;

/// Makes the channel its thread's own.
fn get_to_know(tx: &Sender<Counted>, rx: &Receiver<Counted>, ledger: &Ledger) {
    for number in 0..LONG {
        tx.send(ledger.make(number)).unwrap();
        assert_eq!(rx.recv().unwrap().number, number);
    }
}

/// Goes on as if nothing happened.
fn own(tx: Sender<Counted>, rx: Receiver<Counted>, round: usize, ledger: &Ledger, step: &Step) -> Account {
    get_to_know(&tx, &rx, ledger);
    let mut account = Account::default();
    for number in LONG..LONG + EACH {
        step.store(round * ALL + number, Ordering::Release);
        let mut item = Some(ledger.make(number));
        while let Some(left) = item.take() {
            match tx.try_send(left) {
                Ok(()) => account.sent += 1,
                Err(TrySendError::Full(left)) => {
                    item = Some(left);
                    rx.try_recv().iter().for_each(|item| account.receive(item));
                }
                Err(error) => assert_eq!(error.into_inner().number, number),
            }
        }
        if number % 3 > 0 {
            rx.try_recv().iter().for_each(|item| account.receive(item));
        }
    }
    drop(tx);
    rx.iter().for_each(|item| account.receive(&item));
    account
}

fn visit(visit: Visit, tx: Sender<Counted>, rx: Receiver<Counted>, ledger: &Ledger) -> Account {
    let mut account = Account::default();
    let mut own_items = (LONG + EACH..ALL).map(|number| ledger.make(number));
    match visit {
        Visit::Close => assert!(tx.close()),
        Visit::Leave => drop((tx, rx)),
        Visit::Ask => {
            for _ in 0..FEW {
                assert!(tx.len() <= CAPACITY && rx.len() <= CAPACITY);
                std::hint::black_box((tx.is_empty(), rx.is_full()));
            }
        }
        Visit::Send => {
            drop(rx);
            own_items.by_ref().for_each(|item| tx.send(item).unwrap());
            account.sent = FEW;
        }
        Visit::Receive => {
            drop(tx);
            rx.iter().take(FEW).for_each(|item| account.receive(&item));
        }
        Visit::Select => {
            for item in own_items.by_ref() {
                select! {
                    send(tx, item) -> sent => account.sent += usize::from(sent.is_ok()),
                    recv(rx) -> item => account.receive(&item.unwrap()),
                }
            }
        }
        Visit::Future => {
            drop(tx);
            for _ in 0..FEW {
                match block_on(rx.recv_async()) {
                    Ok(item) => account.receive(&item),
                    Err(error) => assert_eq!(error, RecvError::Closed),
                }
            }
        }
    }
    own_items.for_each(drop);
    account
}

/// Runs the first on worker 0, and the other on another worker or on a thread of its own.
fn apart<R: Send + 'static>(
    workers: usize,
    is_thread: bool,
    owner: impl FnOnce() -> R + Send + 'static,
    other: impl FnOnce() -> R + Send + 'static,
) -> [R; 2] {
    let owner = spawn_on(0, owner);
    if !is_thread {
        let other = spawn_on(1 % workers, other);
        return [owner.join().unwrap(), other.join().unwrap()];
    }
    let (tell, told) = mpsc::channel();
    let other = racer(move || tell.send(other()).unwrap());
    let other = thread::spawn(other);
    let owner = owner.join().unwrap();
    until(|| other.is_finished());
    other.join().unwrap();
    [owner, told.recv().unwrap()]
}

/// Goes on when the owner has come so far in this round, or a little later.
fn come_when(step: &Step, round: usize) {
    let when = round * ALL + LONG + round.wrapping_mul(40_503) % EACH;
    until(|| step.load(Ordering::Acquire) >= when);
    (0..(round.wrapping_mul(2_654_435_761) >> 7) % 64).for_each(|_| spin_loop());
}

/// Many channels, one after the other.
fn disturb(how: Visit) {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            for is_thread in [false, true] {
                let rounds = rounds(1_500);
                let ledgers: Arc<[Ledger]> = (0..rounds).map(|_| Ledger::of(ALL)).collect();
                let (channels, step) = ((0..rounds).map(|_| bounded(CAPACITY)), Step::default());
                let channels: Vec<_> = channels.collect();
                let owner = {
                    let (channels, ledgers, step) = (channels.clone(), Arc::clone(&ledgers), Arc::clone(&step));
                    move || {
                        let rounds = channels.into_iter().enumerate();
                        let rounds = rounds.map(|(round, (tx, rx))| own(tx, rx, round, &ledgers[round], &step));
                        rounds.collect::<Vec<Account>>()
                    }
                };
                let making = Arc::clone(&ledgers);
                let other = move || {
                    let rounds = channels.into_iter().enumerate().map(|(round, (tx, rx))| {
                        come_when(&step, round);
                        visit(how, tx, rx, &making[round])
                    });
                    rounds.collect::<Vec<Account>>()
                };
                let [owner, other] = apart(workers, is_thread, owner, other);
                for ((owner, other), ledger) in owner.iter().zip(&other).zip(&*ledgers) {
                    assert_eq!(owner.sent + other.sent, owner.received + other.received, "{how:?}");
                    assert!(how == Visit::Close || owner.sent == EACH, "{how:?}");
                    ledger.check();
                }
            }
        });
    });
}

/// One test for each.
macro_rules! visits {
    ($($test:ident: $visit:ident;)+) => {
        $(#[test]
        fn $test() {
            disturb(Visit::$visit);
        })+

        #[test]
        fn every_visit_has_a_test() {
            assert_eq!(Visit::ALL, [$(Visit::$visit),+]);
        }
    };
}

visits! {
    what_was_sent_by_one_alone_is_received_when_another_closes_the_channel: Close;
    what_was_sent_by_one_alone_is_received_when_another_lets_go_of_the_channel: Leave;
    what_was_sent_by_one_alone_is_received_when_another_asks_how_much_there_is: Ask;
    what_was_sent_by_one_alone_is_received_when_another_sends_as_well: Send;
    what_was_sent_by_one_alone_is_received_when_another_receives_as_well: Receive;
    what_was_sent_by_one_alone_is_received_when_another_selects: Select;
    what_was_sent_by_one_alone_is_received_when_another_awaits_it: Future;
}

/// Sends until nobody is left to receive; returns how many went.
fn send_while_there_is_one(tx: &Sender<Counted>, ledger: &Ledger) -> usize {
    let mut item = ledger.make(LONG);
    for sent in 1.. {
        loop {
            match tx.try_send(item) {
                Ok(()) => break,
                Err(TrySendError::Full(back)) => item = back,
                Err(_) => return sent - 1,
            }
            yield_now();
        }
        item = ledger.make(LONG + sent);
    }
    unreachable!("there is no end of numbers")
}

/// The owner keeps the one end, and another takes the other end, uses it for a while, and goes.
#[test]
fn what_was_sent_by_one_alone_is_dropped_once_when_its_last_receiver_goes_elsewhere() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            for round in 0..rounds(500) {
                let ledger = Ledger::of(ALL);
                let (hand, handed) = oneshot();
                let making = ledger.clone();
                let owner = move || {
                    let (tx, rx) = bounded(CAPACITY);
                    get_to_know(&tx, &rx, &making);
                    hand.send(rx).unwrap();
                    send_while_there_is_one(&tx, &making)
                };
                let other = move || {
                    let rx: Receiver<Counted> = handed.recv().unwrap();
                    for received in 0..round % FEW {
                        assert_eq!(rx.recv().unwrap().number, LONG + received);
                    }
                    round % FEW
                };
                let [sent, received] = apart(workers, round % 2 == 1, owner, other);
                assert!((received..=received + CAPACITY).contains(&sent), "{received} of {sent}");
                // One more was made, and not sent.
                (LONG + sent + 1..ALL).for_each(|number| drop(ledger.make(number)));
                ledger.check();
            }
        });
    });
}

#[test]
fn what_was_sent_by_one_alone_and_then_by_another_is_received_when_the_last_sender_has_gone() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            for round in 0..rounds(500) {
                let ledger = Ledger::of(ALL);
                let (hand, handed) = oneshot();
                let making = ledger.clone();
                let owner = move || {
                    let (tx, rx) = bounded(CAPACITY);
                    get_to_know(&tx, &rx, &making);
                    let first = round % CAPACITY;
                    (0..first).for_each(|number| tx.send(making.make(LONG + number)).unwrap());
                    hand.send((tx, first)).unwrap();
                    let numbers: Vec<usize> = rx.iter().map(|item| item.number - LONG).collect();
                    assert!(numbers.iter().copied().eq(0..numbers.len()), "{numbers:?}");
                    numbers.len()
                };
                let making = ledger.clone();
                let other = move || {
                    let (tx, first): (Sender<Counted>, usize) = handed.recv().unwrap();
                    (0..FEW).for_each(|number| tx.send(making.make(LONG + first + number)).unwrap());
                    first + FEW
                };
                let [received, sent] = apart(workers, round % 2 == 1, owner, other);
                assert_eq!(received, sent);
                (LONG + sent..ALL).for_each(|number| drop(ledger.make(number)));
                ledger.check();
            }
        });
    });
}
