//! The server and its thread.

use crate::service::Service;
use crate::source::Source;
use console_api::instrument::instrument_server::InstrumentServer;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::runtime;
use tokio::sync::oneshot;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

/// Serves until it is dropped. Then the address is free again, and all clients are disconnected.
///
/// ```
/// # let runtime = sisal::Runtime::new().unwrap();
/// let console = sisal_console::Builder::new(runtime.handle().clone()).address("127.0.0.1:0").serve().unwrap();
/// println!("tokio-console http://{}", console.address());
/// ```
#[derive(Debug)]
#[must_use = "it serves until it is dropped"]
pub struct Console {
    address: SocketAddr,
    /// Dropped to end the thread.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    /// The thread is one of this process, and not of one that was forked from it.
    process: u32,
}

impl Console {
    pub(crate) fn start(listener: TcpListener, source: Box<dyn Source>, interval: Duration) -> io::Result<Console> {
        let address = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        let runtime = runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let (stop, stopped) = oneshot::channel();
        let service = Service::new(source);
        let body = move || runtime.block_on(serve(listener, service, interval, stopped));
        let thread = thread::Builder::new().name("sisal-console".into()).spawn(body)?;
        Ok(Console { address, stop: Some(stop), thread: Some(thread), process: std::process::id() })
    }

    /// Where it serves. With port 0 the system has chosen one.
    ///
    /// ```
    /// # let runtime = sisal::Runtime::new().unwrap();
    /// let console = sisal_console::Builder::new(runtime.handle().clone()).address("127.0.0.1:0").serve().unwrap();
    /// assert_ne!(console.address().port(), 0);
    /// ```
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Ends with the guard, or when the listener fails for good; connections and the beat end with the runtime, after it.
async fn serve(listener: TcpListener, service: Service, interval: Duration, stopped: oneshot::Receiver<()>) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    let server = Server::builder().serve_with_incoming(InstrumentServer::new(service.clone()), incoming);
    tokio::select! {
        _ = stopped => {}
        _ = server => {}
        () = service.beat(interval) => {}
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            // Nobody is there to be told.
            return std::mem::forget(self.stop.take());
        }
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the source was reported when it happened.
            let _ = thread.join();
        }
    }
}
