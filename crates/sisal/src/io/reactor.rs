//! How tasks of futures hear of descriptors when they are polled on a thread that is no worker: one thread for all of them, started by the first.

use super::epoll::{Epoll, EpollDriver};
use crate::park;
use crate::prim::fork;
use crate::prim::own_threads;
use crate::sched::driver::Driver;
use std::io;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The epoll that the thread listens to.
pub(super) fn epoll() -> io::Result<&'static Arc<Epoll>> {
    static EPOLL: OnceLock<Arc<Epoll>> = OnceLock::new();
    static STARTING: Mutex<()> = Mutex::new(());
    // The thread that listens is not there, and the epoll is the parent's.
    fork::refuse_in_child();
    if let Some(epoll) = EPOLL.get() {
        return Ok(epoll);
    }
    let _one_starts_it = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(epoll) = EPOLL.get() {
        return Ok(epoll);
    }
    let epoll = start()?;
    Ok(EPOLL.get_or_init(|| epoll))
}

fn start() -> io::Result<Arc<Epoll>> {
    // Nobody rings: the thread has nothing else to do than to listen, for ever.
    let bell = rustix::event::eventfd(0, rustix::event::EventfdFlags::CLOEXEC)?;
    let epoll = Arc::new(Epoll::new(bell.as_fd())?);
    let heard = Arc::clone(&epoll);
    own_threads::spawn("sisal-reactor", move || {
        let driver = EpollDriver::new(heard);
        loop {
            driver.turn(None, &mut park::unpark);
        }
    })
    // The system says that one may try again, which of a descriptor means that it tells when.
    .map_err(|error| io::Error::other(format!("no thread to hear of descriptors: {error}")))?;
    Ok(epoll)
}
