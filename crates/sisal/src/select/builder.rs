//! A select over arms that are known only at run time.

use super::{Patience, select, select_one, try_any};
use crate::chan::arm::{AnyArm, RecvArm, SendArm};
use crate::chan::selectable::ArmFor;
use crate::chan::{Receiver, RecvError, Selectable, SendError, Sender};
use crate::fiber::waiter::{Wait, Waiter};
use crate::park::{me, with_here};
use crate::prim::clock::Moment;
use crate::prim::reason::Place;
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::time::{Duration, Instant};

/// A choice between channel operations that is put together at run time. For a fixed number of them see [`select!`](crate::select!).
///
/// Every arm has a function that is called with its result when it is chosen; what that returns, the wait returns. It can be
/// waited for again and again.
///
/// ```
/// sisal::run(|| {
///     let channels: Vec<_> = (0..10).map(|_| sisal::chan::bounded(1)).collect();
///     channels[7].0.send("seven").unwrap();
///     let mut select = sisal::Select::new();
///     for (number, (_, receiver)) in channels.iter().enumerate() {
///         select.recv(receiver, move |message| (number, message.unwrap()));
///     }
///     assert_eq!(select.wait(), (7, "seven"));
///     assert_eq!(select.try_wait(), None);
/// });
/// ```
pub struct Select<'a, R> {
    operations: Vec<Box<dyn Operation<R> + 'a>>,
}

/// An arm that can be made anew for each wait.
trait Operation<R> {
    /// Makes the arm.
    fn prepare(&mut self);
    /// The arm that was made.
    fn arm(&mut self) -> AnyArm<'_>;
    /// It was chosen: calls the function with its result.
    fn run(&mut self) -> R;
    /// It was not: takes the arm apart.
    fn discard(&mut self);
}

struct Receive<'a, T, F> {
    receiver: &'a Receiver<T>,
    arm: Option<RecvArm<'a, T>>,
    then: F,
}

struct Send<'a, T, M, F> {
    sender: &'a Sender<T>,
    arm: Option<SendArm<'a, T>>,
    message: M,
    then: F,
}

/// A receive by a receiver that the select has to itself. Its arm is made once: it keeps the receiver.
struct ReceiveAlone<A, T, F> {
    arm: A,
    then: F,
    received: PhantomData<fn(T)>,
}

fn prepared<A>(arm: &mut Option<A>) -> &mut A {
    arm.as_mut().unwrap_or_else(|| unreachable!("INVARIANT: an arm is used between its making and its end"))
}

impl<T, R, A: ArmFor<T>, F: FnMut(T) -> R> Operation<R> for ReceiveAlone<A, T, F> {
    fn prepare(&mut self) {}

    fn arm(&mut self) -> AnyArm<'_> {
        self.arm.any()
    }

    fn run(&mut self) -> R {
        (self.then)(self.arm.take())
    }

    fn discard(&mut self) {}
}

impl<T, R, F: FnMut(Result<T, RecvError>) -> R> Operation<R> for Receive<'_, T, F> {
    fn prepare(&mut self) {
        self.arm = Some(RecvArm::new(self.receiver));
    }

    fn arm(&mut self) -> AnyArm<'_> {
        prepared(&mut self.arm).any()
    }

    fn run(&mut self) -> R {
        let result = prepared(&mut self.arm).take();
        (self.then)(result)
    }

    fn discard(&mut self) {
        self.arm = None;
    }
}

impl<T, R, M: FnMut() -> T, F: FnMut(Result<(), SendError<T>>) -> R> Operation<R> for Send<'_, T, M, F> {
    fn prepare(&mut self) {
        self.arm = Some(SendArm::new(self.sender, (self.message)()));
    }

    fn arm(&mut self) -> AnyArm<'_> {
        prepared(&mut self.arm).any()
    }

    fn run(&mut self) -> R {
        let result = prepared(&mut self.arm).take();
        (self.then)(result)
    }

    fn discard(&mut self) {
        self.arm = None;
    }
}

impl<'a, R: 'a> Select<'a, R> {
    /// A select without arms.
    ///
    /// ```
    /// let mut select = sisal::Select::<u32>::new();
    /// assert_eq!(select.try_wait(), None, "there is nothing to choose from");
    /// ```
    pub fn new() -> Select<'a, R> {
        Select { operations: Vec::new() }
    }

    /// Adds a receive, and returns its number. `then` is called with the message, or with why there is none.
    ///
    /// ```
    /// let (sender, receiver) = sisal::chan::bounded(1);
    /// let idle = sisal::chan::never::<u32>();
    /// let mut select = sisal::Select::new();
    /// assert_eq!((select.recv(&idle, |_| None), select.recv(&receiver, Result::ok)), (0, 1));
    /// sender.send(7).unwrap();
    /// assert_eq!(select.wait(), Some(7));
    /// ```
    pub fn recv<T>(&mut self, receiver: &'a Receiver<T>, then: impl FnMut(Result<T, RecvError>) -> R + 'a) -> usize {
        self.add(Receive { receiver, arm: None, then })
    }

    /// As [`recv`](Self::recv), for a receiver that the select has to itself, as those of [`oneshot`](crate::chan::oneshot()),
    /// [`broadcast`](crate::chan::broadcast()) and [`watch`](crate::chan::watch()).
    ///
    /// ```
    /// let mut news: Vec<_> = (0..10).map(|_| sisal::chan::broadcast(1)).collect();
    /// news[7].0.send("seven").unwrap();
    /// let mut select = sisal::Select::new();
    /// for (number, (_, receiver)) in news.iter_mut().enumerate() {
    ///     select.recv_mut(receiver, move |message| (number, message.unwrap()));
    /// }
    /// assert_eq!(select.wait(), (7, "seven"));
    /// assert_eq!(select.try_wait(), None);
    /// ```
    pub fn recv_mut<S: Selectable>(&mut self, receiver: &'a mut S, then: impl FnMut(S::Received) -> R + 'a) -> usize
    where
        S::Received: 'a,
    {
        self.add(ReceiveAlone { arm: receiver.arm(), then, received: PhantomData })
    }

    /// Adds a send, and returns its number. `message` makes the message anew for each wait; if another arm is chosen, it is dropped.
    ///
    /// ```
    /// let (sender, receiver) = sisal::chan::bounded(1);
    /// let mut select = sisal::Select::new();
    /// select.send(&sender, || 7, |sent| sent.is_ok());
    /// assert!(select.wait());
    /// assert_eq!(receiver.recv(), Ok(7));
    /// ```
    pub fn send<T>(
        &mut self,
        sender: &'a Sender<T>,
        message: impl FnMut() -> T + 'a,
        then: impl FnMut(Result<(), SendError<T>>) -> R + 'a,
    ) -> usize
    where
        T: 'a,
    {
        self.add(Send { sender, arm: None, message, then })
    }

    fn add(&mut self, operation: impl Operation<R> + 'a) -> usize {
        self.operations.push(Box::new(operation));
        self.operations.len() - 1
    }

    /// Waits for the first arm that can be done, does it, and returns what its function returns. Among several the choice is random.
    /// If something from outside ends the wait, the first arm is called with that.
    ///
    /// # Panics
    /// If there are no arms.
    ///
    /// ```
    /// sisal::run(|| {
    ///     let (one, two) = (sisal::chan::bounded(1), sisal::chan::bounded(1));
    ///     let mut select = sisal::Select::new();
    ///     [&one.1, &two.1].map(|receiver| select.recv(receiver, Result::unwrap));
    ///     let sender = two.0.clone();
    ///     sisal::spawn(move || sender.send("two"));
    ///     assert_eq!(select.wait(), "two");
    /// });
    /// ```
    #[track_caller]
    pub fn wait(&mut self) -> R {
        assert!(!self.operations.is_empty(), "sisal: a select without arms would wait for ever");
        self.choose(Patience::Endless, Location::caller())
            .unwrap_or_else(|| unreachable!("INVARIANT: an endless wait ends by an arm"))
    }

    /// As [`wait`](Self::wait), if one can be done at once.
    ///
    /// ```
    /// let (sender, receiver) = sisal::chan::bounded(1);
    /// let mut select = sisal::Select::new();
    /// select.recv(&receiver, Result::unwrap);
    /// assert_eq!(select.try_wait(), None);
    /// sender.send(7).unwrap();
    /// assert_eq!(select.try_wait(), Some(7));
    /// ```
    #[track_caller]
    pub fn try_wait(&mut self) -> Option<R> {
        self.choose(Patience::None, Location::caller())
    }

    /// As [`wait`](Self::wait), for at most so long. Without arms it waits for just that, or less if something from outside would
    /// [cancel](crate::check_cancelled) a wait: there is no arm to say so.
    ///
    /// ```
    /// use std::time::Duration;
    /// let (sender, receiver) = sisal::chan::bounded(1);
    /// let mut select = sisal::Select::new();
    /// select.recv(&receiver, Result::unwrap);
    /// assert_eq!(select.wait_timeout(Duration::from_millis(1)), None);
    /// sender.send(7).unwrap();
    /// assert_eq!(select.wait_timeout(Duration::from_secs(60)), Some(7));
    /// ```
    #[track_caller]
    pub fn wait_timeout(&mut self, timeout: Duration) -> Option<R> {
        self.choose(Patience::Until(Moment::now().after(timeout)), Location::caller())
    }

    /// As [`wait`](Self::wait), until this time at most.
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// let (sender, receiver) = sisal::chan::bounded(1);
    /// let mut select = sisal::Select::new();
    /// select.recv(&receiver, Result::unwrap);
    /// sender.send(7).unwrap();
    /// assert_eq!(select.wait_deadline(Instant::now() + Duration::from_secs(60)), Some(7));
    /// assert_eq!(select.wait_deadline(Instant::now()), None);
    /// ```
    #[track_caller]
    pub fn wait_deadline(&mut self, deadline: Instant) -> Option<R> {
        self.choose(Patience::Until(Moment::of(deadline)), Location::caller())
    }

    fn choose(&mut self, patience: Patience, place: Place) -> Option<R> {
        self.operations.iter_mut().for_each(|operation| operation.prepare());
        let index = self.select(patience, place);
        let others = self.operations.iter_mut().enumerate().filter(|&(number, _)| Some(number) != index);
        others.for_each(|(_, operation)| operation.discard());
        index.map(|index| self.operations[index].run())
    }

    fn select(&mut self, patience: Patience, place: Place) -> Option<usize> {
        let arms: Vec<AnyArm<'_>> = self.operations.iter_mut().map(|operation| operation.arm()).collect();
        if let [AnyArm(only)] = &arms[..] {
            return with_here(|here| select_one(here, *only, patience, place));
        }
        if let Some(index) = with_here(|here| try_any(here, &arms, place)) {
            return Some(index);
        }
        let wait = Wait::new(me());
        let waiters: Vec<Waiter<_>> = (0..).take(arms.len()).map(|number| Waiter::new(&wait, number)).collect();
        select(&arms, &wait, &waiters, patience, place)
    }
}

impl<'a, R: 'a> Default for Select<'a, R> {
    fn default() -> Select<'a, R> {
        Select::new()
    }
}

impl<R> fmt::Debug for Select<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Select").field("arms", &self.operations.len()).finish()
    }
}
