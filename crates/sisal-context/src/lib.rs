//! The switch and the stacks of the sisal fiber runtime: all of its assembly, all of its
//! memory mapping, and nothing else.
//!
//! This crate knows no fiber and no scheduler. It is an implementation detail of sisal with an interface that may
//! change with any release.
//!
//! - [`stack`]: where stacks come from, what guards them, how their memory goes back.
//! - [`fault`]: telling a stack overflow from any other fault.
//! - [`switch`]: leave one stack and go on on another.

pub mod fault;
pub mod stack;
pub mod switch;
