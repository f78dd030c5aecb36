//! The nursery, as its body and its children see it.
#![allow(unsafe_code, reason = "the node lies in the frame around the nursery")]

use super::child::{self, Child};
use super::child_builder::ChildBuilder;
use super::closing::Closing;
use super::options::NurseryOptions;
use super::policy::{ChildResult, Findings, Payload, Policy};
use super::roster::Roster;
use super::token::CancelToken;
use crate::chan::Sender;
use crate::fiber::cancel_node::CancelNode;
use crate::park::poke;
use crate::prim::cancel::Cause;
use crate::prim::drop_quietly::drop_quietly;
use crate::prim::lock::Lock;
use crate::prim::reason::Place;
use crate::sched::shared::Shared;
use crate::spawn::launch::{Options, Start};
use std::convert::Infallible;
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};

/// Where children live: see [`nursery`](crate::nursery()). Children may use it as well, to spawn siblings or to end it.
///
/// `'scope` is the life of the nursery: children may borrow what lives longer. `'env` is everything around it. `E` is the type of the
/// errors that children and the body may return.
///
/// ```
/// use sisal::Nursery;
///
/// fn count_down<'scope>(n: &'scope Nursery<'scope, '_, &'static str>, number: u32) {
///     n.spawn(move || match number {
///         0 => Err("lift-off"),
///         _ => Ok(count_down(n, number - 1)),
///     });
/// }
///
/// sisal::run(|| assert_eq!(sisal::nursery(|n| Ok(count_down(n, 10))), Err("lift-off")));
/// ```
pub struct Nursery<'scope, 'env: 'scope, E: 'env> {
    /// That of the scope which the body runs in.
    /// INVARIANT: outlives the nursery.
    node: NonNull<CancelNode>,
    pub(super) roster: Roster,
    /// Where children are spawned.
    /// INVARIANT: outlives the nursery.
    runtime: Option<NonNull<Arc<Shared>>>,
    policy: Policy,
    /// See [`are_parts`](Self::are_parts).
    are_parts: bool,
    findings: Lock<Findings<E>>,
    closing: Closing,
    token: OnceLock<CancelToken>,
    name: Option<Box<str>>,
    /// Neither may be made longer or shorter, as in [`std::thread::Scope`].
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

// SAFETY: errors and panics come from any thread, so they have to be `Send`; they are under a lock, as the channels are. The node and the
// runtime may be used from any thread.
unsafe impl<E: Send> Sync for Nursery<'_, '_, E> {}

impl Nursery<'_, '_, Infallible> {
    /// A nursery with a time limit, ended by signals, or with another way to treat errors.
    ///
    /// ```
    /// use sisal::{Cause, Nursery};
    /// use std::time::Duration;
    ///
    /// sisal::run(|| {
    ///     let cause = Nursery::options().timeout(Duration::from_millis(2)).run(|n| {
    ///         n.spawn(|| drop(sisal::sleep(Duration::from_secs(3600))));
    ///         Ok::<_, ()>(sisal::sleep(Duration::from_secs(3600)).unwrap_err().cause)
    ///     });
    ///     assert_eq!(cause, Ok(Cause::Deadline));
    /// });
    /// ```
    pub fn options() -> NurseryOptions {
        NurseryOptions::default()
    }
}

impl<'scope, 'env, E> Nursery<'scope, 'env, E> {
    /// # Safety
    /// Node and runtime outlive the nursery, which stays where it is until [`end`](Self::end) has been called.
    pub(super) unsafe fn new(
        node: &CancelNode,
        runtime: Option<NonNull<Arc<Shared>>>,
        policy: Policy,
        name: Option<Box<str>>,
        are_parts: bool,
    ) -> Nursery<'scope, 'env, E> {
        Nursery {
            are_parts,
            node: NonNull::from(node),
            roster: Roster::new(),
            runtime,
            policy,
            findings: Lock::new(Findings::new(policy)),
            closing: Closing::new(),
            token: OnceLock::new(),
            name,
            scope: PhantomData,
            env: PhantomData,
        }
    }

    pub(super) fn node(&self) -> &CancelNode {
        // SAFETY: it outlives us.
        unsafe { self.node.as_ref() }
    }

    pub(super) fn runtime(&self) -> Option<&Arc<Shared>> {
        // SAFETY: as above.
        self.runtime.map(|runtime| unsafe { runtime.as_ref() })
    }

    /// Whether children are parts of what a fiber of their runtime does that waits for them, and run also if that is stopping.
    #[inline]
    pub(super) fn are_parts(&self) -> bool {
        self.are_parts
    }

    /// By what it is cancelled, if it is. Time that is up counts from that moment on.
    #[inline]
    fn cause(&self) -> Option<Cause> {
        self.node().heed_time(&poke);
        self.node().cause()
    }

    /// Why a child is not to run any more.
    #[inline]
    pub(super) fn is_over(&self) -> Option<Cause> {
        let cause = self.cause()?;
        (self.policy != Policy::RunAll || self.findings.lock().has_panicked()).then_some(cause)
    }

    /// The body, or a child, has returned an error.
    #[cold]
    pub(super) fn failed(&self, error: E) {
        let surplus = self.findings.lock().keep(error);
        if self.policy == Policy::EndWithFirst {
            self.node().cancel(Cause::Failure, &poke);
        }
        drop(surplus);
    }

    /// The body has panicked.
    #[cold]
    pub(super) fn body_panicked(&self) {
        self.findings.lock().note_panic();
        self.node().cancel(Cause::Failure, &poke);
    }

    /// A child has panicked.
    #[cold]
    pub(super) fn child_panicked(&self, payload: Payload) {
        let surplus = self.findings.lock().keep_panic(payload);
        self.node().cancel(Cause::Failure, &poke);
        if let Some(surplus) = surplus {
            drop_quietly(surplus);
        }
    }

    /// Waits for all children, and takes everything back that leads here from outside. Returns what they have left.
    pub(super) fn end(&self, place: Place) -> Findings<E> {
        self.roster.close(place);
        if let Some(token) = self.token.get() {
            token.leave_nursery();
        }
        // The last: what is dropped with a channel may panic, and then nothing may lead here any more.
        self.closing.end(self.node());
        self.findings.lock().take()
    }

    /// Cancels the waits of the body and of all children, with [`Cause::Request`]. Children that have not started never run. That is no
    /// failure: the nursery returns what its body returns.
    ///
    /// ```
    /// use std::time::Duration;
    /// sisal::run(|| {
    ///     let value = sisal::nursery(|n| {
    ///         n.spawn(|| drop(sisal::sleep(Duration::from_secs(3600))));
    ///         n.cancel();
    ///         Ok::<_, ()>(7)
    ///     });
    ///     assert_eq!(value, Ok(7));
    /// });
    /// ```
    pub fn cancel(&self) {
        self.node().cancel(Cause::Request, &poke);
    }

    /// Whether the nursery was cancelled: by request, by a failure, by its time limit, or by something around it.
    ///
    /// ```
    /// sisal::run(|| {
    ///     sisal::nursery(|n| {
    ///         assert!(!n.is_cancelled());
    ///         n.cancel();
    ///         assert!(n.is_cancelled());
    ///         Ok::<_, ()>(())
    ///     }).unwrap();
    /// });
    /// ```
    pub fn is_cancelled(&self) -> bool {
        self.cause().is_some()
    }

    /// A token that is cancelled with the nursery, and cancels it. It may be taken out of the nursery: when that has ended it is
    /// a token like others.
    ///
    /// ```
    /// sisal::run(|| {
    ///     let token = sisal::nursery(|n| {
    ///         let token = n.token();
    ///         token.cancel();
    ///         assert!(n.is_cancelled());
    ///         Ok::<_, ()>(n.token())
    ///     });
    ///     assert!(token.unwrap().is_cancelled());
    /// });
    /// ```
    pub fn token(&self) -> CancelToken {
        // SAFETY: `end` calls `leave_nursery`.
        self.token.get_or_init(|| unsafe { CancelToken::of_nursery(self.node()) }).clone()
    }

    /// Closes this channel when the nursery is cancelled, or else when all children have ended. So whoever receives from it, outside of
    /// the nursery, comes to an end.
    ///
    /// The nursery is one more sender until then: while it lasts, the channel is not closed by the last of the other senders. Its messages
    /// borrow nothing: whoever cancels the nursery may still be about to drop one that a future has left behind when the nursery has ended.
    ///
    /// ```
    /// sisal::run(|| {
    ///     let (sender, receiver) = sisal::chan::bounded(8);
    ///     let sum = sisal::spawn(move || receiver.iter().sum::<u32>());
    ///     sisal::nursery(|n| {
    ///         n.close_on(&sender);
    ///         for number in 0..10 {
    ///             let sender = &sender;
    ///             n.spawn(move || sender.send(number).unwrap());
    ///         }
    ///         Ok::<_, ()>(())
    ///     }).unwrap();
    ///     // `sender` is still here, but closed.
    ///     assert_eq!(sum.join().unwrap(), 45);
    /// });
    /// ```
    ///
    /// ```compile_fail,E0597
    /// sisal::run(|| {
    ///     let number = 7;
    ///     let (sender, _receiver) = sisal::chan::bounded(8);
    ///     sisal::nursery(|n| {
    ///         n.close_on(&sender);
    ///         sender.send(&number).map_err(drop)
    ///     })
    /// })
    /// .unwrap();
    /// ```
    pub fn close_on<T: Send + 'static>(&self, sender: &Sender<T>) {
        // SAFETY: the caller is inside, so the end has not come.
        unsafe { self.closing.add(self.node(), sender.clone()) };
    }
}

impl<'scope, 'env, E: Send> Nursery<'scope, 'env, E> {
    /// Spawns a child. It may borrow what lives longer than the nursery, and may start on any worker.
    ///
    /// A value that it returns, as `Ok(value)`, is for [`Child::join`]. An error that it returns, and a panic, ends the nursery: see
    /// [`nursery`](crate::nursery()). If the nursery is cancelled before the child starts, its closure is dropped without having been called.
    /// At the limit of `max_fibers` this waits.
    ///
    /// # Panics
    /// Outside of a runtime. Threads that are not part of one open their nurseries by [`Handle::nursery`](crate::Handle::nursery).
    ///
    /// ```
    /// sisal::run(|| {
    ///     let mut numbers = [1, 2, 3];
    ///     let done = sisal::nursery(|n| {
    ///         for number in &mut numbers {
    ///             n.spawn(move || *number *= 2);
    ///         }
    ///         n.spawn(|| "7".parse::<u32>().map(drop));
    ///         Ok(())
    ///     });
    ///     assert_eq!(done, Ok(()));
    ///     assert_eq!(numbers, [2, 4, 6]);
    /// });
    /// ```
    ///
    /// A child can't borrow what the body owns, since the body ends before it:
    ///
    /// ```compile_fail,E0597
    /// sisal::run(|| {
    ///     sisal::nursery(|n| {
    ///         let number = 7;
    ///         let borrowed = &number;
    ///         n.spawn(move || assert_eq!(*borrowed, 7));
    ///         Ok::<_, ()>(())
    ///     })
    /// });
    /// ```
    ///
    /// and nothing that must stay on its thread:
    ///
    /// ```compile_fail,E0277
    /// sisal::run(|| {
    ///     let count = std::cell::Cell::new(0);
    ///     sisal::nursery(|n| {
    ///         n.spawn(|| count.set(1));
    ///         Ok::<_, ()>(())
    ///     })
    /// });
    /// ```
    #[track_caller]
    #[inline]
    pub fn spawn<F, R>(&'scope self, f: F) -> Child<'scope, R::Value>
    where
        F: FnOnce() -> R + Send + 'scope,
        R: ChildResult<E, Value: Send + 'scope>,
    {
        // SAFETY: it is `Send`, as its value is, and lives as long as the nursery.
        unsafe { child::spawn(self, Options::default(), Location::caller(), f) }
    }

    /// Spawns a child that stays on the caller's worker, and so need not be [`Send`].
    ///
    /// # Panics
    /// Outside of the fibers of the nursery's runtime.
    ///
    /// ```
    /// use std::cell::Cell;
    /// sisal::run(|| {
    ///     let count = Cell::new(0);
    ///     sisal::nursery(|n| {
    ///         for _ in 0..10 {
    ///             n.spawn_local(|| count.set(count.get() + 1));
    ///         }
    ///         Ok::<_, ()>(())
    ///     }).unwrap();
    ///     assert_eq!(count.get(), 10);
    /// });
    /// ```
    #[track_caller]
    pub fn spawn_local<F, R>(&'scope self, f: F) -> Child<'scope, R::Value>
    where
        F: FnOnce() -> R + 'scope,
        R: ChildResult<E, Value: 'scope>,
    {
        let options = Options { start: Start::Here, ..Options::default() };
        // SAFETY: it lives as long as the nursery, and starts on this thread and never leaves it.
        unsafe { child::spawn(self, options, Location::caller(), f) }
    }

    /// A child with a name, a stack size, a place.
    ///
    /// ```
    /// sisal::run(|| {
    ///     sisal::nursery(|n| {
    ///         let child = n.builder().name("clerk").stack_size(1 << 20).spawn(|| ());
    ///         assert_eq!(child.name(), Some("clerk"));
    ///         Ok::<_, ()>(())
    ///     }).unwrap();
    /// });
    /// ```
    pub fn builder(&'scope self) -> ChildBuilder<'scope, 'env, E> {
        ChildBuilder::new(self)
    }
}

impl<E> fmt::Debug for Nursery<'_, '_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nursery")
            .field("name", &self.name)
            .field("children", &self.roster.children())
            .field("cause", &self.node().cause())
            .finish_non_exhaustive()
    }
}
