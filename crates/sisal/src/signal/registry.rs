//! Who listens to which signals, and the thread that tells them.
//!
//! # Protocol
//! There are two kinds of listeners. *Nurseries* follow one [`CancelNode`], which the first SIGINT or SIGTERM cancels. *Channels* get each
//! signal they asked for. The first to use a signal puts its handler in place, and the last puts back what was there before.
//!
//! 1. *The handler* does next to nothing. If nurseries listen and its signal is *armed*, that is now *fired*. If channels listen,
//!    it notes that its signal is pending. In both cases it rings. Else, or if one of its kind has come before and only nurseries
//!    listen, it does what was done with that signal before there was a handler.
//! 2. *The thread* `sisal-signal`, which is started once and sleeps between, hears that. It sends what is pending to the channels, takes the
//!    node away, and cancels it.
//! 3. *A nursery* that begins to listen takes a share in the node, or in a new one if there is none, and arms both signals. If one was
//!    fired, it does the thread's work first. So who begins to listen after a signal has come is not cancelled by it, and can be by the
//!    next. The last nursery to go disarms both.
//!
//! # A signal is in a channel once
//! Only the thread sends, so what is in a channel are the last of what it has sent, as many as the channel is long. If the signal is among
//! these, it need not be sent: it is received later, and that is after it came. So there is always room. What is to be sent is decided
//! under the lock, and sent when that is free, before the thread looks again.

use super::handler::{self, Bell, Handler};
use super::kind::Signal;
use crate::chan::{Receiver, Sender, bounded};
use crate::fiber::cancel_node::CancelNode;
use crate::park::poke;
use crate::prim::cancel::Cause;
use crate::prim::own_threads;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

struct State {
    bell: Option<Bell>,
    /// For each signal that is listened to, how many use its handler.
    handlers: BTreeMap<i32, (usize, Handler)>,
    /// What those nurseries follow that have begun to listen since the last signal.
    node: Option<Arc<CancelNode>>,
    /// How many nurseries listen.
    nurseries: usize,
    channels: Vec<Channel>,
    /// How many channels there have been: a number for the next.
    numbers: u64,
}

static STATE: Mutex<State> = Mutex::new(State {
    bell: None,
    handlers: BTreeMap::new(),
    node: None,
    nurseries: 0,
    channels: Vec::new(),
    numbers: 0,
});

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    fn bell(&mut self) -> io::Result<Bell> {
        let bell = match self.bell {
            Some(bell) => bell,
            None => start_thread()?,
        };
        self.bell = Some(bell);
        Ok(bell)
    }

    fn acquire(&mut self, signal: Signal, bell: Bell) {
        let (users, _) = self.handlers.entry(signal.as_raw()).or_insert_with(|| (0, Handler::install(signal, bell)));
        *users += 1;
    }

    fn release(&mut self, signal: Signal) {
        if let Some((users, _)) = self.handlers.get_mut(&signal.as_raw()) {
            *users -= 1;
            if *users == 0
                && let Some((_, handler)) = self.handlers.remove(&signal.as_raw())
            {
                handler.remove();
            }
        }
    }

    /// What there is to send, and what to cancel, since signals have come.
    fn take_due(&mut self) -> Due {
        let pending: Vec<Signal> = handler::take_pending().collect();
        let mut messages = Vec::new();
        for channel in &mut self.channels {
            messages.extend(channel.take_due(&pending).into_iter().map(|signal| (channel.sender.clone(), signal)));
        }
        Due { messages, node: if handler::take_cancellation() { self.node.take() } else { None } }
    }

    /// Tells the handlers to which signals channels listen.
    fn show_heard(&self) {
        for &signal in self.handlers.keys() {
            let signal = Signal::from_raw(signal);
            handler::set_heard(signal, self.channels.iter().any(|channel| channel.signals.contains(&signal)));
        }
    }
}

/// What there is to send, and what to cancel.
struct Due {
    messages: Vec<(Sender<Signal>, Signal)>,
    node: Option<Arc<CancelNode>>,
}

/// One who listens by a channel.
struct Channel {
    number: u64,
    signals: Vec<Signal>,
    sender: Sender<Signal>,
    /// What was sent last, as much as may be in the channel.
    sent: VecDeque<Signal>,
}

impl Channel {
    /// Which of `pending` have to be sent, and are from now on taken as sent.
    fn take_due(&mut self, pending: &[Signal]) -> Vec<Signal> {
        let received = self.sent.len().saturating_sub(self.sender.len());
        self.sent.drain(..received);
        let is_due = |signal: &Signal| self.signals.contains(signal) && !self.sent.contains(signal);
        let due: Vec<Signal> = pending.iter().copied().filter(is_due).collect();
        self.sent.extend(&due);
        due
    }
}

/// See [`listen`](super::listen).
pub(super) fn listen(signals: &[Signal]) -> io::Result<Receiver<Signal>> {
    signals.iter().try_for_each(|signal| signal.check())?;
    let mut signals = signals.to_vec();
    signals.sort_unstable();
    signals.dedup();
    if signals.is_empty() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no signals to listen to: name one at least"));
    }
    let (sender, receiver) = bounded(signals.len());
    receiver.comes_from_outside();
    let mut state = state();
    let bell = state.bell()?;
    for &signal in &signals {
        // Before there is a handler: one that finds nobody to tell would do what was done before. The thread waits for our lock.
        handler::set_heard(signal, true);
        state.acquire(signal, bell);
    }
    state.numbers += 1;
    let number = state.numbers;
    state.channels.push(Channel { number, signals, sender, sent: VecDeque::new() });
    drop(state);
    receiver.on_last_receiver(forget, number);
    Ok(receiver)
}

/// The last receiver of a channel has gone.
fn forget(number: u64) {
    let mut state = state();
    let Some(at) = state.channels.iter().position(|channel| channel.number == number) else { return };
    let channel = state.channels.swap_remove(at);
    state.show_heard();
    channel.signals.iter().for_each(|&signal| state.release(signal));
    // The lock is free when the sender goes.
    drop(state);
    drop(channel);
}

/// While this lives, the process does not end on SIGINT and SIGTERM, but cancels the node.
pub(crate) struct Listening {
    node: Arc<CancelNode>,
}

/// Begins to listen for a nursery.
///
/// # Panics
/// If the system has no thread or descriptor left for it.
pub(crate) fn cancelling() -> Listening {
    let mut state = state();
    let bell = state.bell().unwrap_or_else(|error| panic!("sisal: can't listen to signals: {error}"));
    // A signal that has come is for those who listened by then.
    let due = if handler::arm() { state.node.take() } else { None };
    let node = Arc::clone(state.node.get_or_insert_with(|| Arc::new(CancelNode::new(None))));
    handler::CANCELLING.iter().for_each(|&signal| state.acquire(signal, bell));
    state.nurseries += 1;
    drop(state);
    if let Some(due) = due {
        due.cancel(Cause::Signal, &poke);
    }
    Listening { node }
}

impl Listening {
    /// What is cancelled by the first signal.
    pub(crate) fn node(&self) -> &CancelNode {
        &self.node
    }
}

/// Whether a signal would cancel a nursery.
pub(crate) fn is_cancelling() -> bool {
    state().nurseries > 0
}

impl Drop for Listening {
    fn drop(&mut self) {
        let mut state = state();
        handler::CANCELLING.iter().for_each(|&signal| state.release(signal));
        state.nurseries -= 1;
        if state.nurseries == 0 {
            state.node = None;
            handler::disarm();
        }
    }
}

fn start_thread() -> io::Result<Bell> {
    let bell = Bell::new()?;
    match own_threads::spawn("sisal-signal", move || answer(bell)) {
        Ok(_) => Ok(bell),
        Err(error) => {
            bell.close();
            Err(error)
        }
    }
}

/// What the thread does.
fn answer(bell: Bell) {
    while bell.wait() {
        let Due { messages, node } = state().take_due();
        // The lock is free: what is woken by this may be somebody else's code, and listen or cease to.
        for (sender, signal) in messages {
            // If it is closed, nobody listens any more.
            let _ = sender.try_send(signal);
        }
        if let Some(node) = node {
            node.cancel(Cause::Signal, &poke);
        }
    }
}
