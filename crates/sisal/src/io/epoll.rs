//! How a worker hears of descriptors: one epoll each, where descriptors are registered once, for both directions, by edges.
//!
//! An event names a [slot](super::slot) and its generation, not a descriptor: if the descriptor was closed meanwhile and its number or its slot
//! is somebody else's now, the event is of an old generation and wakes nobody.

use super::ring::Ring;
use super::slot::{self, Key};
use crate::fiber::waiter::ClaimToken;
use crate::fiber::who::Who;
use crate::prim::atomic::{AtomicU8, AtomicUsize, Ordering};
use crate::sched::driver::Driver;
use crate::sched::worker::Worker;
use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, epoll};
use rustix::time::Timespec;
use std::any::Any;
use std::cell::{Cell, OnceCell};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

/// How many events are taken at a time.
const BATCH: usize = 256;

/// What the bell's events are told by.
const BELL: u64 = u64::MAX;
/// And those of the ring.
const RING: u64 = u64::MAX - 1;

/// An epoll, shared by whoever hears it and the slots that are registered there.
pub(super) struct Epoll {
    fd: OwnedFd,
    /// How many descriptors are registered, but for the bell.
    registered: AtomicUsize,
    /// 1 when nobody hears it any more.
    deaf: AtomicU8,
}

impl Epoll {
    /// Makes one that the bell can wake.
    pub(super) fn new(bell: BorrowedFd<'_>) -> io::Result<Epoll> {
        let fd = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        // By its edge, so that it need not be read.
        epoll::add(&fd, bell, epoll::EventData::new_u64(BELL), epoll::EventFlags::IN | epoll::EventFlags::ET)?;
        Ok(Epoll { fd, registered: AtomicUsize::new(0), deaf: AtomicU8::new(0) })
    }

    /// Registers a descriptor. If something can be done with it already, there is an event for it at once.
    pub(super) fn add(&self, fd: BorrowedFd<'_>, key: Key) -> io::Result<()> {
        use epoll::EventFlags as Flags;
        let flags = Flags::IN | Flags::OUT | Flags::PRI | Flags::RDHUP | Flags::ET;
        epoll::add(&self.fd, fd, epoll::EventData::new_u64(key.to_u64()), flags)?;
        self.registered.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Registers a ring, which is looked at in every turn.
    fn add_ring(&self, ring: BorrowedFd<'_>) -> io::Result<()> {
        epoll::add(&self.fd, ring, epoll::EventData::new_u64(RING), epoll::EventFlags::IN | epoll::EventFlags::ET)?;
        Ok(())
    }

    /// Takes a descriptor off.
    pub(super) fn delete(&self, fd: BorrowedFd<'_>) {
        // If it is not there any more, all is well.
        let _ = epoll::delete(&self.fd, fd);
        self.registered.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether nobody hears it any more: its worker has gone.
    pub(super) fn is_deaf(&self) -> bool {
        self.deaf.load(Ordering::Relaxed) != 0
    }

    /// Waits for events, up to `timeout`, into `events`.
    fn wait(&self, events: &mut Vec<epoll::Event>, timeout: Option<Duration>) {
        let nothing = Timespec { tv_sec: 0, tv_nsec: 0 };
        let timeout = match timeout {
            None => None,
            Some(Duration::ZERO) => Some(&nothing),
            Some(some) => {
                // Its own timeout is in milliseconds on systems before Linux 5.11.
                let some = Timespec::try_from(some).unwrap_or(Timespec { tv_sec: i64::MAX, tv_nsec: 0 });
                let _ = rustix::event::poll(&mut [PollFd::new(&self.fd, PollFlags::IN)], Some(&some));
                Some(&nothing)
            }
        };
        events.clear();
        // A signal ends the wait early, which is as good as any other end.
        let _ = epoll::wait(&self.fd, spare_capacity(events), timeout);
    }
}

/// The driver of one worker.
pub(super) struct EpollDriver {
    pub(super) epoll: Arc<Epoll>,
    events: Cell<Vec<epoll::Event>>,
    /// Made when it is first needed; none if there can't be one.
    ring: OnceCell<Option<Ring>>,
}

impl EpollDriver {
    pub(super) fn new(epoll: Arc<Epoll>) -> EpollDriver {
        EpollDriver { epoll, events: Cell::new(Vec::with_capacity(BATCH)), ring: OnceCell::new() }
    }

    /// The driver of this worker, made if there is none.
    pub(super) fn of(worker: &Worker) -> io::Result<&EpollDriver> {
        let driver = worker.driver(|bell| Ok(Box::new(EpollDriver::new(Arc::new(Epoll::new(bell)?)))))?;
        let driver = driver.as_any().downcast_ref::<EpollDriver>();
        Ok(driver.unwrap_or_else(|| unreachable!("INVARIANT: there is one kind of driver")))
    }

    /// The ring of this worker, made if there is none and can be one.
    pub(super) fn ring(&self) -> Option<&Ring> {
        let make = || {
            let ring = Ring::new().ok()?;
            self.epoll.add_ring(ring.as_fd()).ok()?;
            Some(ring)
        };
        self.ring.get_or_init(make).as_ref()
    }

    /// The ring, if something is to be done there, or was and has not ended.
    fn busy_ring(&self) -> Option<&Ring> {
        self.ring.get().and_then(Option::as_ref).filter(|ring| ring.is_busy())
    }
}

impl Drop for EpollDriver {
    fn drop(&mut self) {
        self.epoll.deaf.store(1, Ordering::Relaxed);
        slot::forget_deaf();
    }
}

impl Driver for EpollDriver {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn is_awaited(&self) -> bool {
        self.epoll.registered.load(Ordering::Relaxed) > 0 || self.busy_ring().is_some()
    }

    fn descriptors(&self) -> usize {
        self.epoll.registered.load(Ordering::Relaxed)
    }

    fn turn(&self, timeout: Option<Duration>, wake: &mut dyn FnMut(ClaimToken<Who>)) -> usize {
        // Waking tasks may lead anywhere, so nothing stays borrowed meanwhile.
        let mut events = self.events.take();
        let timeout = self.busy_ring().map_or(timeout, |ring| ring.submit(timeout));
        self.epoll.wait(&mut events, timeout);
        let mut heard = 0;
        for event in &events {
            let data = event.data;
            if data.u64() < RING {
                heard += 1;
                slot::on_event(Key::from_u64(data.u64()), event.flags, wake);
            }
        }
        self.events.set(events);
        if let Some(ring) = self.busy_ring() {
            ring.reap(wake);
        }
        heard
    }
}

impl AsFd for Epoll {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
