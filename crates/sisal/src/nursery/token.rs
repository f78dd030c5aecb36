//! Cancelling by hand: tokens.
//!
//! A token is a [`CancelNode`] that is owned by all its clones together. What runs inside [`run`](CancelToken::run) follows it, and so
//! do the tokens made from it, each of which keeps the one above it.
//!
//! The token of a nursery stands *below* the nursery's node, and so is told whatever ends the nursery. Cancelling it goes upwards: it
//! knows the node of the nursery, in the frame of the opener, until the nursery ends, which takes that knowledge away
//! under the same lock. Such a lock is taken before that of any node, and nothing done under the lock of a node takes one.
#![allow(unsafe_code, reason = "nodes follow each other by pointer")]

use crate::chan::Receiver;
use crate::fiber::cancel_node::{CancelNode, Follower, What};
use crate::fiber::waiter::{Wait, Woken};
use crate::fiber::who::Who;
use crate::park::scope::{Entry, within};
use crate::park::{self, Waiting, pay_fuel, poke};
use crate::prim::cancel::{Cancelled, Cause};
use crate::prim::clock::Moment;
use crate::prim::lock::Lock;
use crate::prim::object::{Object, Sight, Watched};
use crate::prim::reason::{Place, Reason};
use crate::prim::task_parker::later;
use std::convert::Infallible;
use std::fmt;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::ptr::{self, NonNull};
use std::sync::{Arc, OnceLock, Weak};

/// Cancels work: everything that is called inside [`run`](Self::run), and whoever looks. Clones are the same token.
///
/// Tokens form trees: a [`child`](Self::child) is cancelled with the token it was made from, but not the other way round. Dropping a
/// token cancels nothing.
///
/// ```
/// use sisal::CancelToken;
/// use std::time::Duration;
///
/// sisal::run(|| {
///     let token = CancelToken::new();
///     let worker = {
///         let token = token.clone();
///         sisal::spawn(move || token.run(|| sisal::sleep(Duration::from_secs(3600))))
///     };
///     token.cancel();
///     assert_eq!(worker.join().unwrap().unwrap_err().cause, sisal::Cause::Request);
/// });
/// ```
#[derive(Clone)]
pub struct CancelToken(Arc<Token>);

struct Token {
    node: CancelNode,
    /// By which `node` follows what is above it.
    follower: Follower,
    above: Lock<Above>,
    done: OnceLock<Arc<Done>>,
}

/// What a token follows.
enum Above {
    Nothing,
    Token(Arc<Token>),
    /// A nursery that has not ended.
    Nursery(NonNull<CancelNode>),
}

// SAFETY: the node of a nursery may be used from any thread as long as it is there, which is what the lock is for.
unsafe impl Send for Above {}

impl UnwindSafe for CancelToken {}
impl RefUnwindSafe for CancelToken {}

impl Watched for Token {
    fn sight(&self) -> Sight {
        Sight::new("cancel token")
    }
}

impl Token {
    /// A token that will follow what it is told to by [`begin`](Self::begin).
    fn new(above: Above) -> Arc<Token> {
        let token = Arc::new_cyclic(|token: &Weak<Token>| {
            // SAFETY: the address of a field, in the block that is being made.
            let node = unsafe { &raw const (*token.as_ptr()).node };
            let node =
                NonNull::new(node.cast_mut()).unwrap_or_else(|| unreachable!("INVARIANT: a block has an address"));
            Token {
                node: CancelNode::new(None),
                follower: Follower::new(What::Node(node)),
                above: Lock::new(above),
                done: OnceLock::new(),
            }
        });
        token.node.open();
        token
    }

    /// Begins to follow.
    ///
    /// # Safety
    /// `above` stays until [`end`](Self::end), which is called before this token goes.
    unsafe fn begin(&self, above: &CancelNode) {
        // SAFETY: the token is in its block, where it stays until it goes; the rest is the caller's promise.
        if let Err(cause) = unsafe { above.follow(&self.follower) } {
            self.node.cancel(cause, &poke);
        }
    }

    /// Ends following; returns what is to be let go of.
    fn end(&self) -> Option<Arc<Token>> {
        let above = std::mem::replace(&mut *self.above.lock(), Above::Nothing);
        match above {
            Above::Nothing => None,
            Above::Token(above) => {
                above.node.unfollow(&self.follower);
                Some(above)
            }
            Above::Nursery(node) => {
                // SAFETY: the nursery is ending, and still there.
                unsafe { node.as_ref() }.unfollow(&self.follower);
                None
            }
        }
    }
}

/// If the time of the nursery is up that a token, or one above it, is of, that is cancelled, and the token with it.
fn heed_time_above(token: &Arc<Token>) {
    let mut token = Arc::clone(token);
    // Tasks are woken when the lock is free, as in `cancel`.
    later(|| {
        loop {
            let above = match &*token.above.lock() {
                Above::Nothing => return,
                // SAFETY: the nursery has not ended, and does not while we have the lock.
                Above::Nursery(node) => return unsafe { node.as_ref() }.heed_time(&poke),
                Above::Token(above) => Arc::clone(above),
            };
            token = above;
        }
    });
}

impl Drop for Token {
    fn drop(&mut self) {
        // A loop, because a tree may be deeper than the stack.
        let mut above = self.end();
        while let Some(mut token) = above {
            // If nobody else has it, it goes now, and has nothing above it any more.
            above = Arc::get_mut(&mut token).and_then(|token| token.end());
        }
    }
}

impl CancelToken {
    /// A token that nothing is above.
    ///
    /// ```
    /// let token = sisal::CancelToken::new();
    /// assert!(!token.is_cancelled());
    /// ```
    pub fn new() -> CancelToken {
        CancelToken(Token::new(Above::Nothing))
    }

    /// The token of a nursery.
    ///
    /// # Safety
    /// [`leave_nursery`](Self::leave_nursery) is called before the node goes.
    pub(super) unsafe fn of_nursery(node: &CancelNode) -> CancelToken {
        node.open();
        let token = Token::new(Above::Nursery(NonNull::from(node)));
        // SAFETY: the caller's promise.
        unsafe { token.begin(node) };
        CancelToken(token)
    }

    /// The nursery ends: from now on this is a token that nothing is above.
    pub(super) fn leave_nursery(&self) {
        drop(self.0.end());
    }

    /// A token that is cancelled with this one, and can be by itself.
    ///
    /// ```
    /// let token = sisal::CancelToken::new();
    /// let (one, other) = (token.child(), token.child());
    /// one.cancel();
    /// assert!(one.is_cancelled() && !other.is_cancelled() && !token.is_cancelled());
    /// token.cancel();
    /// assert!(other.is_cancelled());
    /// ```
    pub fn child(&self) -> CancelToken {
        let token = Token::new(Above::Token(Arc::clone(&self.0)));
        // SAFETY: the one above is kept until `end`, which comes at the latest when the token is dropped.
        unsafe { token.begin(&self.0.node) };
        CancelToken(token)
    }

    /// Cancels it: waits inside [`run`](Self::run) return [`Cancelled`] with [`Cause::Request`], now and from now on, and so with
    /// its children. If it was cancelled before, nothing happens.
    ///
    /// ```
    /// use std::time::Duration;
    /// sisal::run(|| {
    ///     let token = sisal::CancelToken::new();
    ///     let sleeper = { let token = token.clone(); sisal::spawn(move || token.run(|| sisal::sleep(Duration::from_secs(3600)))) };
    ///     token.cancel();
    ///     assert_eq!(sleeper.join().unwrap().unwrap_err().cause, sisal::Cause::Request);
    /// });
    /// ```
    pub fn cancel(&self) {
        // Tasks are woken when the lock is free: what they do may come back here.
        later(|| {
            if let Above::Nursery(node) = &*self.0.above.lock() {
                // SAFETY: the nursery is there until it has taken itself out, under this lock. This token is told by it.
                unsafe { node.as_ref() }.cancel(Cause::Request, &poke);
            }
            self.0.node.cancel(Cause::Request, &poke);
        });
    }

    /// Whether it was cancelled.
    ///
    /// ```
    /// let token = sisal::CancelToken::new();
    /// let other = token.clone();
    /// assert!(!other.is_cancelled());
    /// token.cancel();
    /// assert!(other.is_cancelled());
    /// ```
    pub fn is_cancelled(&self) -> bool {
        self.cause().is_some()
    }

    /// By what it was cancelled, if it was. The token of a nursery tells what ended the nursery.
    ///
    /// ```
    /// let token = sisal::CancelToken::new();
    /// assert_eq!(token.cause(), None);
    /// token.cancel();
    /// assert_eq!(token.cause(), Some(sisal::Cause::Request));
    /// ```
    pub fn cause(&self) -> Option<Cause> {
        self.0.node.cause().or_else(|| {
            heed_time_above(&self.0);
            self.0.node.cause()
        })
    }

    /// Calls `f`, and cancels the waits inside, as deep as they may be, when this is cancelled. What `f` returns is returned.
    ///
    /// ```
    /// let token = sisal::CancelToken::new();
    /// token.cancel();
    /// let (sender, receiver) = sisal::chan::bounded(1);
    /// // What need not wait is done all the same.
    /// assert!(token.run(|| sender.send(7)).is_ok());
    /// assert!(token.run(|| sender.send(8)).unwrap_err().is_cancelled());
    /// assert_eq!(receiver.len(), 1);
    /// ```
    pub fn run<T>(&self, f: impl FnOnce() -> T) -> T {
        within(Entry::Below(Some(&self.0.node)), Moment::NEVER, |_| f())
    }

    /// Waits until it is cancelled.
    ///
    /// # Errors
    /// [`Cancelled`] if something else ended the wait.
    ///
    /// ```
    /// use std::time::Duration;
    /// sisal::run(|| {
    ///     let token = sisal::CancelToken::new();
    ///     assert!(sisal::timeout(Duration::from_millis(1), || token.wait()).is_err());
    ///     token.cancel();
    ///     token.wait().unwrap();
    /// });
    /// ```
    #[track_caller]
    pub fn wait(&self) -> Result<(), Cancelled> {
        self.wait_at(Location::caller())
    }

    fn wait_at(&self, place: Place) -> Result<(), Cancelled> {
        let wait = Wait::new(park::me());
        let follower = Follower::new(What::Call(wake, NonNull::from(&wait).cast()));
        // SAFETY: unlinked below, before wait and follower go.
        if unsafe { self.0.node.follow(&follower) }.is_err() {
            pay_fuel(place);
            return Ok(());
        }
        let object = Object::of(&*self.0);
        let waiting = Waiting { reason: Reason::Cancel, object, place, deadline: None, cancellable: true };
        let woken = park::park(&wait, &waiting);
        // Whoever woke us perhaps still walks along the followers.
        self.0.node.unfollow(&follower);
        match woken {
            Woken::Object(_) => Ok(()),
            Woken::Cancelled(cause) => {
                pay_fuel(place);
                Err(Cancelled::by(cause))
            }
            Woken::Deadline => unreachable!("INVARIANT: this wait has no deadline"),
        }
    }

    /// A channel that is closed when this is cancelled, and never has a message: for an arm of [`select!`](crate::select!).
    ///
    /// ```
    /// sisal::run(|| {
    ///     let token = sisal::CancelToken::new();
    ///     let (_sender, receiver) = sisal::chan::bounded::<u32>(1);
    ///     let stopped = {
    ///         let token = token.clone();
    ///         sisal::spawn(move || sisal::select! {
    ///             recv(receiver) -> _ => false,
    ///             recv(token.done()) -> _ => true,
    ///         })
    ///     };
    ///     token.cancel();
    ///     assert!(stopped.join().unwrap());
    /// });
    /// ```
    pub fn done(&self) -> &Receiver<Infallible> {
        &self.0.done.get_or_init(|| Done::of(&self.0.node)).receiver
    }
}

/// Ends a wait for a cancellation.
unsafe fn wake(wait: NonNull<()>, _: Cause) {
    // SAFETY: made from a wait, which stays until it is no follower any more.
    if let Some(token) = unsafe { wait.cast::<Wait<Who>>().as_ref() }.claim(Woken::Object(0)) {
        park::unpark(token);
    }
}

/// The channel that is closed by a cancellation.
struct Done {
    /// Nobody sends, and it is not closed for that.
    receiver: Receiver<Infallible>,
    follower: Follower,
}

impl Done {
    /// The channel of a token, which keeps it as long as its node.
    fn of(node: &CancelNode) -> Arc<Done> {
        let done = Arc::new_cyclic(|done: &Weak<Done>| {
            let done = NonNull::new(done.as_ptr().cast_mut().cast());
            let done = done.unwrap_or_else(|| unreachable!("INVARIANT: a block has an address"));
            Done { receiver: Receiver::of_nobody(), follower: Follower::new(What::Call(close, done)) }
        });
        // SAFETY: both stay until the token goes, when nobody can reach its node any more.
        if unsafe { node.follow(&done.follower) }.is_err() {
            done.receiver.close();
        }
        done
    }
}

unsafe fn close(done: NonNull<()>, _: Cause) {
    // SAFETY: made from a `Done` that stays as long as the node.
    unsafe { done.cast::<Done>().as_ref() }.receiver.close();
}

impl Default for CancelToken {
    fn default() -> CancelToken {
        CancelToken::new()
    }
}

impl fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelToken").field("cause", &self.cause()).finish_non_exhaustive()
    }
}

impl PartialEq for CancelToken {
    /// Whether both are clones of one token.
    fn eq(&self, other: &CancelToken) -> bool {
        ptr::eq(&*self.0, &*other.0)
    }
}

impl Eq for CancelToken {}

#[cfg(all(test, not(modelled)))]
mod tests {
    use super::*;

    #[test]
    fn a_channel_outlives_its_token_and_stays_open_unless_that_was_cancelled() {
        for is_cancelled in [false, true] {
            let token = CancelToken::new();
            let done = token.done().clone();
            if is_cancelled {
                token.cancel();
            }
            drop(token);
            assert_eq!(done.is_closed(), is_cancelled);
        }
    }

    #[test]
    fn a_token_can_leave_its_nursery_and_be_cancelled_later() {
        let node = CancelNode::new(None);
        // SAFETY: it leaves below.
        let token = unsafe { CancelToken::of_nursery(&node) };
        let below = token.child();
        token.leave_nursery();
        node.cancel(Cause::Failure, &poke);
        assert!(!token.is_cancelled());
        token.cancel();
        assert_eq!(below.cause(), Some(Cause::Request));
    }

    #[test]
    fn a_token_tells_and_cancels_its_nursery() {
        let node = CancelNode::new(None);
        // SAFETY: it leaves below.
        let token = unsafe { CancelToken::of_nursery(&node) };
        token.cancel();
        assert_eq!((node.cause(), token.cause()), (Some(Cause::Request), Some(Cause::Request)));
        token.leave_nursery();
        let node = CancelNode::new(None);
        node.cancel(Cause::Deadline, &poke);
        // SAFETY: it leaves below.
        let token = unsafe { CancelToken::of_nursery(&node) };
        assert_eq!(token.child().cause(), Some(Cause::Deadline));
        token.leave_nursery();
    }
}
