//! Models of selects against those who send, close and select.

use super::hidden::{poll, recv, recv_mut, send, wait};
use crate::chan::{bounded, broadcast, oneshot, watch};
use crate::park::and_whether_it_waited;
use std::collections::HashSet;
use std::sync::Mutex;

fn check(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(model);
}

/// Two senders at two channels and one select over both, twice: each item comes once, by its own arm. Reached: either first.
fn receive_both(capacity: usize) {
    let seen: &'static Mutex<HashSet<usize>> = Box::leak(Box::default());
    check(move || {
        let (one, first) = bounded(capacity);
        let (two, second) = bounded(capacity);
        let senders = [(one.clone(), 1), (two.clone(), 2)]
            .map(|(sender, item)| loom::thread::spawn(move || sender.send(item).unwrap()));
        let mut received: Vec<usize> = (0..2)
            .map(|_| {
                let (mut arm_one, mut arm_two) = (recv(&first), recv(&second));
                match wait([arm_one.any(), arm_two.any()]) {
                    0 => arm_one.take().unwrap(),
                    _ => arm_two.take().unwrap(),
                }
            })
            .collect();
        senders.into_iter().for_each(|sender| sender.join().unwrap());
        seen.lock().unwrap().insert(received[0]);
        received.sort_unstable();
        assert_eq!(received, [1, 2]);
    });
    assert_eq!(seen.lock().unwrap().len(), 2);
}

#[test]
fn loom_select_of_rendezvous_takes_every_item_once() {
    receive_both(0);
}

#[test]
fn loom_select_of_buffered_takes_every_item_once() {
    receive_both(1);
}

/// Two selects, one that sends by the first channel or receives from the second, and one the other way round: they meet at exactly one.
#[test]
fn loom_select_meets_select() {
    let seen: &'static Mutex<HashSet<usize>> = Box::leak(Box::default());
    check(move || {
        let (one_in, one_out) = bounded(0);
        let (two_in, two_out) = bounded(0);
        let other = {
            let (one_out, two_in) = (one_out.clone(), two_in.clone());
            loom::thread::spawn(move || {
                // The other channel first, or they would always meet at the same.
                let (mut receive, mut give) = (recv(&one_out), send(&two_in, 2));
                match wait([give.any(), receive.any()]) {
                    0 => give.take().map(|()| 0).unwrap(),
                    _ => receive.take().unwrap(),
                }
            })
        };
        let (mut give, mut receive) = (send(&one_in, 1), recv(&two_out));
        let mine = match wait([give.any(), receive.any()]) {
            0 => give.take().map(|()| 0).unwrap(),
            _ => receive.take().unwrap(),
        };
        let others = other.join().unwrap();
        assert!((mine, others) == (0, 1) || (mine, others) == (2, 0), "{mine} and {others}");
        seen.lock().unwrap().insert(mine);
    });
    assert_eq!(seen.lock().unwrap().len(), 2, "at one, and at the other");
}

/// A select against the close of one channel and a send to the other: it runs one arm, and the item is not lost.
#[test]
fn loom_select_against_close_and_send() {
    let seen: &'static Mutex<HashSet<bool>> = Box::leak(Box::default());
    check(move || {
        let (one, first) = bounded::<usize>(0);
        let (two, second) = bounded::<usize>(1);
        let closer = loom::thread::spawn(move || drop(one));
        let sender = loom::thread::spawn(move || two.send(7).unwrap());
        let (mut arm_one, mut arm_two) = (recv(&first), recv(&second));
        let closed = match wait([arm_one.any(), arm_two.any()]) {
            0 => arm_one.take().is_err(),
            _ => {
                assert_eq!(arm_two.take(), Ok(7));
                false
            }
        };
        closer.join().unwrap();
        sender.join().unwrap();
        if closed {
            assert_eq!(second.recv(), Ok(7), "still there");
        }
        seen.lock().unwrap().insert(closed);
    });
    assert_eq!(seen.lock().unwrap().len(), 2);
}

/// The one message of a channel and another's: the select receives one, the other is still there, and nobody looks at a record of the select when that
/// is over. Reached: either.
#[test]
fn loom_select_of_oneshot_and_another_leaves_the_other() {
    let seen: &'static Mutex<HashSet<usize>> = Box::leak(Box::default());
    check(move || {
        let (one, mut first) = oneshot();
        let (two, second) = bounded(1);
        let answer = loom::thread::spawn(move || one.send(1).unwrap());
        let other = loom::thread::spawn(move || two.send(2).unwrap());
        let (mut arm_one, mut arm_two) = (recv_mut(&mut first), recv(&second));
        let (received, left) = match wait([arm_one.any(), arm_two.any()]) {
            0 => (arm_one.take().unwrap(), second.recv().unwrap()),
            _ => (arm_two.take().unwrap(), first.recv().unwrap()),
        };
        assert_eq!(received + left, 3);
        [answer, other].into_iter().for_each(|sender| sender.join().unwrap());
        seen.lock().unwrap().insert(received);
    });
    assert_eq!(seen.lock().unwrap().len(), 2);
}

/// A select that does not wait, over a channel whose only sender sends or goes meanwhile: what it did not receive is still there.
#[test]
fn loom_select_of_oneshot_that_gives_up_leaves_the_message() {
    let seen: &'static Mutex<HashSet<bool>> = Box::leak(Box::default());
    check(move || {
        let (sender, mut receiver) = oneshot();
        let (_keep, never) = bounded::<usize>(1);
        let other = loom::thread::spawn(move || sender.send(7).unwrap());
        let at_once = {
            let (mut arm, mut nothing) = (recv_mut(&mut receiver), recv(&never));
            match poll([arm.any(), nothing.any()]) {
                Some(0) => Some(arm.take().unwrap()),
                Some(_) => unreachable!("nobody sends"),
                None => None,
            }
        };
        seen.lock().unwrap().insert(at_once.is_some());
        assert_eq!(at_once.or_else(|| receiver.recv().ok()), Some(7));
        other.join().unwrap();
    });
    assert_eq!(seen.lock().unwrap().len(), 2);
}

/// One alone: the message, and that there is none. Reached: only these, each found and waited for.
#[test]
fn loom_select_of_one_oneshot() {
    for sends in [true, false] {
        let seen: &'static Mutex<HashSet<bool>> = Box::leak(Box::default());
        check(move || {
            let (sender, mut receiver) = oneshot();
            let other = loom::thread::spawn(move || {
                if sends {
                    sender.send(7).unwrap();
                }
            });
            let mut arm = recv_mut(&mut receiver);
            let (index, waited) = and_whether_it_waited(|| wait([arm.any()]));
            assert_eq!(index, 0);
            assert_eq!(arm.take().ok(), sends.then_some(7));
            other.join().unwrap();
            seen.lock().unwrap().insert(waited);
        });
        assert_eq!(seen.lock().unwrap().len(), 2, "waited, and had not to");
    }
}

/// News of two kinds, by selects over both until the last of each has come: none is overlooked. Reached: either first.
#[test]
fn loom_select_of_broadcast_and_watch_hears_of_both() {
    let seen: &'static Mutex<HashSet<usize>> = Box::leak(Box::default());
    check(move || {
        let (news, mut listener) = broadcast(1);
        let (settings, mut changes) = watch(0);
        // Neither sender goes before both have been heard of.
        let speaker = loom::thread::spawn(move || news.send(1).map(|_| news).unwrap());
        let changer = loom::thread::spawn(move || {
            settings.send(2);
            settings
        });
        let mut heard: Vec<usize> = (0..2)
            .map(|_| {
                let (mut message, mut change) = (recv_mut(&mut listener), recv_mut(&mut changes));
                match wait([message.any(), change.any()]) {
                    0 => message.take().unwrap(),
                    _ => change.take().map(|()| 2).unwrap(),
                }
            })
            .collect();
        assert_eq!(changes.get(), 2);
        drop((speaker.join().unwrap(), changer.join().unwrap()));
        seen.lock().unwrap().insert(heard[0]);
        heard.sort_unstable();
        assert_eq!(heard, [1, 2]);
    });
    assert_eq!(seen.lock().unwrap().len(), 2);
}
