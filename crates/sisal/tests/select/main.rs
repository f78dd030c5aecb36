//! Select, as a macro and as a builder: on fibers, on threads, and mixed.

#[path = "../common/mod.rs"]
mod common;

mod basics;
mod builder;
mod fairness;
mod meeting;
mod receivers;
mod syntax;
