//! What a fiber that somebody looks at does: one notion for all who tell of it.

use super::snapshot::FiberState;
use crate::prim::reason::Reason;
use crate::sched::presence::Sighted;

/// What a fiber has noted of the wait that it is in, or was in until it was woken; [`Reason::None`] if it runs.
pub(super) fn reason_of(sighted: &Sighted<'_>) -> Reason {
    let noted = if sighted.runs { None } else { sighted.fiber.wait.read() };
    noted.map_or(Reason::None, |noted| noted.reason)
}

/// What a fiber does. One that was woken keeps its note until it runs, but waits only for its turn.
pub(super) fn state_of(sighted: &Sighted<'_>) -> FiberState {
    match reason_of(sighted) {
        Reason::None => FiberState::Running,
        reason if reason.is_ready() => FiberState::Ready,
        _ if sighted.fiber.parked_wait().is_some_and(|wait| wait.woken().is_some()) => FiberState::Ready,
        _ => FiberState::Parked,
    }
}
