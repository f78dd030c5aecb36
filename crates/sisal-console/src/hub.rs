//! Who watches, and what they are told.
//!
//! One look serves all clients. Each is told everything when it comes, and from then on what has changed. While nobody watches
//! nothing is looked at and nothing is remembered.
//!
//! The fibers whose details somebody watches keep their faces (see [`told`](crate::told)): tokio-console's view of a single task holds on to
//! the task as it was when it was opened, and would show nothing new of one that has been replaced.

use crate::feed::{Feed, Watcher, feed};
use crate::fibers::Fibers;
use crate::letter::{self, Letter, Tidings};
use crate::objects::Objects;
use crate::source::{Fiber, Look, Source, State as FiberState};
use crate::waits::Waits;
use crate::words::{self, Calendar};
use console_api::instrument::{State, Temporality, Update};
use console_api::tasks::TaskDetails;
use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

pub(crate) struct Hub {
    source: Box<dyn Source>,
    watchers: Vec<Watcher<Update>>,
    /// By fiber.
    of_details: HashMap<u64, Vec<Watcher<TaskDetails>>>,
    of_state: Vec<Watcher<State>>,
    is_paused: bool,
    known: Option<Known>,
}

/// What the clients know.
struct Known {
    calendar: Calendar,
    looked: Duration,
    fibers: Fibers,
    objects: Objects,
    waits: Waits,
}

impl Hub {
    pub(crate) fn new(source: Box<dyn Source>) -> Hub {
        Hub {
            source,
            watchers: Vec::new(),
            of_details: HashMap::new(),
            of_state: Vec::new(),
            is_paused: false,
            known: None,
        }
    }

    /// A new client, which is told everything.
    pub(crate) fn watch(&mut self) -> Feed<Update> {
        self.refresh();
        let (watcher, feed) = feed();
        if let Some(known) = &self.known
            && watcher.send(known.everything())
        {
            self.watchers.push(watcher);
        }
        feed
    }

    /// The details of a fiber, or none if there is no such fiber.
    pub(crate) fn watch_details(&mut self, id: u64) -> Option<Feed<TaskDetails>> {
        if self.known.is_none() {
            self.refresh();
        }
        let known = self.known.as_ref().filter(|known| known.fibers.has(id))?;
        let (watcher, feed) = feed();
        if watcher.send(known.details(id)) {
            self.of_details.entry(id).or_default().push(watcher);
        }
        Some(feed)
    }

    pub(crate) fn watch_state(&mut self) -> Feed<State> {
        let (watcher, feed) = feed();
        self.of_state.push(watcher);
        self.publish_state();
        feed
    }

    /// Pauses or goes on, for all clients.
    pub(crate) fn pause(&mut self, is_paused: bool) {
        self.is_paused = is_paused;
        self.publish_state();
    }

    /// Looks, and tells all clients what is new. Returns whether there are any.
    #[must_use]
    pub(crate) fn publish(&mut self) -> bool {
        let is_watched = self.forget_gone();
        if is_watched && !self.is_paused {
            self.look();
            self.publish_details();
        }
        is_watched
    }

    /// Has something to tell to a new client. A pause is not broken for it.
    fn refresh(&mut self) {
        let is_watched = self.forget_gone();
        if self.known.is_none() || (is_watched && !self.is_paused) {
            self.look();
        }
    }

    /// A source that panics is asked again the next time. It has reported that itself, and nothing new is known.
    fn look(&mut self) {
        let Ok(look) = catch_unwind(AssertUnwindSafe(|| self.source.look())) else { return };
        let held: HashSet<u64> = self.of_details.keys().copied().collect();
        let known = self.known.get_or_insert_with(|| Known::new(look.uptime));
        let letter = known.see(&look, &held);
        self.watchers.retain(|watcher| watcher.send(Arc::clone(&letter)));
    }

    fn publish_details(&mut self) {
        let Some(known) = &self.known else { return };
        self.of_details.retain(|id, watchers| {
            watchers.retain(|watcher| known.fibers.has(*id) && watcher.send(known.details(*id)));
            !watchers.is_empty()
        });
    }

    fn publish_state(&mut self) {
        let temporality = if self.is_paused { Temporality::Paused } else { Temporality::Live };
        let state: Arc<[State]> = Arc::new([State { temporality: temporality.into() }]);
        self.of_state.retain(|watcher| watcher.send(Arc::clone(&state)));
    }

    /// Returns whether somebody is left. With the last one goes all that they knew, and their pause.
    fn forget_gone(&mut self) -> bool {
        self.watchers.retain(Watcher::is_there);
        self.of_state.retain(Watcher::is_there);
        self.of_details.retain(|_, watchers| {
            watchers.retain(Watcher::is_there);
            !watchers.is_empty()
        });
        let is_watched = !self.watchers.is_empty() || !self.of_details.is_empty();
        if !is_watched {
            self.known = None;
            if self.is_paused {
                self.pause(false);
            }
        }
        is_watched
    }
}

impl Known {
    fn new(uptime: Duration) -> Known {
        Known {
            calendar: Calendar::new(uptime),
            looked: uptime,
            fibers: Fibers::default(),
            objects: Objects::default(),
            waits: Waits::default(),
        }
    }

    fn see(&mut self, look: &Look, held: &HashSet<u64>) -> Letter {
        self.looked = look.uptime;
        let fibers = self.fibers.see(look, self.calendar, held);
        let is_waiting = |fiber: &&Fiber| fiber.state == FiberState::Parked && fiber.object.is_some();
        let waiting = look.fibers.iter().filter(is_waiting).filter(|fiber| self.fibers.has(fiber.id));
        let waiting: Vec<&Fiber> = waiting.collect();
        let objects = self.objects.see(look, &waiting, self.calendar);
        let waits = self.waits.see(look, &waiting, self.calendar);
        letter::write(self.now(), Tidings { fibers, objects, waits }, false)
    }

    fn everything(&self) -> Letter {
        let (objects, waits) = (self.objects.everything(), self.waits.everything());
        letter::write(self.now(), Tidings { fibers: self.fibers.everything(), objects, waits }, true)
    }

    fn now(&self) -> SystemTime {
        self.calendar.at(self.looked)
    }

    /// Nobody measures single turns: there are no histograms.
    fn details(&self, id: u64) -> Arc<[TaskDetails]> {
        let now = Some(self.now().into());
        Arc::new([TaskDetails {
            task_id: words::id(id),
            now,
            poll_times_histogram: None,
            scheduled_times_histogram: None,
        }])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_core::Stream;
    use std::pin::Pin;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Poll, Waker};

    #[derive(Clone, Default)]
    struct Counted(Arc<AtomicUsize>);

    impl Source for Counted {
        fn look(&mut self) -> Look {
            self.0.fetch_add(1, Ordering::Relaxed);
            Look::default()
        }
    }

    #[test]
    fn nobody_looks_while_nobody_watches_and_nothing_is_kept() {
        let source = Counted::default();
        let looks = || source.0.load(Ordering::Relaxed);
        let mut hub = Hub::new(Box::new(source.clone()));
        assert!(!hub.publish());
        assert_eq!(looks(), 0);
        let feed = hub.watch();
        assert!(hub.publish());
        assert_eq!(looks(), 2);
        drop(feed);
        assert!(!hub.publish());
        assert_eq!((looks(), hub.known.is_some()), (2, false));
    }

    #[test]
    fn a_pause_holds_looks_back_and_ends_with_the_last_watcher() {
        let source = Counted::default();
        let looks = || source.0.load(Ordering::Relaxed);
        let mut hub = Hub::new(Box::new(source.clone()));
        let feed = hub.watch();
        hub.pause(true);
        assert!(hub.publish());
        let other = hub.watch();
        assert_eq!(looks(), 1);
        hub.pause(false);
        assert!(hub.publish());
        assert_eq!(looks(), 2);
        hub.pause(true);
        drop((feed, other));
        assert!(!hub.publish());
        assert!(!hub.is_paused);
    }

    #[test]
    fn a_source_that_panics_is_asked_again_and_loses_no_client() {
        struct Moody(usize);
        impl Source for Moody {
            fn look(&mut self) -> Look {
                self.0 += 1;
                assert!(self.0 % 2 == 1, "on purpose");
                Look::default()
            }
        }
        let mut hub = Hub::new(Box::new(Moody(0)));
        let mut feed = hub.watch();
        assert!(read(&mut feed).is_ready());
        assert!(hub.publish());
        assert!(read(&mut feed).is_pending(), "nothing was seen");
        assert!(hub.publish());
        assert!(read(&mut feed).is_ready());
    }

    fn read<T: Clone>(feed: &mut Feed<T>) -> Poll<Option<T>> {
        Pin::new(feed).poll_next(&mut Context::from_waker(Waker::noop())).map(|message| message.map(Result::unwrap))
    }

    #[test]
    fn a_client_that_does_not_read_keeps_no_other_waiting() {
        let mut hub = Hub::new(Box::new(Counted::default()));
        let (mut quick, mut slow) = (hub.watch(), hub.watch());
        for _ in 0..100 {
            while read(&mut quick).is_ready() {}
            assert!(hub.publish());
            assert!(matches!(read(&mut quick), Poll::Ready(Some(_))));
        }
        // It still gets what waited for it, and then an end.
        let waited = std::iter::from_fn(|| match read(&mut slow) {
            Poll::Ready(message) => message,
            Poll::Pending => panic!("it was not given up"),
        });
        assert!((1..100).contains(&waited.count()));
    }
}
