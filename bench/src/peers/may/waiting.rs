//! may's coroutines that wait for one another. Its channels have no bound: a sender never waits, and a
//! rendezvous is a channel like any other.

use std::sync::Arc;

use may::cqueue;
use may::sync::{Mutex, mpmc, mpsc, spsc};

use super::go;
use crate::work::{ARMS, Fan, Flow, Locks};

/// Two coroutines that take turns, over the channel it has for a pair: 160 ns where its mpsc takes 480.
pub(super) fn ping_pong(trips: usize) {
    let ((ping, pinged), (pong, ponged)) = (spsc::channel(), spsc::channel());
    let echo = go(move || {
        for _ in 0..trips {
            let number: u64 = pinged.recv().expect("the caller sends");
            pong.send(number + 1).expect("the caller receives");
        }
    });
    let caller = go(move || {
        let mut number = 0;
        for _ in 0..trips {
            ping.send(number).expect("the echo receives");
            number = ponged.recv().expect("the echo sends");
        }
        number
    });
    echo.join().expect("the echo ends well");
    assert_eq!(caller.join().expect("the caller ends well"), trips as u64);
}

/// Many senders and receivers.
pub(super) fn channel(load: Flow, each: usize) {
    let (sender, receiver) = mpmc::channel();
    let receiving = |_| {
        let receiver = receiver.clone();
        go(move || receiver.iter().sum::<u64>())
    };
    let receiving: Vec<_> = (0..load.receivers).map(receiving).collect();
    for _ in 0..load.senders {
        let sender = sender.clone();
        go(move || {
            for item in 0..each as u64 {
                sender.send(item).expect("somebody receives");
            }
        });
    }
    drop(sender);
    let sum: u64 = receiving.into_iter().map(|receiver| receiver.join().expect("a receiver ends well")).sum();
    assert_eq!(sum, load.sum(each));
}

/// One coroutine that awaits the events of many arms. The arms are coroutines too, and receive: they
/// stay for all messages, where `select!` would start and cancel one for each arm and message.
pub(super) fn select(each: usize) {
    let (senders, receivers) = Fan::channels(mpsc::channel);
    let receiving = go(move || receive(receivers, Fan::messages(each)));
    let sending = senders.map(|sender| go(move || send(sender, each)));
    assert_eq!(receiving.join().expect("the receiver ends well"), Fan::sum(each));
    drop(sending);
}

/// Sends, and returns the sender: while somebody holds the coroutine's handle, the channel stays open.
fn send(sender: mpsc::Sender<u64>, each: usize) -> mpsc::Sender<u64> {
    for item in 0..each as u64 {
        sender.send(item).expect("the receiver receives");
    }
    sender
}

/// Awaits that many items.
fn receive(receivers: [mpsc::Receiver<u64>; ARMS], messages: usize) -> u64 {
    cqueue::scope(|arms| {
        for (token, receiver) in receivers.into_iter().enumerate() {
            arms.add(token, move |events| {
                loop {
                    let item = receiver.recv().expect("the sender has not hung up");
                    events.send(item as usize);
                }
            });
        }
        (0..messages).map(|_| arms.poll(None).expect("the arms go on").extra as u64).sum()
    })
}

/// Coroutines that want one lock.
pub(super) fn mutex(load: Locks, locks: usize) {
    let number = Arc::new(Mutex::new(0_usize));
    let coroutine = |_| {
        let number = Arc::clone(&number);
        go(move || {
            for _ in 0..locks {
                *number.lock().expect("nobody panics with the lock") += 1;
            }
        })
    };
    let coroutines: Vec<_> = (0..load.fibers).map(coroutine).collect();
    for coroutine in coroutines {
        coroutine.join().expect("a locking coroutine ends well");
    }
    assert_eq!(*number.lock().expect("nobody panics with the lock"), load.fibers * locks);
}
