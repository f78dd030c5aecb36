//! The live view of a program that was built without it.

use crate::inspect::asked::Asked;
use crate::prim::say::say;
use crate::spawn::Handle;
use std::io;

/// Nothing is served.
#[derive(Debug)]
pub(crate) enum Serving {}

/// Says that it can't be. Only the environment can have asked, so the program goes on.
pub(crate) fn start(asked: &Asked, _runtime: &Handle) -> io::Result<Option<Serving>> {
    let Asked { address, token: _, by_builder: _ } = asked;
    say(format_args!(
        "sisal: SISAL_SERVE={address}: nothing is served: this program was built without sisal's feature `serve`\n"
    ));
    Ok(None)
}
