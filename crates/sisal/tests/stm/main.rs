//! Transactional variables.

#[path = "../common/mod.rs"]
mod common;

mod basics;
mod wait;
