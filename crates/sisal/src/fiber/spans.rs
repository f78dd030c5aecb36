//! The `tracing` spans that a fiber is inside of, which subscribers keep for each thread: a fiber takes its own with it when it leaves.
//!
//! A fiber that waits or gives way first [leaves](leave) the spans that it has entered, the innermost first, as the subscriber tells, and
//! [enters](Left::enter_again) them again when it goes on. So whoever runs meanwhile is inside of none, and needs to know nothing of it. What
//! runs in a fiber of its own, or on a thread for it, starts in the span in which that was [asked for](Origin).
//!
//! Subscribers are foreign code that is called in the middle of a wait: the fiber can't wait there once more, so they are called in the name of
//! no fiber; and it must not unwind from there, so each of its panics is caught where it happens, and the other spans are left and
//! entered all the same.
//!
//! Only the default subscriber's spans are kept, and those only if it knows the current one, as all over the registry of
//! `tracing-subscriber` do. A subscriber set for a thread by `with_default` stays with the thread.

use super::current;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tracing::dispatcher::{self, Dispatch};
use tracing::span::{Entered, Id, Span};

/// So many spans can be left without an allocation.
const FEW: usize = 4;

/// More than anybody enters: a subscriber that still names a current span was asked in vain to leave it.
const MOST: usize = 1 << 16;

/// The spans that a fiber was inside of when it left.
#[must_use = "what was left is to be entered again"]
pub(crate) struct Left(Option<Spans>);

struct Spans {
    dispatch: Dispatch,
    /// The innermost, and then further outwards. We hold each, so that it is still there later.
    few: [Option<Id>; FEW],
    more: Vec<Id>,
}

/// Leaves all spans.
#[inline]
pub(crate) fn leave() -> Left {
    Left(if dispatcher::has_been_set() { as_nobody(leave_all).flatten() } else { None })
}

impl Left {
    /// Enters the spans again.
    #[inline]
    pub(crate) fn enter_again(self) {
        if let Some(spans) = self.0 {
            as_nobody(|| spans.enter_again());
        }
    }

    /// Nobody will enter them any more.
    fn forget(self) {
        if let Some(spans) = self.0 {
            as_nobody(|| spans.forget());
        }
    }
}

/// Calls a subscriber; none if it has panicked.
fn as_nobody<R>(f: impl FnOnce() -> R) -> Option<R> {
    current::with(|current| current.as_nobody(|| caught(f)))
}

/// One of several calls of a subscriber, the rest of which are to come even if this one panics; none if it did.
fn caught<R>(f: impl FnOnce() -> R) -> Option<R> {
    // What it has panicked with may do so again when it is dropped.
    catch_unwind(AssertUnwindSafe(f)).map_err(std::mem::forget).ok()
}

fn current_span(dispatch: &Dispatch) -> Option<Id> {
    dispatch.current_span().into_inner().map(|(id, _)| id)
}

fn leave_all() -> Option<Spans> {
    // A subscriber asks for the default itself when a span is left, and finds none while somebody looks at it.
    let (dispatch, innermost) =
        dispatcher::get_default(|dispatch| current_span(dispatch).map(|id| (dispatch.clone(), id)))?;
    let mut spans = Spans { dispatch, few: [const { None }; FEW], more: Vec::new() };
    let mut next = Some(innermost);
    for place in 0..MOST {
        let Some(id) = next else { break };
        spans.keep(place, &id);
        let is_left = caught(|| spans.dispatch.exit(&id)).is_some();
        next = caught(|| current_span(&spans.dispatch)).flatten();
        if !is_left && next.as_ref() == Some(&id) {
            // It would panic again, and again.
            break;
        }
    }
    Some(spans)
}

impl Spans {
    fn keep(&mut self, place: usize, id: &Id) {
        let Some(kept) = caught(|| self.dispatch.clone_span(id)) else { return };
        match self.few.get_mut(place) {
            Some(free) => *free = Some(kept),
            None => self.more.push(kept),
        }
    }

    fn enter_again(self) {
        for id in self.more.into_iter().rev().chain(self.few.into_iter().rev().flatten()) {
            caught(|| self.dispatch.enter(&id));
            caught(|| self.dispatch.try_close(id));
        }
    }

    fn forget(self) {
        for id in self.few.into_iter().flatten().chain(self.more) {
            caught(|| self.dispatch.try_close(id));
        }
    }
}

/// The span in which somebody has asked for something to be run elsewhere.
pub(crate) struct Origin(Span);

impl Origin {
    /// The span that the caller is inside of.
    #[inline]
    pub(crate) fn here() -> Origin {
        Origin(if dispatcher::has_been_set() { Span::current() } else { Span::none() })
    }

    /// Calls `f`, with which something begins here, inside the span.
    #[inline]
    pub(crate) fn call<R>(&self, f: impl FnOnce() -> R) -> R {
        let _clean = Clean;
        let _inside = Inside(caught(|| self.0.enter()));
        f()
    }
}

/// Leaves its span when it goes, whatever the subscriber does: what was called may be what somebody waits for.
struct Inside<'a>(Option<Entered<'a>>);

impl Drop for Inside<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(entered) = self.0.take() {
            caught(|| drop(entered));
        }
    }
}

/// What begins in no span ends in none: one whose guard was forgotten, or kept, is not the next fiber's.
struct Clean;

impl Drop for Clean {
    fn drop(&mut self) {
        leave().forget();
    }
}
