//! Two streams joined to one: what a proxy does.
//!
//! One fiber, or thread, moves the bytes of both directions. Each [`Way`] goes as far as it can without waiting; when neither gets any
//! further, all wait for an event that is set when one of the four ends may be ready.

use self::sealed::End;
use super::socket::Socket;
use super::{TcpStream, UnixStream};
use crate::io::COPY_BUFFER;
use crate::io::error;
use crate::park::{pay_fuel_for_system_call, scope};
use crate::prim::reason::{Place, Reason};
use crate::sync::Event;
use std::io;
use std::panic::Location;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker, ready};

/// A stream that is read and written, and whose directions end one by one: [`TcpStream`] and [`UnixStream`].
///
/// ```
/// use sisal::net::{Duplex, UnixStream, copy_bidirectional};
/// fn proxy(near: impl Duplex, far: impl Duplex) -> std::io::Result<u64> {
///     copy_bidirectional(&near, &far).map(|(there, back)| there + back)
/// }
/// let ((a, near), (far, b)) = (UnixStream::pair()?, UnixStream::pair()?);
/// drop((a, b));
/// assert_eq!(proxy(near, far)?, 0);
/// # Ok::<(), std::io::Error>(())
/// ```
pub trait Duplex: sealed::Duplex {}

mod sealed {
    pub trait Duplex {
        fn end(&self) -> End<'_>;
    }

    pub struct End<'a>(pub(super) &'a super::Socket);
}

impl Duplex for TcpStream {}

impl sealed::Duplex for TcpStream {
    fn end(&self) -> End<'_> {
        End(&self.socket)
    }
}

impl Duplex for UnixStream {}

impl sealed::Duplex for UnixStream {
    fn end(&self) -> End<'_> {
        End(&self.socket)
    }
}

/// Copies everything from `a` to `b` and from `b` to `a` at once, until both have ended; returns how many bytes went either way.
///
/// When one ends its direction, that is passed on to the other, whose own direction goes on. Timeouts of the streams do not count
/// here; put a [`timeout`](crate::timeout) around it.
///
/// # Errors
/// The first of either stream, and [cancelled](crate::is_cancelled) if something from outside ended the wait. Then the streams are in
/// the middle of something, and are best dropped.
///
/// ```
/// use sisal::net::{UnixStream, copy_bidirectional};
/// use std::io::{Read, Write};
///
/// sisal::run(|| {
///     let ((mut client, near), (far, mut server)) = (UnixStream::pair()?, UnixStream::pair()?);
///     let proxy = sisal::spawn(move || copy_bidirectional(&near, &far));
///     client.write_all(b"question")?;
///     client.shutdown(std::net::Shutdown::Write)?;
///
///     let mut question = String::new();
///     server.read_to_string(&mut question)?;
///     assert_eq!(question, "question");
///     drop(server);
///     assert_eq!(proxy.join().unwrap()?, (8, 0));
///     std::io::Result::Ok(())
/// })?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn copy_bidirectional<A: Duplex + ?Sized, B: Duplex + ?Sized>(a: &A, b: &B) -> io::Result<(u64, u64)> {
    let place = Location::caller();
    let (End(a), End(b)) = (a.end(), b.end());
    let bell = Arc::new(Bell(Event::new()));
    let waker = Waker::from(Arc::clone(&bell));
    let mut context = Context::from_waker(&waker);
    let (mut there, mut back) = (Way::new(a, b), Way::new(b, a));
    loop {
        // Where both keep up, this never waits.
        scope::check().map_err(|cancelled| error::cancelled(cancelled.cause))?;
        // Before they are asked: what becomes ready afterwards is heard.
        bell.0.reset();
        let has_arrived = there.advance(&mut context, place)?.is_ready();
        if back.advance(&mut context, place)?.is_ready() && has_arrived {
            return Ok((there.copied, back.copied));
        }
        bell.0.wait_for(Reason::Read, place).map_err(|cancelled| error::cancelled(cancelled.cause))?;
    }
}

/// After how many steps of one direction the other has its turn.
const BURST: usize = 16;

/// Rings when an end may be ready.
struct Bell(Event);

impl Wake for Bell {
    fn wake(self: Arc<Bell>) {
        self.0.set();
    }

    fn wake_by_ref(self: &Arc<Bell>) {
        self.0.set();
    }
}

/// One direction.
struct Way<'a> {
    from: &'a Socket,
    to: &'a Socket,
    buffer: Box<[u8]>,
    /// What of the buffer is yet to be written.
    written: usize,
    read: usize,
    copied: u64,
    stage: Stage,
}

#[derive(Copy, Clone, PartialEq, Eq)]
enum Stage {
    Reading,
    Writing,
    /// The end has been read and passed on.
    Done,
}

impl<'a> Way<'a> {
    fn new(from: &'a Socket, to: &'a Socket) -> Way<'a> {
        let buffer = vec![0; COPY_BUFFER].into_boxed_slice();
        Way { from, to, buffer, written: 0, read: 0, copied: 0, stage: Stage::Reading }
    }

    /// Goes as far as it can, but not so far that the other would never have its turn; ready when all is done.
    fn advance(&mut self, context: &mut Context<'_>, place: Place) -> io::Result<Poll<()>> {
        for _ in 0..BURST {
            if self.stage == Stage::Done {
                return Ok(Poll::Ready(()));
            }
            match self.step(context) {
                Poll::Ready(result) => result?,
                Poll::Pending => return Ok(Poll::Pending),
            }
            pay_fuel_for_system_call(place);
        }
        context.waker().wake_by_ref();
        Ok(Poll::Pending)
    }

    fn step(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.stage == Stage::Reading {
            self.read = ready!(self.from.poll_receive(&mut self.buffer, context))?;
            self.written = 0;
            if self.read == 0 {
                self.stage = Stage::Done;
                return Poll::Ready(self.to.end_sending());
            }
            self.stage = Stage::Writing;
        }
        let length = ready!(self.to.poll_send(&self.buffer[self.written..self.read], context))?;
        self.written += length;
        self.copied += length as u64;
        if self.written == self.read {
            self.stage = Stage::Reading;
        }
        Poll::Ready(Ok(()))
    }
}
