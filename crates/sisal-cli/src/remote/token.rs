//! Tokens: what a process asks for before it tells anything.

use std::fmt;
use std::str::FromStr;

/// A token. It is not shown, not even in debug output.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Token(String);

impl Token {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Token {
    type Err = &'static str;

    /// Takes what can stand in a header: anything else could be a header of its own.
    fn from_str(text: &str) -> Result<Token, &'static str> {
        match text {
            "" => Err("a token is not empty"),
            text if text.bytes().all(|byte| byte.is_ascii_graphic()) => Ok(Token(text.to_owned())),
            _ => Err("a token has only visible ASCII characters, and no space"),
        }
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}
