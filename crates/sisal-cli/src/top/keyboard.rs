//! What is typed, as messages of a channel.
//!
//! A plain thread waits for the terminal. It can't be woken, so it is not waited for: it ends with the process.

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
