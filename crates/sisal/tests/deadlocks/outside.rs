//! Waits that something else than a fiber or thread ends.

use crate::expected::none;
use crate::{A_WHILE, Case, run};
use sisal::chan::bounded;
use sisal::{sleep, spawn};
use std::io::{Read, Write};
use std::sync::Arc;
use std::thread;

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "a_timer",
        environment: &[],
        body: || {
            run(|| {
                let (sender, receiver) = bounded(1);
                drop(spawn(move || {
                    sleep(A_WHILE).unwrap();
                    sender.send(7)
                }));
                assert_eq!(receiver.recv(), Ok(7));
                let (_sender, receiver) = bounded::<u32>(1);
                receiver.recv_timeout(A_WHILE).unwrap_err();
                sisal::timeout(A_WHILE, || receiver.recv()).unwrap_err();
            });
        },
        check: none,
    },
    Case {
        // An executor made by hand: what wakes its task is known to it alone.
        name: "a_task_that_time_wakes",
        environment: &[],
        body: || {
            struct Queue(sisal::chan::Sender<()>);
            impl std::task::Wake for Queue {
                fn wake(self: Arc<Queue>) {
                    self.0.send(()).unwrap();
                }
            }
            run(|| {
                let (sender, woken) = bounded(1);
                let waker = std::task::Waker::from(Arc::new(Queue(sender)));
                let mut context = std::task::Context::from_waker(&waker);
                let over = sisal::chan::after(A_WHILE);
                let mut task = Box::pin(over.recv_async());
                while task.as_mut().poll(&mut context).is_pending() {
                    woken.recv().unwrap();
                }
            });
        },
        check: crate::expected::nothing_certain,
    },
    Case {
        name: "a_descriptor",
        environment: &[],
        body: || {
            let (mut ours, mut theirs) = std::io::pipe().unwrap();
            let mut child =
                std::process::Command::new("sleep").arg("1.5").stdout(theirs.try_clone().unwrap()).spawn().unwrap();
            run(|| {
                let (sender, receiver) = bounded(1);
                let file = sisal::io::Pollable::new(ours.try_clone().unwrap()).unwrap();
                drop(spawn(move || {
                    // Ends when the child has ended.
                    let mut byte = [0];
                    (&file).read_exact(&mut byte).unwrap();
                    sender.send(byte[0])
                }));
                let _writer = spawn(move || {
                    sisal::blocking(move || {
                        child.wait().unwrap();
                        theirs.write_all(b"7").unwrap();
                    });
                });
                assert_eq!(receiver.recv(), Ok(b'7'));
            });
            drop(ours.read(&mut [0]));
        },
        check: none,
    },
    Case {
        name: "a_proxy_between_peers_that_say_nothing",
        environment: &[],
        body: || {
            run(|| {
                let (client, near) = sisal::net::UnixStream::pair().unwrap();
                let (far, server) = sisal::net::UnixStream::pair().unwrap();
                let peers: [std::os::fd::OwnedFd; 2] = [client.into(), server.into()];
                let thread = thread::spawn(move || {
                    thread::sleep(A_WHILE);
                    drop(peers);
                });
                assert_eq!(sisal::net::copy_bidirectional(&near, &far).unwrap(), (0, 0));
                drop(thread);
            });
        },
        check: none,
    },
    Case {
        name: "a_blocking_call",
        environment: &[],
        body: || {
            run(|| {
                let (sender, receiver) = bounded(1);
                drop(spawn(move || {
                    sisal::blocking(|| thread::sleep(A_WHILE));
                    sender.send(7)
                }));
                assert_eq!(receiver.recv(), Ok(7));
            });
        },
        check: none,
    },
    Case {
        name: "a_signal_that_is_listened_for",
        environment: &[],
        body: || {
            let signals = sisal::signal::listen(&[sisal::signal::Signal::USER1]).unwrap();
            let mut child = std::process::Command::new("sh")
                .args(["-c", &format!("sleep 1.5; kill -USR1 {}", std::process::id())])
                .spawn()
                .unwrap();
            run(|| assert_eq!(signals.recv(), Ok(sisal::signal::Signal::USER1)));
            child.wait().unwrap();
        },
        check: none,
    },
    Case {
        name: "a_nursery_that_waits_for_a_signal",
        environment: &[],
        body: || {
            run(|| {
                let (_sender, receiver) = bounded::<u32>(1);
                let mut child = None;
                let ended = sisal::Nursery::options().cancel_on_signals().run(|n| {
                    let kill = format!("sleep 1; kill -TERM {}", std::process::id());
                    child = Some(std::process::Command::new("sh").args(["-c", &kill]).spawn().unwrap());
                    n.spawn(|| receiver.recv().map(drop));
                    Ok(())
                });
                assert!(ended.is_err());
                child.unwrap().wait().unwrap();
            });
        },
        check: none,
    },
    Case {
        name: "a_writer_that_waits_for_a_reader_and_another_behind_it",
        environment: &[],
        body: || {
            run(|| {
                let lock = Arc::new(sisal::sync::RwLock::new(0));
                let guard = lock.read();
                let writers: Vec<_> = (0..2)
                    .map(|_| {
                        let lock = Arc::clone(&lock);
                        spawn(move || *lock.write() += 1)
                    })
                    .collect();
                sisal::blocking(|| thread::sleep(A_WHILE));
                drop(guard);
                sisal::join_all(writers).into_iter().for_each(|end| end.unwrap());
            });
        },
        check: none,
    },
];
