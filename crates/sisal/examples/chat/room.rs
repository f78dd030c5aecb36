//! Who is there, and what they hear.

use sisal::chan::{Receiver, Sender, bounded};
use sisal::sync::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How many news a guest may be behind.
const BEHIND: usize = 64;
/// The longest name.
const LONGEST: usize = 20;

/// A line that all hear.
pub(crate) type News = Arc<str>;

/// The guests, by their names.
#[derive(Debug)]
pub(crate) struct Room {
    guests: Mutex<BTreeMap<String, Sender<News>>>,
}

impl Room {
    pub(crate) fn new() -> Room {
        Room { guests: Mutex::new(BTreeMap::new()) }
    }

    /// Lets somebody in, unless the name is taken or is none.
    pub(crate) fn enter(&self, name: &str) -> Result<Guest<'_>, &'static str> {
        if name.is_empty() || name.len() > LONGEST || !name.chars().all(char::is_alphanumeric) {
            return Err("a name has 1 to 20 letters and digits");
        }
        let (sender, news) = bounded(BEHIND);
        let mut guests = self.guests.lock();
        if guests.contains_key(name) {
            return Err("this name is taken");
        }
        guests.insert(name.to_owned(), sender);
        drop(guests);
        let guest = Guest { room: self, name: name.to_owned(), news };
        guest.tell_others(format!("* {name} is here"));
        Ok(guest)
    }

    /// Everybody who is there.
    pub(crate) fn who(&self) -> String {
        let guests = self.guests.lock();
        let names: Vec<&str> = guests.keys().map(String::as_str).collect();
        format!("here are: {}", names.join(", "))
    }
}

/// Somebody who is there, as long as this is.
#[derive(Debug)]
pub(crate) struct Guest<'a> {
    room: &'a Room,
    name: String,
    news: Receiver<News>,
}

impl Guest<'_> {
    /// What others say. It ends if the guest is too far behind.
    pub(crate) fn news(&self) -> &Receiver<News> {
        &self.news
    }

    /// Says something to all others.
    pub(crate) fn say(&self, text: &str) {
        self.tell_others(format!("{}: {text}", self.name));
    }

    /// Waits for nobody: whose queue is full has to go. With its sender gone the queue is closed, but what is in it
    /// can still be heard.
    fn tell_others(&self, text: String) {
        let news = News::from(text);
        let mut guests = self.room.guests.lock();
        guests.retain(|name, guest| *name == self.name || guest.try_send(news.clone()).is_ok());
    }
}

impl Drop for Guest<'_> {
    fn drop(&mut self) {
        let mut guests = self.room.guests.lock();
        // The name may be somebody else's by now: of one who was shown the door, the queue is closed.
        if !self.news.is_closed() {
            guests.remove(&self.name);
        }
        drop(guests);
        self.tell_others(format!("* {} has left", self.name));
    }
}
