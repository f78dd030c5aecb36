//! Warnings as events of `tracing`.

use super::blockers::Blocker;
use tracing::dispatcher;
use tracing::subscriber::NoSubscriber;
use tracing::{Level, event};

/// Whether somebody listens on this thread.
pub(super) fn is_heard() -> bool {
    dispatcher::has_been_set() && dispatcher::get_default(|dispatch| !dispatch.is::<NoSubscriber>())
}

/// A fiber blocks its worker.
pub(super) fn blocked(blocker: &Blocker) {
    let fiber = &blocker.fiber;
    event!(
        target: "sisal",
        Level::WARN,
        fiber.id = %fiber.id(),
        fiber.name = fiber.name(),
        fiber.spawned_at = %fiber.spawned_at(),
        worker = blocker.worker,
        held_ms = u64::try_from(blocker.held.as_millis()).unwrap_or(u64::MAX),
        stack = blocker.stack.as_deref(),
        "a fiber blocks its worker"
    );
}
