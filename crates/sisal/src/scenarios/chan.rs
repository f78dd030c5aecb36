//! Channels of all flavours between several threads.

use super::{join_all, outcomes, spawn_each};
use crate::chan::{BroadcastRecvError, Receiver, RecvError, Sender, bounded, broadcast, oneshot, unbounded, watch};
use crate::prim::atomic::{AtomicU32, Ordering};
use shuttle::thread;
use std::collections::HashSet;
use std::sync::Arc;

type Channel = (Sender<usize>, Receiver<usize>);

/// Source, two stages, one of them with two threads, and sink, each of which ends when what is before it has ended: nothing in between is
/// lost. Reached: items overtake each other where they can.
#[test]
fn shuttle_pipeline_loses_nothing_at_its_end() {
    const ITEMS: usize = 4;
    let seen = outcomes(|| {
        let (source, first) = bounded(1);
        let (meet, second) = bounded(0);
        let (spill, sink) = unbounded();
        let sources = spawn_each(1, move |_| (0..ITEMS).for_each(|item| source.send(item).unwrap()));
        let doublers = spawn_each(2, move |_| first.iter().for_each(|item: usize| meet.send(2 * item).unwrap()));
        let adders = spawn_each(1, move |_| second.iter().for_each(|item: usize| spill.send(item + 1).unwrap()));
        let items: Vec<usize> = sink.iter().collect();
        join_all(sources.into_iter().chain(doublers).chain(adders));
        let mut sorted = items.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [1, 3, 5, 7]);
        items == sorted
    });
    assert_eq!(seen, HashSet::from([false, true]));
}

/// Three send, three receive until they are told that the channel is closed, and one closes it in between. What was let in is received, once;
/// what was not is given back; and nothing is let in when the close has returned. Reached: all let in, some, and none.
fn close_in_between(make: fn() -> Channel) {
    const EACH: usize = 2;
    let seen = outcomes(move || {
        let (sender, receiver) = make();
        let is_closed = Arc::new(AtomicU32::new(0));
        let senders = spawn_each(3, {
            let (sender, is_closed) = (sender.clone(), is_closed.clone());
            move |number| {
                let mut let_in = Vec::new();
                for item in number * EACH..(number + 1) * EACH {
                    let is_late = is_closed.load(Ordering::Relaxed) == 1;
                    match sender.send(item) {
                        Ok(()) => {
                            assert!(!is_late, "let in after the close");
                            let_in.push(item);
                        }
                        Err(error) => assert_eq!((error.is_closed(), error.into_inner()), (true, item)),
                    }
                }
                let_in
            }
        });
        let receivers = spawn_each(3, move |_| receiver.iter().collect::<Vec<usize>>());
        assert!(sender.close());
        is_closed.store(1, Ordering::Relaxed);
        let [mut let_in, mut received] = [senders, receivers].map(|threads| join_all(threads).concat());
        let_in.sort_unstable();
        received.sort_unstable();
        assert_eq!(received, let_in);
        match let_in.len() {
            0 => "none",
            n if n == 3 * EACH => "all",
            _ => "some",
        }
    });
    assert_eq!(seen, HashSet::from(["none", "some", "all"]));
}

#[test]
fn shuttle_rendezvous_closes_exactly_between_six() {
    close_in_between(|| bounded(0));
}

#[test]
fn shuttle_array_closes_exactly_between_six() {
    close_in_between(|| bounded(2));
}

#[test]
fn shuttle_list_closes_exactly_between_six() {
    close_in_between(unbounded);
}

/// Two send by a broadcast channel that has room for few, three receive: each gets all messages of a sender in their order, but for those it
/// was told it has missed. Reached: all received, and some missed.
#[test]
fn shuttle_broadcast_counts_every_message_for_every_receiver() {
    const EACH: u64 = 3;
    let seen = outcomes(|| {
        let (sender, receiver) = broadcast(2);
        let receivers = spawn_each(3, move |_| {
            let (mut receiver, mut last, mut received, mut missed) = (receiver.clone(), [0; 2], 0, 0);
            loop {
                match receiver.recv() {
                    Ok((from, number)) => {
                        assert!(last[from] < number, "{number} from {from} after {}", last[from]);
                        last[from] = number;
                        received += 1;
                    }
                    Err(BroadcastRecvError::Lagged(many)) => missed += many,
                    Err(error) => {
                        assert_eq!((error, received + missed), (BroadcastRecvError::Closed, 2 * EACH));
                        return missed;
                    }
                }
            }
        });
        let senders = spawn_each(2, move |from| {
            for number in 1..=EACH {
                sender.send((from, number)).unwrap();
            }
        });
        join_all(senders);
        join_all(receivers).iter().any(|&missed| missed > 0)
    });
    assert_eq!(seen, HashSet::from([false, true]));
}

/// Three watch a value that is changed three times: each sees it rise, and the last one before the end. Reached: all changes seen by all,
/// and some passed over.
#[test]
fn shuttle_watch_shows_the_last_value_to_all() {
    let seen = outcomes(|| {
        let (sender, receiver) = watch(0);
        let watchers = spawn_each(3, move |_| {
            let (mut receiver, mut last, mut changes) = (receiver.clone(), 0, 0);
            while receiver.changed().is_ok() {
                let value = receiver.get_new();
                // Newer than what the wait was for, perhaps: then the next wait is for a newer one still.
                assert!(value > last, "{value} after {last}");
                last = value;
                changes += 1;
            }
            assert_eq!((last, receiver.changed()), (3, Err(RecvError::Closed)));
            changes
        });
        (1..=3).for_each(|value| _ = sender.send(value));
        drop(sender);
        let changes = join_all(watchers);
        changes.iter().all(|&changes| changes == 3)
    });
    assert_eq!(seen, HashSet::from([false, true]));
}

/// Three clients ask a server, each with a channel for the answer; one does not wait for it. Every answer comes to whoever asked. Reached:
/// the answer that nobody wants is given back, and is not.
#[test]
fn shuttle_oneshot_answers_whoever_asked() {
    let seen = outcomes(|| {
        let (ask, questions) = bounded(1);
        let server = thread::spawn(move || {
            let mut given_back = 0;
            for (question, reply) in questions.iter() {
                let reply: crate::chan::OneSender<usize> = reply;
                if let Err(answer) = reply.send(question * 10) {
                    assert_eq!((question, answer), (2, 20), "others wait for theirs");
                    given_back += 1;
                }
            }
            given_back
        });
        join_all(spawn_each(3, move |number| {
            let (reply, answer) = oneshot();
            ask.send((number, reply)).unwrap();
            if number < 2 {
                assert_eq!(answer.recv(), Ok(number * 10));
            }
        }));
        server.join().unwrap()
    });
    assert_eq!(seen, HashSet::from([0, 1]));
}
