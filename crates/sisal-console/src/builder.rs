//! Where and how to serve.

use crate::console::Console;
use crate::source::Source;
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::time::Duration;

/// Where tokio-console looks if it is not told otherwise.
const ADDRESS: &str = "127.0.0.1:6669";
/// The variable by which whoever starts the program names another.
const VARIABLE: &str = "TOKIO_CONSOLE_BIND";
/// As often as the console of tokio.
const INTERVAL: Duration = Duration::from_secs(1);

/// Serves the runtime that the caller runs in, at this address and no other. `127.0.0.1:6669` is where tokio-console looks.
///
/// # Errors
/// If there is no runtime here, and as [`Builder::serve`].
///
/// ```
/// sisal::run(|| {
///     let console = sisal_console::serve("127.0.0.1:0").unwrap();
///     println!("tokio-console http://{}", console.address());
/// });
/// ```
pub fn serve(address: impl ToSocketAddrs) -> io::Result<Console> {
    let Some(runtime) = sisal::Handle::current() else {
        let text =
            "there is no runtime here to be shown; call serve in a fiber, or Builder::new with the handle of a runtime";
        return Err(io::Error::new(io::ErrorKind::NotFound, text));
    };
    Builder::new(runtime).address(address).serve()
}

/// Says where to serve, and how.
///
/// ```
/// use std::time::Duration;
///
/// let runtime = sisal::Runtime::new().unwrap();
/// let builder = sisal_console::Builder::new(runtime.handle().clone()).address("127.0.0.1:0");
/// let console = builder.interval(Duration::from_millis(500)).serve().unwrap();
/// println!("tokio-console http://{}", console.address());
/// ```
#[must_use = "nothing is served before `serve` is called"]
pub struct Builder {
    source: Box<dyn Source>,
    /// None for that of the environment, or else the usual one.
    addresses: Option<io::Result<Vec<SocketAddr>>>,
    beyond_loopback: bool,
    interval: Duration,
}

impl Builder {
    /// Serves what this source shows, such as the [handle](sisal::Handle) of a runtime, at the address that `TOKIO_CONSOLE_BIND` names as `HOST:PORT`, or else at `127.0.0.1:6669`.
    ///
    /// ```no_run
    /// # let runtime = sisal::Runtime::new().unwrap();
    /// let console = sisal_console::Builder::new(runtime.handle().clone()).serve().unwrap();
    /// ```
    pub fn new(source: impl Source) -> Builder {
        Builder { source: Box::new(source), addresses: None, beyond_loopback: false, interval: INTERVAL }
    }

    /// Serves at this address, whatever the environment says. Port 0 has the system choose one: see [`Console::address`].
    ///
    /// ```
    /// # let runtime = sisal::Runtime::new().unwrap();
    /// let console = sisal_console::Builder::new(runtime.handle().clone()).address("localhost:0").serve().unwrap();
    /// # drop(console);
    /// ```
    pub fn address(mut self, address: impl ToSocketAddrs) -> Builder {
        self.addresses = Some(address.to_socket_addrs().map(Iterator::collect));
        self
    }

    /// Lets [`address`](Self::address) be one that other machines can reach.
    ///
    /// The protocol knows no password and no encryption: whoever can connect sees the names and places of all fibers. An address in
    /// `TOKIO_CONSOLE_BIND` needs no such leave, since whoever starts the program has asked for it.
    ///
    /// ```no_run
    /// # let runtime = sisal::Runtime::new().unwrap();
    /// let console = sisal_console::Builder::new(runtime.handle().clone()).address("0.0.0.0:6669").beyond_loopback().serve().unwrap();
    /// ```
    pub fn beyond_loopback(mut self) -> Builder {
        self.beyond_loopback = true;
        self
    }

    /// How long to wait between two updates: one second, unless set, and a millisecond at least.
    ///
    /// ```
    /// # let runtime = sisal::Runtime::new().unwrap();
    /// let often = std::time::Duration::from_millis(250);
    /// let console = sisal_console::Builder::new(runtime.handle().clone()).address("127.0.0.1:0").interval(often).serve().unwrap();
    /// # drop(console);
    /// ```
    pub fn interval(mut self, interval: Duration) -> Builder {
        self.interval = interval;
        self
    }

    /// Starts a thread that serves, until the guard is dropped.
    ///
    /// # Errors
    /// If the address can't be resolved, can be reached by others though nobody asked for that, or is in use; or if the thread can't be
    /// started.
    ///
    /// ```
    /// # let runtime = sisal::Runtime::new().unwrap();
    /// let refused = sisal_console::Builder::new(runtime.handle().clone()).address("0.0.0.0:6669").serve();
    /// assert!(refused.unwrap_err().to_string().contains("beyond_loopback"));
    /// ```
    pub fn serve(self) -> io::Result<Console> {
        let listener = match self.addresses {
            Some(addresses) => listen(addresses, self.beyond_loopback, "the address of the console")?,
            None => listen_by_environment(std::env::var_os(VARIABLE), self.beyond_loopback)?,
        };
        Console::start(listener, self.source, self.interval)
    }
}

fn listen_by_environment(value: Option<std::ffi::OsString>, beyond_loopback: bool) -> io::Result<TcpListener> {
    match value {
        Some(value) => {
            let value = value.to_string_lossy();
            listen(value.to_socket_addrs().map(Iterator::collect), true, &format!("{VARIABLE}={value}"))
        }
        None => listen(ADDRESS.to_socket_addrs().map(Iterator::collect), beyond_loopback, ADDRESS),
    }
}

fn listen(addresses: io::Result<Vec<SocketAddr>>, beyond_loopback: bool, what: &str) -> io::Result<TcpListener> {
    let addresses = addresses.map_err(|error| {
        explain(&error, &format!("{what} is not of the form HOST:PORT, such as {ADDRESS}, or can't be resolved"))
    })?;
    if let Some(address) = addresses.iter().find(|address| !beyond_loopback && !address.ip().is_loopback()) {
        let text = format!(
            "{address} can be reached from other machines, and the console asks nobody for a password; \
             Builder::beyond_loopback allows it"
        );
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    TcpListener::bind(&addresses[..]).map_err(|error| {
        let list: Vec<String> = addresses.iter().map(ToString::to_string).collect();
        let advice = match error.kind() {
            io::ErrorKind::AddrInUse => {
                ", perhaps by the console of another program; another address can be set by TOKIO_CONSOLE_BIND"
            }
            _ => "",
        };
        explain(&error, &format!("can't serve the console at {}{advice}", list.join(" or ")))
    })
}

/// The same kind of error, which says what it was about.
fn explain(error: &io::Error, what: &str) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_names_the_address_and_may_open_it_to_others() {
        let local = listen_by_environment(Some("localhost:0".into()), false).unwrap();
        assert!(local.local_addr().unwrap().ip().is_loopback());
        let open = listen_by_environment(Some("0.0.0.0:0".into()), false).unwrap();
        assert!(open.local_addr().unwrap().ip().is_unspecified());
    }

    #[test]
    fn an_environment_that_names_no_address_is_a_clear_error() {
        for wrong in ["", "6669", "localhost", "localhost:port", "127.0.0.1:66690"] {
            let error = listen_by_environment(Some(wrong.into()), false).unwrap_err();
            let text = error.to_string();
            assert!(text.contains(VARIABLE) && text.contains("HOST:PORT"), "{text}");
        }
    }
}
