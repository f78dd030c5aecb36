//! A kernel that does less: filters of system calls. For tests of this crate, which say where this stands: others that share the rest know no `libc`.
#![allow(dead_code, unreachable_pub, reason = "each test uses some of it")]

pub(crate) mod filter;
pub(crate) mod rings;
