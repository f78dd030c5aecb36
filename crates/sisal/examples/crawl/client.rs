//! `ureq`, a client of HTTP that blocks, over sockets that park.
//!
//! It knows nothing of fibers: it is given names to be looked up and connections to be made by [`Fibers`], and then its
//! calls wait like those of any plain code. Whatever ends the waits of a fiber, such as a timeout around it, ends a request.

use sisal::net::{TcpStream, ToSocketAddrs};
use std::io::{Read, Write};
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, Transport};
use ureq::{Agent, Error};

/// A client that takes pages as they are: it follows nothing by itself.
pub(crate) fn agent() -> Agent {
    let config = Agent::config_builder()
        .user_agent("sisal-crawl")
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .proxy(None)
        .build();
    Agent::with_parts(config, Fibers, Fibers)
}

/// Where names and connections come from.
#[derive(Debug)]
struct Fibers;

impl Resolver for Fibers {
    fn resolve(&self, uri: &Uri, _: &Config, _: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        let (scheme, authority) = uri.scheme().zip(uri.authority()).ok_or(Error::HostNotFound)?;
        let name = DefaultResolver::host_and_port(scheme, authority).ok_or(Error::HostNotFound)?;
        let mut addresses = self.empty();
        // Whoever has more of them than this is not reached by the last ones.
        const ENOUGH: usize = 4;
        name.to_socket_addrs()?.take(ENOUGH).for_each(|address| addresses.push(address));
        if addresses.is_empty() { Err(Error::HostNotFound) } else { Ok(addresses) }
    }
}

impl Connector for Fibers {
    type Out = Connection;

    fn connect(&self, details: &ConnectionDetails<'_>, _: Option<()>) -> Result<Option<Connection>, Error> {
        let stream = TcpStream::connect(&details.addrs[..])?;
        let buffers = LazyBuffers::new(details.config.input_buffer_size(), details.config.output_buffer_size());
        Ok(Some(Connection { stream, buffers }))
    }
}

/// One connection, with what was read and is to be written.
#[derive(Debug)]
struct Connection {
    stream: TcpStream,
    buffers: LazyBuffers,
}

impl Transport for Connection {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, _: NextTimeout) -> Result<(), Error> {
        Ok(self.stream.write_all(&self.buffers.output()[..amount])?)
    }

    fn await_input(&mut self, _: NextTimeout) -> Result<bool, Error> {
        let count = self.stream.read(self.buffers.input_append_buf())?;
        self.buffers.input_appended(count);
        Ok(count > 0)
    }

    /// It is for one request: the client has a lock while it asks this, so that nothing that may wait can be done here.
    fn is_open(&mut self) -> bool {
        false
    }
}
