//! Operations that the kernel does by itself and then tells of: an `io_uring` for each worker. It serves reads of files from a disk, and
//! writes. A thousand fibers that read 64 KiB each take about 50 us of CPU a file then, and on threads 70 to 100, in the same time; those
//! that write as much take 10 to 13 us, and on threads 16. What is in memory is read as cheaply without it.
//!
//! # Protocol
//! An operation lies in the frame of its fiber. To begin it is to put it into the submission queue; the worker passes the queue to the
//! kernel when it next has nothing else to run, or looks outside, or when the queue is full. Then the fiber parks. The ring's
//! descriptor is in the worker's epoll, so that its completions end the worker's sleep; each names its operation, whose wait the
//! worker claims.
//!
//! While an operation is not completed the kernel may read or write its buffer, so the wait has no deadline and is not cancelled by anything,
//! and its frame stays: the argument is that of [`blocking`](crate::blocking). A worker does not go while fibers wait on it, so neither does
//! the ring.
#![allow(unsafe_code, reason = "the kernel is given pointers to what waits in the frames of fibers")]

use super::epoll::EpollDriver;
use crate::fiber::waiter::{ClaimToken, Wait, Woken};
use crate::fiber::who::Who;
use crate::park::{self, Waiting};
use crate::prim::object::{Object, Sight, Watched};
use crate::prim::reason::{Place, Reason};
use crate::sched::worker;
use io_uring::{IoUring, opcode, squeue, types};
use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;
use std::sync::OnceLock;
use std::time::Duration;

/// How many operations are passed to the kernel at a time, at most.
const SUBMISSIONS: u32 = 128;
/// How many may be under way. Beyond that threads help.
const MOST_UNDER_WAY: u32 = 1024;
/// How soon to try again when the kernel would not take what is submitted.
const TRY_AGAIN: Duration = Duration::from_millis(1);

/// See the [module](self).
pub(super) struct Ring {
    ring: RefCell<IoUring>,
    /// How many operations have begun and not ended.
    under_way: Cell<u32>,
    /// How many of these the kernel has not been told of.
    waiting: Cell<u32>,
}

/// One operation.
struct Operation {
    wait: Wait<Who>,
    result: Cell<i32>,
}

impl Ring {
    pub(super) fn new() -> io::Result<Ring> {
        let ring = build(SUBMISSIONS, MOST_UNDER_WAY)?;
        Ok(Ring { ring: RefCell::new(ring), under_way: Cell::new(0), waiting: Cell::new(0) })
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: it is open as long as the ring is.
        unsafe { BorrowedFd::borrow_raw(self.ring.borrow().as_raw_fd()) }
    }

    pub(super) fn is_busy(&self) -> bool {
        self.under_way.get() > 0
    }

    /// Passes what waits to the kernel; returns how long one may sleep then, of `timeout`.
    pub(super) fn submit(&self, timeout: Option<Duration>) -> Option<Duration> {
        if self.waiting.get() > 0 {
            let taken = self.ring.borrow().submit().unwrap_or(0);
            self.waiting.set(self.waiting.get().saturating_sub(u32::try_from(taken).unwrap_or(u32::MAX)));
        }
        if self.waiting.get() > 0 { Some(timeout.map_or(TRY_AGAIN, |timeout| timeout.min(TRY_AGAIN))) } else { timeout }
    }

    /// Puts an operation into the queue; false if there is no room.
    ///
    /// # Safety
    /// What the entry points to stays until the operation has ended.
    unsafe fn push(&self, entry: &squeue::Entry) -> bool {
        if self.under_way.get() == MOST_UNDER_WAY {
            return false;
        }
        // SAFETY: the caller's promise.
        let mut pushed = unsafe { self.ring.borrow_mut().submission().push(entry) };
        if pushed.is_err() {
            self.submit(None);
            // SAFETY: the caller's promise.
            pushed = unsafe { self.ring.borrow_mut().submission().push(entry) };
        }
        if pushed.is_ok() {
            self.under_way.set(self.under_way.get() + 1);
            self.waiting.set(self.waiting.get() + 1);
        }
        pushed.is_ok()
    }

    /// Ends the operations that the kernel has completed.
    pub(super) fn reap(&self, wake: &mut dyn FnMut(ClaimToken<Who>)) {
        loop {
            // In a statement of its own, so that nothing is borrowed when a fiber is woken.
            let completed = self.ring.borrow_mut().completion().next();
            let Some(completed) = completed else { return };
            let operation = ptr::with_exposed_provenance::<Operation>(completed.user_data() as usize);
            // SAFETY: the operation stays in its fiber's frame until it is woken, and each completes once.
            let operation = unsafe { &*operation };
            operation.result.set(completed.result());
            self.under_way.set(self.under_way.get() - 1);
            match operation.wait.claim(Woken::Object(0)) {
                Some(token) => wake(token),
                None => unreachable!("INVARIANT: nothing but its completion ends this wait"),
            }
        }
    }
}

fn build(submissions: u32, completions: u32) -> io::Result<IoUring> {
    let mut builder = IoUring::builder();
    builder.setup_cqsize(completions).setup_coop_taskrun().setup_single_issuer();
    // Older kernels know neither, and do without.
    builder.build(submissions).or_else(|_| IoUring::builder().setup_cqsize(completions).build(submissions))
}

/// Whether this process may have rings.
pub(crate) fn is_available() -> bool {
    static AVAILABLE: OnceLock<bool> = OnceLock::new();
    *AVAILABLE.get_or_init(|| build(1, 2).is_ok())
}

impl Watched for Operation {
    fn sight(&self) -> Sight {
        Sight { is_outside: true, ..Sight::new("file") }
    }
}

/// Reads from `offset` on, while the calling fiber waits. None if that is not possible here and now; then nothing has been read.
pub(crate) fn read(file: BorrowedFd<'_>, buffer: &mut [u8], offset: u64, place: Place) -> Option<usize> {
    let read = opcode::Read::new(types::Fd(file.as_raw_fd()), buffer.as_mut_ptr(), length_of(buffer));
    // SAFETY: descriptor and buffer are borrowed until this returns, the buffer by nobody else.
    unsafe { perform(read.offset(offset).build(), place) }
}

/// Writes at `offset`, as [`read`] reads.
pub(crate) fn write(file: BorrowedFd<'_>, bytes: &[u8], offset: u64, place: Place) -> Option<usize> {
    let write = opcode::Write::new(types::Fd(file.as_raw_fd()), bytes.as_ptr(), length_of(bytes));
    // SAFETY: descriptor and bytes are borrowed until this returns.
    unsafe { perform(write.offset(offset).build(), place) }
}

/// The kernel does no more than this at once.
fn length_of(buffer: &[u8]) -> u32 {
    u32::try_from(buffer.len()).unwrap_or(u32::MAX)
}

/// Has the kernel do an operation while the calling fiber waits.
///
/// # Safety
/// What the entry points to stays until this returns.
unsafe fn perform(entry: squeue::Entry, place: Place) -> Option<usize> {
    worker::with_fiber(|running| {
        let (worker, _) = running?;
        let ring = EpollDriver::of(worker).ok()?.ring()?;
        let operation = Operation { wait: Wait::new(park::me()), result: Cell::new(0) };
        let entry = entry.user_data((&raw const operation).expose_provenance() as u64);
        // SAFETY: the caller's promise, and the operation stays in this frame until it has ended.
        if !unsafe { ring.push(&entry) } {
            return None;
        }
        let object = Object::of(&operation);
        let waiting = Waiting { reason: Reason::File, object, place, deadline: None, cancellable: false };
        park::park(&operation.wait, &waiting);
        // An error is told by whoever tries again.
        usize::try_from(operation.result.get()).ok()
    })
}
