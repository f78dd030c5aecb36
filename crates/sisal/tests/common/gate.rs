//! Something to park at: fibers wait at a gate until it is opened.

use sisal::{Cancelled, JoinError, Runtime, SharedHandle};
use std::sync::mpsc;

/// A closed gate. It is kept by a fiber of another runtime, which blocks its thread, so that a runtime whose fibers all
/// wait at a gate is idle, and the wake comes from outside.
pub(crate) struct Gate {
    keeper: SharedHandle<()>,
    opener: mpsc::Sender<()>,
    _runtime: Runtime,
}

/// A way through a [`Gate`].
#[derive(Clone)]
pub(crate) struct Way(SharedHandle<()>);

impl Gate {
    pub(crate) fn closed() -> Gate {
        let runtime = super::fixed(1).name("gate").build().unwrap();
        let (opener, opened) = mpsc::channel();
        let (tell, told) = mpsc::channel();
        let keep = move || {
            let _ = tell.send(());
            let _ = opened.recv();
        };
        let keeper = runtime.spawn(keep).shared();
        // A keeper that was not started could be cancelled, if the gate is dropped at once.
        told.recv().unwrap();
        Gate { keeper, opener, _runtime: runtime }
    }

    /// What a fiber takes along to wait with.
    pub(crate) fn way(&self) -> Way {
        Way(self.keeper.clone())
    }

    /// Lets all through, now and later.
    pub(crate) fn open(&self) {
        let _ = self.opener.send(());
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.open();
    }
}

impl Way {
    /// Waits until the gate is open.
    #[track_caller]
    pub(crate) fn pass(&self) -> Result<(), Cancelled> {
        self.0.join().map_err(|error| match error {
            JoinError::Interrupted(cancelled) => cancelled,
            error => panic!("the keeper of the gate has left it: {error}"),
        })
    }
}
