//! What a spawn asks of the allocator, and a wait. In a process of its own, which has an allocator that counts.
#![allow(unsafe_code, reason = "a global allocator is unsafe to write")]

mod common;

use common::watchdog::guarded;
use common::{background, fixed, until};
use sisal::chan::bounded;
use sisal::sync::{Condvar, Event, Mutex, Semaphore};
use sisal::{Handle, JoinHandle, select, spawn};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

/// The system's allocator, and a count for each thread.
struct Counting;

thread_local! {
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

fn count() {
    CALLS.set(CALLS.get() + 1);
}

// SAFETY: all is left to the system's allocator; a cell that needs no destructor is there as long as its thread.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's promise.
        unsafe { System.realloc(block, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How many fibers are alive at once.
const FIBERS: usize = 200;

/// Spawns fibers, which don't run before the caller gives way, and returns how often it went to the allocator for that.
fn spawn_all<F: FnOnce() -> usize + Send + 'static>(body: impl Fn(usize) -> F) -> usize {
    let mut handles: Vec<JoinHandle<usize>> = Vec::with_capacity(FIBERS);
    let before = CALLS.get();
    for number in 0..FIBERS {
        handles.push(spawn(body(number)));
    }
    let calls = CALLS.get() - before;
    for (number, handle) in handles.into_iter().enumerate() {
        assert_eq!(handle.join().unwrap(), number);
    }
    // The last ones to end have given back what they had.
    let runtime = Handle::current().unwrap();
    until(|| runtime.stats().finished == runtime.stats().spawned);
    calls
}

#[test]
fn hundreds_of_spawns_allocate_next_to_nothing_and_nothing_where_fibers_have_ended() {
    guarded(|| {
        fixed(1)
            .run(|| {
                // The queues grow with fibers of another size, which leave nothing that the others could use.
                let large = |number: usize| {
                    let ballast = [number; 40];
                    move || std::hint::black_box(ballast)[0]
                };
                spawn_all(large);
                let calls = spawn_all(|number| move || number);
                assert!(calls <= 2, "{calls}: their slabs are mapped, and there is perhaps room to write that down");
                assert_eq!(spawn_all(|number| move || number), 0, "in the place of those that have ended");
            })
            .unwrap();
    });
}

/// How often two wait for each other before that is counted, and then.
const UNCOUNTED: usize = 1_000;
const COUNTED: usize = 10_000;

/// What one of two does again and again: it wakes the other and waits to be woken, or the other way about.
type Turn = Box<dyn Fn() + Send>;

/// Two who take turns by giving, which ends the other's take.
fn two<T: Send + 'static>(
    both: (T, T),
    give: impl Fn(&T) + Copy + Send + 'static,
    take: impl Fn(&T) + Copy + Send + 'static,
) -> [Turn; 2] {
    let (first, second) = both;
    [
        Box::new(move || {
            give(&first);
            take(&first);
        }),
        Box::new(move || {
            take(&second);
            give(&second);
        }),
    ]
}

/// What the other is woken by, and what one waits for oneself.
type Both<T> = (Arc<T>, Arc<T>);

/// The same thing in both orders: what the one gives by, the other takes by.
fn crossed<T>(make: impl Fn() -> T) -> (Both<T>, Both<T>) {
    let (one, other) = (Arc::new(make()), Arc::new(make()));
    ((Arc::clone(&one), Arc::clone(&other)), (other, one))
}

/// Two ends of two channels of this capacity.
fn channels(capacity: usize) -> [(sisal::chan::Sender<u64>, sisal::chan::Receiver<u64>); 2] {
    let ((there, arrives), (back, returns)) = (bounded(capacity), bounded(capacity));
    [(there, returns), (back, arrives)]
}

/// All ways in which two wait for each other.
fn waits() -> Vec<(&'static str, [Turn; 2])> {
    let semaphores = two(
        crossed(|| Semaphore::new(0)),
        |(theirs, _)| theirs.add_permits(1),
        |(_, own)| own.acquire().unwrap().forget(),
    );
    let events = two(
        crossed(Event::new),
        |(theirs, _)| theirs.set(),
        |(_, own)| {
            own.wait().unwrap();
            own.reset();
        },
    );
    let condvars = two(
        crossed(|| (Mutex::new(false), Condvar::new())),
        |(theirs, _)| {
            *theirs.0.lock() = true;
            theirs.1.notify_one();
        },
        |(_, own)| {
            let mut is_set = own.0.lock();
            own.1.wait_while(&mut is_set, |is_set| !*is_set).unwrap();
            *is_set = false;
        },
    );
    let by_channel = |capacity| {
        two(
            channels(capacity).into(),
            |(sender, _)| sender.send(7).unwrap(),
            |(_, receiver)| _ = receiver.recv().unwrap(),
        )
    };
    let with_another = channels(1).map(|channel| (channel, bounded::<u64>(0)));
    let select = two(
        with_another.into(),
        |((sender, _), _)| sender.send(7).unwrap(),
        |((_, receiver), (_, never))| {
            select! {
                recv(receiver) -> received => _ = received.unwrap(),
                recv(never) -> _ => panic!("nobody sends"),
            }
        },
    );
    vec![
        ("semaphores", semaphores),
        ("events", events),
        ("condition variables", condvars),
        ("rendezvous", by_channel(0)),
        ("channels", by_channel(1)),
        ("select", select),
    ]
}

/// How often a thread goes to the allocator while the caller takes its turns, when it has taken many already.
fn calls_for(turn: &Turn) -> usize {
    (0..UNCOUNTED).for_each(|_| turn());
    let before = CALLS.get();
    (0..COUNTED).for_each(|_| turn());
    CALLS.get() - before
}

#[test]
fn waits_and_wakes_allocate_nothing() {
    guarded(|| {
        let runtime = background(2);
        let spawn = |worker, turn: Turn| runtime.handle().spawn_on(worker, move || calls_for(&turn));
        for (what, [first, second]) in waits() {
            let (first, second) = (spawn(0, first), spawn(0, second));
            assert_eq!((first.join().unwrap(), second.join().unwrap()), (0, 0), "{what} on one worker");
        }
        for (what, [first, second]) in waits() {
            let (first, second) = (spawn(0, first), spawn(1, second));
            assert_eq!((first.join().unwrap(), second.join().unwrap()), (0, 0), "{what} on two workers");
        }
        for (what, [first, second]) in waits() {
            let second = spawn(1, second);
            // A thread that waits is listed with a copy of its name.
            calls_for(&first);
            assert_eq!(second.join().unwrap(), 0, "{what} of a fiber with a thread");
        }
        common::shut_down(runtime);
    });
}
