//! Selects of several threads that meet each other, and others.

use super::{join_all, outcomes, spawn_each};
use crate::chan::{Receiver, Sender, bounded, unbounded};
use crate::select::hidden::{recv, send, wait};
use std::collections::HashSet;

/// Two select from two rendezvous channels, to each of which two send: every item comes once. Reached: one selector gets from both
/// channels, and from one only.
#[test]
fn shuttle_select_of_rendezvous_takes_every_item_once() {
    let seen = outcomes(|| {
        let ((one, first), (two, second)) = (bounded(0), bounded(0));
        let senders = spawn_each(4, move |number| {
            let sender = [&one, &two][number % 2];
            [number, number + 4].into_iter().for_each(|item| sender.send(item).unwrap());
        });
        let selectors = spawn_each(2, move |_| {
            let take = |_| {
                let mut arms = [recv(&first), recv(&second)];
                let chosen = wait(arms.each_mut().map(|arm| arm.any()));
                let item = arms[chosen].take().unwrap();
                assert_eq!(item % 2, chosen, "from the channel it was sent by");
                item
            };
            (0..4).map(take).collect::<Vec<_>>()
        });
        let taken = join_all(selectors);
        join_all(senders);
        let mut items = taken.concat();
        items.sort_unstable();
        assert_eq!(items, [0, 1, 2, 3, 4, 5, 6, 7]);
        taken[0].iter().any(|item| item % 2 != taken[0][0] % 2)
    });
    assert_eq!(seen, HashSet::from([false, true]));
}

/// Four threads, each of which sends or receives by either of two rendezvous channels: two pairs meet. Reached: at one channel, and at both.
#[test]
fn shuttle_selects_that_send_or_receive_meet_in_pairs() {
    type Channel = (Sender<usize>, Receiver<usize>);

    /// What was received, if anything, and at which channel.
    fn meet(number: usize, channels: &[Channel; 2]) -> (Option<usize>, usize) {
        let [(one_in, one_out), (two_in, two_out)] = channels;
        let (mut give, mut give_too) = (send(one_in, number), send(two_in, number));
        let (mut take, mut take_too) = (recv(one_out), recv(two_out));
        match wait([give.any(), take_too.any(), take.any(), give_too.any()]) {
            0 => give.take().map(|()| (None, 0)).unwrap(),
            1 => (Some(take_too.take().unwrap()), 1),
            2 => (Some(take.take().unwrap()), 0),
            _ => give_too.take().map(|()| (None, 1)).unwrap(),
        }
    }

    let seen = outcomes(|| {
        let channels = [bounded(0), bounded(0)];
        let met = join_all(spawn_each(4, move |number| meet(number, &channels)));
        let takers = || met.iter().filter_map(|&(got, at)| got.map(|from| (from, at)));
        let givers: HashSet<_> =
            met.iter().enumerate().filter(|(_, met)| met.0.is_none()).map(|(n, met)| (n, met.1)).collect();
        assert_eq!((takers().count(), takers().collect()), (2, givers), "{met:?}");
        met.iter().map(|met| met.1).collect::<HashSet<_>>().len()
    });
    assert_eq!(seen, HashSet::from([1, 2]));
}

/// A select of a channel with room and one without, against senders of both and the end of both: it gets all that was let in before it
/// hears of the ends.
#[test]
fn shuttle_select_drains_what_is_closed() {
    let seen = outcomes(|| {
        let ((one, first), (two, second), (three, third)) = (bounded(1), bounded(0), unbounded());
        let senders = spawn_each(1, move |_| (0..3).for_each(|item| one.send(item).unwrap())).into_iter();
        let senders = senders.chain(spawn_each(1, move |_| (3..5).for_each(|item| two.send(item).unwrap())));
        let senders = senders.chain(spawn_each(1, move |_| (5..8).for_each(|item| three.send(item).unwrap())));
        let senders: Vec<_> = senders.collect();
        let mut open = vec![first, second, third];
        let mut items = Vec::new();
        while !open.is_empty() {
            let mut select = crate::select::Select::new();
            for (number, receiver) in open.iter().enumerate() {
                select.recv(receiver, move |item| (number, item.ok()));
            }
            let (number, item) = select.wait();
            drop(select);
            match item {
                Some(item) => items.push(item),
                None => drop(open.swap_remove(number)),
            }
        }
        join_all(senders);
        let first = items[0];
        items.sort_unstable();
        assert_eq!(items, [0, 1, 2, 3, 4, 5, 6, 7]);
        first
    });
    assert_eq!(seen, HashSet::from([0, 3, 5]), "by any of them first");
}
