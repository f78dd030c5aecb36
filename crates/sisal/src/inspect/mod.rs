//! What a runtime tells about itself.

#[cfg(feature = "stack-traces")]
mod stack;

#[cfg(feature = "stack-traces")]
pub use self::stack::Frame;
