//! Models of one who receives, against messages and the end.

use super::*;
use crate::chan::models::check;
use crate::park::and_whether_it_waited;
use std::collections::HashSet;
use std::sync::Mutex;

/// Two messages into a channel with room for one, and its end, against one who receives: what it gets and what it misses are
/// all that was sent, in order, and then it sees the end. Reached: nothing missed, the first missed.
#[test]
fn loom_broadcast_reaches_one_who_receives() {
    let seen: &'static Mutex<HashSet<Vec<Result<u32, u64>>>> = Box::leak(Box::default());
    check(2, move || {
        let (sender, mut receiver) = broadcast(1);
        let listener = loom::thread::spawn(move || {
            let mut heard = Vec::new();
            loop {
                match receiver.recv() {
                    Ok(message) => heard.push(Ok(message)),
                    Err(BroadcastRecvError::Lagged(missed)) => heard.push(Err(missed)),
                    Err(BroadcastRecvError::Closed) => return heard,
                    Err(BroadcastRecvError::Cancelled(_)) => unreachable!("nobody cancels"),
                }
            }
        });
        assert_eq!((sender.send(1), sender.send(2)), (Ok(1), Ok(1)));
        drop(sender);
        seen.lock().unwrap().insert(listener.join().unwrap());
    });
    assert_eq!(*seen.lock().unwrap(), HashSet::from([vec![Ok(1), Ok(2)], vec![Err(1), Ok(2)]]));
}

/// One sends, one closes, one receives until it is told that the channel is closed: what was let in is received, what was not is given back.
/// Reached: sent and refused; received and told, each at once and after a wait.
#[test]
fn loom_broadcast_closes_exactly() {
    let seen: &'static Mutex<HashSet<(&str, bool)>> = Box::leak(Box::default());
    check(2, move || {
        let (sender, mut receiver) = broadcast(1);
        let other = {
            let sender = sender.clone();
            loom::thread::spawn(move || match sender.send(7) {
                Ok(_) => "sent",
                Err(refused) => {
                    assert_eq!(refused.into_inner(), 7, "given back");
                    "refused"
                }
            })
        };
        let closer = {
            let sender = sender.clone();
            loom::thread::spawn(move || assert!(sender.close()))
        };
        let mut received = 0;
        loop {
            let (message, waited) = and_whether_it_waited(|| receiver.recv());
            match message {
                Ok(message) => {
                    assert_eq!(message, 7);
                    received += 1;
                    seen.lock().unwrap().insert(("received", waited));
                }
                Err(BroadcastRecvError::Closed) => {
                    seen.lock().unwrap().insert(("closed", waited));
                    break;
                }
                Err(other) => unreachable!("{other}"),
            }
        }
        closer.join().unwrap();
        let sent = other.join().unwrap();
        assert_eq!(received, usize::from(sent == "sent"), "what was let in is received, and nothing else");
        seen.lock().unwrap().insert((sent, false));
        // Here, so that it was not this that closed it.
        drop(sender);
    });
    let received = [("received", false), ("received", true), ("closed", false), ("closed", true)];
    let sent = [("sent", false), ("refused", false)];
    assert_eq!(*seen.lock().unwrap(), received.into_iter().chain(sent).collect());
}
