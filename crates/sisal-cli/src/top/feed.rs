//! The fiber that asks the process, one question at a time.

use crate::remote::snapshot::Fiber;
use crate::remote::{Failure, Remote, Snapshot};
use sisal::chan::{Receiver, Sender};

/// Stacks of all fibers would be too much for every look.
pub(super) const ALL: &str = "/debug/fibers.json?traces=0";
const ONE: &str = "/debug/fibers.json?id=";
const NOT_FOUND: u16 = 404;

/// What is asked: everything, and one fiber with its stack, if it is looked at.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) fiber: Option<u64>,
}

/// What came of it.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) all: Snapshot,
    /// The fiber that was asked for, and what is known of it, if it has not ended.
    pub(super) fiber: Option<(u64, Option<Fiber>)>,
}

/// Answers questions until nobody asks, or it is cancelled.
pub(super) fn run(remote: &Remote, questions: &Receiver<Question>, replies: &Sender<Result<Box<Reply>, Failure>>) {
    for question in questions {
        let reply = ask(remote, &question).map(Box::new);
        if sisal::check_cancelled().is_err() || replies.send(reply).is_err() {
            return;
        }
    }
}

fn ask(remote: &Remote, question: &Question) -> Result<Reply, Failure> {
    let all = remote.snapshot(ALL)?;
    let fiber = question.fiber.map(|id| Ok((id, one(remote, id)?))).transpose()?;
    Ok(Reply { all, fiber })
}

fn one(remote: &Remote, id: u64) -> Result<Option<Fiber>, Failure> {
    match remote.snapshot(&format!("{ONE}{id}")) {
        Ok(snapshot) => Ok(snapshot.fibers.into_iter().find(|fiber| fiber.id == id)),
        Err(Failure::Refused { status: NOT_FOUND, .. }) => Ok(None),
        Err(failure) => Err(failure),
    }
}
