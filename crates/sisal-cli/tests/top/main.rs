//! What users of `sisal top`, `sisal dump` and `sisal trace` see: the program is run, against a server that says what it is told to, and
//! against processes with a real runtime.

mod answers;
mod dump;
mod finding;
mod once;
mod panics;
mod process;
#[path = "../common/program.rs"]
#[allow(dead_code, reason = "other tests need more of it")]
mod program;
mod real;
#[allow(dead_code, reason = "the tests of the drawing need more of it")]
mod samples;
mod served;
mod server;
mod terminal;
mod tmux;
mod trace;
mod wait;
