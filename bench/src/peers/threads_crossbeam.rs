//! crossbeam's channels between OS threads.

use std::thread;

use crossbeam_channel::{Receiver, Sender, bounded};

use super::absent;
use super::threads::NOT_ON_WORKERS;
use crate::sample::Outcome;
use crate::work::{ARMS, Fan, Flow, Work, clocked};

/// crossbeam's part in `work`: channels, a thread to each sender and receiver.
pub(super) fn run(work: Work) -> Outcome {
    match work {
        Work::PingPong(_) => absent(NOT_ON_WORKERS),
        Work::PingPongCross(_) => absent("the standard library has taken its channel over: see threads"),
        Work::Channel(load) => Ok(clocked(load, |each| channel(load, each))),
        Work::Select(load) => Ok(clocked(load, |each| select(load, each))),
        _ => absent("it has channels and nothing else"),
    }
}

/// Many senders and receivers.
fn channel(load: Flow, each: usize) {
    let (sender, receiver) = bounded(load.capacity);
    let receiving = |_| {
        let receiver = receiver.clone();
        thread::spawn(move || receiver.iter().sum::<u64>())
    };
    let receiving: Vec<_> = (0..load.receivers).map(receiving).collect();
    for _ in 0..load.senders {
        let sender = sender.clone();
        thread::spawn(move || send(sender, each));
    }
    drop(sender);
    let sum: u64 = receiving.into_iter().map(|thread| thread.join().expect("a receiver ends well")).sum();
    assert_eq!(sum, load.sum(each));
}

/// Sends, and returns the sender: while somebody holds the thread's handle, the channel stays open.
fn send(sender: Sender<u64>, each: usize) -> Sender<u64> {
    for item in 0..each as u64 {
        sender.send(item).expect("somebody receives");
    }
    sender
}

/// One thread that selects over many channels.
fn select(load: Fan, each: usize) {
    let (senders, receivers) = Fan::channels(|| bounded(load.capacity));
    let receiving = thread::spawn(move || receive(&receivers, Fan::messages(each)));
    let sending = senders.map(|sender| thread::spawn(move || send(sender, each)));
    assert_eq!(receiving.join().expect("the receiver ends well"), Fan::sum(each));
    drop(sending);
}

/// Receives that many items.
fn receive([a, b, c, d, e, f, g, h]: &[Receiver<u64>; ARMS], messages: usize) -> u64 {
    let mut sum = 0;
    for _ in 0..messages {
        sum += crossbeam_channel::select! {
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
