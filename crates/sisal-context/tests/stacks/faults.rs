//! Faults: which are reported, which go to the handler that was there before, and how each ends its process.

use crate::child::run_in_child;
use crate::{CLASS, give, read, take, touch};
use sisal_context::fault;
use sisal_context::stack::{Depot, GuardKind};
use std::os::unix::process::ExitStatusExt;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const REPORT: &str = "overflow reported";
const PREVIOUS: &str = "previous handler called";
const EXIT_OF_PREVIOUS: i32 = 42;

/// The range that counts as a guard in this process.
static GUARD: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];

fn report(address: usize) -> bool {
    let is_overflow = (GUARD[0].load(Relaxed)..GUARD[1].load(Relaxed)).contains(&address);
    if is_overflow {
        fault::write_stderr(&[b"test: ", REPORT.as_bytes(), b"\n"]);
    }
    is_overflow
}

fn assert_ends(scenario: &str, by_signal: i32, reported: bool) {
    let output = run_in_child(scenario);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.signal(), Some(by_signal), "{scenario}: {stderr}");
    assert_eq!(stderr.contains(REPORT), reported, "{scenario}: {stderr}");
}

/// Does what faults; false if the scenario is none of these.
pub(crate) fn play(scenario: &str) -> bool {
    match scenario {
        "marker" => overflow(GuardKind::Marker, 0, false),
        "marker, lowest byte" => overflow(GuardKind::Marker, usize::MAX, false),
        "marker, trimmed" => overflow(GuardKind::Marker, 0, true),
        "protected" => overflow(GuardKind::Protected, 0, false),
        "protected, lowest byte" => overflow(GuardKind::Protected, usize::MAX, false),
        "protected, trimmed" => overflow(GuardKind::Protected, 0, true),
        "bus error" => bus_error(),
        "default" => fault_with_previous(libc::SIG_DFL, 0),
        "ignored" => fault_with_previous(libc::SIG_IGN, 0),
        "standard library" => fault_outside_of_guards(),
        "plain" => fault_with_previous(plain as extern "C" fn(_) as usize, 0),
        "informed" => {
            let handler: extern "C" fn(_, *mut libc::siginfo_t, _) = informed;
            fault_with_previous(handler as usize, libc::SA_SIGINFO);
        }
        "sent, default" => send_with_previous(libc::SIG_DFL),
        "sent, ignored" => send_with_previous(libc::SIG_IGN),
        _ => return false,
    }
    true
}

/// Touches a guard, `below` its highest byte (or its lowest byte if that is too far).
fn overflow(kind: GuardKind, below: usize, trimmed: bool) {
    // Whatever the program does on SIGABRT must not keep an overflow from ending it.
    set_action(libc::SIGABRT, plain as extern "C" fn(_) as usize, 0);
    let depot = Depot::with_guards(None, kind);
    let mut stack = take(&depot, CLASS, 2)[0];
    if trimmed {
        touch(stack, 7);
        give(&depot, &[stack]);
        assert_eq!(depot.trim().stacks, 1);
        stack = take(&depot, CLASS, 1)[0];
        assert_eq!(read(stack), 0, "pages were dropped");
    }
    assert_eq!(stack.guard_kind(), kind);
    let guard = stack.guard();
    GUARD[0].store(guard.start, Relaxed);
    GUARD[1].store(guard.end, Relaxed);
    fault::install(report);
    write_to(guard.end - 1 - below.min(guard.len() - 1));
}

fn write_to(address: usize) {
    // SAFETY: none; the process is to fault here.
    unsafe { std::ptr::with_exposed_provenance_mut::<u8>(address).write_volatile(1) };
}

fn bus_error() {
    fault::install(report);
    // SAFETY: maps a page of an empty file, which has no memory behind it.
    let page = unsafe {
        let file = libc::memfd_create(c"empty".as_ptr(), 0);
        let access = libc::PROT_READ | libc::PROT_WRITE;
        libc::mmap(std::ptr::null_mut(), 4096, access, libc::MAP_SHARED, file, 0) as usize
    };
    GUARD[0].store(page, Relaxed);
    GUARD[1].store(page + 4096, Relaxed);
    write_to(page);
}

fn fault_with_previous(handler: usize, flags: i32) {
    set_action(libc::SIGSEGV, handler, flags);
    fault_outside_of_guards();
}

fn fault_outside_of_guards() {
    fault::install(report);
    write_to(16);
}

fn send_with_previous(handler: usize) {
    set_action(libc::SIGSEGV, handler, 0);
    fault::install(report);
    // SAFETY: no obligations.
    unsafe { libc::raise(libc::SIGSEGV) };
}

fn set_action(signal: i32, handler: usize, flags: i32) {
    // SAFETY: zero is valid for the rest; the handlers above have the type that their flags say.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler;
        action.sa_flags = flags;
        assert_eq!(libc::sigaction(signal, &action, std::ptr::null_mut()), 0);
    }
}

extern "C" fn plain(_signal: i32) {
    fault::write_stderr(&[PREVIOUS.as_bytes()]);
    // SAFETY: async-signal-safe.
    unsafe { libc::_exit(EXIT_OF_PREVIOUS) };
}

extern "C" fn informed(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: what the kernel gave to the handler before.
    let is_complete = unsafe { (*info).si_signo == signal && (*info).si_addr() as usize == 16 };
    if is_complete && !context.is_null() {
        plain(signal);
    }
}

#[test]
fn a_touched_guard_is_reported_and_aborts() {
    assert_ends("protected", libc::SIGABRT, true);
    assert_ends("protected, lowest byte", libc::SIGABRT, true);
    if markers_can_be_had() {
        assert_ends("marker", libc::SIGABRT, true);
        assert_ends("marker, lowest byte", libc::SIGABRT, true);
    }
}

#[test]
fn guards_survive_a_trim() {
    assert_ends("protected, trimmed", libc::SIGABRT, true);
    if markers_can_be_had() {
        assert_ends("marker, trimmed", libc::SIGABRT, true);
    }
}

/// Since Linux 6.13.
fn markers_can_be_had() -> bool {
    let depot = Depot::new(None);
    let stacks = take(&depot, CLASS, 1);
    give(&depot, &stacks);
    stacks[0].guard_kind() == GuardKind::Marker
}

#[test]
fn a_bus_error_is_asked_about_too() {
    assert_ends("bus error", libc::SIGABRT, true);
}

#[test]
fn another_fault_ends_the_process_as_it_would_have_without_us() {
    for scenario in ["default", "ignored", "standard library", "sent, default"] {
        assert_ends(scenario, libc::SIGSEGV, false);
    }
}

#[test]
fn another_fault_goes_to_the_previous_handler() {
    for scenario in ["plain", "informed"] {
        let output = run_in_child(scenario);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(EXIT_OF_PREVIOUS), "{scenario}: {stderr}");
        assert!(stderr.contains(PREVIOUS), "{scenario}: {stderr}");
    }
}

#[test]
fn a_signal_that_was_sent_stays_ignored() {
    assert!(run_in_child("sent, ignored").status.success());
}
