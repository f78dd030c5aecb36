//! When descriptors run out, and when their numbers are used again and again.

use crate::common::places::everywhere;
use crate::common::{child, in_background, rounds};
use crate::wire::tcp;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use sisal::net::{TcpListener, TcpStream, UnixStream};
use std::fs::File;
use std::io::{Read, Write};

/// Takes all descriptors there are.
fn take_all() -> Vec<File> {
    std::iter::from_fn(|| File::open("/dev/null").ok()).collect()
}

#[test]
fn accepting_works_again_when_there_are_descriptors_again() {
    child::run(|| {
        let limit = Rlimit { current: Some(200), ..getrlimit(Resource::Nofile) };
        setrlimit(Resource::Nofile, limit).unwrap();
        in_background(2, || {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let mut files = take_all();
            for _ in 0..3 {
                let error = listener.accept().unwrap_err();
                assert_eq!(error.raw_os_error(), Some(rustix::io::Errno::MFILE.raw_os_error()));
            }
            files.pop();
            let (server, _) = listener.accept().unwrap();
            (&client).write_all(b"!").unwrap();
            assert_eq!((&server).read(&mut [0; 8]).unwrap(), 1);
            assert!(TcpStream::connect(listener.local_addr().unwrap()).is_err(), "there is none for it");
        });
    })
    .well();
}

#[test]
fn nobody_hears_of_a_number_that_was_used_before() {
    everywhere(|place| {
        for round in 0..rounds(1000) {
            let (client, server) = tcp();
            let reader = place.spawn(move || {
                let mut byte = [0];
                // Whoever had this number before is gone, and its events with it.
                (&server).read_exact(&mut byte).unwrap();
                assert_eq!((&server).read(&mut [0; 8]).unwrap(), 0);
                byte[0]
            });
            (&client).write_all(&[round as u8]).unwrap();
            drop(client);
            assert_eq!(reader.join(), round as u8);
        }
    });
}

#[test]
fn no_descriptor_is_left_behind() {
    child::run(|| {
        let count = || std::fs::read_dir("/proc/self/fd").unwrap().count();
        let before = count();
        in_background(2, || {
            for _ in 0..50 {
                let (a, b) = UnixStream::pair().unwrap();
                let waiter = sisal::spawn(move || (&b).read(&mut [0; 8]).unwrap());
                sisal::yield_now();
                let clone = a.try_clone().unwrap();
                a.close();
                drop(a);
                drop(clone);
                assert_eq!(waiter.join().unwrap(), 0);
            }
        });
        // A dead one for all that are closed stays, and so may others that are made once.
        let after = count();
        assert!(after <= before + 5, "{before} before, {after} after");
    })
    .well();
}
