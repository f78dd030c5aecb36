//! `sisal dump`: every fiber of another process, printed once.

use crate::remote::runtime::{Trouble, run};
use crate::remote::{Answer, Failure, HOW_TO_SERVE, Remote, RemoteArguments, Snapshot, clean, stdout};
use clap::Args;
use std::process::ExitCode;
use std::time::Duration;

const PROGRAM: &str = "sisal dump";
const NOT_FOUND: u16 = 404;

/// What was said on the command line.
#[derive(Args, Debug)]
#[command(
    about = "Print every fiber of a running program",
    long_about = "Print every fiber of a running program: what it waits for, where, since when, and its stack. The program goes on meanwhile.",
    after_help = HOW_TO_SERVE
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    remote: RemoteArguments,

    /// Print JSON, for other programs
    #[arg(long)]
    json: bool,

    /// Print only the fiber of this number, and those it waits for in a cycle
    #[arg(long, value_name = "N")]
    id: Option<u64>,
}

/// The whole tool.
pub(crate) fn main(arguments: Arguments) -> ExitCode {
    run(PROGRAM, || {
        let remote = arguments.remote.remote().map_err(Trouble::Other)?;
        let output = if arguments.json { json(&remote, arguments.id) } else { text(&remote, arguments.id) };
        stdout::write_all(&output?)
    })
}

/// The text, fit for a terminal: names of fibers can hold anything.
fn text(remote: &Remote, id: Option<u64>) -> Result<Vec<u8>, Trouble> {
    if let Some(id) = id {
        // The text of a fiber that is not there is empty, but for what is said of them all.
        json(remote, Some(id))?;
    }
    let answer = get(remote, "/debug/fibers", id)?;
    if answer.content_type.as_deref().is_some_and(|kind| kind != "text/plain") {
        return Err(answer.unlike("it is not plain text").into());
    }
    let Ok(text) = std::str::from_utf8(&answer.body) else {
        return Err(answer.unlike("it is not UTF-8").into());
    };
    Ok(fit_for_a_terminal(text).into_bytes())
}

/// The same text, in which only line ends and tabs are left of what a terminal acts on.
fn fit_for_a_terminal(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 1);
    for line in text.lines() {
        let mut cells = line.split('\t');
        out += &clean(cells.next().unwrap_or_default());
        for cell in cells {
            out.push('\t');
            out += &clean(cell);
        }
        out.push('\n');
    }
    out
}

fn json(remote: &Remote, id: Option<u64>) -> Result<Vec<u8>, Trouble> {
    let mut answer = get(remote, "/debug/fibers.json", id)?;
    let snapshot = Snapshot::parse(&answer.body).map_err(|reason| answer.unlike(reason))?;
    match id {
        Some(id) if snapshot.fiber(id).is_none() => Err(no_fiber(id)),
        _ => {
            if answer.body.last() != Some(&b'\n') {
                answer.body.push(b'\n');
            }
            Ok(answer.body)
        }
    }
}

fn get(remote: &Remote, path: &str, id: Option<u64>) -> Result<Answer, Trouble> {
    let Some(id) = id else { return Ok(remote.get(path, Duration::ZERO)?) };
    remote.get(&format!("{path}?id={id}"), Duration::ZERO).map_err(|failure| match failure {
        Failure::Refused { status: NOT_FOUND, .. } => no_fiber(id),
        failure => failure.into(),
    })
}

fn no_fiber(id: u64) -> Trouble {
    Trouble::Other(format!("there is no fiber {id}"))
}
