//! Two streams joined to one.

use crate::common::places::{everywhere, join_all};
use crate::wire::{MUCH, read_much, tcp, write_much};
use sisal::net::{UnixStream, copy_bidirectional};
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::time::Duration;

#[test]
fn bytes_go_both_ways_and_ends_are_passed_on() {
    everywhere(|place| {
        let ((client, near), (far, server)) = (tcp(), UnixStream::pair().unwrap());
        let proxy = place.spawn(move || copy_bidirectional(&near, &far).unwrap());
        let (client, server) = (Arc::new(client), Arc::new(server));
        let lengths = (MUCH / 4, MUCH / 8);
        let writers = [
            place.spawn({
                let client = Arc::clone(&client);
                move || {
                    write_much(&*client, lengths.0);
                    client.shutdown(Shutdown::Write).unwrap();
                }
            }),
            place.spawn({
                let server = Arc::clone(&server);
                move || {
                    write_much(&*server, lengths.1);
                    server.shutdown(Shutdown::Write).unwrap();
                }
            }),
        ];
        let readers = [place.spawn(move || read_much(&*client)), place.spawn(move || read_much(&*server))];
        assert_eq!(join_all(readers), [lengths.1, lengths.0]);
        join_all(writers);
        assert_eq!(proxy.join(), (lengths.0 as u64, lengths.1 as u64));
    });
}

#[test]
fn after_one_direction_has_ended_the_other_goes_on() {
    everywhere(|place| {
        let ((client, near), (far, server)) = (tcp(), tcp());
        let proxy = place.spawn(move || copy_bidirectional(&near, &far).unwrap());
        client.shutdown(Shutdown::Write).unwrap();
        assert_eq!((&server).read(&mut [0; 8]).unwrap(), 0);
        for _ in 0..5 {
            (&server).write_all(b"more").unwrap();
            (&client).read_exact(&mut [0; 4]).unwrap();
        }
        drop(server);
        assert_eq!((&client).read(&mut [0; 8]).unwrap(), 0);
        assert_eq!(proxy.join(), (0, 20));
    });
}

#[test]
fn an_error_of_either_ends_it() {
    everywhere(|place| {
        let ((client, near), (far, _server)) = (tcp(), tcp());
        let proxy = place.spawn(move || copy_bidirectional(&near, &far).unwrap_err().kind());
        rustix::net::sockopt::set_socket_linger(&client, Some(Duration::ZERO)).unwrap();
        drop(client);
        assert_eq!(proxy.join(), ErrorKind::ConnectionReset);
    });
}

#[test]
fn closing_an_end_ends_it() {
    everywhere(|place| {
        let ((_client, near), (far, _server)) = (tcp(), tcp());
        let ends = Arc::new((near, far));
        let proxy = place.sharing(1, &ends, |(near, far), _| copy_bidirectional(near, far).unwrap_err().kind());
        crate::common::places::settle();
        ends.1.close();
        assert_eq!(join_all(proxy), [ErrorKind::NotConnected]);
    });
}
