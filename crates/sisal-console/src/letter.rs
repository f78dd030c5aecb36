//! Messages, none of which is longer than tokio-console takes.

use crate::fibers::{FiberNews, FibersNews};
use crate::objects::ObjectNews;
use crate::waits::WaitNews;
use crate::words::Kind;
use console_api::instrument::Update;
use prost::Message;
use std::sync::Arc;
use std::time::SystemTime;

/// tonic takes 4 MiB, unless told otherwise. A single thing is far from being as long as what is left.
const LENGTH: usize = 2 << 20;

/// All news of one look, to be sent together.
pub(crate) type Letter = Arc<[Update]>;

/// What one look has brought.
#[derive(Default)]
pub(crate) struct Tidings {
    pub(crate) fibers: FibersNews,
    pub(crate) objects: Vec<ObjectNews>,
    pub(crate) waits: Vec<WaitNews>,
}

/// Puts news into messages. A client that knows nothing needs to be told the metadata too.
pub(crate) fn write(now: SystemTime, tidings: Tidings, is_first: bool) -> Letter {
    let Tidings { fibers, objects, waits } = tidings;
    let mut pages = Pages { now, done: Vec::new(), page: empty(now), length: 0 };
    pages.page.new_metadata = is_first.then(Kind::all);
    pages.page.task_update.get_or_insert_default().dropped_events = fibers.left_out;
    fibers.fibers.into_iter().for_each(|news| pages.add_fiber(news));
    objects.into_iter().for_each(|news| pages.add_object(news));
    waits.into_iter().for_each(|news| pages.add_wait(news));
    pages.done.push(pages.page);
    pages.done.into()
}

struct Pages {
    now: SystemTime,
    done: Vec<Update>,
    page: Update,
    length: usize,
}

fn empty(now: SystemTime) -> Update {
    Update {
        now: Some(now.into()),
        task_update: Some(Default::default()),
        resource_update: Some(Default::default()),
        async_op_update: Some(Default::default()),
        new_metadata: None,
    }
}

impl Pages {
    /// Makes room for a thing, whose face and figures have to stand on one page.
    fn make_room(&mut self, length: usize) {
        if self.length + length > LENGTH {
            self.done.push(std::mem::replace(&mut self.page, empty(self.now)));
            self.length = 0;
        }
        self.length += length;
    }

    fn add_fiber(&mut self, news: FiberNews) {
        self.make_room(length(&news.face, &news.figures));
        let update = self.page.task_update.get_or_insert_default();
        update.new_tasks.extend(news.face);
        update.stats_update.insert(news.id, news.figures);
    }

    fn add_object(&mut self, news: ObjectNews) {
        self.make_room(length(&news.face, &news.figures));
        let update = self.page.resource_update.get_or_insert_default();
        update.new_resources.extend(news.face);
        update.stats_update.insert(news.id, news.figures);
    }

    fn add_wait(&mut self, news: WaitNews) {
        self.make_room(length(&news.face, &news.figures));
        let update = self.page.async_op_update.get_or_insert_default();
        update.new_async_ops.extend(news.face);
        update.stats_update.insert(news.id, news.figures);
    }
}

/// The length with what stands around both: tags, lengths and the number.
fn length(face: &Option<impl Message>, figures: &impl Message) -> usize {
    const AROUND: usize = 32;
    face.as_ref().map_or(0, Message::encoded_len) + figures.encoded_len() + AROUND
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fibers::{Fibers, MOST};
    use crate::source::{Fiber, Look, State};
    use crate::words::Calendar;
    use std::collections::HashSet;
    use std::time::Duration;

    #[test]
    fn no_message_is_too_long_and_none_of_the_news_is_lost() {
        let mut look = Look::default();
        for id in 0..MOST as u64 {
            let mut fiber = Fiber::new(id, State::Parked, "here");
            fiber.name = Some("a name of some length ".repeat(40));
            look.fibers.push(fiber);
        }
        let fibers = Fibers::default().see(&look, Calendar::new(Duration::ZERO), &HashSet::new());
        let letter = write(SystemTime::now(), Tidings { fibers, ..Tidings::default() }, true);
        assert!(letter.len() > 1);
        let mut told = HashSet::new();
        for (page, update) in letter.iter().enumerate() {
            assert!(update.encoded_len() <= LENGTH + 1024);
            assert_eq!(update.new_metadata.is_some(), page == 0);
            let tasks = update.task_update.as_ref().unwrap();
            for task in &tasks.new_tasks {
                let id = task.id.unwrap().id;
                assert!(tasks.stats_update.contains_key(&id));
                assert!(told.insert(id));
            }
        }
        assert_eq!(told.len(), MOST);
    }
}
