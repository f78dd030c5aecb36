//! The kernel as it was before it could do this or that: calls for it fail as they did then.
//!
//! By a filter of the calling thread's system calls, which all threads that it starts from now on inherit, and nobody can take off. So it is for
//! children only.
#![allow(unsafe_code, reason = "the filter is passed to the kernel by pointer")]

use std::io;

/// What an older kernel, or one short of mappings, does not do.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum Lacks {
    /// `MADV_GUARD_INSTALL`, which came with Linux 6.13.
    Markers,
    /// That, and making as much as a stack's guard inaccessible, for which there may be no room among the mappings.
    MarkersAndMappings,
}

/// From now on the kernel lacks that, for this thread and those that it starts.
///
/// # Errors
/// If there are no such filters here.
pub(crate) fn pretend(lacks: Lacks) -> io::Result<()> {
    let mut program = vec![load(NUMBER)];
    let is_marker = |index| Test::equal(index, MADV_GUARD_INSTALL);
    program.extend(refuse(libc::SYS_madvise, &[is_marker(2)], libc::EINVAL));
    program.extend(refuse(libc::SYS_process_madvise, &[is_marker(3)], libc::EINVAL));
    if lacks == Lacks::MarkersAndMappings {
        let tests = [Test::equal(2, libc::PROT_NONE.cast_unsigned()), Test::at_least(1, GUARD_BYTES)];
        program.extend(refuse(libc::SYS_mprotect, &tests, libc::ENOMEM));
    }
    program.push(instruction(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW));
    let length = program.len().try_into().expect("a few instructions");
    let filter = libc::sock_fprog { len: length, filter: program.as_mut_ptr() };
    // SAFETY: the first takes numbers only; the second reads the program, which is there.
    let taken = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter) == 0
    };
    if taken { Ok(()) } else { Err(io::Error::last_os_error()) }
}

const MADV_GUARD_INSTALL: u32 = 102;

/// As much as a guard of a stack is. Whatever else is made inaccessible here is less.
const GUARD_BYTES: u32 = 64 << 10;

/// Where `seccomp_data` has the number of the call.
const NUMBER: u32 = 0;

/// What is asked of an argument: of its lower half, on machines that store that first.
struct Test {
    offset: u32,
    comparison: u32,
    value: u32,
}

impl Test {
    fn equal(argument: u32, value: u32) -> Test {
        Test { offset: 16 + 8 * argument, comparison: libc::BPF_JEQ, value }
    }

    fn at_least(argument: u32, value: u32) -> Test {
        Test { comparison: libc::BPF_JGE, ..Test::equal(argument, value) }
    }
}

/// A call fails if all tests of its arguments hold. Begins and ends with the number of the call loaded.
fn refuse(call: i64, tests: &[Test], errno: i32) -> Vec<libc::sock_filter> {
    // Two instructions for each test, and the one by which it fails.
    let body = 2 * tests.len() + 1;
    let number = u32::try_from(call).expect("the number of a call");
    let mut program = vec![skip_unless(libc::BPF_JEQ, number, body)];
    for (index, test) in tests.iter().enumerate() {
        program.push(load(test.offset));
        program.push(skip_unless(test.comparison, test.value, body - 2 * (index + 1)));
    }
    program.push(instruction(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO | errno.cast_unsigned()));
    program.push(load(NUMBER));
    program
}

fn load(offset: u32) -> libc::sock_filter {
    instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset)
}

/// Passes over so many instructions if the comparison of what is loaded with `value` fails.
fn skip_unless(comparison: u32, value: u32, instructions: usize) -> libc::sock_filter {
    let jf = instructions.try_into().expect("a short program");
    libc::sock_filter { jf, ..instruction(libc::BPF_JMP | comparison | libc::BPF_K, value) }
}

fn instruction(code: u32, k: u32) -> libc::sock_filter {
    libc::sock_filter { code: code.try_into().expect("a code of 16 bits"), jt: 0, jf: 0, k }
}
