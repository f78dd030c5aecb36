//! The clock of work that is many like operations in a row: a tenth of them first, unclocked, then all.
//!
//! The contestant brings `run(repeats)`: start the tasks, have each do its operation that often, and
//! come back when the last has ended. It is called twice. The tasks a run starts are part of what is
//! clocked; there are few beside the operations.

use crate::measure::Stopwatch;
use crate::sample::Sample;

/// What part of the work goes before it to warm up.
const WARM_UP_SHARE: usize = 10;

/// Work with a number to turn.
pub trait Repeated {
    /// How often each task does its operation.
    fn repeats(&self) -> usize;
    /// The operations of all tasks together.
    fn operations(&self) -> usize;
}

/// Nanoseconds per operation of `load`, done by `run`.
pub fn clocked(load: impl Repeated, run: impl Fn(usize)) -> Sample {
    run(load.repeats() / WARM_UP_SHARE);
    let watch = Stopwatch::start();
    run(load.repeats());
    watch.stop().per_operation(load.operations())
}

/// The same of a `run` that is awaited.
pub async fn clocked_async<F: Future<Output = ()>>(load: impl Repeated, run: impl Fn(usize) -> F) -> Sample {
    run(load.repeats() / WARM_UP_SHARE).await;
    let watch = Stopwatch::start();
    run(load.repeats()).await;
    watch.stop().per_operation(load.operations())
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::work::RoundTrips;

    #[test]
    fn a_tenth_goes_before_the_whole() {
        let asked = RefCell::new(Vec::new());
        clocked(RoundTrips { trips: 500, workers: 1 }, |trips| asked.borrow_mut().push(trips));
        assert_eq!(*asked.borrow(), [50, 500]);
    }
}
