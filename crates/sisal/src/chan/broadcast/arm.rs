//! The receiver as an arm of a select.

use super::{BroadcastReceiver, BroadcastRecvError, Next, State};
use crate::chan::arm::AnyArm;
use crate::chan::observed::ObservedArm;
use crate::chan::selectable::{ArmFor, Selectable, sealed};
use std::sync::Arc;

/// A receive.
pub struct BroadcastArm<'a, T>(ObservedArm<'a, State<T>, Next<T>>);

impl<T> sealed::Sealed for BroadcastReceiver<T> {}

impl<T: Clone> Selectable for BroadcastReceiver<T> {
    type Received = Result<T, BroadcastRecvError>;
    type Arm<'a>
        = BroadcastArm<'a, T>
    where
        T: 'a;

    fn arm(&mut self) -> BroadcastArm<'_, T> {
        let BroadcastReceiver { shared, position } = self;
        BroadcastArm(ObservedArm::new(shared, position, State::next))
    }
}

impl<T: Clone> ArmFor<Result<T, BroadcastRecvError>> for BroadcastArm<'_, T> {
    fn any(&mut self) -> AnyArm<'_> {
        AnyArm(&self.0)
    }

    fn take(&self) -> Result<T, BroadcastRecvError> {
        match self.0.take() {
            Ok(Next::Message(message)) => Ok(Arc::unwrap_or_clone(message)),
            Ok(Next::Lagged(missed)) => Err(BroadcastRecvError::Lagged(missed)),
            Ok(Next::Closed) => Err(BroadcastRecvError::Closed),
            Err(cancelled) => Err(BroadcastRecvError::Cancelled(cancelled)),
        }
    }
}
