//! What hyper 1 asks of a runtime: tasks, time, and streams.
//!
//! ```
//! use sisal::compat::hyper::{Executor, Io, Timer};
//! use hyper::{Response, body::Bytes, server::conn::http1, service::service_fn};
//! # use http_body_util::Full;
//! # use std::convert::Infallible;
//! # use std::io::{Read, Write};
//!
//! sisal::run(|| {
//!     let listener = sisal::net::TcpListener::bind("127.0.0.1:0")?;
//!     let address = listener.local_addr()?;
//!     let server = sisal::spawn(move || -> std::io::Result<()> {
//!         let (stream, _) = listener.accept()?;
//!         let hello = service_fn(|_| async { Ok::<_, Infallible>(Response::new(Full::<Bytes>::from("hello"))) });
//!         let connection = http1::Builder::new().timer(Timer).serve_connection(Io::new(stream), hello);
//!         sisal::block_on(connection).map_err(std::io::Error::other)
//!     });
//!     let mut client = sisal::net::TcpStream::connect(address)?;
//!     client.write_all(b"GET / HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")?;
//!     let mut answer = String::new();
//!     client.read_to_string(&mut answer)?;
//!     assert!(answer.ends_with("hello"));
//!     server.join().unwrap()
//! }).unwrap();
//! # let _ = Executor::new();
//! ```

mod io;
mod time;

pub use self::io::Io;
pub use self::time::{Sleep, Timer};

use crate::interop::spawn_future;
use crate::spawn::Handle;

/// Runs what hyper spawns, each in a fiber of its own, which nobody joins.
///
/// ```
/// use hyper::rt::Executor as _;
/// use sisal::compat::hyper::Executor;
/// sisal::run(|| {
///     let (done, is_done) = sisal::chan::oneshot();
///     Executor::new().execute(async { drop(done.send(7)) });
///     assert_eq!(is_done.recv(), Ok(7));
/// });
/// ```
#[derive(Clone, Debug, Default)]
pub struct Executor {
    runtime: Option<Handle>,
}

impl Executor {
    /// In the runtime of whoever is polled when hyper spawns. Outside of one that panics.
    ///
    /// ```
    /// use hyper::rt::Executor as _;
    /// sisal::run(|| {
    ///     let (done, is_done) = sisal::chan::oneshot();
    ///     sisal::compat::hyper::Executor::new().execute(async { drop(done.send(7)) });
    ///     assert_eq!(is_done.recv(), Ok(7));
    /// });
    /// ```
    pub fn new() -> Executor {
        Executor::default()
    }

    /// In the given runtime, wherever it is used.
    ///
    /// ```
    /// use hyper::rt::Executor as _;
    /// let runtime = sisal::Runtime::new().unwrap();
    /// let (done, is_done) = sisal::chan::oneshot();
    /// sisal::compat::hyper::Executor::within(runtime.handle().clone()).execute(async { drop(done.send(7)) });
    /// assert_eq!(is_done.recv(), Ok(7));
    /// ```
    pub fn within(runtime: Handle) -> Executor {
        Executor { runtime: Some(runtime) }
    }
}

impl<F> ::hyper::rt::Executor<F> for Executor
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    #[track_caller]
    fn execute(&self, future: F) {
        drop(match &self.runtime {
            Some(runtime) => runtime.spawn_future(future),
            None => spawn_future(future),
        });
    }
}
