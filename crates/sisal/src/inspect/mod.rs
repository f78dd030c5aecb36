//! Looking at a runtime from outside: what it does, and what it has done.
//!
//! - [`json`]: writing JSON, for everything here that machines read.

#![allow(dead_code, reason = "the JSON writer has no user yet")]

pub(crate) mod json;
