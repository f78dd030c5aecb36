//! kanal's channels between tokio's tasks.

use kanal::{AsyncReceiver, AsyncSender, bounded_async};

use super::absent;
use super::tokio::drive;
use crate::sample::Outcome;
use crate::work::{Flow, Work, clocked_async};

/// kanal's part in `work`: channels.
pub(super) fn run(work: Work) -> Outcome {
    match work {
        Work::PingPong(load) => Ok(drive(load.workers, clocked_async(load, ping_pong))),
        Work::PingPongCross(_) => absent("a task of tokio cannot be held to a worker"),
        Work::Channel(load) => Ok(drive(load.workers, clocked_async(load, move |each| channel(load, each)))),
        Work::Select(_) => absent("a receive that is dropped takes the message a sender has given it along"),
        _ => absent("it has channels and nothing else"),
    }
}

/// Two tasks that take turns.
async fn ping_pong(trips: usize) {
    let ((ping, pinged), (pong, ponged)) = (bounded_async(0), bounded_async(0));
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

/// Many senders and receivers.
async fn channel(load: Flow, each: usize) {
    let (sender, receiver) = bounded_async(load.capacity);
    let receiving: Vec<_> = (0..load.receivers).map(|_| tokio::spawn(drain(receiver.clone()))).collect();
    for _ in 0..load.senders {
        tokio::spawn(send(sender.clone(), each));
    }
    drop(sender);
    let mut sum = 0;
    for receiver in receiving {
        sum += receiver.await.expect("a receiver ends well");
    }
    assert_eq!(sum, load.sum(each));
}

/// Receives until the senders have hung up.
async fn drain(receiver: AsyncReceiver<u64>) -> u64 {
    let mut sum = 0;
    while let Ok(item) = receiver.recv().await {
        sum += item;
    }
    sum
}

async fn send(sender: AsyncSender<u64>, each: usize) {
    for item in 0..each as u64 {
        sender.send(item).await.expect("somebody receives");
    }
}
