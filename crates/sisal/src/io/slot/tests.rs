//! Which event finds whom.

use super::super::epoll::EpollDriver;
use super::*;
use crate::sched::driver::Driver;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::task::Wake;
use std::time::Duration;

impl Slot {
    /// Whether somebody waits for what no event tells of.
    pub(in super::super) fn has_pausing(&self) -> bool {
        self.state.lock().pausing.0.any(|_| true)
    }
}

#[test]
fn keys_survive_the_kernel() {
    let key = Key { index: 7, generation: u32::MAX };
    assert_eq!(Key::from_u64(key.to_u64()), key);
}

/// A descriptor whose task waits to read.
struct Awaited {
    slot: &'static Slot,
    reader: OwnedFd,
    writer: OwnedFd,
    wakes: AtomicUsize,
}

impl Awaited {
    fn new(slot: &'static Slot) -> Arc<Awaited> {
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        Arc::new(Awaited { slot, reader, writer, wakes: AtomicUsize::new(0) })
    }

    fn wait(&self, task: &Waker, epoll: &Arc<Epoll>) {
        let edges = self.slot.edges(Direction::Read);
        let enlisted = self.slot.enlist_task(Direction::Read, edges, task, self.reader.as_fd(), epoll).unwrap();
        assert!(matches!(enlisted, Enlisted::Waiting));
    }

    fn wakes(&self) -> usize {
        self.wakes.load(Ordering::Relaxed)
    }

    fn become_ready(&self) {
        rustix::io::write(&self.writer, b"!").unwrap();
    }
}

impl Wake for Awaited {
    fn wake(self: Arc<Awaited>) {
        self.wakes.fetch_add(1, Ordering::Relaxed);
    }
}

/// Two descriptors. The task that is woken first closes the other one's, and has its slot serve a third.
struct Replacing {
    both: [Arc<Awaited>; 2],
    third: OnceLock<Arc<Awaited>>,
    has_begun: AtomicBool,
    epoll: Arc<Epoll>,
}

struct Replace {
    number: usize,
    replacing: Arc<Replacing>,
}

impl Wake for Replace {
    fn wake(self: Arc<Replace>) {
        let Replacing { both, third, has_begun, epoll } = &*self.replacing;
        if has_begun.swap(true, Ordering::Relaxed) {
            // Woken by the close.
            return;
        }
        let other = &both[1 - self.number];
        other.slot.close(other.reader.as_fd(), |_| unreachable!("only tasks wait"));
        other.slot.renew();
        let new = third.get_or_init(|| Awaited::new(other.slot));
        new.wait(&Arc::clone(new).into(), epoll);
    }
}

/// Both events come together, so when the first is handled the kernel has told of the second already.
#[test]
fn an_event_for_what_was_closed_wakes_nobody_who_waits_at_its_slot_now() {
    let bell = rustix::event::eventfd(0, rustix::event::EventfdFlags::CLOEXEC).unwrap();
    let epoll = Arc::new(Epoll::new(bell.as_fd()).unwrap());
    let driver = EpollDriver::new(Arc::clone(&epoll));
    let both = [Awaited::new(slots::allocate()), Awaited::new(slots::allocate())];
    let (third, has_begun) = (OnceLock::new(), AtomicBool::new(false));
    let replacing = Arc::new(Replacing { both, third, has_begun, epoll });
    for (number, awaited) in replacing.both.iter().enumerate() {
        let task = Arc::new(Replace { number, replacing: Arc::clone(&replacing) });
        awaited.wait(&task.into(), &replacing.epoll);
    }
    replacing.both.iter().for_each(|awaited| awaited.become_ready());
    let mut no_fiber = |_| unreachable!("only tasks wait");
    assert_eq!(driver.turn(Some(Duration::ZERO), &mut no_fiber), 2, "events");

    let third = replacing.third.get().unwrap();
    assert_eq!(third.wakes(), 0, "by an event that was for another");
    assert_eq!(third.slot.edges(Direction::Read), Edges::NONE);
    third.become_ready();
    assert_eq!(driver.turn(Some(Duration::ZERO), &mut no_fiber), 1);
    assert_eq!(third.wakes(), 1);
    let live = &replacing.both[usize::from(std::ptr::eq(third.slot, replacing.both[0].slot))];
    for awaited in [live, third] {
        awaited.slot.release(awaited.reader.as_fd());
    }
}

/// A task that is woken where many wait.
struct OneOfMany(Arc<Awaited>);

impl Wake for OneOfMany {
    fn wake(self: Arc<OneOfMany>) {
        Arc::clone(&self.0).wake();
    }
}

/// A task that polls a direction again and again, as whoever copies both ways does, stands there once and is woken once.
#[test]
fn a_task_that_polls_again_waits_once() {
    let bell = rustix::event::eventfd(0, rustix::event::EventfdFlags::CLOEXEC).unwrap();
    let epoll = Arc::new(Epoll::new(bell.as_fd()).unwrap());
    let driver = EpollDriver::new(Arc::clone(&epoll));
    let slot = slots::allocate();
    let awaited = Awaited::new(slot);
    let task = Waker::from(Arc::clone(&awaited));
    let before = Arc::strong_count(&awaited);
    (0..1_000).for_each(|_| awaited.wait(&task, &epoll));
    assert_eq!((awaited.wakes(), Arc::strong_count(&awaited)), (0, before + 1));
    awaited.become_ready();
    assert_eq!(driver.turn(Some(Duration::ZERO), &mut |_| unreachable!("only tasks wait")), 1);
    assert_eq!(awaited.wakes(), 1);
    slot.release(awaited.reader.as_fd());
}

/// More tasks than are thought to be alive: those who are sent away come back, and in the end all stand there.
#[test]
fn a_crowd_of_tasks_comes_to_rest() {
    const TASKS: usize = 100;
    let bell = rustix::event::eventfd(0, rustix::event::EventfdFlags::CLOEXEC).unwrap();
    let epoll = Arc::new(Epoll::new(bell.as_fd()).unwrap());
    let driver = EpollDriver::new(Arc::clone(&epoll));
    let slot = slots::allocate();
    let awaited = Awaited::new(slot);
    let mut come = 0;
    let mut gone = TASKS;
    while gone > 0 {
        (0..gone).for_each(|_| awaited.wait(&Arc::new(OneOfMany(Arc::clone(&awaited))).into(), &epoll));
        come += gone;
        gone = awaited.wakes.swap(0, Ordering::Relaxed);
        assert!(come < 10 * TASKS, "they drive each other out");
    }
    awaited.become_ready();
    assert_eq!(driver.turn(Some(Duration::ZERO), &mut |_| unreachable!("only tasks wait")), 1);
    assert_eq!(awaited.wakes(), TASKS);
    slot.release(awaited.reader.as_fd());
}
