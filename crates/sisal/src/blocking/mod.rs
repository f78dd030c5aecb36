//! Threads for calls that block.
