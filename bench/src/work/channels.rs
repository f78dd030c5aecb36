//! Tasks that talk over channels: two that take turns, many that send and receive, one that selects.
//!
//! A message is a `u64`. The receivers start first. What arrives is summed, and the sum checked, so that
//! every contestant has delivered every message.

use std::array;

use super::clock::Repeated;

/// The channels one task selects over. The macros of most contestants want their arms written out.
pub const ARMS: usize = 8;

/// Two tasks and a channel each way: one sends a number, the other sends it back increased by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTrips {
    /// There and back.
    pub trips: usize,
    /// Worker threads.
    pub workers: usize,
}

impl RoundTrips {
    /// For a contestant that needs many times as long for each.
    pub fn at_most(self, trips: usize) -> Self {
        Self { trips: self.trips.min(trips), ..self }
    }
}

impl Repeated for RoundTrips {
    fn repeats(&self) -> usize {
        self.trips
    }

    fn operations(&self) -> usize {
        self.trips
    }
}

/// One channel, its senders and its receivers. Each sender sends 0, 1, 2 and so on, then hangs up; the
/// receivers go on until all have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Messages of each sender.
    pub each: usize,
    /// What the channel holds.
    pub capacity: usize,
    /// Sending tasks.
    pub senders: usize,
    /// Receiving tasks.
    pub receivers: usize,
    /// Worker threads.
    pub workers: usize,
}

impl Flow {
    /// All sizes but the workers, by name.
    pub(super) fn sizes(&self) -> Vec<(&'static str, usize)> {
        let Self { each, capacity, senders, receivers, .. } = *self;
        vec![("each", each), ("capacity", capacity), ("senders", senders), ("receivers", receivers)]
    }

    /// What the receivers' sums come to when each sender has sent `each`.
    pub fn sum(&self, each: usize) -> u64 {
        self.senders as u64 * sum_below(each)
    }
}

impl Repeated for Flow {
    fn repeats(&self) -> usize {
        self.each
    }

    fn operations(&self) -> usize {
        self.senders * self.each
    }
}

/// A channel and a sender for each of [`ARMS`] arms, and one task that selects over them until it has
/// everything. The senders hang up after that, so that it never meets a closed channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fan {
    /// Messages of each sender.
    pub each: usize,
    /// What each channel holds.
    pub capacity: usize,
    /// Worker threads.
    pub workers: usize,
}

impl Fan {
    /// How many messages there are when each sender sends `each`.
    pub fn messages(each: usize) -> usize {
        ARMS * each
    }

    /// What their sum is.
    pub fn sum(each: usize) -> u64 {
        ARMS as u64 * sum_below(each)
    }

    /// A channel for every arm: the senders and the receivers.
    pub fn channels<S, R>(mut channel: impl FnMut() -> (S, R)) -> ([S; ARMS], [R; ARMS]) {
        let mut pairs = array::from_fn(|_| channel()).map(|(sender, receiver)| (sender, Some(receiver)));
        let receivers = pairs.each_mut().map(|(_, receiver)| receiver.take().expect("taken once"));
        (pairs.map(|(sender, _)| sender), receivers)
    }
}

impl Repeated for Fan {
    fn repeats(&self) -> usize {
        self.each
    }

    fn operations(&self) -> usize {
        Self::messages(self.each)
    }
}

/// 0 + 1 + ... up to, not including, `end`.
pub(super) fn sum_below(end: usize) -> u64 {
    (0..end as u64).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_of_what_is_sent() {
        let flow = Flow { each: 4, capacity: 1, senders: 3, receivers: 2, workers: 2 };
        assert_eq!((flow.operations(), flow.sum(flow.each)), (12, 18));
        assert_eq!((Fan::messages(4), Fan::sum(4)), (32, 48));
    }
}
