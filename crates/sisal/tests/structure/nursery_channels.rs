//! Channels that are closed by the end of a nursery, however it comes.

use crate::common::{in_fiber_of_each, until};
use crate::sleepers::Sure;
use sisal::chan::{RecvError, bounded};
use sisal::{nursery, spawn};
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn a_channel_is_closed_when_its_nursery_is_cancelled() {
    in_fiber_of_each(|| {
        let (send, receive) = bounded::<u32>(10);
        let sum = AtomicUsize::new(0);
        let done: Sure<()> = nursery(|n| {
            n.close_on(&send);
            n.spawn(|| {
                // Not by the cancellation, which it is shielded from, but by the end of the channel.
                let add = |number| {
                    sum.fetch_add(number as usize, Ordering::Relaxed);
                };
                sisal::shield(|| receive.iter().for_each(add));
                assert_eq!(receive.recv(), Err(RecvError::Closed));
            });
            (1..=4).for_each(|number| send.send(number).unwrap());
            until(|| sum.load(Ordering::Relaxed) == 10);
            assert!(!send.is_closed());
            n.cancel();
            until(|| send.is_closed());
            Ok(())
        });
        done.unwrap();
        assert!(send.send(5).is_err());
    });
}

#[test]
fn a_channel_is_closed_when_its_nursery_ends() {
    in_fiber_of_each(|| {
        let (send, receive) = bounded::<u32>(10);
        let reader = {
            let receive = receive.clone();
            spawn(move || receive.iter().sum::<u32>())
        };
        let done: Sure<()> = nursery(|n| {
            n.close_on(&send);
            for number in 0..10 {
                let send = send.clone();
                n.spawn(move || send.send(number).unwrap());
            }
            Ok(())
        });
        done.unwrap();
        assert!(send.is_closed() && receive.is_closed());
        assert_eq!(reader.join().unwrap(), 45);
    });
}

#[test]
fn a_channel_is_closed_when_its_nursery_fails() {
    in_fiber_of_each(|| {
        let (send, receive) = bounded::<u32>(10);
        let failed = nursery(|n| {
            n.close_on(&send);
            n.spawn(|| Err("lost"));
            until(|| send.is_closed());
            Ok(())
        });
        assert_eq!(failed, Err("lost"));
        assert_eq!(receive.recv(), Err(RecvError::Closed));
    });
}
