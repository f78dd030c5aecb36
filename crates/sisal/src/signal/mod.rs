//! Signals that ask the process to end: SIGINT and SIGTERM cancel the nurseries that want it.
//!
//! - [`handler`]: what happens in signal context, and putting handlers in place.
//!
//! # Protocol
//! There is one [`CancelNode`] for all that listen, which their scopes follow. The first to listen puts the handlers in place, and the
//! last to leave puts back what was there before.
//!
//! 1. *The handler* does next to nothing: if its signal is *armed*, it disarms it and rings. If it is not, because one of its kind has come
//!    before, it does what was done with that signal before there was a handler.
//! 2. *The thread* `sisal-signal`, which is started once and sleeps between, hears that, takes the node away, and cancels it.
//! 3. *To listen* is to take a share in the node, or in a new one if there is none, and to arm both signals. So who begins to
//!    listen after a signal has come is not cancelled by it, and can be by the next.

mod handler;

use crate::fiber::cancel_node::CancelNode;
use crate::park::poke;
use crate::prim::cancel::Cause;
use handler::{Bell, Handlers};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

struct State {
    listeners: usize,
    /// What those follow who have begun to listen since the last signal.
    node: Option<Arc<CancelNode>>,
    handlers: Option<Handlers>,
    bell: Option<Bell>,
}

static STATE: Mutex<State> = Mutex::new(State { listeners: 0, node: None, handlers: None, bell: None });

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// While this lives, the process does not end on SIGINT and SIGTERM, but cancels the node.
pub(crate) struct Listening {
    node: Arc<CancelNode>,
}

/// Begins to listen.
///
/// # Panics
/// If the system has no thread or descriptor left for it.
pub(crate) fn listen() -> Listening {
    let mut state = state();
    let bell = *state.bell.get_or_insert_with(start_thread);
    let node = Arc::clone(state.node.get_or_insert_with(|| Arc::new(CancelNode::new(None))));
    handler::arm();
    state.handlers.get_or_insert_with(|| Handlers::install(bell));
    state.listeners += 1;
    Listening { node }
}

impl Listening {
    /// What is cancelled by the first signal.
    pub(crate) fn node(&self) -> &CancelNode {
        &self.node
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let mut state = state();
        state.listeners -= 1;
        if state.listeners == 0 {
            state.node = None;
            if let Some(handlers) = state.handlers.take() {
                handlers.remove();
            }
        }
    }
}

fn start_thread() -> Bell {
    let bell = Bell::new().unwrap_or_else(|error| panic!("sisal: can't listen to signals: {error}"));
    let started = thread::Builder::new().name("sisal-signal".to_owned()).spawn(move || answer(bell));
    drop(started.unwrap_or_else(|error| panic!("sisal: can't listen to signals: {error}")));
    bell
}

/// What the thread does.
fn answer(bell: Bell) {
    while bell.wait() {
        // In a statement of its own: the lock is free when the node is cancelled.
        let node = state().node.take();
        if let Some(node) = node {
            node.cancel(Cause::Signal, &poke);
        }
    }
}
