//! tokio's tasks that wait for one another. Its channel holds one at least: that is its rendezvous here.

use std::sync::Arc;

use tokio::sync::{Mutex, mpsc};

use crate::work::{ARMS, Fan, Flow, Locks};

/// Two tasks that take turns.
pub(super) async fn ping_pong(trips: usize) {
    let ((ping, mut pinged), (pong, mut ponged)) = (mpsc::channel(1), mpsc::channel(1));
    let echo = tokio::spawn(async move {
        for _ in 0..trips {
            let number: u64 = pinged.recv().await.expect("the caller sends");
            pong.send(number + 1).await.expect("the caller receives");
        }
    });
    let caller = tokio::spawn(async move {
        let mut number = 0;
        for _ in 0..trips {
            ping.send(number).await.expect("the echo receives");
            number = ponged.recv().await.expect("the echo sends");
        }
        number
    });
    echo.await.expect("the echo ends well");
    assert_eq!(caller.await.expect("the caller ends well"), trips as u64);
}

/// Many senders and a receiver.
pub(super) async fn channel(load: Flow, each: usize) {
    let (sender, mut receiver) = mpsc::channel(load.capacity);
    let receiving = tokio::spawn(async move {
        let mut sum: u64 = 0;
        while let Some(item) = receiver.recv().await {
            sum += item;
        }
        sum
    });
    for _ in 0..load.senders {
        tokio::spawn(send(sender.clone(), each));
    }
    drop(sender);
    assert_eq!(receiving.await.expect("the receiver ends well"), load.sum(each));
}

/// Sends, and returns the sender: while somebody holds the task's handle, the channel stays open.
async fn send(sender: mpsc::Sender<u64>, each: usize) -> mpsc::Sender<u64> {
    for item in 0..each as u64 {
        sender.send(item).await.expect("somebody receives");
    }
    sender
}

/// One task that selects over many channels.
pub(super) async fn select(load: Fan, each: usize) {
    let (senders, receivers) = Fan::channels(|| mpsc::channel(load.capacity.max(1)));
    let receiving = tokio::spawn(receive(receivers, Fan::messages(each)));
    let sending = senders.map(|sender| tokio::spawn(send(sender, each)));
    assert_eq!(receiving.await.expect("the receiver ends well"), Fan::sum(each));
    drop(sending);
}

/// Receives that many items.
async fn receive(receivers: [mpsc::Receiver<u64>; ARMS], messages: usize) -> u64 {
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = receivers;
    let mut sum = 0;
    for _ in 0..messages {
        sum += tokio::select! {
            item = a.recv() => item,
            item = b.recv() => item,
            item = c.recv() => item,
            item = d.recv() => item,
            item = e.recv() => item,
            item = f.recv() => item,
            item = g.recv() => item,
            item = h.recv() => item,
        }
        .expect("no sender has hung up");
    }
    sum
}

/// Tasks that want one lock.
pub(super) async fn mutex(load: Locks, locks: usize) {
    let number = Arc::new(Mutex::new(0_usize));
    let task = |_| {
        let number = Arc::clone(&number);
        tokio::spawn(async move {
            for _ in 0..locks {
                *number.lock().await += 1;
            }
        })
    };
    let tasks: Vec<_> = (0..load.fibers).map(task).collect();
    for task in tasks {
        task.await.expect("a locking task ends well");
    }
    assert_eq!(*number.lock().await, load.fibers * locks);
}
