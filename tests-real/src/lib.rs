//! What the tests with real programs share. Each file in `tests` is about one program or library that others wrote, and that
//! runs over our sockets unchanged.
//!
//! - [`program`] and [`folder_of`] find a program, or something in a folder, or say out loud that a test is skipped for want of it.
//! - [`Run`] is a program that runs to its end, [`Server`] one that is killed at the end of the test, whatever happens.
//! - [`Browser`] is a browser that a test drives.
//! - [`hammer`] puts a server under load.
//! - [`Folder`] is a temporary place for files.
//! - [`Listening`] is a server of ours: a fiber for each connection.

mod child;
mod folder;
mod hammer;
mod listening;
mod program;
mod run;
mod server;
mod webdriver;

pub use self::{
    folder::{Folder, Owner},
    hammer::hammer,
    listening::Listening,
    program::{Program, folder_of, program},
    run::{Ended, Run},
    server::{Server, free_port},
    webdriver::Browser,
};
