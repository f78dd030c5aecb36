//! The runtime of those who are in none.

use super::handle::Handle;
use std::sync::OnceLock;

static DEFAULT: OnceLock<Handle> = OnceLock::new();

/// Makes this the default runtime; false if there is one.
pub(crate) fn install_default(runtime: &Handle) -> bool {
    DEFAULT.set(runtime.clone()).is_ok()
}

/// The default runtime, if there is one.
pub(crate) fn default_runtime() -> Option<&'static Handle> {
    DEFAULT.get()
}
