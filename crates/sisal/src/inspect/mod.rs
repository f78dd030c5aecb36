//! What a runtime tells about itself.

#[cfg(feature = "stack-traces")]
#[allow(dead_code, unused_imports, reason = "nothing shows stack traces yet")]
mod stack;

#[cfg(feature = "stack-traces")]
pub use self::stack::Frame;
