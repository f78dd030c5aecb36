//! The driver: a producer and a consumer of rayon's are divided together, by sisal's forks.
//!
//! rayon's iterators do not run anything themselves. One that knows the places of its items makes a *producer* of them, and what follows it
//! in a chain makes a *consumer*; both can be divided, the consumer giving a *reducer* for the two results. Whoever holds both decides
//! who runs what: in rayon that is its bridge, and here it is [`Drive`].

use rayon::iter::plumbing::{Consumer, Folder, Producer, ProducerCallback, Reducer, UnindexedConsumer};
use rayon::iter::{IndexedParallelIterator, ParallelIterator};
use sisal::in_fiber;
use sisal::par::{Pace, join, scope};

/// An iterator that runs on fibers: see [`on_fibers`](super::OnFibers::on_fibers).
#[derive(Clone, Debug)]
#[must_use = "iterators do nothing until they are consumed"]
pub struct FiberIter<I> {
    iter: I,
}

impl<I> FiberIter<I> {
    pub(super) fn new(iter: I) -> FiberIter<I> {
        FiberIter { iter }
    }
}

impl<I: IndexedParallelIterator> ParallelIterator for FiberIter<I> {
    type Item = I::Item;

    fn drive_unindexed<C: UnindexedConsumer<I::Item>>(self, consumer: C) -> C::Result {
        let len = self.iter.len();
        let drive = || self.iter.with_producer(Start { consumer, len });
        // However little there is to do: closures may spawn, and wait.
        if in_fiber() { drive() } else { scope(|_| drive()) }
    }

    /// The consumer is divided by places, so items can be written to where they belong.
    fn opt_len(&self) -> Option<usize> {
        Some(self.iter.len())
    }
}

/// What the producer is handed to.
struct Start<C> {
    consumer: C,
    len: usize,
}

impl<T, C: Consumer<T>> ProducerCallback<T> for Start<C> {
    type Output = C::Result;

    fn callback<P: Producer<Item = T>>(self, producer: P) -> C::Result {
        let drive = Drive { pace: pace(&producer, self.len) };
        drive.run(self.len, producer, self.consumer)
    }
}

/// As the producer wishes, if it does.
fn pace<P: Producer>(producer: &P, len: usize) -> Pace {
    match (producer.min_len(), producer.max_len()) {
        // Halves of what is divided are long enough, and that goes before the other.
        (least, most @ ..usize::MAX) => Pace::grain(most.max(least.saturating_mul(2).saturating_sub(1))),
        (least @ 2.., _) => Pace::grain(least.saturating_mul(2) - 1),
        _ => Pace::new(len),
    }
}

struct Drive {
    pace: Pace,
}

impl Drive {
    fn run<P: Producer, C: Consumer<P::Item>>(&self, len: usize, producer: P, consumer: C) -> C::Result {
        if consumer.full() {
            return consumer.into_folder().complete();
        }
        if self.pace.fits(len) {
            return self.pace.run(len, || producer.fold_with(consumer.into_folder()).complete());
        }
        let middle = self.pace.cut(len);
        let (left, right) = producer.split_at(middle);
        let (left_consumer, right_consumer, reducer) = consumer.split_at(middle);
        let (left, right) =
            join(|| self.run(middle, left, left_consumer), || self.run(len - middle, right, right_consumer));
        reducer.reduce(left, right)
    }
}
