//! smol's tasks that wait for one another. Its channel holds one at least: that is its rendezvous here.

use std::pin::pin;
use std::sync::Arc;

use smol::channel::{self, Receiver, Sender};
use smol::lock::Mutex;
use smol::stream::{StreamExt, race};

use super::EXECUTOR;
use crate::work::{ARMS, Fan, Flow, Locks};

/// Two tasks that take turns.
pub(super) async fn ping_pong(trips: usize) {
    let ((ping, pinged), (pong, ponged)) = (channel::bounded(1), channel::bounded(1));
    let echo = EXECUTOR.spawn(async move {
        for _ in 0..trips {
            let number: u64 = pinged.recv().await.expect("the caller sends");
            pong.send(number + 1).await.expect("the caller receives");
        }
    });
    let caller = EXECUTOR.spawn(async move {
        let mut number = 0;
        for _ in 0..trips {
            ping.send(number).await.expect("the echo receives");
            number = ponged.recv().await.expect("the echo sends");
        }
        number
    });
    echo.await;
    assert_eq!(caller.await, trips as u64);
}

/// Many senders and receivers.
pub(super) async fn channel(load: Flow, each: usize) {
    let (sender, receiver) = channel::bounded(load.capacity);
    let receiving: Vec<_> = (0..load.receivers).map(|_| EXECUTOR.spawn(drain(receiver.clone()))).collect();
    for _ in 0..load.senders {
        EXECUTOR.spawn(send(sender.clone(), each)).detach();
    }
    drop(sender);
    let mut sum = 0;
    for receiver in receiving {
        sum += receiver.await;
    }
    assert_eq!(sum, load.sum(each));
}

/// Receives until the senders have hung up.
async fn drain(receiver: Receiver<u64>) -> u64 {
    let mut sum = 0;
    while let Ok(item) = receiver.recv().await {
        sum += item;
    }
    sum
}

/// Sends, and returns the sender: while somebody holds the task, the channel stays open.
async fn send(sender: Sender<u64>, each: usize) -> Sender<u64> {
    for item in 0..each as u64 {
        sender.send(item).await.expect("somebody receives");
    }
    sender
}

/// One task that selects over many channels.
pub(super) async fn select(load: Fan, each: usize) {
    let (senders, receivers) = Fan::channels(|| channel::bounded(load.capacity.max(1)));
    let receiving = EXECUTOR.spawn(receive(receivers, Fan::messages(each)));
    let sending = senders.map(|sender| EXECUTOR.spawn(send(sender, each)));
    assert_eq!(receiving.await, Fan::sum(each));
    drop(sending);
}

/// Receives that many items, by a race of streams.
async fn receive(receivers: [Receiver<u64>; ARMS], messages: usize) -> u64 {
    let [a, b, c, d, e, f, g, h] = receivers;
    let mut items = pin!(race(race(race(a, b), race(c, d)), race(race(e, f), race(g, h))));
    let mut sum = 0;
    for _ in 0..messages {
        sum += items.next().await.expect("no sender has hung up");
    }
    sum
}

/// Tasks that want one lock.
pub(super) async fn mutex(load: Locks, locks: usize) {
    let number = Arc::new(Mutex::new(0_usize));
    let task = |_| {
        let number = Arc::clone(&number);
        EXECUTOR.spawn(async move {
            for _ in 0..locks {
                *number.lock().await += 1;
            }
        })
    };
    let tasks: Vec<_> = (0..load.fibers).map(task).collect();
    for task in tasks {
        task.await;
    }
    assert_eq!(*number.lock().await, load.fibers * locks);
}
