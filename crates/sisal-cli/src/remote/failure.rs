//! Why there is no answer, in one line each.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// No process has this number.
    NoProcess(u32),
    /// This process does not say where it serves.
    NotServing(u32),
    /// The file that should say where can't be trusted, or read.
    Entry { path: PathBuf, reason: String },
    /// Nobody listens there.
    Connect { to: String, reason: String },
    /// The connection broke.
    Broken { to: String, reason: String },
    /// There was no end to it within this time.
    Slow { to: String, limit: Duration },
    /// It did not answer by HTTP, or not to its end.
    NotHttp { to: String, reason: String },
    /// It answered by something else than success.
    Refused { to: String, status: u16, has_token: bool, said: String },
    /// The answer is not what was asked for.
    Content { to: String, reason: String },
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::NoProcess(process) => write!(f, "there is no process {process}"),
            Failure::NotServing(process) => write!(
                f,
                "process {process} does not serve: start it with SISAL_SERVE=127.0.0.1:0 in its environment, or let it call \
                 sisal::inspect::serve"
            ),
            Failure::Entry { path, reason } => write!(f, "{}: {reason}", path.display()),
            Failure::Connect { to, reason } => write!(f, "{to}: can't connect: {reason}"),
            Failure::Broken { to, reason } => write!(f, "{to}: connection lost: {reason}"),
            Failure::Slow { to, limit } => write!(f, "{to}: no complete answer within {} s", limit.as_secs_f64()),
            Failure::NotHttp { to, reason } => write!(f, "{to}: not an answer of sisal: {reason}"),
            Failure::Refused { to, status: 401, has_token: false, .. } => {
                write!(f, "{to}: a token is needed: --token TOKEN, or SISAL_SERVE_TOKEN in the environment")
            }
            Failure::Refused { to, status: 401, has_token: true, .. } => write!(f, "{to}: the token is wrong"),
            Failure::Refused { to, status, said, .. } => match said.as_str() {
                "" => write!(f, "{to}: answered with status {status}"),
                said => write!(f, "{to}: answered with status {status}: {said}"),
            },
            Failure::Content { to, reason } => write!(f, "{to}: not an answer of sisal: {reason}"),
        }
    }
}
