//! One setting: its names, where its value is found, and what is said when it can't be taken.
//!
//! The table of all settings is at the end. Which values contradict one another is the business of
//! [`super::resolve`].

use super::BuildError;
use super::env;
use crate::inspect::asked::Token;
use crate::sched::stillness::OnDeadlock;
use crate::signal::Signal;
use std::ffi::OsString;
use std::fmt::Debug;
use std::net::SocketAddr;
use std::ops::RangeBounds;
use std::path::PathBuf;
use std::time::Duration;

/// Answers for the name of an environment variable.
pub(super) type Environment<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// One setting.
pub(super) struct Setting<T: 'static> {
    /// Its setter on the builder.
    name: &'static str,
    /// Its variable in the environment.
    variable: &'static str,
    /// Reads its variable.
    parse: fn(&str) -> Option<T>,
    /// What it takes.
    expected: &'static str,
    /// What to do about a value that can't be taken.
    advice: &'static str,
}

/// A value somebody gave, and how they gave it.
pub(super) struct Found<T: 'static> {
    pub(super) value: T,
    given: String,
    setting: &'static Setting<T>,
}

impl<T: Debug> Setting<T> {
    /// What the builder holds, else what the environment holds.
    pub(super) fn find(
        &'static self,
        from_builder: Option<T>,
        env: Environment<'_>,
    ) -> Result<Option<Found<T>>, BuildError> {
        if let Some(value) = from_builder {
            let given = format!("{}({value:?})", self.name);
            return Ok(Some(self.found(value, given)));
        }
        let Some(raw) = env(self.variable) else {
            return Ok(None);
        };
        let given = format!("{}={}", self.variable, env::shown(&raw));
        match env::text(&raw).and_then(self.parse) {
            Some(value) => Ok(Some(self.found(value, given))),
            None => Err(self.refuse(given, self.expected)),
        }
    }

    fn found(&'static self, value: T, given: String) -> Found<T> {
        Found { value, given, setting: self }
    }

    #[cold]
    fn refuse(&self, given: String, expected: impl Into<String>) -> BuildError {
        BuildError::Setting { name: self.name, given, expected: expected.into(), advice: self.advice }
    }
}

impl<T: Debug> Found<T> {
    /// The same, but for errors that don't show what the variable holds: it is a secret. (A secret from the builder hides itself: its
    /// `Debug` shows none.)
    pub(super) fn unshown(mut self) -> Found<T> {
        if let Some(end) = self.given.find('=') {
            self.given.truncate(end);
        }
        self
    }

    /// The value, if it is one the setting always takes.
    pub(super) fn if_allowed(self, allowed: impl FnOnce(&T) -> bool) -> Result<T, BuildError> {
        if allowed(&self.value) { Ok(self.value) } else { Err(self.setting.refuse(self.given, self.setting.expected)) }
    }
}

impl Found<usize> {
    /// The value, if it is in a range that depends on other settings; `expected` describes it.
    pub(super) fn within(
        self,
        range: impl RangeBounds<usize>,
        expected: impl FnOnce() -> String,
    ) -> Result<usize, BuildError> {
        if range.contains(&self.value) { Ok(self.value) } else { Err(self.setting.refuse(self.given, expected())) }
    }
}

pub(super) static WORKERS: Setting<usize> = Setting {
    name: "workers",
    variable: "SISAL_WORKERS",
    parse: env::whole_number,
    expected: "a whole number from 1 to 1024",
    advice: "leave it out to use every CPU this process may use",
};

pub(super) static MAX_WORKERS: Setting<usize> = Setting {
    name: "max_workers",
    variable: "SISAL_MAX_WORKERS",
    parse: env::whole_number,
    expected: "a whole number from 1 to 1024",
    advice: "leave it out for twice as many as `workers`",
};

pub(super) static STACK_SIZE: Setting<usize> = Setting {
    name: "stack_size",
    variable: "SISAL_STACK_SIZE",
    parse: env::bytes,
    expected: "bytes, or a whole number with K or M, from 4K to 1024M",
    advice: "leave it out for 192K, and run what needs more in `sisal::stack::grow`",
};

pub(super) static MAX_FIBERS: Setting<usize> = Setting {
    name: "max_fibers",
    variable: "SISAL_MAX_FIBERS",
    parse: env::whole_number,
    expected: "a whole number, 2 or more",
    advice: "a fiber that spawns waits for a free place, and with only one it would wait for \
             itself; leave it out for no limit",
};

pub(super) static MAX_STACKS: Setting<usize> = Setting {
    name: "max_stacks",
    variable: "SISAL_MAX_STACKS",
    parse: env::whole_number,
    expected: "a whole number, 2 or more",
    advice: "each worker needs a stack to run its loop on, and one more is for a fiber that \
             waits; leave it out for no limit",
};

pub(super) static MAX_BLOCKING_THREADS: Setting<usize> = Setting {
    name: "max_blocking_threads",
    variable: "SISAL_MAX_BLOCKING_THREADS",
    parse: env::whole_number,
    expected: "a whole number, 1 or more",
    advice: "calls that block need a thread to run on; leave it out for 512",
};

pub(super) static NAME: Setting<String> = Setting {
    name: "name",
    variable: "SISAL_NAME",
    parse: |text| Some(text.to_owned()),
    expected: "text that isn't empty and has no NUL in it",
    advice: "leave it out for \"sisal\"",
};

pub(super) static VERBOSE: Setting<bool> = Setting {
    name: "verbose",
    variable: "SISAL_VERBOSE",
    parse: env::switch,
    expected: "0 or 1",
    advice: "leave it out for 0",
};

pub(super) static BLOCKED_AFTER: Setting<Duration> = Setting {
    name: "blocked_after",
    variable: "SISAL_BLOCKED_AFTER",
    parse: env::duration,
    expected: "seconds such as 1 or 0.5, or milliseconds such as 20ms",
    advice: "0 is for never; leave it out to be told after 100ms by a verbose runtime only",
};

pub(super) static STATS: Setting<bool> = Setting {
    name: "stats",
    variable: "SISAL_STATS",
    parse: env::switch,
    expected: "0 or 1",
    advice: "leave it out for 0",
};

pub(super) static DUMP_ON: Setting<Signal> = Setting {
    name: "dump_on_signal",
    variable: "SISAL_DUMP",
    parse: env::dump_on,
    expected: "quit, usr1 or usr2: the signal to print a dump at",
    advice: "leave it out for none",
};

pub(super) static ON_DEADLOCK: Setting<OnDeadlock> = Setting {
    name: "on_deadlock",
    variable: "SISAL_ON_DEADLOCK",
    parse: env::on_deadlock,
    expected: "exit, cancel, report or ignore",
    advice: "leave it out for exit",
};

pub(super) static TRACE: Setting<PathBuf> = Setting {
    name: "trace",
    variable: "SISAL_TRACE",
    parse: |text| Some(PathBuf::from(text)),
    expected: "the name of a file to write, such as trace.json",
    advice: "leave it out for no trace",
};

pub(super) static SHUTDOWN_TIMEOUT: Setting<Duration> = Setting {
    name: "shutdown_timeout",
    variable: "SISAL_SHUTDOWN_TIMEOUT",
    parse: env::duration,
    expected: "seconds such as 10 or 2.5, or milliseconds such as 500ms",
    advice: "leave it out for 10 seconds",
};

pub(super) static SERVE: Setting<SocketAddr> = Setting {
    name: "serve",
    variable: "SISAL_SERVE",
    parse: env::address,
    expected: "a loopback address with a port such as 127.0.0.1:6060, or any address if there is a token",
    advice: "set `SISAL_SERVE_TOKEN` for other addresses, or leave it out to serve nothing",
};

pub(super) static SERVE_TOKEN: Setting<Token> = Setting {
    name: "serve_token",
    variable: "SISAL_SERVE_TOKEN",
    parse: |text| Some(Token::new(text)),
    expected: "ASCII letters, digits and punctuation without blanks",
    advice: "leave it out for none",
};
