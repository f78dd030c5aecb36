//! What the errors of channels say and give back.

use crate::common::LONG;
use crate::common::places::everywhere;
use sisal::chan::{
    RecvError, RecvTimeoutError, SendError, SendTimeoutError, TryRecvError, TrySendError, bounded, unbounded,
};
use sisal::timeout;
use std::error::Error;
use std::fmt::{Debug, Display};
use std::time::Duration;

/// Something that is not `Debug`.
#[derive(PartialEq)]
struct Plain(u8);

fn is_error<E: Error + Send + Sync + 'static>(error: &E) {
    assert!(!error.to_string().is_empty() && !format!("{error:?}").is_empty());
}

#[test]
fn an_error_of_sending_gives_the_item_back() {
    let (tx, rx) = bounded(1);
    tx.send(Plain(0)).ok().unwrap();
    assert!(tx.try_send(Plain(1)).unwrap_err().into_inner() == Plain(1));
    assert!(tx.send_timeout(Plain(2), Duration::ZERO).unwrap_err().into_inner() == Plain(2));
    drop(rx);
    assert!(tx.send(Plain(3)).unwrap_err().into_inner() == Plain(3));
    assert!(tx.try_send(Plain(4)).unwrap_err().into_inner() == Plain(4));
    assert!(tx.send_timeout(Plain(5), Duration::ZERO).unwrap_err().into_inner() == Plain(5));
}

#[test]
fn an_error_of_sending_says_whether_the_channel_is_closed() {
    let (tx, rx) = bounded(1);
    tx.send(0).unwrap();
    assert!(!tx.try_send(1).unwrap_err().is_closed());
    assert!(!tx.send_timeout(1, Duration::ZERO).unwrap_err().is_closed());
    drop(rx);
    assert!(tx.send(1).unwrap_err().is_closed() && !tx.send(1).unwrap_err().is_cancelled());
    assert!(tx.try_send(1).unwrap_err().is_closed());
    let late = tx.send_timeout(1, Duration::ZERO).unwrap_err();
    assert!(late.is_closed() && !late.is_cancelled());
}

#[test]
fn an_error_of_receiving_says_what_kind_it_is() {
    everywhere(|_| {
        let (tx, rx) = bounded::<u8>(1);
        let cancelled = timeout(Duration::from_millis(2), || rx.recv()).unwrap_err();
        assert!(cancelled.is_cancelled() && !cancelled.is_closed());
        let empty = rx.try_recv().unwrap_err();
        assert!(empty.is_empty() && !empty.is_closed());
        let late = rx.recv_timeout(Duration::ZERO).unwrap_err();
        assert!(late.is_timed_out() && !late.is_closed() && !late.is_cancelled());
        let interrupted = timeout(Duration::from_millis(2), || rx.recv_timeout(LONG)).unwrap_err();
        assert!(interrupted.is_cancelled() && !interrupted.is_timed_out() && !interrupted.is_closed());
        drop(tx);
        let closed = rx.recv().unwrap_err();
        assert!(closed.is_closed() && !closed.is_cancelled());
        let closed = rx.try_recv().unwrap_err();
        assert!(closed.is_closed() && !closed.is_empty());
        let closed = rx.recv_timeout(LONG).unwrap_err();
        assert!(closed.is_closed() && !closed.is_timed_out() && !closed.is_cancelled());
    });
}

#[test]
fn all_are_errors_whatever_was_sent() {
    is_error(&SendError::Closed(Plain(1)));
    is_error(&TrySendError::Full(Plain(1)));
    is_error(&TrySendError::Closed(Plain(1)));
    is_error(&SendTimeoutError::TimedOut(Plain(1)));
    is_error(&SendTimeoutError::Closed(Plain(1)));
    is_error(&RecvError::Closed);
    is_error(&TryRecvError::Empty);
    is_error(&TryRecvError::Closed);
    is_error(&RecvTimeoutError::TimedOut);
    is_error(&RecvTimeoutError::Closed);
}

/// What one says must not be what another says.
fn differ<E: Display + Debug>(errors: &[E]) {
    for (index, error) in errors.iter().enumerate() {
        for other in &errors[..index] {
            assert_ne!(error.to_string(), other.to_string());
            assert_ne!(format!("{error:?}"), format!("{other:?}"));
        }
    }
}

#[test]
fn the_errors_of_one_call_can_be_told_apart_by_what_they_say() {
    differ(&[TrySendError::Full(1), TrySendError::Closed(1)]);
    differ(&[SendTimeoutError::TimedOut(1), SendTimeoutError::Closed(1)]);
    differ(&[TryRecvError::Empty, TryRecvError::Closed]);
    differ(&[RecvTimeoutError::TimedOut, RecvTimeoutError::Closed]);
}

#[test]
fn errors_are_compared_with_their_items() {
    assert_eq!(SendError::Closed(1), SendError::Closed(1));
    assert_ne!(SendError::Closed(1), SendError::Closed(2));
    assert_ne!(TrySendError::Full(1), TrySendError::Closed(1));
    assert_ne!(SendTimeoutError::TimedOut(1), SendTimeoutError::TimedOut(2));
    let copied = RecvError::Closed;
    assert_eq!((copied, copied), (RecvError::Closed, RecvError::Closed));
}

#[test]
fn ends_are_printed_whatever_they_carry() {
    let (tx, rx) = unbounded::<Plain>();
    assert!(!format!("{tx:?}").is_empty() && !format!("{rx:?}").is_empty());
}

#[test]
fn ends_are_sent_and_shared_between_threads() {
    fn is_shared<T: Send + Sync + Clone>(_: &T) {}
    let (tx, rx) = unbounded::<std::cell::Cell<u8>>();
    is_shared(&tx);
    is_shared(&rx);
}
