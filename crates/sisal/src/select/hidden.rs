//! What [`select!`](crate::select!) expands to. Not for direct use.

use super::{Patience, select, select_one, try_any};
pub use crate::chan::arm::{AnyArm, RecvArm, SendArm};
use crate::chan::selectable::ArmFor;
use crate::chan::{Receiver, Selectable, Sender};
use crate::fiber::waiter::{Wait, Waiter};
use crate::park::{me, with_here};
use crate::prim::clock::Moment;
use crate::prim::reason::Place;
use std::panic::Location;
use std::time::Duration;

#[inline]
pub fn recv<T>(receiver: &Receiver<T>) -> RecvArm<'_, T> {
    RecvArm::new(receiver)
}

/// As [`recv`], by a reference of its own.
#[inline]
pub fn recv_mut<R: Selectable>(receiver: &mut R) -> MutArm<'_, R> {
    MutArm(receiver.arm())
}

/// The arm of a receiver that the select has to itself.
pub struct MutArm<'a, R: Selectable + 'a>(R::Arm<'a>);

impl<R: Selectable> MutArm<'_, R> {
    #[inline]
    pub fn any(&mut self) -> AnyArm<'_> {
        self.0.any()
    }

    /// What came of it. It must have been chosen, and is asked once.
    #[inline]
    pub fn take(&self) -> R::Received {
        self.0.take()
    }
}

#[inline]
pub fn send<T>(sender: &Sender<T>, message: T) -> SendArm<'_, T> {
    SendArm::new(sender, message)
}

impl<T> RecvArm<'_, T> {
    /// For one select at a time: whoever shared it could have its message handed over twice.
    #[inline]
    pub fn any(&mut self) -> AnyArm<'_> {
        AnyArm(self)
    }
}

impl<T> SendArm<'_, T> {
    /// For one select at a time: whoever shared it could have its message handed over twice.
    ///
    /// ```compile_fail,E0499
    /// use sisal::select::hidden::{send, wait};
    /// let (sender, _receiver) = sisal::chan::bounded(0);
    /// let mut arm = send(&sender, Box::new(7));
    /// wait([arm.any(), arm.any()]);
    /// ```
    ///
    /// ```compile_fail,E0382
    /// use sisal::select::hidden::{send, wait};
    /// let (sender, _receiver) = sisal::chan::bounded(0);
    /// let mut arm = send(&sender, Box::new(7));
    /// let any = arm.any();
    /// wait([any, any]);
    /// ```
    #[inline]
    pub fn any(&mut self) -> AnyArm<'_> {
        AnyArm(self)
    }
}

/// Waits for the first arm.
#[track_caller]
#[inline]
pub fn wait<const N: usize>(arms: [AnyArm<'_>; N]) -> usize {
    choose(arms, Patience::Endless).unwrap_or_else(|| unreachable!("INVARIANT: an endless wait ends by an arm"))
}

/// The first arm that need not wait.
#[track_caller]
#[inline]
pub fn poll<const N: usize>(arms: [AnyArm<'_>; N]) -> Option<usize> {
    choose(arms, Patience::None)
}

/// Waits for the first arm for at most so long.
#[track_caller]
#[inline]
pub fn wait_timeout<const N: usize>(arms: [AnyArm<'_>; N], timeout: Duration) -> Option<usize> {
    choose(arms, Patience::Until(Moment::now().after(timeout)))
}

#[track_caller]
#[inline]
fn choose<const N: usize>(arms: [AnyArm<'_>; N], patience: Patience) -> Option<usize> {
    let place = Location::caller();
    if let [AnyArm(only)] = &arms[..] {
        return with_here(|here| select_one(here, *only, patience, place));
    }
    // The records are not made before they are needed: they are larger than all the rest.
    with_here(|here| try_any(here, &arms, place)).or_else(|| wait_for_one(&arms, patience, place))
}

#[cold]
fn wait_for_one<const N: usize>(arms: &[AnyArm<'_>; N], patience: Patience, place: Place) -> Option<usize> {
    let wait = Wait::new(me());
    let waiters = std::array::from_fn::<_, N, _>(|number| Waiter::new(&wait, number as u32));
    select(arms, &wait, &waiters, patience, place)
}
