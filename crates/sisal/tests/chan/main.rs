//! Channels, flavour by flavour: on fibers, on threads, and mixed.

#[path = "../common/mod.rs"]
mod common;

mod alone;
mod alone_no_more;
mod ambient;
mod basics;
mod broadcast;
mod cancel;
mod close;
mod doorstep;
mod doorstep_ways;
mod drops;
mod drops_cancelled;
mod errors;
mod iter;
mod oneshot;
mod ordered;
mod ordered_calls;
mod policies;
mod pool;
mod room;
mod timeouts;
mod timers;
mod watch;
