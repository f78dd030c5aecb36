//! Without a sanitizer there is nobody to tell of switches. See `sanitizer.rs`.

use crate::stack::Stack;

/// Nothing.
pub struct Left;

/// Does nothing.
#[inline(always)]
pub fn start(_stack: Option<Stack>, _coming_back: bool) -> Left {
    Left
}

/// Does nothing.
#[inline(always)]
pub fn finish(_left: Option<Left>) {}

/// Does nothing.
#[inline(always)]
pub fn start_return(_stack: Option<Stack>) {}

/// Does nothing.
#[inline(always)]
pub fn fresh(_stack: Stack) {}

/// Does nothing.
#[inline(always)]
pub fn close(_stack: Stack) {}

/// Does nothing.
#[inline(always)]
pub fn let_go(_stack: Stack) {}

/// Does nothing.
#[inline(always)]
pub fn take_up() {}
