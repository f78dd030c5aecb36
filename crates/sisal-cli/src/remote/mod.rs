//! Asking a process that serves (`sisal::inspect::serve`).
//!
//! | file | what it owns |
//! |---|---|
//! | [`arguments`] | what the command line says of the process; [`who`]: an address or a process number |
//! | [`entry`] | the file by which a process number leads to an address |
//! | [`token`] | what may be told nobody else |
//! | [`get`] | one request, from the name of the process to the body of the answer |
//! | [`http`] | the head of an answer; [`body`]: what follows it |
//! | [`failure`] | why there is no answer |
//! | [`snapshot`] | what the answer says; [`objects`]: of what is waited for; [`text`]: words that a terminal can be shown |
//! | [`wording`] | times, sizes and names for people |
//! | [`stdout`] | where the answer goes; [`runtime`]: what it is asked in |

mod arguments;
mod body;
mod entry;
mod failure;
mod get;
mod http;
pub(crate) mod objects;
pub(crate) mod runtime;
pub(crate) mod snapshot;
pub(crate) mod stdout;
pub(crate) mod text;
mod token;
mod who;
pub(crate) mod wording;

pub(crate) use arguments::{HOW_TO_SERVE, RemoteArguments};
pub(crate) use failure::Failure;
pub(crate) use get::{Answer, Remote};
pub(crate) use snapshot::Snapshot;
pub(crate) use text::{Text, clean};
