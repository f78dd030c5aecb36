//! Children with a name, a stack size, a place.
#![allow(unsafe_code, reason = "as for `Nursery::spawn`")]

use super::child::{self, Child};
use super::inside::Nursery;
use super::policy::ChildResult;
use crate::spawn::launch::{Options, Start};
use std::fmt;
use std::panic::Location;

/// How a child is to be: its name, its stack, where it starts. Made by [`Nursery::builder`].
///
/// ```
/// sisal::run(|| {
///     sisal::nursery(|n| {
///         let child = n.builder().name("parser").stack_size(1 << 20).spawn(|| ());
///         assert_eq!(child.name(), Some("parser"));
///         Ok::<_, ()>(())
///     }).unwrap();
/// });
/// ```
#[must_use = "a builder does nothing until it spawns"]
pub struct ChildBuilder<'scope, 'env, E> {
    nursery: &'scope Nursery<'scope, 'env, E>,
    options: Options,
}

impl<'scope, 'env, E: Send> ChildBuilder<'scope, 'env, E> {
    pub(super) fn new(nursery: &'scope Nursery<'scope, 'env, E>) -> ChildBuilder<'scope, 'env, E> {
        ChildBuilder { nursery, options: Options::default() }
    }

    /// Names the child, for messages and dumps.
    ///
    /// ```
    /// sisal::run(|| {
    ///     sisal::nursery(|n| {
    ///         n.builder().name("parser").spawn(|| assert_eq!(sisal::fiber::current().unwrap().name(), Some("parser")));
    ///         Ok::<_, ()>(())
    ///     }).unwrap();
    /// });
    /// ```
    pub fn name(mut self, name: impl Into<String>) -> ChildBuilder<'scope, 'env, E> {
        self.options.name = Some(name.into().into_boxed_str());
        self
    }

    /// The size of its stack in usable bytes, at least; the runtime's if not given. Only pages that are used take memory.
    ///
    /// ```
    /// sisal::run(|| {
    ///     sisal::nursery(|n| {
    ///         n.builder().stack_size(1 << 20).spawn(|| assert_eq!(std::hint::black_box([1u8; 300 << 10])[7], 1));
    ///         Ok::<_, ()>(())
    ///     }).unwrap();
    /// });
    /// ```
    pub fn stack_size(mut self, bytes: usize) -> ChildBuilder<'scope, 'env, E> {
        self.options.stack_size = Some(bytes);
        self
    }

    /// Starts it rather on the worker on which fewest fibers wait, to spread long-lived children evenly.
    ///
    /// ```
    /// sisal::run(|| {
    ///     let (sender, receiver) = sisal::chan::unbounded();
    ///     sisal::nursery(|n| {
    ///         (0..10).for_each(|number| { let sender = &sender; n.builder().spread().spawn(move || _ = sender.send(number)); });
    ///         Ok::<_, ()>(())
    ///     }).unwrap();
    ///     assert_eq!(receiver.try_iter().sum::<i32>(), 45);
    /// });
    /// ```
    pub fn spread(mut self) -> ChildBuilder<'scope, 'env, E> {
        self.options.start = Start::Spread;
        self
    }

    /// Says that it computes for long without a wait: see [`Builder::cpu_bound`](crate::Builder::cpu_bound).
    ///
    /// ```
    /// sisal::run(|| {
    ///     let mut sum = 0u64;
    ///     sisal::nursery(|n| {
    ///         n.builder().cpu_bound().spawn(|| sum = (0..1_000_000).sum());
    ///         Ok::<_, ()>(())
    ///     }).unwrap();
    ///     assert_eq!(sum, 499_999_500_000);
    /// });
    /// ```
    pub fn cpu_bound(mut self) -> ChildBuilder<'scope, 'env, E> {
        self.options.start = Start::Alone;
        self
    }

    /// Starts it on this worker, one of the [base workers](crate::Handle::base_workers).
    ///
    /// ```
    /// sisal::run(|| {
    ///     sisal::nursery(|n| {
    ///         n.builder().on(0).spawn(|| ());
    ///         Ok::<_, ()>(())
    ///     }).unwrap();
    /// });
    /// ```
    pub fn on(mut self, worker: usize) -> ChildBuilder<'scope, 'env, E> {
        self.options.start = Start::On(worker);
        self
    }

    /// Spawns it: see [`Nursery::spawn`].
    ///
    /// # Panics
    /// Outside of a runtime, if the stack size is impossible, and if there is no such worker.
    ///
    /// ```
    /// sisal::run(|| {
    ///     let mut words = vec!["plain", "blocking", "code"];
    ///     sisal::nursery(|n| {
    ///         n.builder().name("sorter").spawn(|| words.sort());
    ///         Ok::<_, ()>(())
    ///     }).unwrap();
    ///     assert_eq!(words, ["blocking", "code", "plain"]);
    /// });
    /// ```
    #[track_caller]
    pub fn spawn<F, R>(self, f: F) -> Child<'scope, R::Value>
    where
        F: FnOnce() -> R + Send + 'scope,
        R: ChildResult<E, Value: Send + 'scope>,
    {
        // SAFETY: it is `Send`, and so is its value.
        unsafe { child::spawn(self.nursery, self.options, Location::caller(), f) }
    }

    /// Spawns it on the caller's worker, where it stays: see [`Nursery::spawn_local`].
    ///
    /// # Panics
    /// Outside of the fibers of the nursery's runtime, and if the stack size is impossible.
    ///
    /// ```
    /// use std::cell::Cell;
    /// sisal::run(|| {
    ///     let count = Cell::new(0);
    ///     sisal::nursery(|n| {
    ///         (0..10).for_each(|_| { n.builder().name("counter").spawn_local(|| count.set(count.get() + 1)); });
    ///         Ok::<_, ()>(())
    ///     }).unwrap();
    ///     assert_eq!(count.get(), 10);
    /// });
    /// ```
    #[track_caller]
    pub fn spawn_local<F, R>(mut self, f: F) -> Child<'scope, R::Value>
    where
        F: FnOnce() -> R + 'scope,
        R: ChildResult<E, Value: 'scope>,
    {
        self.options.start = Start::Here;
        // SAFETY: it starts on this thread and never leaves it.
        unsafe { child::spawn(self.nursery, self.options, Location::caller(), f) }
    }
}

impl<E> fmt::Debug for ChildBuilder<'_, '_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Options { name, stack_size, .. } = &self.options;
        f.debug_struct("ChildBuilder").field("name", name).field("stack_size", stack_size).finish_non_exhaustive()
    }
}
