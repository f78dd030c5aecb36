//! What is typed, as messages of a channel.
//!
//! A plain thread waits for the terminal. It can't be woken, so it is not waited for: it ends with the process. While it waits it holds a lock
//! of crossterm, so nobody else may ask the terminal anything.
//!
//! It needs crossterm's feature `use-dev-tty`, by which it waits in `poll`. The other way is told of a key only once, and forgets it if a
//! change of size comes together with it.

use ratatui::crossterm::event::{self, Event};
use sisal::chan::{self, Receiver};
use std::{io, thread};

/// More than anybody types between two looks; beyond that the terminal keeps them.
const WAITING: usize = 64;

/// Begins to listen. The channel is closed when the terminal is gone.
pub(super) fn listen() -> io::Result<Receiver<Event>> {
    let (sender, receiver) = chan::bounded(WAITING);
    let wait = move || while event::read().is_ok_and(|event| sender.send(event).is_ok()) {};
    thread::Builder::new().name("keyboard".into()).spawn(wait)?;
    Ok(receiver)
}
