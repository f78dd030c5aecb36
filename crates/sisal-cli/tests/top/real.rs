//! What a real runtime says of itself, as the tools show it.

use crate::program::Directory;
use crate::server::{Server, ok};
use crate::wait::until;
use sisal::chan;
use std::sync::Arc;

/// A runtime with a fiber that receives, one that waits for its end, and one that waits for a lock; asked by a server.
fn with_runtime(test: impl FnOnce(&Server)) {
    let runtime = sisal::Runtime::builder().name("a real one").workers(2).build().unwrap();
    let (sender, receiver) = chan::bounded::<u32>(8);
    let lock = Arc::new(sisal::sync::Mutex::new(()));
    let of_fiber = Arc::clone(&lock);
    let guard = lock.lock();
    let receiving = runtime.handle().builder().name("receiver").spawn(move || receiver.recv());
    let joining = runtime.handle().builder().name("joiner").spawn(move || receiving.join());
    let locking = runtime.handle().builder().name("locker").spawn(move || drop(of_fiber.lock()));
    let runtime = Arc::new(runtime);
    let asked = Arc::clone(&runtime);
    until(|| {
        let dump = asked.dump();
        let waiting = dump.fibers.iter().filter(|fiber| fiber.wait.is_some()).count();
        if waiting == 3 { Ok(()) } else { Err(dump.to_string()) }
    });
    let server = Server::new(move |request| match request.path.contains(".json") {
        true => ok("application/json", &asked.dump().to_json()),
        false => ok("text/plain; charset=utf-8", &asked.dump().to_string()),
    });
    test(&server);
    drop((server, guard, sender));
    drop((joining.join(), locking.join()));
}

#[test]
fn a_real_runtime_is_shown() {
    with_runtime(|server| {
        let said = Directory::new().sisal(&["top", &server.address(), "--sort", "name"]).output();
        let said = String::from_utf8(said).unwrap();
        assert!(said.starts_with("sisal top: a real one  pid "), "{said}");
        for (name, reason) in [("joiner", "join"), ("locker", "mutex"), ("receiver", "receiv")] {
            let line = said.lines().find(|line| line.contains(name)).expect(&said);
            assert!(line.contains("parked") && line.contains(reason) && line.contains("real.rs:"), "{line}");
        }
    });
}

#[test]
fn a_real_runtime_is_dumped() {
    with_runtime(|server| {
        let directory = Directory::new();
        let text = String::from_utf8(directory.sisal(&["dump", &server.address()]).output()).unwrap();
        assert!(["joiner", "locker", "receiver"].iter().all(|name| text.contains(name)), "{text}");
        let json = directory.sisal(&["dump", "--json", &server.address()]).output();
        assert!(serde_json::from_slice::<serde_json::Value>(&json).unwrap()["fibers"].as_array().unwrap().len() >= 3);
    });
}
