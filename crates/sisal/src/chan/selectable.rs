//! Which receivers can be arms of a select.
//!
//! A [`Receiver`] is one by a shared reference. Others are used up by receiving, or move on, and are arms by a reference of their own; each flavour
//! has its arm in a file beside it.

use super::arm::{AnyArm, RecvArm};
use super::{Receiver, RecvError};

/// A receiver that a select waits for by a reference of its own: `recv(&mut receiver)` in [`select!`](crate::select!), and
/// [`Select::recv_mut`](crate::Select::recv_mut).
///
/// | receiver of | what is received |
/// |---|---|
/// | [`oneshot`](crate::chan::oneshot()) | the message, as by [`recv`](crate::chan::OneReceiver::recv) |
/// | [`broadcast`](crate::chan::broadcast()) | the next message, as by [`recv`](crate::chan::BroadcastReceiver::recv) |
/// | [`watch`](crate::chan::watch()) | that there is a newer value, as by [`changed`](crate::chan::WatchReceiver::changed) |
///
/// Those of other channels are taken, too, as if there was no `&mut`. A receiver whose arm was not chosen has received nothing.
///
/// ```
/// use sisal::{chan, select};
/// sisal::run(|| {
///     let (answer, mut answered) = chan::oneshot();
///     let (sender, mut news) = chan::broadcast(8);
///     let (settings, mut changes) = chan::watch("old");
///     sisal::spawn(move || {
///         settings.send("new");
///         sender.send("to all").unwrap();
///         answer.send(42)
///     });
///     let mut seen = [false; 3];
///     while seen != [true; 3] {
///         select! {
///             recv(&mut answered) -> answer => seen[0] |= answer == Ok(42),
///             recv(&mut news) -> message => seen[1] |= message == Ok("to all"),
///             recv(&mut changes) -> changed => seen[2] |= changed.is_ok() && changes.get() == "new",
///         }
///     }
/// });
/// ```
#[diagnostic::on_unimplemented(
    message = "a select can't receive from `{Self}`",
    note = "it receives from `Receiver<T>` and, by `&mut`, from `OneReceiver<T>`, `BroadcastReceiver<T>` and `WatchReceiver<T>`"
)]
pub trait Selectable: sealed::Sealed {
    /// What is received, or why it was not.
    type Received;

    /// The arm of a select.
    #[doc(hidden)]
    type Arm<'a>: ArmFor<Self::Received>
    where
        Self: 'a;

    #[doc(hidden)]
    fn arm(&mut self) -> Self::Arm<'_>;
}

/// An arm that tells what came of it.
#[doc(hidden)]
pub trait ArmFor<R> {
    /// For one select at a time.
    fn any(&mut self) -> AnyArm<'_>;

    /// What came of it. It must have been chosen, and is asked once.
    fn take(&self) -> R;
}

pub(super) mod sealed {
    pub trait Sealed {}
}

impl<T> sealed::Sealed for Receiver<T> {}

impl<T> Selectable for Receiver<T> {
    type Received = Result<T, RecvError>;
    type Arm<'a>
        = RecvArm<'a, T>
    where
        T: 'a;

    #[inline]
    fn arm(&mut self) -> RecvArm<'_, T> {
        RecvArm::new(self)
    }
}

impl<T> ArmFor<Result<T, RecvError>> for RecvArm<'_, T> {
    #[inline]
    fn any(&mut self) -> AnyArm<'_> {
        AnyArm(self)
    }

    #[inline]
    fn take(&self) -> Result<T, RecvError> {
        RecvArm::take(self)
    }
}
