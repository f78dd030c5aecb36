//! The thread that writes what others must not wait for. There is one for a stream from the first time it was needed; it sleeps until
//! called.

use crate::prim::atomic::{AtomicU32, Ordering};
use crate::prim::own_threads;
use std::sync::OnceLock;
use std::thread::{self, Thread};

/// See the [module](self).
pub(super) struct Writer {
    /// None if it could not be started.
    thread: OnceLock<Option<Thread>>,
    /// 1 from the call until it is heard.
    called: AtomicU32,
}

impl Writer {
    pub(super) const fn new() -> Writer {
        Writer { thread: OnceLock::new(), called: AtomicU32::new(0) }
    }

    /// Lets the thread do `work` once more from now on; false if there is no thread. It is started with the `work` of the first call.
    #[cold]
    pub(super) fn call(&'static self, name: &str, work: impl Fn() + Send + 'static) -> bool {
        let start = || {
            let body = move || {
                loop {
                    self.wait();
                    work();
                }
            };
            own_threads::spawn(name, body).ok().map(|handle| handle.thread().clone())
        };
        let Some(thread) = self.thread.get_or_init(start) else { return false };
        // ORDERING: Release pairs with the Acquire in `wait`.
        self.called.store(1, Ordering::Release);
        thread.unpark();
        true
    }

    fn wait(&self) {
        // ORDERING: Acquire pairs with the Release in `call`.
        while self.called.swap(0, Ordering::Acquire) == 0 {
            thread::park();
        }
    }
}
