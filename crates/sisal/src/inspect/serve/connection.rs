//! One connection: a request, its answer, the end.

use super::clock::{TO_ASK, TO_CLOSE, TO_TAKE, Timed};
use super::http::{LARGEST_HEAD, Request, Response};
use super::routes::Routes;
use super::source::Wait;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What is still read after the answer, so that the client gets to see it.
const LARGEST_REST: usize = 64 << 10;

/// What a connection is at.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Its request is to come.
    Asking,
    /// We make the answer.
    Answering,
    /// The client takes the answer.
    Taking,
}

/// Answers the one request of a connection, and tells of each stage after the first.
pub(super) fn serve(stream: &TcpStream, routes: &Routes, enter: impl Fn(Stage), wait: Wait<'_>) -> io::Result<()> {
    let request = match read_request(stream) {
        Ok(Some(request)) => Ok(request),
        Ok(None) => return Ok(()),
        Err(refusal) => Err(refusal),
    };
    enter(Stage::Answering);
    let is_head = request.as_ref().is_ok_and(Request::is_head);
    let response = request.and_then(|request| answer(&request, routes, wait));
    let response = response.unwrap_or_else(|refusal| refusal);
    enter(Stage::Taking);
    let mut writer = Timed::new(stream, TO_TAKE);
    writer.write_all(response.head().as_bytes())?;
    if !is_head {
        writer.write_all(response.body())?;
    }
    finish(stream)
}

/// A panic of whoever makes the data is theirs: the next request may go well.
fn answer(request: &Request, routes: &Routes, wait: Wait<'_>) -> Result<Response, Response> {
    catch_unwind(AssertUnwindSafe(|| routes.answer(request, wait)))
        .unwrap_or_else(|_| Err(Response::text(500, "this panicked; see the program's standard error\n")))
}

/// Reads a request. `None` if the client went away, or never sent anything.
fn read_request(stream: &TcpStream) -> Result<Option<Request>, Response> {
    let mut reader = Timed::new(stream, TO_ASK);
    let mut bytes = vec![0; LARGEST_HEAD];
    let mut filled = 0;
    loop {
        let count = match reader.read(&mut bytes[filled..]) {
            Ok(0) => return Ok(None),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) if is_timeout(&error) && filled > 0 => {
                return Err(Response::text(408, "the request did not come to its end in time\n"));
            }
            Err(_) => return Ok(None),
        };
        filled += count;
        // INVARIANT: there is room for more, as a request that fills it all is either whole or refused.
        if let Some(request) = Request::parse(&bytes[..filled])? {
            return Ok(Some(request));
        }
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock)
}

/// Ends a connection so that the client has the whole answer: closing while there is something unread would make the system
/// reset the connection, and the client could lose what it has not read yet.
fn finish(stream: &TcpStream) -> io::Result<()> {
    stream.shutdown(Shutdown::Write)?;
    let mut rest = Timed::new(stream, TO_CLOSE).take(LARGEST_REST as u64);
    io::copy(&mut rest, &mut io::sink()).map(drop)
}
