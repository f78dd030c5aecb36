//! What children return, and what becomes of errors and panics.

use std::any::Any;

/// What a child of a nursery whose errors are `E` may return: `()`, a `Result<T, E>` whose value is for [`Child::join`](crate::Child::join), or
/// nothing at all, because it never does.
///
/// ```
/// use sisal::{ChildResult, Nursery};
///
/// fn twice<'scope, R: ChildResult<String, Value: Send + 'scope>>(
///     n: &'scope Nursery<'scope, '_, String>,
///     f: impl Fn() -> R + Send + Sync + Copy + 'scope,
/// ) {
///     n.spawn(f);
///     n.spawn(f);
/// }
///
/// sisal::run(|| {
///     let result = sisal::nursery(|n| {
///         twice(n, || ());
///         twice(n, || Err::<u32, _>("twice wrong".to_owned()));
///         Ok(())
///     });
///     assert_eq!(result, Err("twice wrong".to_owned()));
/// });
/// ```
#[diagnostic::on_unimplemented(
    message = "a child of a nursery can't return `{Self}`",
    label = "returns `{Self}`",
    note = "it returns `()`, or a `Result` whose error is `{E}`, as that of the nursery: `Ok(value)` for a value"
)]
pub trait ChildResult<E>: sealed::ChildEnd<E, Given = <Self as ChildResult<E>>::Value> {
    /// What [`Child::join`](crate::Child::join) gives.
    type Value;
}

impl<E> ChildResult<E> for () {
    type Value = ();
}

impl<T, E> ChildResult<E> for Result<T, E> {
    type Value = T;
}

impl<E> ChildResult<E> for sealed::Never {
    type Value = ();
}

pub(super) mod sealed {
    /// The one thing that is done with a child's result.
    pub trait ChildEnd<E> {
        type Given;

        fn into_result(self) -> Result<Self::Given, E>;
    }

    impl<E> ChildEnd<E> for () {
        type Given = ();

        #[inline]
        fn into_result(self) -> Result<(), E> {
            Ok(())
        }
    }

    impl<T, E> ChildEnd<E> for Result<T, E> {
        type Given = T;

        #[inline]
        fn into_result(self) -> Result<T, E> {
            self
        }
    }

    impl<E> ChildEnd<E> for Never {
        type Given = ();

        fn into_result(self) -> Result<(), E> {
            self
        }
    }

    /// `!`, which has no name yet: a closure that loops for ever returns it.
    pub(in super::super) type Never = <fn() -> ! as Returns>::Value;

    pub trait Returns {
        type Value;
    }

    impl<T> Returns for fn() -> T {
        type Value = T;
    }
}

/// What a nursery does about errors. A panic always ends it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Policy {
    /// The first ends it, and is kept.
    EndWithFirst,
    /// The first is kept.
    KeepFirst,
    /// All are kept.
    KeepAll,
    /// There are none; and children are part of a computation: they run also if what is around the nursery was cancelled.
    RunAll,
}

/// What a panic carries.
pub(super) type Payload = Box<dyn Any + Send>;

/// The errors and the panic of a nursery so far.
pub(super) struct Findings<E> {
    policy: Policy,
    first: Option<E>,
    rest: Vec<E>,
    panic: Option<Payload>,
    has_panicked: bool,
}

impl<E> Findings<E> {
    pub(super) fn new(policy: Policy) -> Findings<E> {
        Findings { policy, first: None, rest: Vec::new(), panic: None, has_panicked: false }
    }

    /// Keeps an error, or gives it back.
    pub(super) fn keep(&mut self, error: E) -> Option<E> {
        match (&self.first, self.policy) {
            (None, _) => self.first = Some(error),
            (Some(_), Policy::KeepAll) => self.rest.push(error),
            (Some(_), _) => return Some(error),
        }
        None
    }

    /// The body has panicked, which keeps that itself.
    pub(super) fn note_panic(&mut self) {
        self.has_panicked = true;
    }

    /// Whether the body or a child has panicked.
    pub(super) fn has_panicked(&self) -> bool {
        self.has_panicked
    }

    /// Keeps a panic, or gives it back: the first is kept.
    pub(super) fn keep_panic(&mut self, payload: Payload) -> Option<Payload> {
        self.has_panicked = true;
        match self.panic {
            None => self.panic = Some(payload),
            Some(_) => return Some(payload),
        }
        None
    }

    /// As they are now; none are left.
    pub(super) fn take(&mut self) -> Findings<E> {
        std::mem::replace(self, Findings::new(self.policy))
    }

    pub(super) fn take_panic(&mut self) -> Option<Payload> {
        self.panic.take()
    }

    /// The errors, if there were any.
    pub(super) fn into_errors(self) -> Option<Errors<E>> {
        self.first.map(|first| Errors { first, rest: self.rest })
    }
}

/// At least one error.
pub(super) struct Errors<E> {
    pub(super) first: E,
    rest: Vec<E>,
}

impl<E> Errors<E> {
    /// All, in the order they came.
    pub(super) fn into_vec(mut self) -> Vec<E> {
        self.rest.insert(0, self.first);
        self.rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(policy: Policy) -> (Vec<Option<u32>>, Vec<u32>) {
        let mut findings = Findings::new(policy);
        let back = (1..4).map(|error| findings.keep(error)).collect();
        (back, findings.take().into_errors().unwrap().into_vec())
    }

    #[test]
    fn errors_are_kept_in_the_order_they_came_or_given_back() {
        assert_eq!(kept(Policy::EndWithFirst), (vec![None, Some(2), Some(3)], vec![1]));
        assert_eq!(kept(Policy::KeepFirst), kept(Policy::EndWithFirst));
        assert_eq!(kept(Policy::KeepAll), (vec![None; 3], vec![1, 2, 3]));
    }

    #[test]
    fn the_first_panic_is_kept() {
        let mut findings = Findings::<()>::new(Policy::KeepAll);
        assert!(findings.keep_panic(Box::new(1)).is_none());
        assert_eq!(*findings.keep_panic(Box::new(2)).unwrap().downcast::<i32>().unwrap(), 2);
        assert_eq!(*findings.take_panic().unwrap().downcast::<i32>().unwrap(), 1);
    }
}
