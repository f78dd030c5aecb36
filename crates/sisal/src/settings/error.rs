//! Why a runtime could not be built.

use std::error::Error;
use std::fmt;
use std::io;

/// Why a runtime could not be built.
///
/// The text says which setting it was, what was given, what is allowed and what to do about it:
///
/// ```text
/// SISAL_WORKERS=abc: expected a whole number from 1 to 1024; leave it out to use every CPU this
/// process may use
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// A setting has a value it can't have.
    #[non_exhaustive]
    Setting {
        /// The name of its setter on the builder: `"workers"`.
        name: &'static str,
        /// What was given, as it was given: `SISAL_WORKERS=abc`, or `workers(0)` for a setter.
        given: String,
        /// What is allowed: `a whole number from 1 to 1024`.
        expected: String,
        /// What to do about it.
        advice: &'static str,
    },
    /// The operating system refused something the runtime needs.
    #[non_exhaustive]
    Io {
        /// What could not be made: `the worker threads`.
        what: &'static str,
        /// What the operating system said.
        source: io::Error,
    },
}

impl BuildError {
    /// The operating system refused to make `what`.
    #[cold]
    pub(crate) fn io(what: &'static str, source: io::Error) -> BuildError {
        BuildError::Io { what, source }
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::Setting { given, expected, advice, .. } => write!(f, "{given}: expected {expected}; {advice}"),
            BuildError::Io { what, source } => write!(f, "could not make {what}: {source}"),
        }
    }
}

impl Error for BuildError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            BuildError::Setting { .. } => None,
            BuildError::Io { source, .. } => Some(source),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_the_system_says_what_was_tried_and_keeps_its_source() {
        let source = io::Error::from(io::ErrorKind::WouldBlock);
        let text = source.to_string();
        let error = BuildError::io("the worker threads", source);
        assert_eq!(error.to_string(), format!("could not make the worker threads: {text}"));
        assert!(error.source().is_some());
    }
}
