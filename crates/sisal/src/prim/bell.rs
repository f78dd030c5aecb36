//! What ends a sleep in `poll` or `epoll`, where a futex can't: a descriptor that becomes readable when it is rung.

#[cfg(not(modelled))]
pub(crate) use real::Bell;

#[cfg(modelled)]
pub(crate) use model::Bell;

#[cfg(not(modelled))]
mod real {
    use rustix::event::EventfdFlags;
    use std::io;
    use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
    use std::sync::OnceLock;

    /// See the [module](super). The descriptor is made when it is first asked for.
    #[derive(Debug)]
    pub(crate) struct Bell(OnceLock<OwnedFd>);

    impl Bell {
        pub(crate) const fn new() -> Bell {
            Bell(OnceLock::new())
        }

        /// The descriptor, for whoever is to hear it. Only one thread asks for it.
        pub(crate) fn descriptor(&self) -> io::Result<BorrowedFd<'_>> {
            if self.0.get().is_none() {
                let fd = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
                let _ = self.0.set(fd);
            }
            Ok(self.0.get().unwrap_or_else(|| unreachable!("INVARIANT: just made")).as_fd())
        }

        #[cold]
        pub(crate) fn ring(&self) {
            if let Some(fd) = self.0.get() {
                // It can't be full: that takes 2^64 rings.
                let _ = rustix::io::write(fd, &1u64.to_ne_bytes());
            }
        }
    }
}

#[cfg(modelled)]
mod model {
    /// Nobody hears it: in the models nobody sleeps in the kernel.
    #[derive(Debug)]
    pub(crate) struct Bell;

    impl Bell {
        pub(crate) const fn new() -> Bell {
            Bell
        }

        pub(crate) fn ring(&self) {}
    }
}
