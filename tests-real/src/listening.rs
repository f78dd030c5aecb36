//! Servers of ours.

use sisal::net::{TcpListener, TcpStream};
use sisal::{Handle, JoinHandle};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

/// A listener at a free port of the loopback interface, and a fiber that accepts. It stops when this is dropped.
#[derive(Debug)]
pub struct Listening {
    listener: Arc<TcpListener>,
    acceptor: Option<JoinHandle<()>>,
    address: SocketAddr,
}

impl Listening {
    /// Starts a fiber for each connection, which `serve` is called in. What it returns is not looked at: clients go as they like.
    pub fn start<T: 'static>(
        runtime: &Handle,
        serve: impl Fn(TcpStream) -> io::Result<T> + Send + Sync + 'static,
    ) -> Listening {
        let listener = Arc::new(TcpListener::bind("127.0.0.1:0").unwrap());
        let address = listener.local_addr().unwrap();
        let (accepting, serve) = (Arc::clone(&listener), Arc::new(serve));
        let acceptor = runtime.spawn(move || {
            while let Ok((stream, _)) = accepting.accept() {
                let serve = Arc::clone(&serve);
                drop(sisal::spawn(move || drop(serve(stream))));
            }
        });
        Listening { listener, acceptor: Some(acceptor), address }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A URL of it.
    pub fn url(&self, scheme: &str, path: &str) -> String {
        format!("{scheme}://{}{path}", self.address)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.listener.close();
        let _ = self.acceptor.take().map(JoinHandle::join);
    }
}
