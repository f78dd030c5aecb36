//! Sockets while there are no descriptors. Each test in a process of its own, as all threads of one are short of them.

use super::common::background;
use super::common::child::run;
use super::common::places::settle;
use super::descriptors::leave;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType, connect, socket};
use sisal::chan::bounded;
use sisal::net::{TcpListener, TcpStream, UnixStream};
use sisal::sync::Event;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream as Client};
use std::sync::Arc;

fn is_exhaustion(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::MFILE.raw_os_error())
}

fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

#[test]
fn all_clients_are_served_by_the_few_descriptors_that_come_free() {
    const CLIENTS: usize = 100;
    run(|| {
        background(2).run(|| {
            let (listener, address) = listen();
            // They are connected before anybody accepts them.
            let clients: Vec<_> = (0..CLIENTS).map(|_| TcpStream::from(Client::connect(address).unwrap())).collect();
            let _taken = leave(5);
            let askers: Vec<_> = clients.into_iter().map(|client| sisal::spawn(move || ask(client))).collect();

            let (exhausted, mut errors, mut accepted) = (Arc::new(Event::new()), 0, 0);
            while accepted < CLIENTS {
                match listener.accept() {
                    Ok((stream, _)) => {
                        let exhausted = Arc::clone(&exhausted);
                        // Nobody is served, and no descriptor comes free, before the last was taken.
                        drop(sisal::spawn(move || exhausted.wait().map(|()| answer(stream))));
                        accepted += 1;
                    }
                    Err(error) => {
                        assert!(is_exhaustion(&error), "{error}");
                        errors += 1;
                        exhausted.set();
                        sisal::yield_now();
                    }
                }
            }
            assert!(errors > 0);
            askers.into_iter().for_each(|asker| asker.join().unwrap());
        });
    })
    .well();
}

fn ask(mut stream: TcpStream) {
    stream.write_all(b"ask").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert_eq!(answer, "ask");
}

fn answer(mut stream: TcpStream) {
    let mut question = [0; 3];
    stream.read_exact(&mut question).unwrap();
    stream.write_all(&question).unwrap();
}

#[test]
fn a_connection_that_came_when_there_was_no_descriptor_is_accepted_later() {
    run(|| {
        background(1).run(|| {
            let (listener, address) = listen();
            let client = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
            let (tell, told) = bounded(0);
            let (free, freed) = bounded(0);
            let acceptor = sisal::spawn(move || {
                let error = listener.accept().unwrap_err();
                tell.send(error).unwrap();
                freed.recv().unwrap();
                // The system has told of this connection once, and does not again.
                listener.accept().unwrap();
            });
            settle();
            let taken = leave(0);
            connect(&client, &address).unwrap();
            let error = told.recv().unwrap();
            assert!(is_exhaustion(&error), "{error}");
            drop(taken);
            free.send(()).unwrap();
            acceptor.join().unwrap();
        });
    })
    .well();
}

#[test]
fn a_socket_can_be_closed_under_its_reader() {
    run(|| {
        background(1).run(|| {
            let (listener, address) = listen();
            let _client = TcpStream::connect(address).unwrap();
            let (stream, _) = listener.accept().unwrap();
            let stream = Arc::new(stream);
            let reading = Arc::clone(&stream);
            let reader = sisal::spawn(move || (&*reading).read(&mut [0]));
            settle();
            let _taken = leave(0);
            stream.close();
            assert_eq!(reader.join().unwrap().unwrap_err().kind(), ErrorKind::NotConnected);
        });
    })
    .well();
}

#[test]
fn a_proxy_that_can_have_none_to_wait_with_waits_all_the_same() {
    run(|| {
        background(1).run(|| {
            let ((mut client, near), (far, mut server)) = (UnixStream::pair().unwrap(), UnixStream::pair().unwrap());
            let taken = leave(0);
            let proxy = sisal::spawn(move || sisal::net::copy_bidirectional(&near, &far));
            settle();
            client.write_all(&[7]).unwrap();
            drop(taken);
            let mut byte = [0];
            server.read_exact(&mut byte).unwrap();
            assert_eq!(byte, [7]);
            drop((client, server));
            assert_eq!(proxy.join().unwrap().unwrap(), (1, 0));
        });
    })
    .well();
}

#[test]
fn a_worker_that_can_have_none_to_wait_with_waits_all_the_same() {
    run(|| {
        background(1).run(|| {
            let (listener, address) = listen();
            let mut client = TcpStream::from(Client::connect(address).unwrap());
            let (mut served, _) = listener.accept().unwrap();
            // Nobody has waited yet, and to hear of events takes a descriptor, too.
            let _taken = leave(0);
            let reader = sisal::spawn(move || client.read(&mut [0]).unwrap());
            settle();
            served.write_all(&[7]).unwrap();
            assert_eq!(reader.join().unwrap(), 1);
        });
    })
    .well();
}
