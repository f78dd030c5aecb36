//! Filters of system calls: of the calling thread's, which all threads that it starts from now on inherit, and nobody can take off. So they are for
//! children only.
#![allow(unsafe_code, reason = "the filter is passed to the kernel by pointer")]

use std::io;

/// What a test says that can't have a filter.
pub(crate) const NO_FILTERS: &str = "no filters of system calls";

/// What is to become of some calls. For each the first that is said counts; all others are made as ever.
pub(crate) struct Filter(Vec<libc::sock_filter>);

/// Where `seccomp_data` has the number of the call.
const NUMBER: u32 = 0;

/// What is asked of an argument: of its lower half, on machines that store that first.
pub(crate) struct Test {
    offset: u32,
    comparison: u32,
    value: u32,
}

impl Test {
    pub(crate) fn equal(argument: u32, value: u32) -> Test {
        Test { offset: 16 + 8 * argument, comparison: libc::BPF_JEQ, value }
    }

    pub(crate) fn at_least(argument: u32, value: u32) -> Test {
        Test { comparison: libc::BPF_JGE, ..Test::equal(argument, value) }
    }
}

impl Filter {
    pub(crate) fn new() -> Filter {
        Filter(vec![load(NUMBER)])
    }

    /// A call is made as ever if all tests of its arguments hold.
    pub(crate) fn allow(self, call: i64, tests: &[Test]) -> Filter {
        self.answer(call, tests, libc::SECCOMP_RET_ALLOW)
    }

    /// A call fails so if all tests of its arguments hold.
    pub(crate) fn refuse(self, call: i64, tests: &[Test], errno: i32) -> Filter {
        self.answer(call, tests, libc::SECCOMP_RET_ERRNO | errno.cast_unsigned())
    }

    /// A call is not made but raises `SIGSYS` if all tests of its arguments hold.
    pub(crate) fn trap(self, call: i64, tests: &[Test]) -> Filter {
        self.answer(call, tests, libc::SECCOMP_RET_TRAP)
    }

    /// Each part begins and ends with the number of the call loaded.
    fn answer(mut self, call: i64, tests: &[Test], answer: u32) -> Filter {
        // Two instructions for each test, and the one by which it ends.
        let body = 2 * tests.len() + 1;
        let number = u32::try_from(call).expect("the number of a call");
        self.0.push(skip_unless(libc::BPF_JEQ, number, body));
        for (index, test) in tests.iter().enumerate() {
            self.0.push(load(test.offset));
            self.0.push(skip_unless(test.comparison, test.value, body - 2 * (index + 1)));
        }
        self.0.push(instruction(libc::BPF_RET | libc::BPF_K, answer));
        self.0.push(load(NUMBER));
        self
    }

    /// From now on it holds, for this thread and those that it starts.
    ///
    /// # Errors
    /// If there are no such filters here.
    pub(crate) fn install(mut self) -> io::Result<()> {
        self.0.push(instruction(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW));
        let length = self.0.len().try_into().expect("a few instructions");
        let filter = libc::sock_fprog { len: length, filter: self.0.as_mut_ptr() };
        // SAFETY: the first takes numbers only; the second reads the program, which is there.
        let taken = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter) == 0
        };
        if taken { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
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
