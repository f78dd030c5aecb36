//! The command line of `sisal top`.

use super::sort::{Key, Order};
use crate::remote::{HOW_TO_SERVE, Remote, RemoteArguments};
use clap::Args;
use std::time::Duration;

const SHORTEST: f64 = 0.1;
const LONGEST: f64 = 3600.0;

/// What was said on the command line.
#[derive(Args, Debug)]
#[command(
    about = "Watch the fibers of a running program",
    long_about = "Watch the fibers of a running program: what its workers run, how many fibers wait for what, and each of them with the place \
in the code, the time it has waited and its stack. Press ? for the keys. If the program goes away, its last state stays, and is \
updated when it comes back at the same address. If standard output is no terminal, one look is printed as plain text.",
    after_help = HOW_TO_SERVE
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    remote: RemoteArguments,

    /// How often to look, in seconds
    #[arg(short, long, value_name = "SECONDS", default_value = "1", value_parser = interval)]
    delay: Duration,

    /// Print one look as plain text, and end
    #[arg(long)]
    once: bool,

    /// Sort the fibers by this
    #[arg(short, long, value_enum, value_name = "KEY", default_value = "state")]
    sort: Key,

    /// Show only fibers that have all these words in them; !WORD shows those that don't
    #[arg(short, long, value_name = "WORDS", default_value = "")]
    filter: String,
}

/// What that means.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) interval: Duration,
    pub(super) once: bool,
    pub(super) order: Order,
    pub(super) filter: String,
}

impl Arguments {
    pub(super) fn settings(self) -> Result<(Remote, Settings), String> {
        let order = Order::by(self.sort);
        let settings = Settings { interval: self.delay, once: self.once, order, filter: self.filter };
        Ok((self.remote.remote()?, settings))
    }
}

fn interval(text: &str) -> Result<Duration, String> {
    match text.parse() {
        Ok(seconds) if (SHORTEST..=LONGEST).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err(format!("it is a number of seconds from {SHORTEST} to {LONGEST}")),
    }
}
