//! One stream: what is to be written, who writes it, and who waits for that.
//!
//! # Protocol
//! What a call prints is a *text*: formatted by the caller, then moved to the queue as a whole. Nobody else cuts or joins texts but
//! whoever writes.
//!
//! Texts are taken from the queue and written under the *sink's lock*, in their order, so that is the order in which they come out. The
//! stream's own lock is held for a few instructions, never while something is written.
//!
//! *Print*, under the stream's lock:
//! 1. If there is no room, or others wait for room, wait in line. Whoever makes room puts the text into the queue; then
//!    the call is done.
//! 2. Else put the text into the queue. If the stream is *attended*, the call is done: somebody will look at the queue after this. If not,
//!    it is now, by us: *pump*.
//!
//! *Pump*, under the sink's lock:
//! 1. Under the stream's lock: take what an earlier pump has not finished, or else the whole queue. If there is neither,
//!    the stream is unattended, and we are done.
//! 2. Let in those who wait for room.
//! 3. Write. Whoever must not block asks before each piece whether the descriptor takes it, unless it is a file, and of a terminal
//!    knows that it can't say. If it does not, or when enough was written for others, put the rest back and call the [writer](super::writer), a thread that may block, to pump. The stream stays attended.
//! 4. Wake those who wait for what was written. Go on with 1.
//!
//! Why nothing is left lying: a stream is made attended by whoever pumps after that, and made unattended only under the stream's lock, with
//! an empty queue. (Several may be about to pump; then all but one find nothing.) Why texts stay whole: a rest goes before all
//! else, whoever comes to write it.
//!
//! *Flush*, in a fiber: if the stream is unattended, all is written. Else wait. Who waits when the queue is taken wakes when that is
//! written; who comes later waits for the next. In a thread, which may block: pump. The same when the process
//! exits: it need not wait for the writer, which may be waiting for a lock that the exiting thread holds.
//!
//! *Error*: the queue is dropped, everybody wakes, and texts are dropped until a flush takes the error.
//!
//! None of these waits can be cancelled: they end when others have read what was written.
#![allow(unsafe_code, reason = "waiters are linked to the stream, and texts handed over by pointer")]

use super::exit;
use super::sink::{self, Sink, Waits};
use super::writer::Writer;
use crate::fiber::in_fiber;
use crate::fiber::wait_list::{ClaimedAll, WaitList};
use crate::fiber::waiter::{ClaimToken, Wait, Waiter, Woken};
use crate::fiber::who::Who;
use crate::park::{self, Waiting, pay_fuel};
use crate::prim::lock::Lock;
use crate::prim::object::{Object, Sight, Watched};
use crate::prim::reason::{Place, Reason};
use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::io::{self, Write};
use std::mem;
use std::sync::OnceLock;

/// How much may wait to be written before who prints waits too. More than this is there only if one text is longer.
pub(super) const ROOM: usize = 64 << 10;

/// How much somebody who must not be kept for long writes before it leaves the rest to the writer.
const SHIFT: usize = 64 << 10;

type Text = Vec<u8>;

/// See the [module](self).
pub(super) struct Stream<S> {
    sink: S,
    writer: Writer,
    /// For whom a write waits, as it was at the first. (Should the descriptor have become something else since, whoever writes may be
    /// kept, or asks in vain.)
    waits: OnceLock<Waits>,
    inner: Lock<Inner>,
}

struct Inner {
    queue: VecDeque<Text>,
    /// How many bytes there are in the queue.
    queued: usize,
    /// What was taken from the queue and is not written.
    rest: Text,
    /// INVARIANT: if there is a queue or a rest, somebody will pump.
    attended: bool,
    for_room: WaitList<Who>,
    /// Who waits for what has been taken from the queue; who waits for more.
    for_taken: WaitList<Who>,
    for_queued: WaitList<Who>,
    error: Option<io::Error>,
}

/// What becomes of a text.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Fate {
    /// It is in the queue, and somebody will write it.
    Queued,
    /// It is in the queue, and the caller has to pump.
    Attend,
    /// It was not taken.
    NoRoom,
    /// It was not taken: nothing can be written.
    Lost,
}

/// Whether whoever pumps may be kept for long.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Patience {
    Short,
    Unlimited,
}

/// How a pump ended.
#[derive(PartialEq, Eq)]
#[must_use]
enum Pumped {
    All,
    /// There is more, and the stream is attended.
    Part,
}

impl<S: Sink> Stream<S> {
    pub(super) const fn new(sink: S) -> Stream<S> {
        let inner = Inner {
            queue: VecDeque::new(),
            queued: 0,
            rest: Vec::new(),
            attended: false,
            for_room: WaitList::new(),
            for_taken: WaitList::new(),
            for_queued: WaitList::new(),
            error: None,
        };
        Stream { sink, writer: Writer::new(), waits: OnceLock::new(), inner: Lock::new(inner) }
    }

    /// Writes `text`, now or soon.
    pub(super) fn print(&'static self, mut text: Text, place: Place) {
        exit::watch();
        if exit::is_forked() {
            return sink::write_unlocked(self.sink.descriptor(), &text);
        }
        let fate = self.inner.lock().admit(&mut text);
        match fate {
            Fate::Queued | Fate::Lost => {}
            Fate::Attend => self.attend(),
            Fate::NoRoom => return self.wait_for_room(text, place),
        }
        pay_fuel(place);
    }

    #[cold]
    fn wait_for_room(&'static self, text: Text, place: Place) {
        let text = UnsafeCell::new(text);
        let wait = Wait::new(park::me());
        let waiter = Waiter::new(&wait, 0);
        waiter.set_slot(text.get().cast());
        let fate = {
            let mut inner = self.inner.lock();
            // SAFETY: it is ours alone until the waiter is linked.
            let fate = inner.admit(unsafe { &mut *text.get() });
            if fate == Fate::NoRoom {
                // SAFETY: it stays in this frame until it was claimed and unparked.
                unsafe { inner.for_room.push(&waiter) };
            }
            fate
        };
        match fate {
            Fate::Queued | Fate::Lost => {}
            Fate::Attend => self.attend(),
            Fate::NoRoom => self.park(&wait, place),
        }
    }

    fn park(&self, wait: &Wait<Who>, place: Place) {
        let object = Object::of(self);
        let waiting = Waiting { reason: Reason::Output, object, place, deadline: None, cancellable: false };
        let woken = park::park(wait, &waiting);
        debug_assert_eq!(woken, Woken::Object(0), "INVARIANT: nothing but the stream ends this wait");
    }

    /// We have made the stream attended.
    fn attend(&'static self) {
        let patience = if exit::is_exiting() { Patience::Unlimited } else { Patience::Short };
        if self.pump(patience) == Pumped::Part && !self.writer.call(S::THREAD, || self.write_out()) {
            self.write_out();
        }
    }

    /// Writes all there is, blocking if it must.
    pub(super) fn write_out(&self) {
        let attended = !exit::is_forked() && self.inner.lock().attended;
        if attended {
            let pumped = self.pump(Patience::Unlimited);
            debug_assert!(pumped == Pumped::All, "INVARIANT: whoever has the patience writes all");
        }
    }

    /// Waits until all that was printed before is written, or lost.
    pub(super) fn settle(&self, place: Place) {
        if !in_fiber() {
            self.write_out();
        } else if !exit::is_forked() {
            self.wait_until_written(place);
        }
    }

    /// The error, if there was one since this was last called.
    pub(super) fn take_error(&self) -> Option<io::Error> {
        if exit::is_forked() { None } else { self.inner.lock().error.take() }
    }

    fn wait_until_written(&self, place: Place) {
        let wait = Wait::new(park::me());
        let waiter = Waiter::new(&wait, 0);
        {
            let mut inner = self.inner.lock();
            if !inner.attended {
                return;
            }
            // SAFETY: it stays in this frame until it was claimed and unparked.
            unsafe { inner.for_queued.push(&waiter) };
        }
        self.park(&wait, place);
    }

    fn pump(&self, patience: Patience) -> Pumped {
        self.sink.locked(|out| {
            let mut texts = VecDeque::new();
            let mut written = 0;
            while let Some(text) = self.take(&mut texts) {
                match self.write(out, &text, patience) {
                    Ok(length) if length < text.len() => {
                        self.inner.lock().rest = text[length..].to_vec();
                        return Pumped::Part;
                    }
                    Ok(length) => {
                        written += length;
                        self.unpark_all(|inner| [inner.for_taken.claim_all()]);
                    }
                    Err(error) => self.fail(error),
                }
                if patience == Patience::Short && written >= SHIFT && !self.inner.lock().queue.is_empty() {
                    return Pumped::Part;
                }
            }
            Pumped::All
        })
    }

    fn write(&self, out: &mut dyn Write, text: &[u8], patience: Patience) -> io::Result<usize> {
        let descriptor = self.sink.descriptor();
        match self.waits.get_or_init(|| sink::waits(descriptor)) {
            Waits::ForRoom if patience == Patience::Short => sink::write_some(out, descriptor, text),
            Waits::ForAll if patience == Patience::Short => Ok(0),
            _ => sink::write_all(out, descriptor, text).map(|()| text.len()),
        }
    }

    /// Takes what is to be written next; if there is nothing, the stream is unattended. `texts` is empty, before and after.
    fn take(&self, texts: &mut VecDeque<Text>) -> Option<Text> {
        {
            let mut inner = self.inner.lock();
            if !inner.rest.is_empty() {
                return Some(mem::take(&mut inner.rest));
            }
            inner.queued = 0;
            inner.attended = !inner.queue.is_empty();
            mem::swap(&mut inner.queue, texts);
            let Inner { for_taken, for_queued, .. } = &mut *inner;
            debug_assert!(for_taken.is_empty(), "INVARIANT: they woke when it was written");
            mem::swap(for_taken, for_queued);
        }
        if texts.is_empty() {
            self.unpark_all(|inner| [inner.for_taken.claim_all()]);
            return None;
        }
        while let Some(token) = self.let_in() {
            park::unpark(token);
        }
        Some(join(texts))
    }

    fn let_in(&self) -> Option<ClaimToken<Who>> {
        self.inner.lock().let_in()
    }

    /// Drops all that is to be written, from now on too.
    #[cold]
    fn fail(&self, error: io::Error) {
        let (_queue, _error) = {
            let mut inner = self.inner.lock();
            inner.queued = 0;
            (mem::take(&mut inner.queue), inner.error.replace(error))
        };
        self.unpark_all(|inner| {
            [inner.for_room.claim_all(), inner.for_taken.claim_all(), inner.for_queued.claim_all()]
        });
    }

    fn unpark_all<const N: usize>(&self, claim: impl FnOnce(&mut Inner) -> [ClaimedAll<Who>; N]) {
        let claimed = claim(&mut self.inner.lock());
        claimed.into_iter().flatten().for_each(park::unpark);
    }
}

impl<S> Watched for Stream<S> {
    fn sight(&self) -> Sight {
        Sight { is_outside: true, ..Sight::new("output") }
    }
}

impl Inner {
    fn admit(&mut self, text: &mut Text) -> Fate {
        if self.error.is_some() {
            return Fate::Lost;
        }
        let has_room = self.queued == 0 || self.queued + text.len() <= ROOM;
        if !has_room || !self.for_room.is_empty() {
            return Fate::NoRoom;
        }
        self.enqueue(mem::take(text));
        if mem::replace(&mut self.attended, true) { Fate::Queued } else { Fate::Attend }
    }

    fn enqueue(&mut self, text: Text) {
        self.queued += text.len();
        self.queue.push_back(text);
    }

    /// Takes the text of the first who waits for room, if there is room.
    fn let_in(&mut self) -> Option<ClaimToken<Who>> {
        if self.queued >= ROOM {
            return None;
        }
        let claimed = self.for_room.claim_first()?;
        // SAFETY: its waiter has named its text, and stays parked until it is unparked by the token.
        let text = mem::take(unsafe { &mut *claimed.hand_over().cast::<Text>() });
        self.enqueue(text);
        Some(claimed.into_token())
    }
}

/// All texts in one.
fn join(texts: &mut VecDeque<Text>) -> Text {
    if texts.len() > 1 {
        let mut joined = Vec::with_capacity(texts.iter().map(Vec::len).sum());
        texts.drain(..).for_each(|text| joined.extend(text));
        return joined;
    }
    texts.pop_front().unwrap_or_default()
}
