//! The receiver as an arm of a select.

use super::{News, Since, WatchReceiver};
use crate::chan::RecvError;
use crate::chan::arm::AnyArm;
use crate::chan::observed::ObservedArm;
use crate::chan::selectable::{ArmFor, Selectable, sealed};

/// A wait for a newer value.
pub struct WatchArm<'a>(ObservedArm<'a, News, Since>);

impl<T> sealed::Sealed for WatchReceiver<T> {}

impl<T> Selectable for WatchReceiver<T> {
    type Received = Result<(), RecvError>;
    type Arm<'a>
        = WatchArm<'a>
    where
        T: 'a;

    fn arm(&mut self) -> WatchArm<'_> {
        let WatchReceiver { shared, seen } = self;
        WatchArm(ObservedArm::new(&shared.news, seen, News::since))
    }
}

impl ArmFor<Result<(), RecvError>> for WatchArm<'_> {
    fn any(&mut self) -> AnyArm<'_> {
        AnyArm(&self.0)
    }

    fn take(&self) -> Result<(), RecvError> {
        match self.0.take() {
            Ok(Since::Newer) => Ok(()),
            Ok(Since::Gone) => Err(RecvError::Closed),
            Err(cancelled) => Err(RecvError::Cancelled(cancelled)),
        }
    }
}
