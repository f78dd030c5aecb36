//! The live view of a runtime whose settings ask for it.

use super::{ServeOptions, Server};
use crate::inspect::token::Token;
use crate::spawn::Handle;
use std::io;
use std::net::SocketAddr;

/// What the settings say of the live view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) address: SocketAddr,
    pub(crate) token: Option<Token>,
    /// Whether the program asked, not its environment.
    pub(crate) by_builder: bool,
}

/// Serves until it is dropped.
pub(crate) type Serving = Server;

impl Asked {
    /// Starts serving, and says where.
    ///
    /// What the environment asks for holds for each runtime of the process and for its children, of which only one gets the
    /// port. So a failure is said, and the program goes on; it is an error only for a program that asked itself.
    pub(crate) fn serve(&self, runtime: &Handle) -> io::Result<Option<Serving>> {
        let mut options = ServeOptions::new().runtime(runtime);
        options.token = self.token.clone();
        match options.serve(self.address) {
            Ok(server) => {
                eprintln!("sisal: serving at http://{}/", server.local_addr());
                Ok(Some(server))
            }
            Err(error) if self.by_builder => Err(error),
            Err(error) => {
                eprintln!("sisal: SISAL_SERVE={}: nothing is served: {error}", self.address);
                Ok(None)
            }
        }
    }
}
