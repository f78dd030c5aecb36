//! The live view: a page in the browser that shows what a runtime does, and the same as text and JSON for tools.
//!
//! Everything here runs on plain threads over `std::net`, so that it answers when all workers are stuck: that is when it is
//! needed. It is off unless asked for.
//!
//! - [`server`]: the accepting thread, and how many connections there may be; [`connection`]: one of them, from its request to
//!   its end; [`clock`]: how long each part may take.
//! - [`http`]: requests and answers as bytes; [`query`]: what stands behind the question mark.
//! - [`auth`]: who may ask; [`routes`]: what is answered; [`page`]: the page.
//! - [`source`]: where the data come from; [`start`]: serving because a setting says so; [`pid_file`]: how a process is found.
//!
//! # Who may ask
//! Whoever can run programs on this machine can reach the loopback interface. To the same user a runtime shows nothing that they could not
//! see with a debugger, but every other local user sees it too: names, stack traces with addresses, metrics; and can have traces taken. The
//! default is loopback without a token all the same, as most machines have one user; shared ones should set a token, and any other
//! address needs one. What
//! runs in a browser is another matter: any site may send requests to `127.0.0.1`. It can't read answers, unless its own name
//! resolves to that address (DNS rebinding). Hence the rules in [`auth`].

mod auth;
mod clock;
mod connection;
mod http;
mod page;
mod pid_file;
mod query;
mod routes;
mod server;
mod source;
mod start;

pub use self::server::Server;
pub use self::source::{Selection, Source, Wait};

pub(crate) use self::start::{Serving, start};

use self::source::Live;
use crate::inspect::asked::{Token, is_loopback};
use crate::spawn::{Handle, default_runtime};
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::sync::Arc;

/// Serves the live view of the runtime that the caller is in, until the [`Server`] is dropped. `http://ADDR/` shows it in a browser.
///
/// | path | what it gives |
/// |---|---|
/// | `/` | the page |
/// | `/debug/fibers` | all fibers as text, `/debug/fibers.json` as JSON; `?id=17` only one, with those it waits for in a cycle, `?traces=0` without stack traces |
/// | `/debug/trace?seconds=S` | what runs where for so long, for Perfetto or `chrome://tracing`; 0 for what is recorded already |
/// | `/metrics` | numbers for Prometheus, `/metrics.json` as JSON |
///
/// It runs on threads of its own, and answers also when all workers are stuck. The address has to be a loopback one; for others set a
/// [token](ServeOptions::token). So do on a machine that others use too: all its users can reach a loopback address. Port 0 is any free port. A process that serves is also found by its process number:
/// `$XDG_RUNTIME_DIR/sisal/PID`, or else `/tmp/sisal-UID/PID`, holds its address.
///
/// The same can be had without code by `SISAL_SERVE=ADDR`, see [`RuntimeBuilder`](crate::RuntimeBuilder).
///
/// # Errors
/// If the address can't be had or is not a loopback one, if the caller is in no runtime and there is no default one, or if the
/// system refuses a thread.
///
/// ```
/// sisal::run(|| {
///     let server = sisal::inspect::serve("127.0.0.1:0")?;
///     println!("look at http://{}/", server.local_addr());
///     # assert!(server.local_addr().ip().is_loopback());
///     std::io::Result::Ok(())
/// })?;
/// # std::io::Result::Ok(())
/// ```
pub fn serve(addr: impl ToSocketAddrs) -> io::Result<Server> {
    ServeOptions::new().serve(addr)
}

/// How the live view is to be served. See [`serve`].
///
/// ```
/// let runtime = sisal::Runtime::new().unwrap();
/// let options = sisal::inspect::ServeOptions::new().runtime(runtime.handle()).token("correct-horse");
/// let server = options.serve("0.0.0.0:0")?;
/// println!("curl -H 'Authorization: Bearer correct-horse' http://{}/debug/fibers", server.local_addr());
/// # std::io::Result::Ok(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "options do nothing until `serve`"]
pub struct ServeOptions {
    runtime: Option<Handle>,
    token: Option<Token>,
}

impl ServeOptions {
    /// The defaults: the runtime of the caller, and no token.
    ///
    /// ```
    /// sisal::run(|| {
    ///     let server = sisal::inspect::ServeOptions::new().serve("127.0.0.1:0")?;
    ///     assert_ne!(server.local_addr().port(), 0);
    ///     std::io::Result::Ok(())
    /// })?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn new() -> ServeOptions {
        ServeOptions::default()
    }

    /// Shows this runtime, and not the one that the caller is in.
    ///
    /// ```
    /// use sisal::inspect::ServeOptions;
    /// assert!(ServeOptions::new().serve("127.0.0.1:0").is_err(), "there is none here");
    /// let runtime = sisal::Runtime::new().unwrap();
    /// let server = ServeOptions::new().runtime(runtime.handle()).serve("127.0.0.1:0")?;
    /// assert!(server.local_addr().ip().is_loopback());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn runtime(mut self, runtime: &Handle) -> ServeOptions {
        self.runtime = Some(runtime.clone());
        self
    }

    /// Answers only requests that bring this secret: as `Authorization: Bearer TOKEN`, or as `?token=TOKEN`. The page asks for it.
    /// It may have letters, digits and punctuation.
    ///
    /// ```
    /// use std::io::{Read, Write};
    /// let runtime = sisal::Runtime::new().unwrap();
    /// let server = sisal::inspect::ServeOptions::new().runtime(runtime.handle()).token("correct-horse").serve("127.0.0.1:0")?;
    /// let mut client = std::net::TcpStream::connect(server.local_addr())?;
    /// client.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    /// let mut answer = String::new();
    /// client.read_to_string(&mut answer)?;
    /// assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn token(mut self, token: impl Into<String>) -> ServeOptions {
        self.token = Some(Token::new(token));
        self
    }

    /// Starts serving.
    ///
    /// # Errors
    /// See [`serve`]; besides, if the token is empty or has blanks or other characters in it that no header can carry.
    ///
    /// ```
    /// let runtime = sisal::Runtime::new().unwrap();
    /// let options = sisal::inspect::ServeOptions::new().runtime(runtime.handle());
    /// let error = options.serve("0.0.0.0:0").unwrap_err();
    /// assert!(error.to_string().contains("needs a token"));
    /// ```
    pub fn serve(self, addr: impl ToSocketAddrs) -> io::Result<Server> {
        let runtime = self.runtime.clone().or_else(Handle::current).or_else(|| default_runtime().cloned());
        let Some(runtime) = runtime else {
            let text =
                "there is no runtime to show here: call `serve` in a fiber, or name one by `ServeOptions::runtime`";
            return Err(io::Error::new(io::ErrorKind::NotFound, text));
        };
        self.serve_from(addr, Arc::new(Live::of(runtime)))
    }

    /// Serves what somebody else says, for tests of the server and the page.
    #[doc(hidden)]
    pub fn serve_from(self, addr: impl ToSocketAddrs, source: Arc<dyn Source>) -> io::Result<Server> {
        if self.token.as_ref().is_some_and(|token| !token.is_usable()) {
            let text = "a token needs at least one character, and may have ASCII letters, digits and punctuation, but no blanks";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let addresses: Vec<SocketAddr> = addr.to_socket_addrs()?.collect();
        if self.token.is_none() {
            refuse_others(&addresses)?;
        }
        Server::start(TcpListener::bind(&*addresses)?, self.token, source)
    }
}

/// Without a token nobody but this machine may reach it.
fn refuse_others(addresses: &[SocketAddr]) -> io::Result<()> {
    match addresses.iter().find(|address| !is_loopback(address)) {
        None => Ok(()),
        Some(address) => {
            let text = format!(
                "{address} can be reached from other machines, and needs a token: set one by `ServeOptions::token` or \
                 SISAL_SERVE_TOKEN, or serve at a loopback address such as 127.0.0.1:{}",
                address.port()
            );
            Err(io::Error::new(io::ErrorKind::PermissionDenied, text))
        }
    }
}
