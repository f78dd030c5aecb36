//! How often a busy worker asks its epoll for events: now and then, by time.
//!
//! Somebody who traces the process would make each look take about as long as a worker may go without one, so that it would look all the
//! time. So the process counts its looks itself: a filter has the kernel send a signal in place of such a call; the handler counts, and makes the
//! call with one more argument, which the filter knows and the kernel doesn't look at.
#![allow(unsafe_code, reason = "a handler of signals makes system calls")]

use crate::common::background;
use crate::common::child::run;
use crate::common::skip::skip;
use crate::kernel::filter::{Filter, NO_FILTERS, Test};
use crate::system_calls::{connected, wait_for_a_byte};
use sisal::{spawn_local, yield_now};
use std::arch::asm;
use std::ffi::{c_int, c_void};
use std::io::{self, Write};
use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The last argument of calls that are made by the handler: the size of a set of signals, of which there is none.
const BY_THE_HANDLER: u32 = 0x5155_4945;

static LOOKS: AtomicUsize = AtomicUsize::new(0);

/// How many there have been.
fn looks() -> usize {
    LOOKS.load(Ordering::Relaxed)
}

/// From now on they are counted, of this thread and those that it starts. For children.
///
/// # Errors
/// If there are no filters of system calls here.
fn count_looks() -> io::Result<()> {
    // SAFETY: all zeros are no flags and no handler.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    action.sa_flags = libc::SA_SIGINFO;
    action.sa_sigaction = look as *const () as usize;
    // SAFETY: the handler is one for these flags, and does nothing that a handler must not.
    assert_eq!(unsafe { libc::sigaction(libc::SIGSYS, &raw const action, std::ptr::null_mut()) }, 0);
    let by_the_handler = || [Test::equal(5, BY_THE_HANDLER)];
    let waits = [libc::SYS_epoll_wait, libc::SYS_epoll_pwait, libc::SYS_epoll_pwait2];
    let counted = |filter: Filter, call| filter.allow(call, &by_the_handler()).trap(call, &[]);
    waits.into_iter().fold(Filter::new(), counted).install()
}

/// Makes a call that was kept back.
extern "C" fn look(_signal: c_int, _info: *mut libc::siginfo_t, context: *mut c_void) {
    LOOKS.fetch_add(1, Ordering::Relaxed);
    // SAFETY: the kernel passes the registers of the thread, as they were before the call.
    let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let register = |name: c_int| registers[name as usize];
    let result: i64;
    // SAFETY: this call was to be made, with these arguments.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") register(libc::REG_RAX) => result,
            in("rdi") register(libc::REG_RDI),
            in("rsi") register(libc::REG_RSI),
            in("rdx") register(libc::REG_RDX),
            in("r10") register(libc::REG_R10),
            in("r8") register(libc::REG_R8),
            in("r9") u64::from(BY_THE_HANDLER),
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    registers[libc::REG_RAX as usize] = result;
}

#[test]
fn a_worker_whose_fibers_give_way_to_each_other_seldom_asks_for_events() {
    const YIELDS: usize = 200_000;
    const TURNS: usize = 2 * YIELDS;
    /// How often the worker of two fibers asks that have nothing to do with sockets.
    fn looks_of_two_that_yield() -> usize {
        let before = looks();
        let fibers = [(); 2].map(|()| spawn_local(|| (0..YIELDS).for_each(|_| yield_now())));
        fibers.into_iter().for_each(|fiber| fiber.join().unwrap());
        looks() - before
    }
    let ended = run(|| {
        if let Err(error) = count_looks() {
            return eprintln!("{NO_FILTERS}: {error}");
        }
        background(1).run(|| {
            let (here, mut there) = connected();
            assert_eq!(looks_of_two_that_yield(), 0, "nobody has waited for a socket");
            let reader = wait_for_a_byte(here);
            // It does so about every 50 us, in which there are many turns.
            let some = looks_of_two_that_yield();
            assert!((1..TURNS / 20).contains(&some), "{some} in {TURNS} turns");
            assert!(!reader.is_finished());
            there.write_all(&[7]).unwrap();
            reader.join().unwrap();
            assert_eq!(looks_of_two_that_yield(), 0, "nobody waits for a socket any more");
        });
    });
    if ended.stderr.contains(NO_FILTERS) {
        skip(NO_FILTERS);
    }
    ended.well();
}
