//! In which order fibers are shown.

use crate::remote::snapshot::Fiber;
use clap::ValueEnum;
use std::cmp::Ordering;

/// What fibers are sorted by. Those that are equal in it stand by their number.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Key {
    Id,
    Name,
    State,
    Since,
    Worker,
    Stack,
}

/// A key, and whether it is turned around.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Order {
    pub(super) key: Key,
    pub(super) reversed: bool,
}

impl Key {
    pub(super) const ALL: [Key; 6] = [Key::Id, Key::Name, Key::State, Key::Since, Key::Worker, Key::Stack];

    fn position(self) -> usize {
        Key::ALL.iter().position(|key| *key == self).unwrap_or_default()
    }
}

impl Order {
    pub(super) fn by(key: Key) -> Order {
        Order { key, reversed: false }
    }

    /// By the next key.
    pub(super) fn next(self) -> Order {
        Order::by(Key::ALL[(self.key.position() + 1) % Key::ALL.len()])
    }

    /// By the key before.
    pub(super) fn previous(self) -> Order {
        Order::by(Key::ALL[(self.key.position() + Key::ALL.len() - 1) % Key::ALL.len()])
    }

    pub(super) fn reverse(self) -> Order {
        Order { reversed: !self.reversed, ..self }
    }

    /// The first of these is shown first: running before ready before parked, the longest wait, the largest stack. What is unknown
    /// stands last.
    pub(super) fn compare(self, one: &Fiber, other: &Fiber) -> Ordering {
        let by_key = match self.key {
            Key::Id => Ordering::Equal,
            Key::Name => unknown_last(one.name.as_deref(), other.name.as_deref()),
            Key::State => rank(&one.state).cmp(&rank(&other.state)),
            Key::Since => other.known_ns().cmp(&one.known_ns()),
            Key::Worker => unknown_last(one.worker, other.worker),
            Key::Stack => (other.stack_used, other.stack_size).cmp(&(one.stack_used, one.stack_size)),
        };
        let by_key = if self.reversed { by_key.reverse() } else { by_key };
        match (self.key, self.reversed) {
            (Key::Id, true) => other.id.cmp(&one.id),
            _ => by_key.then(one.id.cmp(&other.id)),
        }
    }
}

fn unknown_last<T: Ord>(one: Option<T>, other: Option<T>) -> Ordering {
    (one.is_none(), one).cmp(&(other.is_none(), other))
}

fn rank(state: &str) -> (u8, &str) {
    match state {
        "running" => (0, ""),
        "ready" => (1, ""),
        "parked" => (2, ""),
        unknown => (3, unknown),
    }
}
