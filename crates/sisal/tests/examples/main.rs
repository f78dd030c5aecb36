//! The examples, each as a user runs it: a process of its own, talked to over loopback sockets.

#[path = "../common/mod.rs"]
mod common;

mod arguments;
mod crawl;
mod http;
mod program;
mod servers;
