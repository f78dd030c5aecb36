//! The threads of the server, and how many connections there may be.
//!
//! One thread accepts, and starts another for each connection, which brings one request. There are at most [`MOST`] of them.
//! When all are taken, and one has not brought its request within [`GRACE`], or has not taken its answer within [`PATIENCE`], that one is
//! ended: clients that open connections and say nothing, or ask and don't read, can't keep others out. Every part of a connection has a time limit besides (`clock`).
//!
//! Dropping the [`Server`] ends it: (1) `is_over` is set and every connection shut down, under the lock under which connections
//! are admitted, so that none is missed; (2) whoever waits (for room, for a trace) is notified; (3) the bell ends the accepting
//! thread's `poll`; (4) that thread waits for the others and closes the port with its end, and is joined.

use super::connection::{self, Stage};
use super::pid_file::PidFile;
use super::routes::Routes;
use super::source::Source;
use crate::inspect::asked::Token;
use crate::prim::bell::Bell;
use crate::prim::own_threads;
use rustix::event::{PollFd, PollFlags, poll};
use std::fmt;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Connections at a time. A page has one or two.
const MOST: usize = 16;
/// How long a connection without a request may keep others out.
const GRACE: Duration = Duration::from_millis(250);
/// How long a connection whose answer is not taken may keep others out.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long to wait when the system has no descriptor for a connection.
const SHORTAGE: Duration = Duration::from_millis(50);

/// What the names of its threads begin with.
const NAME: &str = "sisal-serve";

/// A live view that is being served. It ends when this is dropped, and its address is free again.
///
/// ```
/// let runtime = sisal::Runtime::new().unwrap();
/// let server = sisal::inspect::ServeOptions::new().runtime(runtime.handle()).serve("127.0.0.1:0")?;
/// let address = server.local_addr();
/// drop(server);
/// assert!(std::net::TcpListener::bind(address).is_ok());
/// # std::io::Result::Ok(())
/// ```
#[must_use = "serving ends when it is dropped"]
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    acceptor: Option<thread::JoinHandle<()>>,
    /// The threads are those of this process, and not of one that was forked from it.
    process: u32,
    _file: PidFile,
}

struct Shared {
    connections: Mutex<Connections>,
    /// Told when a connection ends, and at the end of all.
    changed: Condvar,
    bell: Bell,
    routes: Routes,
}

#[derive(Default)]
struct Connections {
    open: Vec<Connection>,
    is_over: bool,
}

struct Connection {
    stream: Arc<TcpStream>,
    stage: Stage,
    /// When that began.
    since: Instant,
    /// Whether it had to go. It keeps its place until its thread has seen that.
    is_ended: bool,
}

impl Server {
    pub(super) fn start(listener: TcpListener, token: Option<Token>, source: Arc<dyn Source>) -> io::Result<Server> {
        let address = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        let file = PidFile::write(address, token.as_ref());
        let shared = Arc::new(Shared {
            connections: Mutex::default(),
            changed: Condvar::new(),
            bell: Bell::new(),
            routes: Routes::new(source, token),
        });
        // Before anybody may ring it.
        shared.bell.descriptor()?;
        let accepting = Arc::clone(&shared);
        let acceptor = own_threads::spawn(NAME, move || accepting.accept(&listener))?;
        Ok(Server { address, shared, acceptor: Some(acceptor), process: std::process::id(), _file: file })
    }

    /// Where it serves, with the port that it was given if none was named.
    ///
    /// ```
    /// sisal::run(|| {
    ///     let server = sisal::inspect::serve("127.0.0.1:0")?;
    ///     assert!(std::net::TcpStream::connect(server.local_addr()).is_ok());
    ///     std::io::Result::Ok(())
    /// })?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            return;
        }
        self.shared.end();
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Shared {
    fn connections(&self) -> MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The accepting thread. It waits for those it has started.
    fn accept(&self, listener: &TcpListener) {
        thread::scope(|scope| {
            while self.wait_for_client(listener) {
                match listener.accept() {
                    Ok((stream, _)) => {
                        if let Some(place) = self.admit(stream) {
                            // A connection that finds no thread is closed, with its place.
                            let _ = thread::Builder::new().name(NAME.to_owned()).spawn_scoped(scope, move || {
                                let _enrolment = own_threads::enroll(own_threads::NO_RUNTIME);
                                place.serve();
                            });
                        }
                    }
                    Err(error) if is_passing(&error) => {}
                    Err(_) => self.pause(SHORTAGE),
                }
            }
        });
    }

    /// Waits until somebody connects; false at the end of all.
    fn wait_for_client(&self, listener: &TcpListener) -> bool {
        if let Ok(bell) = self.bell.descriptor() {
            let mut waited_for = [
                PollFd::from_borrowed_fd(listener.as_fd(), PollFlags::IN),
                PollFd::from_borrowed_fd(bell, PollFlags::IN),
            ];
            // Interrupted, it is called again.
            let _ = poll(&mut waited_for, None);
        }
        !self.connections().is_over
    }

    /// Waits for room for a connection, and makes some if it does not come by itself. None at the end of all.
    fn admit(&self, stream: TcpStream) -> Option<Place<'_>> {
        let mut connections = self.connections();
        while connections.open.len() >= MOST && !connections.is_over {
            connections.end_a_slow_one();
            connections = self.changed.wait_timeout(connections, GRACE).unwrap_or_else(PoisonError::into_inner).0;
        }
        if connections.is_over {
            return None;
        }
        let stream = Arc::new(stream);
        connections.open.push(Connection {
            stream: Arc::clone(&stream),
            stage: Stage::Asking,
            since: Instant::now(),
            is_ended: false,
        });
        Some(Place { shared: self, stream })
    }

    /// Waits for so long, or until the end of all.
    fn pause(&self, duration: Duration) {
        let connections = self.connections();
        let _ = self.changed.wait_timeout_while(connections, duration, |connections| !connections.is_over);
    }

    fn end(&self) {
        let mut connections = self.connections();
        connections.is_over = true;
        connections.open.iter().for_each(Connection::end);
        drop(connections);
        self.changed.notify_all();
        self.bell.ring();
    }
}

impl Connections {
    /// Ends the connection that has kept us waiting longest, if that is too long. Those that have not asked go first.
    fn end_a_slow_one(&mut self) {
        let slow = self.open.iter_mut().filter(|open| !open.is_ended && open.is_too_slow());
        if let Some(longest) = slow.min_by_key(|open| (open.stage != Stage::Asking, open.since)) {
            longest.is_ended = true;
            longest.end();
        }
    }
}

impl Connection {
    /// Whether it may be ended for the sake of others.
    fn is_too_slow(&self) -> bool {
        match self.stage {
            Stage::Asking => self.since.elapsed() >= GRACE,
            Stage::Answering => false,
            Stage::Taking => self.since.elapsed() >= PATIENCE,
        }
    }

    /// Its thread finds its stream at an end, and ends too.
    fn end(&self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

/// A connection's place among those that are open. It is free again when this is dropped.
struct Place<'a> {
    shared: &'a Shared,
    stream: Arc<TcpStream>,
}

impl Place<'_> {
    /// What the connection's thread does.
    fn serve(&self) {
        let _enrolment = own_threads::enroll(own_threads::NO_RUNTIME);
        let wait = |duration| self.shared.pause(duration);
        // An error: the client has gone, or is too slow. Nobody is left to be told.
        let _ = connection::serve(&self.stream, &self.shared.routes, |stage| self.enter(stage), &wait);
    }

    fn enter(&self, stage: Stage) {
        let mut connections = self.shared.connections();
        let this = connections.open.iter_mut().find(|open| Arc::ptr_eq(&open.stream, &self.stream));
        if let Some(this) = this {
            (this.stage, this.since) = (stage, Instant::now());
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.shared.connections().open.retain(|open| !Arc::ptr_eq(&open.stream, &self.stream));
        self.shared.changed.notify_all();
    }
}

/// Whether the next connection may do better at once: this one was gone before it was accepted.
fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted, WouldBlock};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted | WouldBlock)
}
