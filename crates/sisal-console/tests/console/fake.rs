//! A runtime of which a test says what is to be seen.

use sisal_console::source::{Fiber, Look, Object, Source, State};
use sisal_console::{Builder, Console};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How old it is when the test begins.
pub(crate) const HOUR: Duration = Duration::from_secs(3600);

/// What is to be seen, for the test and for the console.
#[derive(Clone)]
pub(crate) struct Fake(Arc<Mutex<Scene>>);

struct Scene {
    start: Instant,
    fibers: Vec<Fiber>,
    objects: Vec<Object>,
    looks: usize,
}

impl Fake {
    pub(crate) fn new(fibers: Vec<Fiber>) -> Fake {
        Fake(Arc::new(Mutex::new(Scene { start: Instant::now(), fibers, objects: Vec::new(), looks: 0 })))
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
        let mut scene = self.0.lock().unwrap();
        scene.looks += 1;
        Look { uptime: HOUR + scene.start.elapsed(), fibers: scene.fibers.clone(), objects: scene.objects.clone() }
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
