//! kanal's rendezvous between OS threads.

use std::thread;

use kanal::bounded;

use super::absent;
use crate::sample::Outcome;
use crate::work::{Work, clocked};

/// kanal's part in `work` that no runtime of stackless tasks can take.
pub(super) fn run(work: Work) -> Outcome {
    match work {
        Work::PingPongCross(load) => Ok(clocked(load, ping_pong)),
        _ => absent("it is here for what tokio+kanal cannot do"),
    }
}

/// Two threads that take turns.
fn ping_pong(trips: usize) {
    let ((ping, pinged), (pong, ponged)) = (bounded(0), bounded(0));
    let echo = thread::spawn(move || {
        for _ in 0..trips {
            let number: u64 = pinged.recv().expect("the caller sends");
            pong.send(number + 1).expect("the caller receives");
        }
    });
    let caller = thread::spawn(move || {
        let mut number = 0;
        for _ in 0..trips {
            ping.send(number).expect("the echo receives");
            number = ponged.recv().expect("the echo sends");
        }
        number
    });
    echo.join().expect("the echo ends well");
    assert_eq!(caller.join().expect("the caller ends well"), trips as u64);
}
