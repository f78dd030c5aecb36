//! Closures that wait for sockets: on fibers, and on threads outside of a runtime. (In the default runtime: `par_default`.)

use super::common::late_server::LateServer;
use super::common::watchdog::guarded;
use super::common::{in_main_fiber, with_workers};
use sisal::net::UnixStream;
use sisal::par::{self, join};
use sisal::sync::Mutex;
use std::io::{Read, Write};

fn receive(mut stream: &UnixStream) -> u8 {
    let mut byte = [0];
    stream.read_exact(&mut byte).unwrap();
    byte[0]
}

fn send(mut stream: &UnixStream, byte: u8) {
    stream.write_all(&[byte]).unwrap();
}

#[test]
fn bodies_wait_for_their_sockets_at_the_same_time() {
    const COUNT: u32 = 50;
    with_workers(|workers| {
        in_main_fiber(workers, || {
            let server = LateServer::start(COUNT as usize);
            let answers: Vec<u32> = par::iter(0..COUNT).grain(1).map(|number| server.ask(number)).collect();
            assert!(answers.into_iter().eq((0..COUNT).map(|number| 2 * number)));
            server.end();
        });
    });
}

#[test]
fn halves_talk_to_each_other_through_a_socket() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            let (left, right) = UnixStream::pair().unwrap();
            for round in 0..100 {
                let ask = || {
                    send(&left, round);
                    receive(&left)
                };
                let answer = || {
                    let asked = receive(&right);
                    send(&right, asked + 1);
                    asked
                };
                assert_eq!(join(ask, answer), (round + 1, round));
                assert_eq!(join(answer, ask), (round, round + 1));
            }
        });
    });
}

/// Everything at once: each holds the mutex across its fork, of which one half reads a socket and the other receives from a channel.
#[test]
fn a_mutex_is_held_while_halves_read_a_socket_and_a_channel() {
    const COUNT: u64 = 50;
    with_workers(|workers| {
        in_main_fiber(workers, || {
            let (reader, writer) = UnixStream::pair().unwrap();
            let (sender, receiver) = sisal::chan::bounded(0);
            let total = Mutex::new(0);
            join(
                || {
                    par::iter(0..COUNT).grain(1).for_each(|_| {
                        let mut total = total.lock();
                        let (read, received) = join(|| receive(&reader), || receiver.recv().unwrap());
                        *total += u64::from(read) * received;
                    });
                },
                || {
                    for number in 0..COUNT {
                        sender.send(number).unwrap();
                        send(&writer, 2);
                    }
                },
            );
            assert_eq!(total.into_inner(), COUNT * (COUNT - 1));
        });
    });
}

#[test]
fn on_a_thread_closures_read_sockets_one_after_the_other() {
    guarded(|| {
        let (left, right) = UnixStream::pair().unwrap();
        assert_eq!(join(|| send(&left, 7), || receive(&right)), ((), 7));
        par::iter(0..100u8).for_each(|number| {
            send(&right, number);
            assert_eq!(receive(&left), number);
        });
        par::scope(|scope| {
            scope.spawn(|_| send(&left, 8));
            scope.spawn(|_| assert_eq!(receive(&right), 8));
        });
    });
}
