//! A stack overflow names the fiber, where it was spawned and its stack's size, and aborts the process. Other faults die as
//! they would without sisal.
#![allow(unsafe_code, reason = "a C function is loaded and called, and memory is touched that is not there")]

mod common;

use common::child::{self, Ended, SIGABRT, SIGSEGV};
use common::fixed;
use common::skip::skip;
use sisal::{Builder, spawn, spawn_local, stack, yield_now};
use std::ffi::CString;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Recursion that no optimizer takes away.
#[inline(never)]
fn dig(depth: u64) -> u64 {
    let frame = black_box([depth; 32]);
    if depth == u64::MAX { 0 } else { dig(depth + 1) + frame[(depth % 32) as usize] }
}

/// How many bytes a stack asked for with `asked` has, as the message says it.
fn has_overflowed(ended: Ended, fiber: &str, least: usize) {
    let ended = ended.by_signal(SIGABRT).saying("stack overflow in fiber").saying(fiber).saying("tests/overflow.rs:");
    tells_size(&ended, least);
}

fn tells_size(ended: &Ended, least: usize) {
    let size = ended.stderr.split(" stack of ").nth(1).and_then(|rest| rest.split(" bytes").next());
    let size: usize = size.and_then(|size| size.parse().ok()).unwrap_or_else(|| panic!("no size in {ended:#?}"));
    assert!((least..=2 * least + (64 << 10)).contains(&size), "{size} for {least}");
}

#[test]
fn an_overflow_in_rust_code_names_the_fiber_its_spawn_place_and_size() {
    let ended = child::run(|| {
        let _ = fixed(2).run(|| Builder::new().name("digger").spawn(|| dig(0)).join());
    });
    has_overflowed(ended, "'digger' (#", 192 << 10);
}

#[test]
fn a_fiber_without_a_name_is_named_by_its_number() {
    let ended = child::run(|| {
        let _ = fixed(1).run(|| spawn(|| dig(0)).join());
    });
    has_overflowed(ended, "(#1)", 192 << 10);
}

#[test]
fn an_overflow_after_a_wait_is_told_of_the_right_fiber() {
    let ended = child::run(|| {
        let run = || {
            let others: Vec<_> = (0..10).map(|_| spawn_local(|| (0..100).for_each(|_| yield_now()))).collect();
            let digger = Builder::new().name("late digger").spawn_local(|| {
                (0..10).for_each(|_| yield_now());
                dig(0)
            });
            let _ = digger.join();
            drop(others);
        };
        let _ = fixed(1).run(run);
    });
    has_overflowed(ended, "'late digger'", 192 << 10);
}

#[test]
fn an_overflow_of_a_stack_of_another_size_tells_that_size() {
    let ended = child::run(|| {
        let _ = fixed(2).run(|| Builder::new().name("small").stack_size(48 << 10).spawn(|| dig(0)).join());
    });
    has_overflowed(ended, "'small'", 48 << 10);
}

#[test]
fn an_overflow_of_a_stack_sized_by_the_environment_tells_that_size() {
    let ended = child::run_in(&[("SISAL_STACK_SIZE", "1M")], || {
        let _ = fixed(2).run(|| Builder::new().name("large").spawn(|| dig(0)).join());
    });
    has_overflowed(ended, "'large'", 1 << 20);
}

#[test]
fn an_overflow_of_a_grown_stack_tells_its_size() {
    let ended = child::run(|| {
        let _ = fixed(1).run(|| Builder::new().name("grown").spawn(|| stack::grow(4 << 20, || dig(0))).join());
    });
    has_overflowed(ended, "'grown'", 4 << 20);
}

#[test]
fn an_overflow_of_a_stack_grown_outside_of_fibers_tells_its_size() {
    let ended = child::run(|| {
        stack::grow(1 << 20, || stack::grow(1 << 20, || assert_eq!(black_box([7u8; 700 << 10])[7], 7)));
        let deep = || stack::grow(1 << 20, || dig(0));
        let thread = std::thread::spawn(move || stack::grow(4 << 20, deep));
        let _ = thread.join();
    });
    tells_size(&ended.by_signal(SIGABRT).saying("stack overflow in stack::grow, outside of fibers"), 1 << 20);
}

#[test]
fn an_overflow_of_a_stack_grown_outside_of_fibers_beside_a_runtime_tells_its_size() {
    let ended = child::run(|| {
        let _runtime = common::background(1);
        stack::grow(4 << 20, || dig(0));
    });
    tells_size(&ended.by_signal(SIGABRT).saying("stack overflow in stack::grow, outside of fibers"), 4 << 20);
}

#[test]
fn an_overflow_in_a_background_runtime_is_told_like_any_other() {
    let ended = child::run(|| {
        let runtime = common::background(4);
        let _ = runtime.handle().builder().name("behind").spawn(|| dig(0)).join();
    });
    has_overflowed(ended, "'behind'", 192 << 10);
}

#[test]
fn an_overflow_of_the_main_fiber_on_the_threads_own_stack_names_it_too() {
    const SIZE: usize = 1 << 20;
    let ended = child::run(|| {
        let thread = std::thread::Builder::new().stack_size(SIZE);
        let _ = thread.spawn(|| fixed(2).run(|| dig(0))).unwrap().join();
    });
    let ended = ended.saying("its thread's own: call run on a thread with a larger one");
    has_overflowed(ended, "'main' (#0), spawned at", SIZE);
}

#[test]
fn an_overflow_of_a_plain_thread_beside_a_runtime_kills_the_process_in_stds_words() {
    let ended = child::run(|| {
        let _runtime = common::background(1);
        let thread = std::thread::Builder::new().name("plain".into()).spawn(|| dig(0)).unwrap();
        let _ = thread.join();
    });
    ended.by_signal(SIGABRT).saying("'plain'").saying("overflow").not_saying("sisal: stack overflow");
}

/// Reads where nothing is.
fn read_nowhere() -> u8 {
    let nowhere: *const u8 = std::ptr::without_provenance(black_box(0x10));
    // SAFETY: none; this is what is tested, in a process of its own.
    unsafe { nowhere.read_volatile() }
}

#[test]
fn a_fault_elsewhere_in_a_fiber_still_dies_by_sigsegv() {
    let ended = child::run(|| {
        let _ = fixed(2).run(|| spawn(read_nowhere).join());
    });
    ended.by_signal(SIGSEGV).not_saying("overflow");
}

#[test]
fn a_fault_in_a_plain_thread_beside_a_runtime_still_dies_by_sigsegv() {
    let ended = child::run(|| {
        let _runtime = common::background(1);
        read_nowhere();
    });
    ended.by_signal(SIGSEGV).not_saying("overflow");
}

#[test]
fn a_fault_handler_of_the_program_is_still_called() {
    extern "C" fn on_fault(_signal: i32) {
        // SAFETY: `_exit` may be called in a handler.
        unsafe { libc::_exit(42) };
    }
    let ended = child::run(|| {
        let handler = on_fault as extern "C" fn(i32);
        // SAFETY: the handler only leaves the process.
        unsafe { libc::signal(libc::SIGSEGV, handler as libc::sighandler_t) };
        let _ = fixed(2).run(|| spawn(read_nowhere).join());
    });
    ended.with_code(42);
}

/// Large frames without probes, as C compilers make them: the first touch is at the far end.
const C_SOURCE: &str = "
    int dig_in_c(int depth) {
        volatile char frame[200 * 1024];
        frame[0] = (char)depth;
        if (depth == 0) return frame[0];
        return dig_in_c(depth - 1) + frame[0];
    }
";

/// Compiles the C code to a shared object; none where there is no compiler.
fn compile_c(folder: &Path) -> Option<PathBuf> {
    let (source, object) = (folder.join("dig.c"), folder.join("dig.so"));
    std::fs::write(&source, C_SOURCE).unwrap();
    let flags = ["-shared", "-fPIC", "-O0", "-fno-stack-clash-protection", "-fno-stack-protector", "-o"];
    let compiled = Command::new("cc").args(flags).args([&object, &source]).status().ok()?;
    assert!(compiled.success(), "cc: {compiled}");
    Some(object)
}

/// Loads the shared object for the rest of the process.
fn load_c(object: &Path) -> extern "C" fn(i32) -> i32 {
    let path = CString::new(object.as_os_str().as_encoded_bytes()).unwrap();
    // SAFETY: the object has no constructors, and both names are terminated.
    let symbol = unsafe {
        let library = libc::dlopen(path.as_ptr(), libc::RTLD_NOW);
        assert!(!library.is_null(), "dlopen failed");
        libc::dlsym(library, c"dig_in_c".as_ptr())
    };
    assert!(!symbol.is_null(), "dlsym failed");
    // SAFETY: the C function has this signature.
    unsafe { std::mem::transmute::<*mut libc::c_void, extern "C" fn(i32) -> i32>(symbol) }
}

/// A folder of this process's own, removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("sisal-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const OBJECT: &str = "SISAL_TEST_OBJECT";

/// Calls the C function to this depth in a fiber of this stack size, in a child.
macro_rules! dig_in_c {
    ($depth:expr, $stack:expr) => {{
        let folder = Folder::new(concat!("overflow-", line!()));
        let object = compile_c(&folder.0);
        if object.is_none() && std::env::var_os(OBJECT).is_none() {
            return skip("no cc");
        }
        let object = object.unwrap_or_default();
        child::run_in(&[(OBJECT, object.to_str().unwrap())], || {
            let dig = load_c(Path::new(&std::env::var_os(OBJECT).unwrap()));
            let builder = Builder::new().name("c digger").stack_size($stack);
            let dug = fixed(1).run(|| builder.spawn(move || dig($depth)).join().unwrap());
            dug.unwrap();
        })
    }};
}

#[test]
fn an_overflow_in_c_code_with_a_frame_of_200_kb_is_caught_by_name() {
    // The frame touches its far end first, well below the end of the stack, further than a guard of a page could catch.
    let ended = dig_in_c!(1_000_000, 192 << 10);
    has_overflowed(ended, "'c digger'", 192 << 10);
}

#[test]
fn c_code_with_frames_of_200_kb_runs_on_a_stack_that_is_large_enough() {
    let ended = dig_in_c!(10, 4 << 20);
    ended.well();
}
