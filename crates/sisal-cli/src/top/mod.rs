//! `sisal top`: what the fibers of another process do, as it changes.
//!
//! | file | what it owns |
//! |---|---|
//! | [`arguments`] | the command line |
//! | [`live`] | the loop on a terminal: keys, answers, signals, time |
//! | [`screen`] | the terminal, taken and given back; [`keyboard`]: what is typed there |
//! | [`feed`] | the fiber that asks the process |
//! | [`app`] | what is shown; [`list`]: the fibers among that; [`keys`]: what a key changes |
//! | [`sort`], [`filter`] | in which order, and which of them; [`columns`]: what of each |
//! | [`waiters`] | who waits for what |
//! | [`draw`] | from that to the cells of a terminal; [`palette`]: how they look |
//! | [`plain`] | the same as plain text, once |
//!
//! # Two fibers and a thread
//! The main fiber owns all that is shown. It waits for the first of: a key, an answer, a signal, the time to ask again. It never waits for the
//! network: the feed does, one request at a time. Keys come from a plain thread, which waits for the terminal.
//!
//! # When the process goes away
//! Its last state stays, under a line that says so, and it is asked on: at the same address it may come back.

mod app;
mod arguments;
mod columns;
mod draw;
mod feed;
mod filter;
mod keyboard;
mod keys;
mod list;
mod live;
mod palette;
mod plain;
mod screen;
mod sort;
#[cfg(test)]
mod tests;
mod waiters;

pub(crate) use arguments::Arguments;

use crate::remote::runtime::{run, say};
use crate::remote::stdout;
use crate::terminal;
use app::App;
use std::io::IsTerminal;
use std::process::ExitCode;

const PROGRAM: &str = "sisal top";

/// The whole tool.
pub(crate) fn main(arguments: Arguments) -> ExitCode {
    let (remote, settings) = match arguments.settings() {
        Ok(settings) => settings,
        Err(reason) => {
            say(PROGRAM, reason);
            return ExitCode::FAILURE;
        }
    };
    run(PROGRAM, move || {
        // Before anything is shown: who can't be asked at all is told as every other error.
        let first = remote.snapshot(feed::ALL)?;
        let shows_once = settings.once || !std::io::stdout().is_terminal() || terminal::is_dumb();
        let app = App::new(remote.name(), first, settings);
        if shows_once { stdout::write_all(plain::frame(&app).as_bytes()) } else { live::run(remote, app) }
    })
}
