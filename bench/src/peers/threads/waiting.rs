//! Threads that wait for one another, by the means of the standard library.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::work::{Flow, Locks};

/// Two threads that take turns.
pub(super) fn ping_pong(trips: usize) {
    let ((ping, pinged), (pong, ponged)) = (sync_channel(0), sync_channel(0));
    let echo = thread::spawn(move || {
        for _ in 0..trips {
            let number: u64 = pinged.recv().expect("the caller sends");
            pong.send(number + 1).expect("the caller receives");
        }
    });
    let caller = thread::spawn(move || {
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

/// Many senders and a receiver.
pub(super) fn channel(load: Flow, each: usize) {
    let (sender, receiver) = sync_channel(load.capacity);
    let receiving = thread::spawn(move || receiver.iter().sum::<u64>());
    for _ in 0..load.senders {
        let sender = sender.clone();
        thread::spawn(move || send(&sender, each));
    }
    drop(sender);
    assert_eq!(receiving.join().expect("the receiver ends well"), load.sum(each));
}

fn send(sender: &SyncSender<u64>, each: usize) {
    for item in 0..each as u64 {
        sender.send(item).expect("the receiver receives");
    }
}

/// Threads that want one lock.
pub(super) fn mutex(load: Locks, locks: usize) {
    let number = Arc::new(Mutex::new(0_usize));
    let thread = |_| {
        let number = Arc::clone(&number);
        thread::spawn(move || {
            for _ in 0..locks {
                *number.lock().expect("nobody panics with the lock") += 1;
            }
        })
    };
    let threads: Vec<_> = (0..load.fibers).map(thread).collect();
    for thread in threads {
        thread.join().expect("a locking thread ends well");
    }
    assert_eq!(*number.lock().expect("nobody panics with the lock"), load.fibers * locks);
}
