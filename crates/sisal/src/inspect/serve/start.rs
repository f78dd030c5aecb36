//! The live view of a runtime whose settings ask for it.

use super::{ServeOptions, Server};
use crate::inspect::asked::Asked;
use crate::prim::say::say;
use crate::spawn::Handle;
use std::io;

/// Serves until it is dropped.
pub(crate) type Serving = Server;

/// Starts serving, and says where.
///
/// What the environment asks for holds for each runtime of the process and for its children, of which only one gets the port. So a
/// failure is said, and the program goes on; it is an error only for a program that asked itself.
pub(crate) fn start(asked: &Asked, runtime: &Handle) -> io::Result<Option<Serving>> {
    let mut options = ServeOptions::new().runtime(runtime);
    options.token = asked.token.clone();
    match options.serve(asked.address) {
        Ok(server) => {
            say(format_args!("sisal: serving at http://{}/\n", server.local_addr()));
            Ok(Some(server))
        }
        Err(error) if asked.by_builder => Err(error),
        Err(error) => {
            say(format_args!("sisal: SISAL_SERVE={}: nothing is served: {error}\n", asked.address));
            Ok(None)
        }
    }
}
