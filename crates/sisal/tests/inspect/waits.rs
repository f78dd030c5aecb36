//! Every call that waits is seen: why, in which line of the caller, on what kind of object, and since when, be it made by a fiber or by a thread.

use crate::common::{LONG, fixed, until, watchdog::guarded};
use sisal::chan::{bounded, broadcast, oneshot, ordered, pool, unbounded, watch};
use sisal::inspect::{FiberState, Snapshot, WaitInfo, snapshot};
use sisal::stm::{TVar, atomically, check, try_atomically};
use sisal::sync::{Barrier, Condvar, Event, LazyLock, Mutex, Once, OnceLock, RwLock, Semaphore, WaitGroup};
use sisal::{Builder, CancelToken, Handle, Select, interval, join_any, select, sleep, sleep_until, spawn};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// A call that waits, and what is to be seen of it.
struct Row {
    what: &'static str,
    reason: &'static str,
    /// None if it waits for nothing that can be seen.
    kind: Option<&'static str>,
    make: fn() -> Call,
}

struct Call {
    line: u32,
    wait: Box<dyn FnOnce() + Send>,
    end: Box<dyn FnOnce()>,
}

impl Call {
    fn at(line: u32, wait: impl FnOnce() + Send + 'static) -> Call {
        Call { line, wait: Box::new(wait), end: Box::new(|| ()) }
    }

    /// With what ends it.
    fn until<T>(self, end: impl FnOnce() -> T + 'static) -> Call {
        Call { end: Box::new(|| drop(end())), ..self }
    }
}

/// A call in this line, which has to be one.
macro_rules! at {
    ($call:expr) => {
        Call::at(line!(), move || {
            let _ = $call;
        })
    };
}

const fn row(what: &'static str, reason: &'static str, kind: &'static str, make: fn() -> Call) -> Row {
    Row { what, reason, kind: Some(kind), make }
}

/// What waiters borrow that may outlive this frame.
fn leaked<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

/// What initialises something, and takes until it is told to end.
struct Slow {
    begun: mpsc::Receiver<()>,
    opener: mpsc::Sender<()>,
}

impl Slow {
    fn work() -> (impl FnOnce() + Send, Slow) {
        let (tell, begun) = mpsc::channel();
        let (opener, opened) = mpsc::channel();
        let work = move || {
            tell.send(()).unwrap();
            let _ = opened.recv();
        };
        (work, Slow { begun, opener })
    }

    /// Has a thread call it. The closure that is returned lets it end.
    fn begun_by(self, other: impl FnOnce() + Send + 'static) -> impl FnOnce() {
        let other = thread::spawn(other);
        self.begun.recv().unwrap();
        move || {
            drop(self.opener);
            other.join().unwrap();
        }
    }
}

/// A call in the scope of a token, which ends it.
fn cancelled(make: impl FnOnce() -> Call) -> Call {
    let token = CancelToken::new();
    let (scope, Call { line, wait, .. }) = (token.clone(), make());
    Call::at(line, move || scope.run(wait)).until(move || token.cancel())
}

const SEND: &str = "sending to a channel";
const RECEIVE: &str = "receiving from a channel";
const SELECT: &str = "selecting";

const CHANNELS: &[Row] = &[
    row("a send to a full channel", SEND, "channel", || {
        let (tx, rx) = bounded(1);
        tx.send(0).unwrap();
        at!(tx.send(1)).until(move || rx.close())
    }),
    row("a send with a timeout to a full channel", SEND, "channel", || {
        let (tx, rx) = bounded(1);
        tx.send(0).unwrap();
        at!(tx.send_timeout(1, LONG)).until(move || rx.close())
    }),
    row("a send with a deadline to a full channel", SEND, "channel", || {
        let (tx, rx) = bounded(1);
        tx.send(0).unwrap();
        at!(tx.send_deadline(1, Instant::now() + LONG)).until(move || rx.close())
    }),
    row("a receive from an empty channel", RECEIVE, "channel", || {
        let (tx, rx) = bounded(1);
        at!(rx.recv()).until(move || tx.send(1))
    }),
    row("a receive with a timeout from an empty channel", RECEIVE, "channel", || {
        let (tx, rx) = bounded(1);
        at!(rx.recv_timeout(LONG)).until(move || tx.send(1))
    }),
    row("a receive with a deadline from an empty channel", RECEIVE, "channel", || {
        let (tx, rx) = bounded(1);
        at!(rx.recv_deadline(Instant::now() + LONG)).until(move || tx.send(1))
    }),
    row("a send to a rendezvous", SEND, "channel", || {
        let (tx, rx) = bounded(0);
        at!(tx.send(1)).until(move || rx.recv())
    }),
    row("a send with a timeout to a rendezvous", SEND, "channel", || {
        let (tx, rx) = bounded(0);
        at!(tx.send_timeout(1, LONG)).until(move || rx.recv())
    }),
    row("a receive from a rendezvous", RECEIVE, "channel", || {
        let (tx, rx) = bounded(0);
        at!(rx.recv()).until(move || tx.send(1))
    }),
    row("a receive with a timeout from a rendezvous", RECEIVE, "channel", || {
        let (tx, rx) = bounded(0);
        at!(rx.recv_timeout(LONG)).until(move || tx.send(1))
    }),
    row("a receive from a channel without a limit", RECEIVE, "channel", || {
        let (tx, rx) = unbounded();
        at!(rx.recv()).until(move || tx.send(1))
    }),
    row("a receive from a oneshot", RECEIVE, "channel", || {
        let (tx, rx) = oneshot();
        at!(rx.recv()).until(move || tx.send(1))
    }),
    row("a receive with a timeout from a oneshot", RECEIVE, "channel", || {
        let (tx, mut rx) = oneshot();
        at!(rx.recv_timeout(LONG)).until(move || tx.send(1))
    }),
    row("a receive from a broadcast", RECEIVE, "channel", || {
        let (tx, mut rx) = broadcast(1);
        at!(rx.recv()).until(move || tx.send(1))
    }),
    row("a receive with a timeout from a broadcast", RECEIVE, "channel", || {
        let (tx, mut rx) = broadcast(1);
        at!(rx.recv_timeout(LONG)).until(move || tx.send(1))
    }),
    row("a wait for a change", RECEIVE, "channel", || {
        let (tx, mut rx) = watch(0);
        at!(rx.changed()).until(move || tx.send(1))
    }),
    row("a wait with a timeout for a change", RECEIVE, "channel", || {
        let (tx, mut rx) = watch(0);
        at!(rx.changed_timeout(LONG)).until(move || tx.send(1))
    }),
    row("a receive from an ordered channel", RECEIVE, "channel", || {
        let (tx, rx) = ordered::<u32>(1);
        at!(rx.recv()).until(move || drop(tx))
    }),
    row("a receive with a timeout from an ordered channel", RECEIVE, "channel", || {
        let (tx, rx) = ordered::<u32>(1);
        at!(rx.recv_timeout(LONG)).until(move || drop(tx))
    }),
    row("a receive with a deadline from a oneshot", RECEIVE, "channel", || {
        let (tx, mut rx) = oneshot();
        at!(rx.recv_deadline(Instant::now() + LONG)).until(move || tx.send(1))
    }),
    row("a receive with a deadline from a broadcast", RECEIVE, "channel", || {
        let (tx, mut rx) = broadcast(1);
        at!(rx.recv_deadline(Instant::now() + LONG)).until(move || tx.send(1))
    }),
    row("a wait with a deadline for a change", RECEIVE, "channel", || {
        let (tx, mut rx) = watch(0);
        at!(rx.changed_deadline(Instant::now() + LONG)).until(move || tx.send(1))
    }),
    row("a receive by an iterator", RECEIVE, "channel", || {
        let (tx, rx) = bounded(1);
        at!(rx.iter().next()).until(move || tx.send(1))
    }),
    // Room in it is a permit.
    row("a send to a full ordered channel", "waiting for a permit", "semaphore", || {
        let (tx, rx) = ordered(1);
        tx.send(|| 0).unwrap();
        at!(tx.send(|| 1)).until(move || rx.close())
    }),
    row("a wait for a thing from a pool", "waiting for a thing from a pool", "pool", || {
        let things = pool(|| (), |()| (), 1);
        let lent = things.get().unwrap();
        at!(things.get()).until(move || drop(lent))
    }),
    row("a wait with a timeout for a thing from a pool", "waiting for a thing from a pool", "pool", || {
        let things = pool(|| (), |()| (), 1);
        let lent = things.get().unwrap();
        at!(things.get_timeout(LONG)).until(move || drop(lent))
    }),
    row("a select", SELECT, "channel", || {
        let (tx, rx) = bounded::<u32>(1);
        let (other, full) = bounded::<u32>(0);
        at!(select! { recv(rx) -> _ => (), send(other, 1) -> _ => () }).until(move || (tx.send(1), full))
    }),
    row("a select with a timeout", SELECT, "channel", || {
        let (tx, rx) = bounded::<u32>(1);
        at!(select! { recv(rx) -> _ => (), default(LONG) => () }).until(move || tx.send(1))
    }),
    row("a select that was built", SELECT, "channel", || {
        let (tx, rx) = bounded::<u32>(1);
        at!(Select::new().also(leaked(rx)).wait()).until(move || tx.send(1))
    }),
    row("a select with a timeout that was built", SELECT, "channel", || {
        let (tx, rx) = bounded::<u32>(1);
        at!(Select::new().also(leaked(rx)).wait_timeout(LONG)).until(move || tx.send(1))
    }),
];

/// Adds an arm and goes on, in one line.
trait Also<'a>: Sized {
    fn also(self, receiver: &'a sisal::chan::Receiver<u32>) -> Self;
}

impl<'a> Also<'a> for Select<'a, bool> {
    fn also(mut self, receiver: &'a sisal::chan::Receiver<u32>) -> Self {
        self.recv(receiver, |message| message.is_ok());
        self
    }
}

const LOCKS: &[Row] = &[
    row("a lock of a mutex", "locking a mutex", "mutex", || {
        let mutex = leaked(Mutex::new(()));
        let guard = mutex.lock();
        at!(mutex.lock()).until(move || drop(guard))
    }),
    row("a lock with a timeout of a mutex", "locking a mutex", "mutex", || {
        let mutex = leaked(Mutex::new(()));
        let guard = mutex.lock();
        at!(mutex.lock_timeout(LONG)).until(move || drop(guard))
    }),
    row("a lock with a deadline of a mutex", "locking a mutex", "mutex", || {
        let mutex = leaked(Mutex::new(()));
        let guard = mutex.lock();
        at!(mutex.lock_deadline(Instant::now() + LONG)).until(move || drop(guard))
    }),
    row("a lock for reading", "locking for reading", "rwlock", || {
        let lock = leaked(RwLock::new(()));
        let guard = lock.write();
        at!(lock.read()).until(move || drop(guard))
    }),
    row("a lock with a timeout for reading", "locking for reading", "rwlock", || {
        let lock = leaked(RwLock::new(()));
        let guard = lock.write();
        at!(lock.read_timeout(LONG)).until(move || drop(guard))
    }),
    row("a lock for writing against a reader", "locking for writing", "rwlock", || {
        let lock = leaked(RwLock::new(()));
        let guard = lock.read();
        at!(lock.write()).until(move || drop(guard))
    }),
    row("a lock with a timeout for writing against a reader", "locking for writing", "rwlock", || {
        let lock = leaked(RwLock::new(()));
        let guard = lock.read();
        at!(lock.write_timeout(LONG)).until(move || drop(guard))
    }),
    // Writers wait for one another at a mutex inside.
    row("a lock for writing against a writer", "locking for writing", "mutex", || {
        let lock = leaked(RwLock::new(()));
        let guard = lock.write();
        at!(lock.write()).until(move || drop(guard))
    }),
    row("a lock with a deadline for writing against a writer", "locking for writing", "mutex", || {
        let lock = leaked(RwLock::new(()));
        let guard = lock.write();
        at!(lock.write_deadline(Instant::now() + LONG)).until(move || drop(guard))
    }),
    row("a wait for a condition", "waiting for a condition", "condvar", || {
        let (mutex, condvar) = leaked((Mutex::new(()), Condvar::new()));
        at!(condvar.wait(&mut mutex.lock())).until(|| condvar.notify_all())
    }),
    row("a wait with a timeout for a condition", "waiting for a condition", "condvar", || {
        let (mutex, condvar) = leaked((Mutex::new(()), Condvar::new()));
        at!(condvar.wait_timeout(&mut mutex.lock(), LONG)).until(|| condvar.notify_all())
    }),
    row("a wait while a condition holds", "waiting for a condition", "condvar", || {
        let (mutex, condvar) = leaked((Mutex::new(true), Condvar::new()));
        let end = || {
            *mutex.lock() = false;
            condvar.notify_all();
        };
        at!(condvar.wait_while(&mut mutex.lock(), |holds| *holds)).until(end)
    }),
    row("a wait with a timeout while a condition holds", "waiting for a condition", "condvar", || {
        let (mutex, condvar) = leaked((Mutex::new(true), Condvar::new()));
        let end = || {
            *mutex.lock() = false;
            condvar.notify_all();
        };
        at!(condvar.wait_timeout_while(&mut mutex.lock(), LONG, |holds| *holds)).until(end)
    }),
    row("a wait for a permit", "waiting for a permit", "semaphore", || {
        let semaphore = leaked(Semaphore::new(0));
        at!(semaphore.acquire()).until(|| semaphore.add_permits(1))
    }),
    row("a wait with a timeout for a permit", "waiting for a permit", "semaphore", || {
        let semaphore = leaked(Semaphore::new(0));
        at!(semaphore.acquire_timeout(LONG)).until(|| semaphore.add_permits(1))
    }),
    row("a wait with a deadline for a permit", "waiting for a permit", "semaphore", || {
        let semaphore = leaked(Semaphore::new(0));
        at!(semaphore.acquire_deadline(Instant::now() + LONG)).until(|| semaphore.add_permits(1))
    }),
    row("a wait for many permits", "waiting for a permit", "semaphore", || {
        let semaphore = leaked(Semaphore::new(1));
        at!(semaphore.acquire_many(2)).until(|| semaphore.add_permits(1))
    }),
    row("a wait at a barrier", "at a barrier", "barrier", || {
        let barrier = leaked(Barrier::new(2));
        at!(barrier.wait()).until(|| barrier.wait())
    }),
    row("a second call of a once", "waiting for an initialisation", "once", || {
        let (once, (work, slow)) = (leaked(Once::new()), Slow::work());
        at!(once.call_once(|| ())).until(slow.begun_by(|| once.call_once(work)))
    }),
    row("a second call of a once that is forced", "waiting for an initialisation", "once", || {
        let (once, (work, slow)) = (leaked(Once::new()), Slow::work());
        at!(once.call_once_force(|_| ())).until(slow.begun_by(|| once.call_once(work)))
    }),
    row("a wait for a once", "waiting for an initialisation", "once", || {
        let once = leaked(Once::new());
        at!(once.wait()).until(|| once.call_once(|| ()))
    }),
    row("a second initialiser of a once lock", "waiting for an initialisation", "once", || {
        let (lock, (work, slow)) = (leaked(OnceLock::new()), Slow::work());
        at!(lock.get_or_init(|| ())).until(slow.begun_by(|| *lock.get_or_init(work)))
    }),
    row("a wait for a once lock", "waiting for an initialisation", "once", || {
        let lock = leaked(OnceLock::new());
        at!(lock.wait()).until(|| lock.set(()))
    }),
    row("a second use of a lazy lock", "waiting for an initialisation", "once", || {
        let (work, slow) = Slow::work();
        let lazy = leaked(LazyLock::new(work));
        at!(LazyLock::force(lazy)).until(slow.begun_by(|| *LazyLock::force(lazy)))
    }),
    row("a wait for a group", "waiting for a group", "wait group", || {
        let group = WaitGroup::new();
        let member = group.clone();
        at!(group.wait()).until(move || drop(member))
    }),
    row("a wait for an event", "waiting for an event", "event", || {
        let event = leaked(Event::new());
        at!(event.wait()).until(|| event.set())
    }),
    row("a wait with a timeout for an event", "waiting for an event", "event", || {
        let event = leaked(Event::new());
        at!(event.wait_timeout(LONG)).until(|| event.set())
    }),
];

const OTHERS: &[Row] = &[
    row("a join", "joining a fiber", "fiber", || {
        let event = leaked(Event::new());
        let other = spawn(|| event.wait());
        at!(other.join()).until(|| event.set())
    }),
    row("a wait for an end", "joining a fiber", "fiber", || {
        let event = leaked(Event::new());
        let other = spawn(|| event.wait());
        at!(other.wait()).until(|| event.set())
    }),
    row("a join of a handle that is shared", "joining a fiber", "fiber", || {
        let event = leaked(Event::new());
        let other = spawn(|| event.wait().is_ok()).shared();
        at!(other.join()).until(|| event.set())
    }),
    row("a join of the first of several", "joining the first of several fibers", "fiber", || {
        let event = leaked(Event::new());
        let mut others = vec![spawn(|| event.wait()), spawn(|| event.wait())];
        at!(join_any(&mut others)).until(|| event.set())
    }),
    row("a join of a child", "joining a fiber", "fiber", || {
        let (event, here) = (leaked(Event::new()), Handle::current().unwrap());
        at!(here.nursery(|n| n.spawn(|| event.wait().unwrap()).join())).until(|| event.set())
    }),
    row("the end of a nursery", "waiting for the children of a nursery", "nursery", || {
        let (event, here) = (leaked(Event::new()), Handle::current().unwrap());
        at!(here.nursery(|n| Ok::<_, ()>(n.spawn(|| event.wait().unwrap()).id()))).until(|| event.set())
    }),
    row("a transaction", "waiting for a transactional variable", "transactional variable", || {
        let var = leaked(TVar::new(false));
        at!(atomically(|tx| check(tx.read(var)?))).until(|| var.set(true))
    }),
    row(
        "a transaction that can be cancelled",
        "waiting for a transactional variable",
        "transactional variable",
        || {
            let var = leaked(TVar::new(false));
            at!(try_atomically(|tx| check(tx.read(var)?))).until(|| var.set(true))
        },
    ),
    row("a wait for a cancellation", "waiting for a cancellation", "cancel token", || {
        let token = CancelToken::new();
        let awaited = token.clone();
        at!(awaited.wait()).until(move || token.cancel())
    }),
    Row { what: "a sleep", reason: "asleep", kind: None, make: || cancelled(|| at!(sleep(LONG))) },
    Row {
        what: "a sleep until a time",
        reason: "asleep",
        kind: None,
        make: || cancelled(|| at!(sleep_until(Instant::now() + LONG))),
    },
    Row {
        what: "a tick of an interval",
        reason: "asleep",
        kind: None,
        make: || cancelled(|| at!(interval(LONG).tick())),
    },
];

/// Calls `body` with every row, in a runtime of its own.
fn each_row(body: impl Fn(&Row)) {
    for row in [CHANNELS, LOCKS, OTHERS].into_iter().flatten() {
        fixed(2).run(|| body(row)).unwrap();
    }
}

/// Looks until there is such a wait.
fn seen_to_wait(find: impl Fn(&Snapshot) -> Option<WaitInfo>) -> (Snapshot, WaitInfo) {
    loop {
        let seen = snapshot().unwrap();
        if let Some(wait) = find(&seen) {
            return (seen, wait);
        }
        sisal::yield_now();
    }
}

/// Compares what was seen with what is to be.
#[track_caller]
fn compare(row: &Row, line: u32, seen: &Snapshot, wait: &WaitInfo) {
    let kind = wait.object.map(|object| seen.object(object).unwrap().kind);
    let place = (wait.place.file().ends_with("inspect/waits.rs"), wait.place.line());
    assert_eq!((&*wait.reason, kind, place), (row.reason, row.kind, (true, line)), "{}: {}", row.what, wait.place);
}

#[test]
fn a_fiber_is_seen_in_every_call_that_waits() {
    guarded(|| {
        each_row(|row| {
            let Call { line, wait, end } = (row.make)();
            let waiter = Builder::new().name("waiter").spawn(wait);
            let (seen, wait) = seen_to_wait(|seen| {
                let waiter = seen.fiber(waiter.id()).filter(|fiber| fiber.state == FiberState::Parked)?;
                waiter.wait.clone()
            });
            compare(row, line, &seen, &wait);
            // The note is to the next quarter of a microsecond, and by a clock that was read after the runtime had started.
            assert!(wait.since <= seen.uptime + Duration::from_micros(1), "{}: {wait:?}", row.what);
            end();
            waiter.join().unwrap();
        });
    });
}

#[test]
fn a_thread_is_seen_in_every_call_that_waits() {
    guarded(|| {
        each_row(|row| {
            let Call { line, wait, end } = (row.make)();
            let start = Instant::now();
            let waiter = thread::Builder::new().name(row.what.into()).spawn(wait).unwrap();
            let (seen, wait) = seen_to_wait(|seen| {
                let waiter = seen.threads.iter().find(|thread| thread.name.as_deref() == Some(row.what))?;
                Some(waiter.wait.clone())
            });
            compare(row, line, &seen, &wait);
            assert!(wait.since <= start.elapsed() + Duration::from_micros(1), "{}: {wait:?}", row.what);
            end();
            until(|| waiter.is_finished());
            waiter.join().unwrap();
        });
    });
}
