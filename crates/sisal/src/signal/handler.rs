//! What happens in signal context, and putting handlers in place.
//!
//! In signal context only atomics are touched, and only `write`, `getpid`, `sigaction` and `raise` are called, which may be called there.
//! The handler runs on the alternate stack where there is one, as on all threads that run fibers.
#![allow(unsafe_code, reason = "signal handlers are set, and called, by C functions")]

use super::kind::Signal;
use std::cell::Cell;
use std::io;
use std::mem::{self, MaybeUninit};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU8, Ordering};

/// Those that cancel nurseries.
pub(super) const CANCELLING: [Signal; 2] = [Signal::INTERRUPT, Signal::TERMINATE];

/// Those that do nothing by default (to a process that runs), so that there is nothing to be done.
const IGNORED: [libc::c_int; 4] = [libc::SIGCHLD, libc::SIGCONT, libc::SIGURG, libc::SIGWINCH];

/// More than the kernel's highest number.
const NUMBERS: usize = 65;

/// A signal cancels nothing.
const IDLE: u8 = 0;
/// The next one cancels the nurseries that listen. Only the handler goes from here to `FIRED`.
const ARMED: u8 = 1;
/// It has come, and they are to be cancelled.
const FIRED: u8 = 2;

/// What the handler knows of each signal.
struct Slot {
    /// Whether the next one cancels the nurseries that listen.
    cancelling: AtomicU8,
    /// Channels listen to it.
    heard: AtomicBool,
    /// It has come, and the channels have not been told.
    pending: AtomicBool,
    /// What was done with this signal before. Null if there was never a handler of ours.
    before: AtomicPtr<Before>,
}

impl Slot {
    const fn new() -> Slot {
        Slot {
            cancelling: AtomicU8::new(IDLE),
            heard: AtomicBool::new(false),
            pending: AtomicBool::new(false),
            before: AtomicPtr::new(ptr::null_mut()),
        }
    }
}

/// By the number of the signal.
static SLOTS: [Slot; NUMBERS] = [const { Slot::new() }; NUMBERS];
/// Where to ring.
static DESCRIPTOR: AtomicI32 = AtomicI32::new(-1);
/// The process that listens. After a `fork` the child has the same handlers, and must not ring for its parent.
static PROCESS: AtomicI32 = AtomicI32::new(0);

/// An event that can be rung in signal context. Once there are handlers, it is there for as long as the process.
#[derive(Copy, Clone)]
pub(super) struct Bell(libc::c_int);

impl Bell {
    pub(super) fn new() -> io::Result<Bell> {
        // SAFETY: takes no pointers.
        match unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) } {
            -1 => Err(io::Error::last_os_error()),
            descriptor => Ok(Bell(descriptor)),
        }
    }

    /// Gives it up, before anybody else knows of it.
    pub(super) fn close(self) {
        // SAFETY: it is open, and in no other hands.
        unsafe { libc::close(self.0) };
    }

    fn ring(self) {
        let one = 1u64.to_ne_bytes();
        // SAFETY: the bytes are there. An event takes eight, and blocks only if it has been rung 2^64 - 2 times and not been heard.
        unsafe { libc::write(self.0, one.as_ptr().cast(), one.len()) };
    }

    /// Sleeps until it is rung; false if it can't be any more, since the process has closed descriptors that are not its own.
    pub(super) fn wait(self) -> bool {
        let mut rings = [0u8; 8];
        loop {
            // SAFETY: there is room for the eight bytes of an event.
            let read = unsafe { libc::read(self.0, rings.as_mut_ptr().cast(), rings.len()) };
            if read == rings.len() as isize {
                return true;
            }
            if read != -1 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                return false;
            }
        }
    }
}

fn slot(signal: libc::c_int) -> Option<&'static Slot> {
    usize::try_from(signal).ok().and_then(|number| SLOTS.get(number))
}

/// From now on the next signal, of either kind, cancels nurseries. True if one that was armed has come before, and those who listened then are
/// to be cancelled.
#[must_use = "they wait to be cancelled"]
pub(super) fn arm() -> bool {
    // ORDERING: Relaxed: all that the handler reads for it was written before the first handler was put in place, by a system call. Acquire
    // pairs with the Release in the handler.
    change_all(|slot| slot.swap(ARMED, Ordering::Acquire) == FIRED)
}

/// From now on none does, and one that has come is forgotten: nobody listens any more.
pub(super) fn disarm() {
    change_all(|slot| slot.swap(IDLE, Ordering::Relaxed) == FIRED);
}

/// Whether nurseries are to be cancelled.
#[must_use = "they wait to be cancelled"]
pub(super) fn take_cancellation() -> bool {
    // ORDERING: Acquire pairs with the Release in the handler.
    let fired = change_all(|slot| slot.compare_exchange(FIRED, IDLE, Ordering::Acquire, Ordering::Relaxed).is_ok());
    if fired {
        // The next one, of whatever kind, is the second.
        let _ = change_all(|slot| slot.compare_exchange(ARMED, IDLE, Ordering::Relaxed, Ordering::Relaxed).is_ok());
    }
    fired
}

/// Changes the state of all signals that cancel; true if one was fired.
fn change_all(change: impl Fn(&AtomicU8) -> bool) -> bool {
    let slots = CANCELLING.iter().filter_map(|signal| slot(signal.as_raw()));
    slots.fold(false, |fired, slot| change(&slot.cancelling) | fired)
}

/// Whether channels listen to it.
pub(super) fn set_heard(signal: Signal, heard: bool) {
    if let Some(slot) = slot(signal.as_raw()) {
        slot.heard.store(heard, Ordering::Relaxed);
    }
}

/// The signals that have come and that channels listen to.
pub(super) fn take_pending() -> impl Iterator<Item = Signal> {
    // ORDERING: Acquire pairs with the Release in the handler.
    let pending = |(_, slot): &(i32, &Slot)| slot.pending.swap(false, Ordering::Acquire);
    (0..).zip(&SLOTS).filter(pending).map(|(number, _)| Signal::from_raw(number))
}

/// What is done with a signal: as much as a handler needs to know.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) struct Before {
    action: libc::sighandler_t,
    takes_info: bool,
}

impl Before {
    pub(crate) fn of(action: &libc::sigaction) -> Before {
        Before { action: action.sa_sigaction, takes_info: action.sa_flags & libc::SA_SIGINFO != 0 }
    }

    /// Whether there is no handler.
    #[cfg_attr(not(feature = "stack-traces"), allow(dead_code, reason = "for those who see to it that there is one"))]
    pub(crate) fn is_nothing(self) -> bool {
        matches!(self.action, libc::SIG_DFL | libc::SIG_IGN)
    }

    /// Does it, in signal context. `told` if somebody has been told of the signal, who takes care of what would be the default.
    pub(crate) unsafe fn act(
        self,
        signal: libc::c_int,
        told: bool,
        info: *mut libc::siginfo_t,
        context: *mut libc::c_void,
    ) {
        match self.action {
            libc::SIG_IGN => {}
            libc::SIG_DFL if told || IGNORED.contains(&signal) => {}
            libc::SIG_DFL => {
                // It is blocked while its handler runs, so the raised one comes when that has returned, and finds the default.
                // SAFETY: both may be called in signal context; the action is a complete one.
                unsafe {
                    libc::sigaction(signal, &action(libc::SIG_DFL, 0), ptr::null_mut());
                    libc::raise(signal);
                }
            }
            handler if self.takes_info => {
                // SAFETY: it was put in place as such a handler by somebody else.
                unsafe {
                    mem::transmute::<usize, extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void)>(
                        handler,
                    )(signal, info, context);
                }
            }
            // SAFETY: as above.
            handler => unsafe { mem::transmute::<usize, extern "C" fn(libc::c_int)>(handler)(signal) },
        }
    }
}

thread_local! {
    /// The signals whose handler runs, a bit for each.
    static INSIDE: Cell<u64> = const { Cell::new(0) };
}

/// The handler. All signals are held back meanwhile, so if it is called once more, then by one that it has called itself: handlers that
/// remember each other would go on for ever.
extern "C" fn on_signal(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let bit = 1_u64.checked_shl(signal.cast_unsigned()).unwrap_or(0);
    let inside = INSIDE.with(Cell::get);
    if inside & bit == 0 {
        INSIDE.with(|cell| cell.set(inside | bit));
        handle(signal, info, context);
        INSIDE.with(|cell| cell.set(inside));
    }
}

fn handle(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the address of this thread's own; whatever is interrupted may be about to read it.
    let (place, errno) = unsafe { (libc::__errno_location(), *libc::__errno_location()) };
    if let Some(slot) = slot(signal) {
        // SAFETY: takes no pointers.
        let is_ours = unsafe { libc::getpid() } == PROCESS.load(Ordering::Relaxed);
        let heard = is_ours && slot.heard.load(Ordering::Relaxed);
        // ORDERING: Release, twice, pairs with the Acquires of those who take them.
        let fire = || slot.cancelling.compare_exchange(ARMED, FIRED, Ordering::Release, Ordering::Relaxed).is_ok();
        let cancels = is_ours && fire();
        if heard {
            slot.pending.store(true, Ordering::Release);
        }
        let told = cancels || heard;
        if told {
            Bell(DESCRIPTOR.load(Ordering::Relaxed)).ring();
        }
        // ORDERING: Acquire pairs with the Release in `Slot::remember`.
        // SAFETY: what it points to is never freed.
        if let Some(before) = unsafe { slot.before.load(Ordering::Acquire).as_ref() } {
            // SAFETY: we are in signal context, with what we were given.
            unsafe { before.act(signal, told, info, context) };
        }
    }
    // SAFETY: as above.
    unsafe { *place = errno };
}

fn action(handler: libc::sighandler_t, flags: libc::c_int) -> libc::sigaction {
    // SAFETY: a C struct of integers and an optional function, for which all zero is a value; and an empty set of signals is zero.
    let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    action.sa_sigaction = handler;
    action.sa_flags = flags;
    action
}

/// What is done with a signal by a handler of ours that takes information. While it runs, no other signal comes but those of faults: the
/// alternate stack has no room for one handler within another.
pub(crate) fn action_for(handler: libc::sighandler_t) -> libc::sigaction {
    let mut action = action(handler, libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART);
    // SAFETY: they change a set that is there.
    unsafe {
        libc::sigfillset(&mut action.sa_mask);
        for fault in [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE] {
            libc::sigdelset(&mut action.sa_mask, fault);
        }
    }
    action
}

fn ours() -> libc::sighandler_t {
    on_signal as *const () as libc::sighandler_t
}

/// What is done with a signal now.
pub(crate) fn current(signal: libc::c_int) -> libc::sigaction {
    let mut current = action(libc::SIG_DFL, 0);
    // SAFETY: it is only asked for, into a place that is there.
    let failed = unsafe { libc::sigaction(signal, ptr::null(), &mut current) } != 0;
    debug_assert!(!failed, "INVARIANT: these signals exist");
    current
}

pub(crate) fn put(signal: libc::c_int, action: &libc::sigaction) {
    // SAFETY: a complete action: ours, or one that was in place before.
    let failed = unsafe { libc::sigaction(signal, action, ptr::null_mut()) } != 0;
    debug_assert!(!failed, "INVARIANT: these signals can be handled");
}

/// Our handler of a signal, in place, and what was there before.
pub(super) struct Handler {
    signal: Signal,
    before: libc::sigaction,
}

impl Handler {
    /// Puts the handler in place; it rings `bell`.
    pub(super) fn install(signal: Signal, bell: Bell) -> Handler {
        DESCRIPTOR.store(bell.0, Ordering::Relaxed);
        PROCESS.store(std::process::id().cast_signed(), Ordering::Relaxed);
        let before = current(signal.as_raw());
        if let Some(slot) = slot(signal.as_raw()) {
            // Somebody may have put our own back after we were gone: then what was there before that is still the one.
            if before.sa_sigaction != ours() {
                slot.remember(Before::of(&before));
            }
            slot.pending.store(false, Ordering::Relaxed);
        }
        put(signal.as_raw(), &action_for(ours()));
        Handler { signal, before }
    }

    /// Puts back what was there before, unless somebody else has put something there since.
    pub(super) fn remove(self) {
        if current(self.signal.as_raw()).sa_sigaction == ours() {
            put(self.signal.as_raw(), &self.before);
        }
    }
}

impl Slot {
    /// A handler may still be running that was put in place earlier, so what it reads is never freed. It is the same each time, as a rule,
    /// and then not made anew.
    fn remember(&self, before: Before) {
        let known = self.before.load(Ordering::Relaxed);
        // SAFETY: what it points to is never freed or changed.
        if unsafe { known.as_ref() } != Some(&before) {
            // ORDERING: Release pairs with the Acquire in `on_signal`.
            self.before.store(Box::leak(Box::new(before)), Ordering::Release);
        }
    }
}
