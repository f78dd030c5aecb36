//! Futures in fibers, and fibers in futures.
