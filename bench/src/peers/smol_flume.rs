//! flume's channels between smol's tasks: a rendezvous, which smol's own channel lacks.

use std::pin::pin;

use flume::{Receiver, Sender};
use smol::stream::{StreamExt, race};

use super::absent;
use super::smol::{EXECUTOR, drive};
use crate::sample::Outcome;
use crate::work::{ARMS, Fan, Flow, Work, clocked_async};

/// flume's part in `work`: channels.
pub(super) fn run(work: Work) -> Outcome {
    match work {
        Work::PingPong(load) => Ok(drive(load.workers, clocked_async(load, ping_pong))),
        Work::PingPongCross(_) => absent("a task of smol cannot be held to a worker"),
        Work::Channel(load) => Ok(drive(load.workers, clocked_async(load, move |each| channel(load, each)))),
        Work::Select(load) => Ok(drive(load.workers, clocked_async(load, move |each| select(load, each)))),
        _ => absent("it has channels and nothing else"),
    }
}

/// Two tasks that take turns.
async fn ping_pong(trips: usize) {
    let ((ping, pinged), (pong, ponged)) = (flume::bounded(0), flume::bounded(0));
    let echo = EXECUTOR.spawn(async move {
        for _ in 0..trips {
            let number: u64 = pinged.recv_async().await.expect("the caller sends");
            pong.send_async(number + 1).await.expect("the caller receives");
        }
    });
    let caller = EXECUTOR.spawn(async move {
        let mut number = 0;
        for _ in 0..trips {
            ping.send_async(number).await.expect("the echo receives");
            number = ponged.recv_async().await.expect("the echo sends");
        }
        number
    });
    echo.await;
    assert_eq!(caller.await, trips as u64);
}

/// Many senders and receivers.
async fn channel(load: Flow, each: usize) {
    let (sender, receiver) = flume::bounded(load.capacity);
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
    while let Ok(item) = receiver.recv_async().await {
        sum += item;
    }
    sum
}

/// Sends, and returns the sender: while somebody holds the task, the channel stays open.
async fn send(sender: Sender<u64>, each: usize) -> Sender<u64> {
    for item in 0..each as u64 {
        sender.send_async(item).await.expect("somebody receives");
    }
    sender
}

/// One task that selects over many channels.
async fn select(load: Fan, each: usize) {
    let (senders, receivers) = Fan::channels(|| flume::bounded(load.capacity));
    let receiving = EXECUTOR.spawn(receive(receivers, Fan::messages(each)));
    let sending = senders.map(|sender| EXECUTOR.spawn(send(sender, each)));
    assert_eq!(receiving.await, Fan::sum(each));
    drop(sending);
}

/// Receives that many items, by a race of streams.
async fn receive(receivers: [Receiver<u64>; ARMS], messages: usize) -> u64 {
    let [a, b, c, d, e, f, g, h] = receivers.map(Receiver::into_stream);
    let mut items = pin!(race(race(race(a, b), race(c, d)), race(race(e, f), race(g, h))));
    let mut sum = 0;
    for _ in 0..messages {
        sum += items.next().await.expect("no sender has hung up");
    }
    sum
}
