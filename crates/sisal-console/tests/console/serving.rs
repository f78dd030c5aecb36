//! Many clients, the end of serving, and addresses that can't be served at.

use crate::client::Client;
use crate::common::until;
use crate::common::watchdog::guarded;
use crate::fake::{Fake, asleep, receiving, running};
use sisal_console::source::Fiber;
use std::io::{ErrorKind, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

#[test]
fn many_clients_see_the_same() {
    guarded(|| {
        let fake = Fake::new(vec![running(1)]);
        let console = fake.serve();
        let mut clients: Vec<_> = (0..20)
            .map(|_| {
                let mut client = Client::connect(console.address());
                let world = client.watch();
                (client, world)
            })
            .collect();
        fake.set(vec![asleep(1), running(2)]);
        // Half of them go, without a word.
        clients.truncate(10);
        for (client, world) in &mut clients {
            client.until(world, |world| world.state(1) == "idle" && world.state(2) == "running");
        }
    });
}

#[test]
fn a_client_that_does_not_read_is_given_up_and_may_come_again() {
    guarded(|| {
        // Long enough that the connection can't hold much of it.
        let fibers = |round: usize| {
            let named = |id| Fiber { name: Some(format!("{round:03}").repeat(100)), ..running(id) };
            (0..1000).map(named).collect::<Vec<_>>()
        };
        let fake = Fake::new(fibers(0));
        let console = fake.serve();
        let mut other = Client::connect(console.address());
        // Of this one there is little to read, so it keeps the looks going.
        let _details = other.details(1).unwrap();
        let mut slow = Client::connect(console.address());
        let mut unread = slow.watch();
        for round in 1..20 {
            let looks = fake.looks();
            fake.set(fibers(round));
            until(|| fake.looks() > looks + 1);
        }
        // What had been sent can be read; then there is an end.
        while slow.next(&mut unread.updates).is_some() {}
        let mut again = slow.watch();
        slow.until(&mut again, |world| world.tasks.len() == 1000);
    });
}

#[test]
fn the_server_ends_with_its_guard_and_the_port_is_free() {
    guarded(|| {
        let fake = Fake::new(vec![running(1)]);
        let mut console = fake.serve();
        let address = console.address();
        for _ in 0..20 {
            let mut client = Client::connect(address);
            let mut world = client.watch();
            client.until(&mut world, |world| !world.tasks.is_empty());
            drop(console);
            // At once, and nobody is left over from before.
            console = fake.builder().address(address).serve().unwrap();
            while client.next(&mut world.updates).is_some() {}
        }
        drop(console);
        assert!(Client::try_connect(address).is_err());
    });
}

#[test]
fn a_port_in_use_is_a_clear_error() {
    guarded(|| {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap();
        let error = Fake::new(vec![]).builder().address(address).serve().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
        let text = error.to_string();
        assert!(text.contains(&address.to_string()) && text.contains("TOKIO_CONSOLE_BIND"), "{text}");
    });
}

#[test]
fn an_address_that_others_can_reach_has_to_be_asked_for() {
    guarded(|| {
        let fake = Fake::new(vec![running(1)]);
        for open in ["0.0.0.0:0", "[::]:0"] {
            let error = fake.builder().address(open).serve().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
            assert!(error.to_string().contains("beyond_loopback"), "{error}");
        }
        let console = fake.builder().address("0.0.0.0:0").beyond_loopback().serve().unwrap();
        let mut client = Client::connect(([127, 0, 0, 1], console.address().port()).into());
        let mut world = client.watch();
        client.until(&mut world, |world| !world.tasks.is_empty());
    });
}

#[test]
fn no_address_at_all_is_a_clear_error() {
    guarded(|| {
        let error = Fake::new(vec![]).builder().address("nowhere").serve().unwrap_err();
        assert!(error.to_string().contains("HOST:PORT"), "{error}");
    });
}

#[test]
fn garbage_ends_its_connection_and_no_other() {
    guarded(|| {
        let fake = Fake::new(vec![receiving(1, 9)]);
        let console = fake.serve();
        let mut client = Client::connect(console.address());
        let mut world = client.watch();
        for round in 0..50u64 {
            let mut stream = TcpStream::connect(console.address()).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
            let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
            bytes.truncate(round as usize);
            let mut noise = round.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
            for _ in 0..200 {
                noise ^= noise << 13;
                noise ^= noise >> 7;
                noise ^= noise << 17;
                bytes.push(noise as u8);
            }
            let _ = stream.write_all(&bytes);
        }
        fake.set(vec![running(1)]);
        client.until(&mut world, |world| world.state(1) == "running");
    });
}
