//! sisal's fibers that wait for one another.

use std::sync::Arc;

use sisal::JoinHandle;
use sisal::chan::{Receiver, Sender, bounded};
use sisal::sync::Mutex;

use crate::work::{ARMS, Fan, Flow, Locks};

/// Two fibers that take turns, where the runtime puts them.
pub(super) fn ping_pong(trips: usize) {
    let ((ping, pinged), (pong, ponged)) = (bounded(0), bounded(0));
    let echo = sisal::spawn(move || echo(trips, &pinged, &pong));
    let caller = sisal::spawn(move || call(trips, &ping, &ponged));
    join(echo, caller, trips);
}

/// The same on the first two workers.
pub(super) fn ping_pong_cross(trips: usize) {
    let ((ping, pinged), (pong, ponged)) = (bounded(0), bounded(0));
    let echo = sisal::spawn_on(0, move || echo(trips, &pinged, &pong));
    let caller = sisal::spawn_on(1, move || call(trips, &ping, &ponged));
    join(echo, caller, trips);
}

fn echo(trips: usize, pinged: &Receiver<u64>, pong: &Sender<u64>) {
    for _ in 0..trips {
        let number = pinged.recv().expect("the caller sends");
        pong.send(number + 1).expect("the caller receives");
    }
}

fn call(trips: usize, ping: &Sender<u64>, ponged: &Receiver<u64>) -> u64 {
    let mut number = 0;
    for _ in 0..trips {
        ping.send(number).expect("the echo receives");
        number = ponged.recv().expect("the echo sends");
    }
    number
}

fn join(echo: JoinHandle<()>, caller: JoinHandle<u64>, trips: usize) {
    echo.join().expect("the echo ends well");
    assert_eq!(caller.join().expect("the caller ends well"), trips as u64);
}

/// Many senders and receivers.
pub(super) fn channel(load: Flow, each: usize) {
    flow(load, each, drain);
}

/// The same with a select of one arm in place of the recv.
pub(super) fn channel_by_select(load: Flow, each: usize) {
    flow(load, each, drain_by_select);
}

fn flow(load: Flow, each: usize, drain: fn(&Receiver<u64>) -> u64) {
    let (sender, receiver) = bounded(load.capacity);
    let receiving = |_| {
        let receiver = receiver.clone();
        sisal::spawn(move || drain(&receiver))
    };
    let receiving: Vec<_> = (0..load.receivers).map(receiving).collect();
    for _ in 0..load.senders {
        let sender = sender.clone();
        drop(sisal::spawn(move || send(sender, each)));
    }
    drop(sender);
    let sum: u64 = receiving.into_iter().map(|fiber| fiber.join().expect("a receiver ends well")).sum();
    assert_eq!(sum, load.sum(each));
}

/// Receives until the senders have hung up.
fn drain(receiver: &Receiver<u64>) -> u64 {
    let mut sum = 0;
    while let Ok(item) = receiver.recv() {
        sum += item;
    }
    sum
}

/// The same by select.
fn drain_by_select(receiver: &Receiver<u64>) -> u64 {
    let mut sum = 0;
    while let Ok(item) = sisal::select! { recv(receiver) -> item => item } {
        sum += item;
    }
    sum
}

/// Sends, and returns the sender: while somebody holds the fiber's handle, the channel stays open.
fn send(sender: Sender<u64>, each: usize) -> Sender<u64> {
    for item in 0..each as u64 {
        sender.send(item).expect("somebody receives");
    }
    sender
}

/// One fiber that selects over many channels.
pub(super) fn select(load: Fan, each: usize) {
    let (senders, receivers) = Fan::channels(|| bounded(load.capacity));
    let receiving = sisal::spawn(move || receive(&receivers, Fan::messages(each)));
    let sending = senders.map(|sender| sisal::spawn(move || send(sender, each)));
    assert_eq!(receiving.join().expect("the receiver ends well"), Fan::sum(each));
    drop(sending);
}

/// Receives that many items.
fn receive([a, b, c, d, e, f, g, h]: &[Receiver<u64>; ARMS], messages: usize) -> u64 {
    let mut sum = 0;
    for _ in 0..messages {
        sum += sisal::select! {
            recv(a) -> item => item,
            recv(b) -> item => item,
            recv(c) -> item => item,
            recv(d) -> item => item,
            recv(e) -> item => item,
            recv(f) -> item => item,
            recv(g) -> item => item,
            recv(h) -> item => item,
        }
        .expect("no sender has hung up");
    }
    sum
}

/// Fibers that want one lock.
pub(super) fn mutex(load: Locks, locks: usize) {
    let number = Arc::new(Mutex::new(0_usize));
    let fiber = |_| {
        let number = Arc::clone(&number);
        sisal::spawn(move || {
            for _ in 0..locks {
                *number.lock() += 1;
            }
        })
    };
    let fibers: Vec<_> = (0..load.fibers).map(fiber).collect();
    for fiber in fibers {
        fiber.join().expect("a locking fiber ends well");
    }
    assert_eq!(*number.lock(), load.fibers * locks);
}
