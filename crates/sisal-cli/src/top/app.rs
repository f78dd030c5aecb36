//! All that is shown, and what it is in the middle of.

use super::arguments::Settings;
use super::list::List;
use crate::remote::Snapshot;
use crate::remote::snapshot::Fiber;
use std::time::Duration;

/// What is shown.
#[derive(Debug)]
pub(super) struct App {
    /// Who is asked.
    pub(super) name: String,
    pub(super) snapshot: Snapshot,
    /// Why there was no newer one, if the last question had no answer.
    pub(super) gone: Option<String>,
    pub(super) paused: bool,
    pub(super) interval: Duration,
    pub(super) list: List,
    pub(super) view: View,
    pub(super) editing: Editing,
    /// Instead of the view.
    pub(super) help: bool,
    /// The first line that is seen of a page that may be longer than the terminal.
    pub(super) scroll: usize,
    /// How many lines of it are seen; known once it was drawn.
    pub(super) page: usize,
    /// What is known of the fiber that is looked at: the last that was heard of it, with its stack.
    pub(super) details: Details,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum View {
    List,
    /// One fiber.
    Fiber(u64),
    /// Who waits for whom.
    Graph,
}

/// Whether the filter is being typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Editing {
    No,
    /// With the filter that was there before.
    Filter(String),
}

/// What is known of one fiber.
#[derive(Debug)]
pub(super) enum Details {
    /// It was asked for.
    Awaited,
    Here(Box<Fiber>),
    /// It has ended; what was known of it last.
    Ended(Option<Box<Fiber>>),
}

impl App {
    pub(super) fn new(name: String, snapshot: Snapshot, settings: Settings) -> App {
        App {
            name,
            list: List::new(settings.order, settings.filter, &snapshot),
            snapshot,
            gone: None,
            paused: false,
            interval: settings.interval,
            view: View::List,
            editing: Editing::No,
            help: false,
            scroll: 0,
            page: 1,
            details: Details::Awaited,
        }
    }

    /// Takes what is new.
    pub(super) fn update(&mut self, snapshot: Snapshot) {
        self.snapshot = snapshot;
        self.gone = None;
        self.list.update(&self.snapshot);
    }

    /// Takes what is new of the fiber that is looked at; None if it has ended.
    pub(super) fn update_details(&mut self, id: u64, fiber: Option<Fiber>) {
        if self.view != View::Fiber(id) {
            return;
        }
        self.details = match (fiber, std::mem::replace(&mut self.details, Details::Awaited)) {
            (Some(fiber), _) => Details::Here(Box::new(fiber)),
            (None, Details::Here(last)) => Details::Ended(Some(last)),
            (None, Details::Awaited) => Details::Ended(self.snapshot.fiber(id).cloned().map(Box::new)),
            (None, ended @ Details::Ended(_)) => ended,
        };
    }

    /// Whether a fiber is looked at of which no answer has told yet.
    pub(super) fn lacks_details(&self) -> bool {
        matches!((self.view, &self.details), (View::Fiber(_), Details::Awaited)) && self.gone.is_none()
    }

    pub(super) fn resort(&mut self) {
        self.list.update(&self.snapshot);
    }

    /// Looks at something else, from its beginning.
    pub(super) fn show(&mut self, view: View) {
        self.view = view;
        self.scroll = 0;
        self.details = Details::Awaited;
    }
}
