//! What the command line says of the process that is asked.

use super::get::Remote;
use super::token::Token;
use super::who::Who;
use clap::Args;
use std::time::Duration;

/// Holds a token, so that none need stand on a command line, where all users see it.
const VARIABLE: &str = "SISAL_SERVE_TOKEN";

const SHORTEST: f64 = 0.1;
const LONGEST: f64 = 3600.0;

/// What `top`, `dump` and `trace` have in common.
#[derive(Args, Debug)]
pub(crate) struct RemoteArguments {
    /// Where the process serves: 127.0.0.1:PORT, :PORT, or http://HOST:PORT; or its PID
    #[arg(value_name = "ADDR|PID")]
    who: Who,

    /// The token that the process asks for; without this, the one in SISAL_SERVE_TOKEN
    #[arg(long, value_name = "TOKEN")]
    token: Option<Token>,

    /// How long an answer may take, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = timeout)]
    timeout: Duration,
}

fn timeout(text: &str) -> Result<Duration, String> {
    match text.parse() {
        Ok(seconds) if (SHORTEST..=LONGEST).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err(format!("it is a number of seconds from {SHORTEST} to {LONGEST}")),
    }
}

impl RemoteArguments {
    /// Who is asked, and with which token.
    ///
    /// # Errors
    /// A sentence, if the variable holds what can't be a token.
    pub(crate) fn remote(self) -> Result<Remote, String> {
        let fallback = match std::env::var_os(VARIABLE) {
            Some(text) if !text.is_empty() => {
                let token = text.to_str().ok_or("not UTF-8").and_then(|text| text.parse());
                Some(token.map_err(|reason| format!("{VARIABLE}: {reason}"))?)
            }
            _ => None,
        };
        Ok(Remote { who: self.who, token: self.token, fallback, timeout: self.timeout })
    }
}

/// At the end of each tool's help.
pub(crate) const HOW_TO_SERVE: &str =
    "A program serves when it runs with SISAL_SERVE=127.0.0.1:0 in its environment, or calls \
sisal::inspect::serve.

Exit code: 0 if all is well, 1 after an error, 2 if the command line makes no sense.";
