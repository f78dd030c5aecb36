//! Stopping a thread for a moment, to look at its stack from outside.
//!
//! # Protocol
//! The one who asks sends the thread a signal. Its handler finds out that it is meant, shows the registers of whatever it has interrupted, and
//! waits until it is let go. All of it goes through one word, [`WORD`]:
//!
//! ```text
//!            1 asks               2 arrives                3 takes
//!    Idle ──────────► Asked(thread) ──────────► Arrived(registers) ──────────► Taken(registers)
//!     ▲ ▲                  │ 5 gives up               │ 6 gives up               │ 4 lets go
//!     │ └──────────────────┴──────────────────────────┘                          │
//!     └──────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! 1, 3, 4 and 5 are steps of the one who asks, 2 and 6 of the handler. A thread that has gone to 2 stays in its handler until the word is no
//! longer its own. The registers lie in the frame of the handler, and the word is their address, so that who arrives and what it shows are
//! published by one exchange.
//!
//! - *The asker gives up* (5) when its patience ends and nobody has arrived: the thread blocks the signal, or has not been given a processor. A
//!   handler that comes late finds a word that is not Asked(itself), and returns. If it arrives first, 5 fails, and the asker goes on with 3.
//! - *The handler gives up* (6) after [`HOLD`]: the asker has not been given a processor. Then 3 fails, nothing has been touched, and the asker
//!   asks again while it has patience. Once the asker has taken the registers (3), the handler waits for as long as it takes: what is done then is
//!   bounded, takes no lock that a stopped thread could hold, and allocates nothing. So nothing is touched after anybody gave up.
//! - *The thread ends meanwhile*: it does not. The asker holds what keeps it from going ([`OsThread`](crate::prim::os_thread)), so neither
//!   is another thread asked that has got its number.
//! - *Two askers*: one at a time, by a lock. An asker that waits for it can be stopped by the other, as any thread. One that holds it can't be: who
//!   else would ask?
//! - *A thread that asks for itself* needs no signal: see [`Tracer::running`](super::Tracer::running).
//! - *The signal comes twice*, or from somebody else: the word says whether there is anything to do.
//!
//! # The signal
//! It is `SIGURG`, as in Go: nothing happens on it by default, few programs use it, debuggers let it pass, and those who handle it have to be
//! prepared for one that means nothing. The handler is put in place when a thread is first asked; it always calls the one that was there before. If
//! somebody puts theirs there later and does not call ours, running fibers have no stack traces. System calls that it interrupts are restarted,
//! except those that never are (`epoll_wait`, `nanosleep` and others), which fail with `EINTR`.
//!
//! The handler runs on the thread's alternate stack. It touches atomics and its own frame, and calls `gettid`, `clock_gettime` and `nanosleep`.
#![allow(unsafe_code, reason = "a signal handler, and registers in the frame of another thread")]

use super::arch;
use crate::signal::handler::{self, Before};
use rustix::process::getpid;
use rustix::thread::{Pid, Timespec, gettid, nanosleep};
use rustix::time::{ClockId, clock_gettime};
use sisal_context::switch::Registers;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const SIGNAL: libc::c_int = libc::SIGURG;

/// How long a thread waits to be looked at.
const HOLD: Duration = Duration::from_millis(10);

/// How often the word is looked at before a waiter begins to nap, and for how long it naps.
const LOOKS: u32 = 200;
const NAP: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000 };

/// Nobody is asked, or wants to know any more.
const IDLE: usize = 0;
/// The lowest two bits of the other states. Above them is the number of a thread, or the address of registers.
const ASKED: usize = 1;
const ARRIVED: usize = 2;
const TAKEN: usize = 3;
const STATE: usize = 3;

/// See the [module](self).
static WORD: AtomicUsize = AtomicUsize::new(IDLE);

/// Held by the one who asks.
static ASKER: Mutex<()> = Mutex::new(());

/// What was done with the signal before. Null if there was never a handler of ours.
static BEFORE: AtomicPtr<Before> = AtomicPtr::new(ptr::null_mut());

/// Stops `thread`, which is another one and does not end meanwhile, and calls `f` with its registers. None if it can't be stopped within
/// `patience`.
///
/// `f` must take no lock that the thread may hold, nor allocate.
pub(super) fn stop<R>(thread: Pid, patience: Duration, f: impl FnOnce(Registers) -> R) -> Option<R> {
    let _asker = ASKER.lock().unwrap_or_else(PoisonError::into_inner);
    install();
    let deadline = Instant::now() + patience;
    loop {
        if let Some(taken) = ask(thread, deadline).and_then(Taken::take) {
            return Some(f(taken.registers()));
        }
        if Instant::now() >= deadline {
            return None;
        }
    }
}

/// Steps 1 and 5: asks, and waits until the thread arrives; the word then.
fn ask(thread: Pid, deadline: Instant) -> Option<usize> {
    let asked = asked(thread);
    // ORDERING: Relaxed: nothing is passed to the handler but the word.
    WORD.store(asked, Ordering::Relaxed);
    let mut wait = Wait::new();
    if send(thread) {
        while Instant::now() < deadline {
            // ORDERING: Acquire pairs with the Release of the exchange in `arrive`: the registers have been written.
            match WORD.load(Ordering::Acquire) {
                word if word == asked => wait.a_little(),
                word => return Some(word),
            }
        }
    }
    // ORDERING: Acquire, if it fails, as above.
    WORD.compare_exchange(asked, IDLE, Ordering::Relaxed, Ordering::Acquire).err()
}

fn send(thread: Pid) -> bool {
    let (process, thread) = (getpid().as_raw_nonzero().get(), thread.as_raw_nonzero().get());
    // SAFETY: takes no pointers.
    unsafe { libc::syscall(libc::SYS_tgkill, process, thread, SIGNAL) == 0 }
}

/// A thread that waits in its handler until this is dropped.
struct Taken(*const Registers);

impl Taken {
    /// Step 3, if `word` says that a thread has arrived and it has not given up.
    fn take(word: usize) -> Option<Taken> {
        if word & STATE != ARRIVED {
            return None;
        }
        let address = word & !STATE;
        // ORDERING: Relaxed: the word was loaded with Acquire before. The handler learns nothing but that it has to wait.
        WORD.compare_exchange(word, address | TAKEN, Ordering::Relaxed, Ordering::Relaxed).ok()?;
        Some(Taken(ptr::with_exposed_provenance(address)))
    }

    fn registers(&self) -> Registers {
        // SAFETY: they lie in the frame of a handler that waits for our drop, and were written before it published them.
        unsafe { self.0.read() }
    }
}

impl Drop for Taken {
    /// Step 4.
    fn drop(&mut self) {
        // ORDERING: Release pairs with the Acquire in `arrive`: all that was read of the thread's stack was read before it goes on.
        WORD.store(IDLE, Ordering::Release);
    }
}

fn asked(thread: Pid) -> usize {
    (thread.as_raw_nonzero().get() as usize) << 2 | ASKED
}

/// Puts the handler in place, unless it is, or somebody else has put theirs there since. For the one who asks.
fn install() {
    let current = handler::current(SIGNAL);
    let ours = on_signal as *const () as libc::sighandler_t;
    let before = Before::of(&current);
    let was_there = !BEFORE.load(Ordering::Relaxed).is_null();
    if current.sa_sigaction == ours || (was_there && !before.is_nothing()) {
        return;
    }
    // Never freed: a handler may run that was put in place earlier.
    // ORDERING: Release pairs with the Acquire in `on_signal`.
    BEFORE.store(Box::leak(Box::new(before)), Ordering::Release);
    handler::put(SIGNAL, &handler::action_for(ours));
}

extern "C" fn on_signal(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the address of this thread's own; whatever is interrupted may be about to read it.
    let (place, errno) = unsafe { (libc::__errno_location(), *libc::__errno_location()) };
    let asked = asked(gettid());
    if WORD.load(Ordering::Relaxed) == asked {
        // SAFETY: the context is the kernel's.
        arrive(asked, unsafe { arch::interrupted(context) });
    }
    // ORDERING: Acquire pairs with the Release in `install`.
    // SAFETY: what it points to is never freed.
    if let Some(before) = unsafe { BEFORE.load(Ordering::Acquire).as_ref() } {
        // SAFETY: we are in signal context, with what we were given.
        unsafe { before.act(signal, true, info, context) };
    }
    // SAFETY: as above.
    unsafe { *place = errno };
}

/// Steps 2 and 6: shows the registers, and waits until they have been used, or nobody comes.
fn arrive(asked: usize, registers: Registers) {
    let address = (&raw const registers).expose_provenance();
    let arrived = address | ARRIVED;
    // ORDERING: Release pairs with the Acquire in `ask`.
    if WORD.compare_exchange(asked, arrived, Ordering::Release, Ordering::Relaxed).is_err() {
        return;
    }
    let since = now();
    let mut wait = Wait::new();
    loop {
        // ORDERING: Acquire pairs with the Release in the drop of `Taken`.
        let word = WORD.load(Ordering::Acquire);
        let is_over = word == arrived
            && now().saturating_sub(since) > HOLD
            && WORD.compare_exchange(arrived, IDLE, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if is_over || word & !STATE != address || word & STATE == ASKED {
            return;
        }
        wait.a_little();
    }
}

/// The time, as a handler may ask for it.
fn now() -> Duration {
    let now = clock_gettime(ClockId::Monotonic);
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs() as u32)
}

/// Looking again and again, at first at once.
struct Wait {
    looks: u32,
}

impl Wait {
    fn new() -> Wait {
        Wait { looks: 0 }
    }

    fn a_little(&mut self) {
        self.looks = self.looks.saturating_add(1);
        if self.looks < LOOKS {
            std::hint::spin_loop();
        } else {
            // Interrupted, it is a shorter one.
            let _ = nanosleep(&NAP);
        }
    }
}
