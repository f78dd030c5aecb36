//! A runtime of which a test says what is to be seen.

use sisal_console::source::{Fiber, Look, Object, Source, State};
use sisal_console::{Builder, Console};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How old it is when the test begins.
const HOUR: Duration = Duration::from_secs(3600);

/// What is to be seen, for the test and for the console.
#[derive(Clone)]
pub(crate) struct Fake(Arc<Mutex<Scene>>);

struct Scene {
    start: Instant,
    fibers: Vec<Fiber>,
    /// The states of all fibers, and when they were entered: at first sight, as a runtime knows it.
    entered: HashMap<u64, (State, Duration)>,
    objects: Vec<Object>,
    looks: usize,
}

impl Fake {
    pub(crate) fn new(fibers: Vec<Fiber>) -> Fake {
        let (entered, objects) = (HashMap::new(), Vec::new());
        Fake(Arc::new(Mutex::new(Scene { start: Instant::now(), fibers, entered, objects, looks: 0 })))
    }

    /// Serves it somewhere, with updates as fast as can be.
    pub(crate) fn serve(&self) -> Console {
        self.builder().serve().unwrap()
    }

    pub(crate) fn builder(&self) -> Builder {
        Builder::new(self.clone()).address("127.0.0.1:0").interval(Duration::from_millis(1))
    }

    pub(crate) fn set(&self, fibers: Vec<Fiber>) {
        self.0.lock().unwrap().fibers = fibers;
    }

    pub(crate) fn set_objects(&self, objects: Vec<Object>) {
        self.0.lock().unwrap().objects = objects;
    }

    /// How many times it was looked at.
    pub(crate) fn looks(&self) -> usize {
        self.0.lock().unwrap().looks
    }
}

impl Source for Fake {
    fn look(&mut self) -> Look {
        let Scene { start, fibers, entered, objects, looks } = &mut *self.0.lock().unwrap();
        *looks += 1;
        let uptime = HOUR + start.elapsed();
        let mut fibers = fibers.clone();
        for fiber in &mut fibers {
            let (state, since) = entered.entry(fiber.id).or_insert((fiber.state, uptime));
            if *state != fiber.state {
                (*state, *since) = (fiber.state, uptime);
            }
            // A test may also say it itself.
            fiber.since = fiber.since.or(Some(uptime - *since));
        }
        Look { uptime, fibers, objects: objects.clone() }
    }
}

pub(crate) fn running(id: u64) -> Fiber {
    Fiber::new(id, State::Running, "src/main.rs:7:9")
}

pub(crate) fn ready(id: u64) -> Fiber {
    Fiber { reason: Some("yielding".into()), ..Fiber::new(id, State::Ready, "src/main.rs:7:9") }
}

pub(crate) fn asleep(id: u64) -> Fiber {
    let reason = Some("asleep".into());
    Fiber { reason, place: Some("src/nap.rs:10:5".into()), ..Fiber::new(id, State::Parked, "src/main.rs:7:9") }
}

pub(crate) fn receiving(id: u64, object: u64) -> Fiber {
    Fiber { reason: Some("receiving from a channel".into()), object: Some(object), ..asleep(id) }
}
