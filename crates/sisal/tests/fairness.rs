//! No source of work starves another: of any two that never run dry, on one worker, both make progress.
//!
//! Each source is a handful of fibers (or threads) that make more of the same work as long as they are let. Progress is
//! counted in turns. A source that got no turn would leave the test to the watchdog.

mod common;

use common::watchdog::Watchdog;
use common::{fixed, rounds, until, watched};
use sisal::chan::oneshot;
use sisal::net::UnixStream;
use sisal::{Handle, Runtime, par, sleep, spawn, spawn_local, spawn_on, yield_now};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// Where work comes from.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Source {
    /// Fibers that yield: the ready list.
    Ready,
    /// Fibers that spawn their successors: the deque.
    Fresh,
    /// The same with local fibers.
    Local,
    /// Fibers that wait for what they spawn, which wakes them: the one to run next.
    RunNext,
    /// Fibers that a thread of another runtime wakes: the inbox.
    Inbox,
    /// Fibers that sleep: the timers.
    Timers,
    /// Fibers that threads spawn: the injector.
    Injector,
    /// Fibers that threads spawn on this very worker.
    Pinned,
    /// Fibers that wait for what a thread answers: the driver.
    Sockets,
    /// Fibers that read from sockets that always have something.
    Readable,
    /// Forks whose first halves wait for the second: exposed jobs.
    Jobs,
}

impl Source {
    const ALL: [Source; 11] = [
        Source::Ready,
        Source::Fresh,
        Source::Local,
        Source::RunNext,
        Source::Inbox,
        Source::Timers,
        Source::Injector,
        Source::Pinned,
        Source::Sockets,
        Source::Readable,
        Source::Jobs,
    ];

    /// Whether its turns depend on nothing but the worker itself.
    fn is_inside(self) -> bool {
        matches!(self, Source::Ready | Source::Fresh | Source::Local | Source::RunNext | Source::Jobs)
    }
}

/// How many fibers or threads each source has.
const WIDTH: usize = 3;
/// How many turns each source has to have, in release.
const TURNS: u64 = 200;
/// A source may have so many turns while another has one, not more.
const MOST_AHEAD: u64 = 1_000;
/// How many spawned by threads may be under way, so that no source waits behind the whole backlog of another.
const MOST_UNDER_WAY: u64 = 50;

/// What a source counts.
#[derive(Default)]
struct Tally {
    turns: AtomicU64,
    begun: AtomicU64,
    stop: Arc<AtomicBool>,
}

impl Tally {
    /// One turn more; whether to go on.
    fn turn(&self) -> bool {
        self.turns.fetch_add(1, Ordering::Relaxed);
        self.goes_on()
    }

    fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }

    fn turns(&self) -> u64 {
        self.turns.load(Ordering::Relaxed)
    }
}

fn fresh_link(tally: Arc<Tally>) {
    if tally.turn() {
        drop(spawn(move || fresh_link(tally)));
    }
}

fn local_link(tally: Arc<Tally>) {
    if tally.turn() {
        drop(spawn_local(move || local_link(tally)));
    }
}

/// Spawns from a thread as long as it is let.
fn pour(tally: Arc<Tally>, spawn: impl Fn(Arc<Tally>) + Send + 'static) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        while tally.goes_on() {
            if tally.begun.load(Ordering::Relaxed) < tally.turns() + MOST_UNDER_WAY {
                tally.begun.fetch_add(1, Ordering::Relaxed);
                spawn(Arc::clone(&tally));
            } else {
                thread::yield_now();
            }
        }
    })
}

/// Says every byte again that it hears, up to the end.
fn echo(mut socket: net::UnixStream) {
    let mut byte = [0];
    while socket.read(&mut byte).unwrap() > 0 {
        socket.write_all(&byte).unwrap();
    }
}

/// Writes as long as somebody reads.
fn write_for_ever(mut socket: net::UnixStream) {
    while socket.write_all(&[0; 4096]).is_ok() {}
}

/// A socket at whose other end a thread does this.
fn socket_to(other_end: fn(net::UnixStream), threads: &mut Vec<thread::JoinHandle<()>>) -> UnixStream {
    let (here, there) = net::UnixStream::pair().unwrap();
    threads.push(thread::spawn(move || other_end(there)));
    OwnedFd::from(here).into()
}

/// Starts a source on worker 0 of `runtime`.
fn start(source: Source, runtime: &Handle, other: &Handle, tally: &Arc<Tally>) -> Vec<thread::JoinHandle<()>> {
    let mut threads = Vec::new();
    for _ in 0..WIDTH {
        let tally = Arc::clone(tally);
        let (runtime, other) = (runtime.clone(), other.clone());
        let body: Box<dyn FnOnce() + Send> = match source {
            Source::Ready => Box::new(move || {
                while tally.turn() {
                    yield_now();
                }
            }),
            Source::Fresh => Box::new(move || fresh_link(tally)),
            Source::Local => Box::new(move || local_link(tally)),
            Source::RunNext => Box::new(move || {
                while tally.turn() {
                    spawn_local(|| ()).join().unwrap();
                }
            }),
            Source::Inbox => Box::new(move || {
                while tally.turn() {
                    other.spawn(|| ()).join().unwrap();
                }
            }),
            Source::Timers => Box::new(move || {
                while tally.turn() {
                    sleep(Duration::from_micros(10)).unwrap();
                }
            }),
            Source::Sockets => {
                let mut socket = socket_to(echo, &mut threads);
                Box::new(move || {
                    while tally.turn() {
                        socket.write_all(&[0]).unwrap();
                        socket.read_exact(&mut [0]).unwrap();
                    }
                })
            }
            Source::Readable => {
                let mut socket = socket_to(write_for_ever, &mut threads);
                Box::new(move || {
                    while tally.turn() {
                        socket.read_exact(&mut [0]).unwrap();
                    }
                })
            }
            Source::Jobs => Box::new(move || {
                let goes_on = || {
                    let (sender, receiver) = oneshot();
                    par::join(|| receiver.recv().unwrap(), || sender.send(tally.turn()).unwrap()).0
                };
                while goes_on() {}
            }),
            Source::Injector => {
                threads.push(pour(tally, move |tally| drop(runtime.spawn(move || tally.turn()))));
                continue;
            }
            Source::Pinned => {
                threads.push(pour(tally, move |tally| drop(runtime.spawn_on(0, move || tally.turn()))));
                continue;
            }
        };
        drop(runtime.spawn_on(0, body));
    }
    threads
}

/// Lets these sources compete until each has had its turns; returns how many each had when the last one had them.
fn compete(workers: usize, sources: &[Source]) -> Vec<u64> {
    let _watchdog = Watchdog::over(&compete, &format!("{sources:?} with {workers} workers"));
    let (runtime, other) = (watched(fixed(workers).build().unwrap()), fixed(1).name("other").build().unwrap());
    let stop = Arc::new(AtomicBool::new(false));
    let tallies: Vec<_> =
        sources.iter().map(|_| Arc::new(Tally { stop: Arc::clone(&stop), ..Tally::default() })).collect();
    let threads: Vec<_> = sources
        .iter()
        .zip(&tallies)
        .flat_map(|(&source, tally)| start(source, runtime.handle(), other.handle(), tally))
        .collect();
    let enough = rounds(TURNS as usize) as u64;
    until(|| tallies.iter().all(|tally| tally.turns() >= enough));
    let turns = tallies.iter().map(|tally| tally.turns()).collect();
    stop.store(true, Ordering::Relaxed);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let stats = || runtime.handle().stats();
    until(|| stats().finished == stats().spawned);
    end(runtime, other);
    turns
}

fn end(runtime: Runtime, other: Runtime) {
    common::shut_down(runtime);
    common::shut_down(other);
}

/// One test for each source, against each.
macro_rules! sources {
    ($($test:ident: $source:ident;)+) => {
        $(#[test]
        fn $test() {
            for other in Source::ALL {
                compete(1, &[Source::$source, other]);
            }
        })+
    };
}

sources! {
    yielding_fibers_starve_nobody: Ready;
    fresh_fibers_starve_nobody: Fresh;
    local_fibers_starve_nobody: Local;
    fibers_that_wake_each_other_starve_nobody: RunNext;
    fibers_woken_from_outside_starve_nobody: Inbox;
    timers_starve_nobody: Timers;
    fibers_spawned_from_outside_starve_nobody: Injector;
    fibers_spawned_on_a_worker_starve_nobody: Pinned;
    fibers_that_wait_for_sockets_starve_nobody: Sockets;
    fibers_whose_sockets_are_always_readable_starve_nobody: Readable;
    halves_of_forks_starve_nobody: Jobs;
}

#[test]
fn all_sources_at_once_make_progress() {
    for workers in [1, 2, 4] {
        compete(workers, &Source::ALL);
    }
}

#[test]
fn no_source_inside_a_worker_gets_far_ahead_of_another() {
    let inside: Vec<_> = Source::ALL.into_iter().filter(|source| source.is_inside()).collect();
    for &one in &inside {
        for &other in &inside {
            let turns = ahead(one, other);
            assert!(turns <= MOST_AHEAD * TURNS, "{turns} turns of {one:?} to {TURNS} of {other:?}");
        }
    }
}

/// How many turns `one` had when `other` had its [`TURNS`], counted on their worker itself.
fn ahead(one: Source, other: Source) -> u64 {
    let _watchdog = Watchdog::over(&ahead, &format!("{one:?} ahead of {other:?}"));
    let (runtime, foreign) = (watched(fixed(1).build().unwrap()), fixed(1).name("other").build().unwrap());
    let stop = Arc::new(AtomicBool::new(false));
    let tally = || Arc::new(Tally { stop: Arc::clone(&stop), ..Tally::default() });
    let (fast, slow) = (tally(), tally());
    start(one, runtime.handle(), foreign.handle(), &fast);
    start(other, runtime.handle(), foreign.handle(), &slow);
    let turns = {
        let (fast, slow, stop) = (Arc::clone(&fast), Arc::clone(&slow), Arc::clone(&stop));
        // A yielding fiber of the same worker sees every step.
        runtime.handle().spawn_on(0, move || {
            until(|| fast.turns() > 0);
            let (from, start) = (fast.turns(), slow.turns());
            until(|| slow.turns() >= start + TURNS);
            let turns = fast.turns() - from;
            stop.store(true, Ordering::Relaxed);
            turns
        })
    };
    let turns = turns.join().unwrap();
    let stats = || runtime.handle().stats();
    until(|| stats().finished == stats().spawned);
    end(runtime, foreign);
    turns
}

/// Fresh fibers behind one that computes start on a worker that has something to do itself, and more fibers to do it for.
#[test]
fn fresh_fibers_of_one_who_computes_start_on_a_worker_that_is_busy_itself() {
    const BUSY: usize = 20;
    const FRESH: u64 = 10;
    let runtime = watched(fixed(2).build().unwrap());
    runtime.run(|| {
        let (started, done) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let busy = (0..BUSY).map(|_| {
            let done = Arc::clone(&done);
            spawn_on(0, move || {
                while !done.load(Ordering::Relaxed) {
                    yield_now();
                }
            })
        });
        let busy: Vec<_> = busy.collect();
        let computing = spawn_on(1, move || {
            for _ in 0..FRESH {
                let started = Arc::clone(&started);
                drop(spawn(move || started.fetch_add(1, Ordering::Relaxed)));
            }
            // It never lets any of them have its worker.
            while started.load(Ordering::Relaxed) < FRESH {
                std::hint::spin_loop();
            }
            done.store(true, Ordering::Relaxed);
        });
        computing.join().unwrap();
        busy.into_iter().for_each(|busy| busy.join().unwrap());
    });
}
