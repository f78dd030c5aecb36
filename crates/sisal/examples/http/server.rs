//! The server: accepts connections, each of which is a fiber, and has a function answer their requests.
//!
//! A connection has one buffer that it reads into and one that it answers from. What has come is parsed where it
//! lies, as many requests as there are, and their answers go out together. So a client that sends requests without
//! waiting for the answers is answered in order, and costs few calls to the system.
//!
//! A request is answered to the end whatever happens: that is done under a [`shield`]. Only the wait for the
//! next request is cancelled when the server ends.

#[path = "message.rs"]
mod message;

pub(crate) use message::{Request, Response, Status};

use message::{BODY_LIMIT, HEAD_LIMIT, Parsed, parse};
use sisal::net::{TcpListener, TcpStream};
use sisal::{Nursery, is_cancelled, shield};
use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::time::{Duration, Instant};

/// How long a client may be silent between requests, and how long one may take to come.
const PATIENCE: Duration = Duration::from_secs(30);
/// What is left of that when it is over.
const LEAST_PATIENCE: Duration = Duration::from_millis(1);
/// How long to wait when the system has no descriptor left for another connection, for instance.
const PAUSE: Duration = Duration::from_millis(100);
/// Answers are sent when there are this many bytes of them, even if there are more requests to answer.
const ENOUGH: usize = 64 << 10;
/// How much of what a client goes on to send, after it was told off, is read before it is cut off.
const LEFT_OVER: usize = 256 << 10;

/// Serves until a signal comes, and then until all requests that have begun are answered.
///
/// # Errors
/// None of a single connection is one of the server.
pub(crate) fn serve<H>(listener: &TcpListener, handler: &H) -> io::Result<()>
where
    H: for<'a> Fn(&Request<'a>) -> Response<'a> + Sync,
{
    Nursery::options().cancel_on_signals().run(|n| {
        loop {
            match listener.accept() {
                Ok((stream, _)) => drop(n.spawn(move || {
                    // An error here is a client that has gone: there is nobody to tell.
                    let _ = Connection::new(&stream, &|| n.is_cancelled()).serve(handler);
                })),
                Err(error) if is_cancelled(&error) => {
                    // Others are refused from now on, while those who are here are served.
                    listener.close();
                    return Ok(());
                }
                Err(error) => {
                    sisal::eprintln!("http: can't accept: {error}");
                    let _ = sisal::sleep(PAUSE);
                }
            }
        }
    })
}

struct Connection<'a> {
    stream: &'a TcpStream,
    /// What was read and not yet answered is the first `filled` bytes.
    input: Vec<u8>,
    filled: usize,
    /// When the first of them came.
    begun: Instant,
    output: Vec<u8>,
    /// Whether the client was told to go on with the body of its request.
    was_encouraged: bool,
    is_ending: &'a dyn Fn() -> bool,
}

/// Whether there are more requests to come.
#[derive(PartialEq)]
enum Next {
    Request,
    Nothing,
}

impl<'a> Connection<'a> {
    fn new(stream: &'a TcpStream, is_ending: &'a dyn Fn() -> bool) -> Connection<'a> {
        Connection {
            stream,
            input: vec![0; HEAD_LIMIT],
            filled: 0,
            begun: Instant::now(),
            output: Vec::new(),
            was_encouraged: false,
            is_ending,
        }
    }

    /// Answers requests until one of the two wants no more.
    fn serve<H>(mut self, handler: &H) -> io::Result<()>
    where
        H: for<'r> Fn(&Request<'r>) -> Response<'r>,
    {
        self.stream.set_nodelay(true)?;
        // An answer is not cut off by the end of the server, but by a client that does not take it.
        self.stream.set_write_timeout(Some(PATIENCE))?;
        while self.read()? == Next::Request {
            if shield(|| self.answer(handler))? == Next::Nothing {
                return self.hang_up();
            }
        }
        Ok(())
    }

    /// Reads some more: of a request that has begun in any case, of a new one unless the server ends.
    fn read(&mut self) -> io::Result<Next> {
        if self.filled == self.input.len() {
            self.input.resize((2 * self.filled).min(HEAD_LIMIT + BODY_LIMIT), 0);
        }
        let (mut stream, room) = (self.stream, &mut self.input[self.filled..]);
        let has_begun = self.filled > 0;
        // All of a request is to come in time, however small the pieces are.
        let left = if has_begun { PATIENCE.saturating_sub(self.begun.elapsed()) } else { PATIENCE };
        self.stream.set_read_timeout(Some(left.max(LEAST_PATIENCE)))?;
        let count = if has_begun { shield(|| stream.read(room)) } else { stream.read(room) };
        match count {
            Ok(0) => Ok(Next::Nothing),
            Ok(count) => {
                if !has_begun {
                    self.begun = Instant::now();
                }
                self.filled += count;
                Ok(Next::Request)
            }
            Err(error) if error.kind() == ErrorKind::TimedOut && has_begun => {
                Response::status(Status::Timeout).write(&mut self.output, false, true);
                self.send()?;
                Ok(Next::Nothing)
            }
            Err(error) => Err(error),
        }
    }

    /// Answers all requests that are there whole.
    fn answer<H>(&mut self, handler: &H) -> io::Result<Next>
    where
        H: for<'r> Fn(&Request<'r>) -> Response<'r>,
    {
        let mut start = 0;
        let next = loop {
            match parse(&self.input[start..self.filled]) {
                Ok(Parsed::Whole { request, length }) => {
                    let response = handler(&request);
                    let is_last = !request.keep_alive || (self.is_ending)();
                    response.write(&mut self.output, request.method == "HEAD", is_last);
                    start += length;
                    self.was_encouraged = false;
                    if is_last {
                        break Next::Nothing;
                    }
                }
                Ok(Parsed::Part { wants_encouragement }) => {
                    if wants_encouragement && !self.was_encouraged {
                        self.output.extend_from_slice(message::CONTINUE);
                        self.was_encouraged = true;
                    }
                    break Next::Request;
                }
                Err(status) => {
                    Response::status(status).write(&mut self.output, false, true);
                    break Next::Nothing;
                }
            }
            if self.output.len() >= ENOUGH {
                self.send()?;
            }
        };
        self.input.copy_within(start..self.filled, 0);
        self.filled -= start;
        if start > 0 && self.filled > 0 {
            self.begun = Instant::now();
        }
        self.send()?;
        Ok(next)
    }

    fn send(&mut self) -> io::Result<()> {
        let mut stream = self.stream;
        stream.write_all(&self.output)?;
        self.output.clear();
        Ok(())
    }

    /// Ends the connection so that the client gets the last answer: if it were closed with something unread, the
    /// system would throw that away.
    fn hang_up(mut self) -> io::Result<()> {
        self.stream.shutdown(Shutdown::Write)?;
        let mut stream = self.stream;
        let mut left = LEFT_OVER;
        while left > 0 {
            match stream.read(&mut self.input)? {
                0 => break,
                count => left = left.saturating_sub(count),
            }
        }
        Ok(())
    }
}
