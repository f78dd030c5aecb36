//! What is asked of the live view: where it is to be served, and the secret that its clients have to know. It is here also in programs
//! that are built without the view, which have to understand the settings to say so.

use std::fmt;
use std::net::SocketAddr;

/// What the settings of a runtime say of the live view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    /// INVARIANT: a loopback address, unless there is a token.
    pub(crate) address: SocketAddr,
    pub(crate) token: Option<Token>,
    /// Whether the program asked, not its environment.
    pub(crate) by_builder: bool,
}

/// Whether only this machine reaches the address; `::ffff:127.0.0.1` is one such too.
pub(crate) fn is_loopback(address: &SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

/// The secret. It does not show itself in debug output, which often ends in logs.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Token(String);

impl Token {
    pub(crate) fn new(text: impl Into<String>) -> Token {
        Token(text.into())
    }

    /// It has to fit into a header, a URL and one word of a file.
    pub(crate) fn is_usable(&self) -> bool {
        !self.0.is_empty() && self.0.bytes().all(|byte| byte.is_ascii_graphic())
    }

    #[cfg(feature = "serve")]
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("...")
    }
}
