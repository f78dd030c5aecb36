//! tokio's futures in fibers: its timers, sockets and tasks want a tokio runtime around them, and get one, around each poll.
//!
//! - [`Compat`] wraps a future so that it is polled inside a tokio runtime: the one of [`enter`], or that of the [`handle`] here, which is
//!   started when it is first asked for.
//! - [`block_on`] does that and waits for it.
//! - Our own streams have tokio's `AsyncRead` and `AsyncWrite`, so they can be given to whatever is written against these.
//!
//! What needs no runtime needs nothing of this: tokio's channels and other `tokio::sync` types work in [`sisal::block_on`](crate::block_on)
//! as they are.
//!
//! ```
//! use std::time::Duration;
//! sisal::run(|| {
//!     let slept = sisal::compat::tokio::block_on(async {
//!         tokio::time::sleep(Duration::from_millis(1)).await;
//!         tokio::spawn(async { 42 }).await.unwrap()
//!     });
//!     assert_eq!(slept, 42);
//! });
//! ```
//!
//! # What must not be done inside
//! A fiber must not park inside a poll of a [`Compat`], that is: a future in it awaits what takes time, and does not call what waits
//! (`recv` instead of `recv_async`). The tokio runtime is entered on the thread, all fibers of the worker would see it meanwhile, and tokio
//! panics if two of them leave it in the wrong order.

mod io;

use crate::sched::fuel::without_giving_way;
use ::tokio::runtime::{Builder, EnterGuard, Handle};
use std::fmt;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::sync::OnceLock;
use std::task::{Context, Poll};

/// The tokio runtime of this process that serves those who have none: one thread, which runs what is spawned there, its timers and its
/// sockets. It is started when this is first called, and never ends.
///
/// # Panics
/// If it can't be started.
///
/// ```
/// let handle = sisal::compat::tokio::handle();
/// assert_eq!(sisal::block_on(handle.spawn(async { 7 })).unwrap(), 7);
/// ```
pub fn handle() -> Handle {
    static HANDLE: OnceLock<Handle> = OnceLock::new();
    HANDLE.get_or_init(start).clone()
}

fn start() -> Handle {
    let started = Builder::new_current_thread().enable_all().build().and_then(|runtime| {
        let handle = runtime.handle().clone();
        let serve = move || runtime.block_on(std::future::pending::<()>());
        std::thread::Builder::new().name("sisal-tokio".into()).spawn(serve).map(|_| handle)
    });
    started.unwrap_or_else(|error| panic!("sisal: can't start a tokio runtime in the background: {error}"))
}

/// Wraps a future so that each poll of it, and its drop, take place inside the given tokio runtime.
///
/// ```
/// use sisal::compat::tokio::enter;
/// let runtime = tokio::runtime::Runtime::new().unwrap();
/// let inside = enter(runtime.handle().clone(), async { tokio::runtime::Handle::try_current().is_ok() });
/// assert!(sisal::run(|| sisal::block_on(inside)));
/// assert!(tokio::runtime::Handle::try_current().is_err());
/// ```
pub fn enter<F>(handle: Handle, future: F) -> Compat<F> {
    Compat { handle, inner: ManuallyDrop::new(future) }
}

/// Runs a future to its end inside a tokio runtime: that of the caller if it is in one, else that of [`handle`]. As
/// [`sisal::block_on`](crate::block_on) otherwise.
///
/// ```
/// use std::time::Duration;
/// // Inside, since tokio's timers ask for the runtime when they are made.
/// let future = async { tokio::time::timeout(Duration::from_millis(1), std::future::pending::<()>()).await };
/// assert!(sisal::compat::tokio::block_on(future).is_err());
/// ```
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    crate::interop::block_on(Compat::new(future))
}

/// A future, or something else that tokio runs, inside a tokio runtime. Made by [`enter`] and [`Compat::new`].
///
/// It is inside only while it is polled or dropped, so that other fibers of the same worker do not notice. See the [module](self) for what
/// must not be done there.
///
/// ```
/// use sisal::compat::tokio::Compat;
/// use std::time::Duration;
/// sisal::run(|| {
///     let fiber = sisal::spawn_future(Compat::new(async { tokio::time::sleep(Duration::from_millis(1)).await }));
///     fiber.join().unwrap();
/// });
/// ```
#[must_use = "a future does nothing unless it is awaited"]
pub struct Compat<F> {
    handle: Handle,
    /// Pinned with the whole.
    inner: ManuallyDrop<F>,
}

impl<F> Compat<F> {
    /// Inside the tokio runtime of the caller if it is in one, else that of [`handle`].
    ///
    /// ```
    /// use sisal::compat::tokio::Compat;
    /// let inside = Compat::new(async { tokio::runtime::Handle::try_current().is_ok() });
    /// assert!(sisal::block_on(inside));
    /// ```
    pub fn new(future: F) -> Compat<F> {
        enter(Handle::try_current().unwrap_or_else(|_| handle()), future)
    }
}

#[allow(unsafe_code, reason = "the future is pinned with what holds it")]
impl<F> Compat<F> {
    fn inside(self: Pin<&mut Self>) -> (EnterGuard<'_>, Pin<&mut F>) {
        // SAFETY: the future is never moved out, and dropped where it is.
        let Compat { handle, inner } = unsafe { self.get_unchecked_mut() };
        // SAFETY: as above.
        (handle.enter(), unsafe { Pin::new_unchecked(&mut **inner) })
    }
}

impl<F: Future> Future for Compat<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        // Tokio wants to be left as it was entered, thread by thread, so no other fiber may come in between.
        without_giving_way(|| {
            let (_inside, future) = self.inside();
            future.poll(context)
        })
    }
}

#[allow(unsafe_code, reason = "the future is dropped inside its runtime")]
impl<F> Drop for Compat<F> {
    fn drop(&mut self) {
        without_giving_way(|| {
            let _inside = self.handle.enter();
            // SAFETY: dropped once, in place, and not used any more.
            unsafe { ManuallyDrop::drop(&mut self.inner) };
        });
    }
}

// As pinned as the future.
impl<F: Unpin> Unpin for Compat<F> {}

impl<F: fmt::Debug> fmt::Debug for Compat<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Compat").field(&*self.inner).finish()
    }
}
