//! The places in an ordered channel: who gets one, and who receives what comes to be in it. The protocol is in the [module](super).

use crate::chan::error::{RecvTimeoutError, SendTimeoutError, TryRecvError, TrySendError};
use crate::chan::{OneReceiver, OneSender, Receiver, Sender, oneshot, unbounded};
use crate::fiber::waiter::Woken;
use crate::park::pay_fuel;
use crate::prim::atomic::{AtomicUsize, Ordering};
use crate::prim::cancel::Cancelled;
use crate::prim::clock::Moment;
use crate::prim::lock::Lock;
use crate::prim::reason::Place;
use crate::sync::{AcquireTimeoutError, Semaphore, SemaphorePermit};
use std::error::Error;
use std::panic::Location;
use std::sync::Arc;

/// More than there can ever be senders, and no more than can be counted twice: for those who take places, and at the close for all who wait.
const FOR_EVERYBODY: usize = usize::MAX / 2;

/// What comes to be in a place: something that will be done.
pub(super) trait UnderWay {
    fn is_done(&self) -> bool;

    /// Waits until it is done, and says what ended the wait.
    fn wait_by(&self, deadline: Option<Moment>, place: Place) -> Woken;
}

/// The room that there is.
struct Room {
    /// For places that may be taken. After the close, for everybody.
    permits: Semaphore,
    /// How many places are taken.
    taken: AtomicUsize,
    capacity: usize,
}

impl Room {
    /// A place is free again.
    fn leave(&self) {
        self.taken.fetch_sub(1, Ordering::Relaxed);
        self.permits.add_permits(1);
    }
}

/// Both ends of a new queue.
pub(super) fn queue<W: UnderWay>(capacity: usize) -> (Entrance<W>, Exit<W>) {
    let (sender, receiver) = unbounded();
    let room =
        Arc::new(Room { permits: Semaphore::new(capacity.min(FOR_EVERYBODY)), taken: AtomicUsize::new(0), capacity });
    let entrance = Entrance { places: sender, room: Arc::clone(&room) };
    (entrance, Exit { places: receiver, room, turn: Semaphore::new(1), front: Lock::new(None) })
}

/// Where places are taken.
pub(super) struct Entrance<W> {
    places: Sender<OneReceiver<W>>,
    room: Arc<Room>,
}

impl<W> Entrance<W> {
    /// Waits for room.
    pub(super) fn room_by(
        &self,
        deadline: Option<Moment>,
        place: Place,
    ) -> Result<SemaphorePermit<'_>, SendTimeoutError<()>> {
        if self.is_closed() {
            pay_fuel(place);
            return Err(SendTimeoutError::Closed(()));
        }
        self.room.permits.acquire_by(|| deadline, place).map_err(|error| match error {
            AcquireTimeoutError::TimedOut => SendTimeoutError::TimedOut(()),
            AcquireTimeoutError::Cancelled(cancelled) => SendTimeoutError::Cancelled((), cancelled),
        })
    }

    /// Room, if there is any.
    #[track_caller]
    pub(super) fn room_now(&self) -> Result<SemaphorePermit<'_>, TrySendError<()>> {
        if self.is_closed() {
            pay_fuel(Location::caller());
            return Err(TrySendError::Closed(()));
        }
        self.room.permits.try_acquire().ok_or(TrySendError::Full(()))
    }

    /// Takes the next place, for which there is room; none if the channel is closed. Never waits.
    #[track_caller]
    pub(super) fn reserve(&self, permit: SemaphorePermit<'_>) -> Option<Reserved<'_, W>> {
        let (filler, filled) = oneshot();
        // Before anybody can receive it, who would count it off.
        self.room.taken.fetch_add(1, Ordering::Relaxed);
        if self.places.try_send(filled).is_err() {
            self.room.taken.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        // It belongs to the place from now on.
        permit.forget();
        Some(Reserved { filler: Some(filler), room: &self.room })
    }

    pub(super) fn close(&self) -> bool {
        open_if(&self.room, self.places.close())
    }

    pub(super) fn close_with(&self, reason: impl Into<Box<dyn Error + Send + Sync>>) -> bool {
        open_if(&self.room, self.places.close_with(reason))
    }

    pub(super) fn close_reason(&self) -> Option<Arc<dyn Error + Send + Sync>> {
        self.places.close_reason()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.places.is_closed()
    }

    pub(super) fn senders(&self) -> usize {
        self.places.sender_count()
    }

    pub(super) fn len(&self) -> usize {
        self.room.taken.load(Ordering::Relaxed)
    }

    pub(super) fn capacity(&self) -> usize {
        self.room.capacity
    }
}

impl<W> Clone for Entrance<W> {
    fn clone(&self) -> Entrance<W> {
        Entrance { places: self.places.clone(), room: Arc::clone(&self.room) }
    }
}

/// If this call has closed the channel: there is room for everybody who waits for some, and so they see it.
fn open_if(room: &Room, has_closed: bool) -> bool {
    if has_closed {
        room.permits.add_permits(FOR_EVERYBODY);
    }
    has_closed
}

/// A place that was taken. If it is dropped before it was filled, receivers pass over it.
pub(super) struct Reserved<'a, W> {
    /// None when it was filled.
    filler: Option<OneSender<W>>,
    room: &'a Room,
}

impl<W> Reserved<'_, W> {
    #[track_caller]
    pub(super) fn fill(mut self, work: W) {
        if let Some(filler) = self.filler.take() {
            // If nobody is left to receive it, it goes.
            drop(filler.send(work));
        }
    }
}

impl<W> Drop for Reserved<'_, W> {
    fn drop(&mut self) {
        if let Some(filler) = self.filler.take() {
            drop(filler);
            self.room.leave();
        }
    }
}

/// Where what was done is received.
pub(super) struct Exit<W> {
    pub(super) places: Receiver<OneReceiver<W>>,
    room: Arc<Room>,
    /// For whoever receives.
    turn: Semaphore,
    /// What was taken from the channel and could not be waited for. Touched by whoever has the turn, or the exit for itself.
    front: Lock<Option<Front<W>>>,
}

/// The first of all places.
enum Front<W> {
    Reserved(OneReceiver<W>),
    Filled(W),
}

impl<W: UnderWay> Exit<W> {
    /// Waits for what is next to be done, and takes it.
    pub(super) fn receive_by(&self, deadline: Option<Moment>, place: Place) -> Result<W, RecvTimeoutError> {
        let _turn = self.turn.acquire_by(|| deadline, place).map_err(|error| match error {
            AcquireTimeoutError::TimedOut => RecvTimeoutError::TimedOut,
            AcquireTimeoutError::Cancelled(cancelled) => RecvTimeoutError::Cancelled(cancelled),
        })?;
        self.receive(
            || self.places.recv_at(deadline, place),
            |reserved| match reserved.recv_at(|| deadline, place) {
                Err(RecvTimeoutError::Closed) => Ok(None),
                filled => filled.map(Some),
            },
            |work| match work.wait_by(deadline, place) {
                Woken::Object(_) => Ok(()),
                Woken::Deadline => Err(RecvTimeoutError::TimedOut),
                Woken::Cancelled(cause) => Err(RecvTimeoutError::Cancelled(Cancelled::by(cause))),
            },
        )
    }

    /// Takes what is next, if it is done and nobody else receives.
    #[track_caller]
    pub(super) fn receive_now(&self) -> Result<W, TryRecvError> {
        let Some(_turn) = self.turn.try_acquire() else { return Err(TryRecvError::Empty) };
        self.receive(
            || self.places.try_recv(),
            |reserved| match reserved.try_recv() {
                Err(TryRecvError::Closed) => Ok(None),
                filled => filled.map(Some),
            },
            |work| if work.is_done() { Ok(()) } else { Err(TryRecvError::Empty) },
        )
    }

    /// Takes what is next: the place, what fills it if anything ever does, and that when it has ended. If any of this can't be had, what
    /// was had so far stays at the front.
    ///
    /// For whoever has the turn, or the exit for itself.
    pub(super) fn receive<E>(
        &self,
        mut next: impl FnMut() -> Result<OneReceiver<W>, E>,
        fill: impl Fn(&mut OneReceiver<W>) -> Result<Option<W>, E>,
        end: impl Fn(&W) -> Result<(), E>,
    ) -> Result<W, E> {
        loop {
            let kept = self.front.lock().take();
            let work = match kept {
                Some(Front::Filled(work)) => work,
                kept => {
                    let mut place = match kept {
                        Some(Front::Reserved(place)) => place,
                        _ => next()?,
                    };
                    match fill(&mut place) {
                        Ok(Some(work)) => work,
                        Ok(None) => continue,
                        Err(error) => return Err(self.keep(Front::Reserved(place), error)),
                    }
                }
            };
            return match end(&work) {
                Ok(()) => {
                    self.room.leave();
                    Ok(work)
                }
                Err(error) => Err(self.keep(Front::Filled(work), error)),
            };
        }
    }

    fn keep<E>(&self, front: Front<W>, error: E) -> E {
        let before = self.front.lock().replace(front);
        debug_assert!(before.is_none(), "INVARIANT: one at a time is taken");
        error
    }
}

impl<W> Exit<W> {
    pub(super) fn close(&self) -> bool {
        open_if(&self.room, self.places.close())
    }

    pub(super) fn close_with(&self, reason: impl Into<Box<dyn Error + Send + Sync>>) -> bool {
        open_if(&self.room, self.places.close_with(reason))
    }

    pub(super) fn close_reason(&self) -> Option<Arc<dyn Error + Send + Sync>> {
        self.places.close_reason()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.places.is_closed()
    }

    pub(super) fn senders(&self) -> usize {
        self.places.sender_count()
    }

    pub(super) fn len(&self) -> usize {
        self.room.taken.load(Ordering::Relaxed)
    }

    pub(super) fn capacity(&self) -> usize {
        self.room.capacity
    }
}

impl<W> Drop for Exit<W> {
    fn drop(&mut self) {
        self.close();
    }
}
