//! The terminal on standard error.

use rustix::process::getpgrp;
use rustix::termios::{tcgetpgrp, tcgetwinsize};
use std::io::stderr;

/// What a terminal has that does not say.
const USUAL_COLUMNS: usize = 80;

/// One that can do no more than print lines.
pub(crate) fn is_dumb() -> bool {
    std::env::var_os("TERM").is_none_or(|terminal| terminal.is_empty() || terminal == "dumb")
}

/// How wide it is.
pub(crate) fn columns() -> usize {
    match tcgetwinsize(stderr()) {
        Ok(size) if size.ws_col > 0 => usize::from(size.ws_col),
        _ => USUAL_COLUMNS,
    }
}

/// Whether it is in use by others that the same shell has started. If it is not the one that we were started from, nobody shares it with us.
pub(crate) fn is_in_use_by_others() -> bool {
    tcgetpgrp(stderr()).is_ok_and(|foreground| foreground != getpgrp())
}
