//! Signals as messages of a channel, each test in a process of its own.

mod common;

use common::waits::cause;
use common::{LONG, background, child, fixed, shut_down, until};
use rustix::process::Signal as Sent;
use sisal::signal::{self, Signal};
use sisal::{Cause, Nursery, chan, select, sleep, spawn};
use std::convert::Infallible;
use std::future::Future;
use std::io::ErrorKind;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

const SIGUSR1: i32 = 10;
const SIGTERM: i32 = 15;

/// Sends this process a signal.
fn send(signal: Sent) {
    rustix::process::kill_process(rustix::process::getpid(), signal).unwrap();
}

/// What is done with a signal: whether it is caught, as the kernel shows it.
fn is_caught(signal: Signal) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
    u64::from_str_radix(line.trim(), 16).unwrap() & (1 << (signal.as_raw() - 1)) != 0
}

/// What is done with a signal, as another library would save it and put it back.
#[allow(unsafe_code, reason = "sigaction is a C function")]
fn exchange(signal: i32, action: Option<&libc::sigaction>) -> libc::sigaction {
    // SAFETY: a C struct for which all zero is a value; and places for what there is.
    unsafe {
        let mut before = std::mem::zeroed();
        let action = action.map_or(std::ptr::null(), std::ptr::from_ref);
        assert_eq!(libc::sigaction(signal, action, &mut before), 0);
        before
    }
}

#[test]
fn a_handler_that_another_has_put_back_too_late_does_not_call_itself() {
    let ended = child::run(|| {
        let first = signal::listen(&[Signal::USER1]).unwrap();
        let ours = exchange(SIGUSR1, None);
        let ignore = libc::sigaction { sa_sigaction: libc::SIG_IGN, ..ours };
        exchange(SIGUSR1, Some(&ignore));
        drop(first);
        exchange(SIGUSR1, Some(&ours));
        let second = signal::listen(&[Signal::USER1]).unwrap();
        send(Sent::USR1);
        assert_eq!(second.recv(), Ok(Signal::USER1));
    });
    ended.well();
}

#[test]
fn signals_are_received_in_fibers_and_threads() {
    let ended = child::run(|| {
        let all = [
            (Signal::INTERRUPT, Sent::INT),
            (Signal::TERMINATE, Sent::TERM),
            (Signal::HANGUP, Sent::HUP),
            (Signal::QUIT, Sent::QUIT),
            (Signal::USER1, Sent::USR1),
            (Signal::USER2, Sent::USR2),
            (Signal::CHILD, Sent::CHILD),
            (Signal::WINCH, Sent::WINCH),
            (Signal::ALARM, Sent::ALARM),
            (Signal::PIPE, Sent::PIPE),
        ];
        let signals = signal::listen(&all.map(|(signal, _)| signal)).unwrap();
        let runtime = background(2);
        for (signal, sent) in all {
            send(sent);
            assert_eq!(signals.recv(), Ok(signal));
            send(sent);
            assert_eq!(runtime.run(|| signals.recv()), Ok(signal));
        }
        assert!(signals.is_empty());
        shut_down(runtime);
    });
    ended.well();
}

#[test]
fn signals_are_one_arm_of_a_select() {
    let ended = child::run(|| {
        fixed(1)
            .run(|| {
                let signals = signal::listen(&[Signal::USER1]).unwrap();
                let (sender, receiver) = chan::bounded(1);
                let mut heard = Vec::new();
                for round in 0..10 {
                    if round % 2 == 0 {
                        send(Sent::USR1)
                    } else {
                        sender.send(round).unwrap()
                    }
                    select! {
                        recv(signals) -> signal => heard.push(signal.unwrap().to_string()),
                        recv(receiver) -> number => heard.push(number.unwrap().to_string()),
                    }
                }
                assert_eq!(heard, ["SIGUSR1", "1", "SIGUSR1", "3", "SIGUSR1", "5", "SIGUSR1", "7", "SIGUSR1", "9"]);
            })
            .unwrap();
    });
    ended.well();
}

/// However many come, one of each kind is there, and none is lost behind others.
#[test]
fn a_storm_of_signals_neither_blocks_nor_loses_a_kind() {
    let ended = child::run(|| {
        let signals = signal::listen(&[Signal::USER1, Signal::USER2, Signal::HANGUP, Signal::USER1]).unwrap();
        for _ in 0..1_000 {
            send(Sent::USR1);
        }
        send(Sent::HUP);
        for _ in 0..1_000 {
            send(Sent::USR2);
        }
        until(|| signals.len() == 3);
        let mut heard: Vec<Signal> = signals.try_iter().collect();
        heard.sort();
        assert_eq!(heard, [Signal::HANGUP, Signal::USER1, Signal::USER2]);
        // What comes after it was received is heard again, also in the middle of a storm.
        let stop = &AtomicUsize::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                while stop.load(Ordering::Relaxed) < 100 {
                    send(Sent::USR1);
                }
            });
            // The last of the others may come a second time: it was sent after the first was received.
            for _ in signals.iter().filter(|&signal| signal == Signal::USER1).take(100) {
                stop.fetch_add(1, Ordering::Relaxed);
            }
        });
        send(Sent::USR2);
        until(|| signals.try_iter().any(|signal| signal == Signal::USER2));
    });
    ended.well();
}

#[test]
fn several_listeners_hear_what_they_asked_for() {
    let ended = child::run(|| {
        let both = signal::listen(&[Signal::USER1, Signal::USER2]).unwrap();
        let one = signal::listen(&[Signal::USER1]).unwrap();
        send(Sent::USR2);
        assert_eq!(both.recv(), Ok(Signal::USER2));
        send(Sent::USR1);
        assert_eq!(both.recv(), Ok(Signal::USER1));
        assert_eq!(one.recv(), Ok(Signal::USER1));
        drop(both);
        assert!(is_caught(Signal::USER1) && !is_caught(Signal::USER2));
        send(Sent::USR1);
        assert_eq!(one.recv(), Ok(Signal::USER1));
        let clone = one.clone();
        drop(one);
        assert!(is_caught(Signal::USER1));
        drop(clone);
        assert!(!is_caught(Signal::USER1));
    });
    ended.well();
}

#[test]
fn without_a_receiver_a_signal_does_what_it_did_before() {
    let ended = child::run(|| {
        for _ in 0..3 {
            let signals = signal::listen(&[Signal::USER1]).unwrap();
            send(Sent::USR1);
            assert_eq!(signals.recv(), Ok(Signal::USER1));
        }
        send(Sent::USR1);
        until(|| false);
    });
    ended.by_signal(SIGUSR1);
}

#[test]
fn nurseries_and_channels_both_hear() {
    let ended = child::run(|| {
        let signals = signal::listen(&[Signal::TERMINATE]).unwrap();
        let value = fixed(2).run(|| {
            Nursery::options().cancel_on_signals().run(|_| {
                send(Sent::TERM);
                assert_eq!(cause(sleep(LONG)), Some(Cause::Signal));
                Ok::<_, Infallible>(7)
            })
        });
        assert_eq!(value.unwrap(), Ok(7));
        assert_eq!(signals.recv(), Ok(Signal::TERMINATE));
        // The nursery has gone, the channel is still there: another is heard, and does not end the process.
        send(Sent::TERM);
        assert_eq!(signals.recv(), Ok(Signal::TERMINATE));
        drop(signals);
        assert!(!is_caught(Signal::TERMINATE));
        send(Sent::TERM);
        until(|| false);
    });
    ended.by_signal(SIGTERM);
}

#[test]
fn what_cant_be_listened_to_is_a_clear_error() {
    let ended = child::run(|| {
        for (number, why) in [(9, "SIGKILL"), (19, "SIGSTOP"), (11, "SIGSEGV"), (0, "no such"), (1_000, "no such")] {
            let error = signal::listen(&[Signal::USER1, Signal::from_raw(number)]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
            assert!(error.to_string().contains(why), "{error}");
        }
        assert_eq!(signal::listen(&[]).unwrap_err().kind(), ErrorKind::InvalidInput);
        assert!(!is_caught(Signal::USER1), "nothing is half done");
    });
    ended.well();
}

#[test]
fn listeners_come_and_go_while_signals_do() {
    let ended = child::run(|| {
        let heard = Arc::new(AtomicUsize::new(0));
        // So that the process does not end meanwhile.
        let always = signal::listen(&[Signal::USER1]).unwrap();
        fixed(2)
            .run(|| {
                let listeners: Vec<_> = (0..20)
                    .map(|_| {
                        let heard = Arc::clone(&heard);
                        spawn(move || {
                            for _ in 0..10 {
                                let signals = signal::listen(&[Signal::USER1]).unwrap();
                                send(Sent::USR1);
                                signals.recv().unwrap();
                                heard.fetch_add(1, Ordering::Relaxed);
                            }
                        })
                    })
                    .collect();
                listeners.into_iter().for_each(|fiber| fiber.join().unwrap());
            })
            .unwrap();
        assert_eq!(heard.load(Ordering::Relaxed), 200);
        assert!(always.recv().is_ok());
    });
    ended.well();
}

/// One that comes while the handler is put in place must not put it away again.
#[test]
fn a_signal_that_comes_just_when_one_begins_to_listen_does_no_harm() {
    let ended = child::run(|| {
        let stop = &AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    send(Sent::WINCH);
                }
            });
            let caught = (0..2_000).all(|_| {
                let _signals = signal::listen(&[Signal::WINCH]).unwrap();
                is_caught(Signal::WINCH)
            });
            stop.store(true, Ordering::Relaxed);
            assert!(caught, "nobody hears it any more");
        });
        let signals = signal::listen(&[Signal::WINCH]).unwrap();
        send(Sent::WINCH);
        assert_eq!(signals.recv(), Ok(Signal::WINCH));
    });
    ended.well();
}

/// Calls a function when it is woken.
struct OnWake<F>(F);

impl<F: Fn() + Send + Sync> Wake for OnWake<F> {
    fn wake(self: Arc<Self>) {
        (self.0)();
    }
}

#[test]
fn a_task_that_is_woken_by_a_signal_may_cease_to_listen_and_begin_to() {
    let ended = child::run(|| {
        let signals = signal::listen(&[Signal::USER1]).unwrap();
        let other = Mutex::new(Some(signal::listen(&[Signal::USER2]).unwrap()));
        let has_woken = Arc::new(AtomicBool::new(false));
        let waker = Waker::from(Arc::new(OnWake({
            let has_woken = Arc::clone(&has_woken);
            move || {
                drop(other.lock().unwrap().take());
                assert!(!is_caught(Signal::USER2));
                drop(signal::listen(&[Signal::HANGUP]).unwrap());
                has_woken.store(true, Ordering::Relaxed);
            }
        })));
        let mut receiving = pin!(signals.recv_async());
        let mut context = Context::from_waker(&waker);
        assert!(receiving.as_mut().poll(&mut context).is_pending());
        send(Sent::USR1);
        until(|| has_woken.load(Ordering::Relaxed));
        assert_eq!(receiving.poll(&mut context), Poll::Ready(Ok(Signal::USER1)));
    });
    ended.well();
}

/// SIGTERM to this thread, which has come when this returns.
#[allow(unsafe_code, reason = "a C function")]
fn raise_term() {
    // SAFETY: takes no pointers.
    assert_eq!(unsafe { libc::raise(libc::SIGTERM) }, 0);
}

/// Calls `body` in a nursery that ends on signals.
fn listening<T>(body: impl FnOnce() -> T) -> T {
    let Ok(value) = Nursery::options().cancel_on_signals().run(|_| Ok::<_, Infallible>(body()));
    value
}

/// The thread that tells of signals is held up, so that nurseries begin and end between a signal and what it does.
#[test]
fn a_signal_cancels_those_nurseries_that_listened_when_it_came() {
    let ended = child::run(|| {
        let signals = signal::listen(&[Signal::USER1]).unwrap();
        let markers = signal::listen(&[Signal::USER2]).unwrap();
        let (is_held, may_go) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let waker = Waker::from(Arc::new(OnWake({
            let (is_held, may_go) = (Arc::clone(&is_held), Arc::clone(&may_go));
            move || {
                is_held.store(true, Ordering::Relaxed);
                until(|| may_go.load(Ordering::Relaxed));
            }
        })));
        let mut receiving = pin!(signals.recv_async());
        assert!(receiving.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        send(Sent::USR1);
        until(|| is_held.load(Ordering::Relaxed));
        let main = || {
            // One that is gone when the thread comes to it.
            listening(raise_term);
            // One that waits, and is cancelled by the next that begins.
            let has_come = Arc::new(AtomicBool::new(false));
            let waiting = spawn({
                let has_come = Arc::clone(&has_come);
                move || {
                    listening(|| {
                        raise_term();
                        has_come.store(true, Ordering::Relaxed);
                        cause(sleep(LONG))
                    })
                }
            });
            until(|| has_come.load(Ordering::Relaxed));
            listening(|| {
                assert_eq!(waiting.join().unwrap(), Some(Cause::Signal));
                may_go.store(true, Ordering::Relaxed);
                // When the second is heard, the thread has done all that was to be done when the first was.
                for _ in 0..2 {
                    send(Sent::USR2);
                    markers.recv().unwrap();
                }
                assert_eq!(sleep(Duration::from_micros(1)), Ok(()), "it came before");
            });
        };
        fixed(1).run(main).unwrap();
    });
    ended.well();
}
