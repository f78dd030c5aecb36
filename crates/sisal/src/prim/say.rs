//! What own threads have to say on standard error.
//!
//! Past std's lock, which a fiber that waits may hold, and without a panic if nobody reads. A pipe that is full is waited for a while; what
//! does not go out then is dropped, so that nobody hangs because of what it wanted to say.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::stdio::stderr;
use std::fmt::Display;
use std::time::{Duration, Instant};

/// A pipe that says it has room has it for so many bytes.
const PIECE: usize = 4096;

/// How long a reader may take for a piece.
const PATIENCE: Duration = Duration::from_secs(1);

/// Writes `text` as it is.
pub(crate) fn say(text: impl Display) {
    for piece in text.to_string().as_bytes().chunks(PIECE) {
        let mut rest = piece;
        while !rest.is_empty() {
            if !wait_for_room() {
                return;
            }
            match rustix::io::retry_on_intr(|| rustix::io::write(stderr(), rest)) {
                Ok(written) if written > 0 => rest = &rest[written..],
                _ => return,
            }
        }
    }
}

/// Whether something can be written without waiting, or an error be had. A signal does not make it so.
fn wait_for_room() -> bool {
    let until = Instant::now() + PATIENCE;
    loop {
        let left = Timespec::try_from(until.saturating_duration_since(Instant::now())).ok();
        match poll(&mut [PollFd::new(&stderr(), PollFlags::OUT)], left.as_ref()) {
            Err(Errno::INTR) => {}
            ready => return ready != Ok(0),
        }
    }
}
