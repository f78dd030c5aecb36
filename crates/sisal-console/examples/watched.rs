//! Something to watch: `cargo run -p sisal-console --example watched`, and in another terminal `tokio-console`.
//!
//! A chain of fibers hands numbers on, some share a lock, some sleep, and short ones come and go. It ends with enter, or with its input.

use sisal::chan::{Receiver, Sender, bounded};
use sisal::sync::Mutex;
use std::sync::Arc;
use std::time::Duration;

/// How long each fiber of the chain keeps a number.
const STEP: Duration = Duration::from_millis(300);

fn main() {
    sisal::run(|| {
        let runtime = sisal::Handle::current().expect("the main fiber is in a runtime");
        let console = sisal_console::Builder::new(runtime).serve().unwrap_or_else(|error| {
            eprintln!("{error}");
            std::process::exit(1);
        });
        println!("tokio-console http://{}", console.address());
        start_chain();
        start_sharers();
        drop(named("spawner").spawn(come_and_go));
        sisal::blocking(|| std::io::stdin().read_line(&mut String::new())).expect("standard input can be read");
        std::process::exit(0);
    });
}

fn named(name: &str) -> sisal::Builder {
    sisal::Builder::new().name(name)
}

fn start_chain() {
    let (first, mut before) = bounded(1);
    drop(named("source").spawn(move || (0u64..).try_for_each(|number| first.send(number))));
    for link in 1..=4 {
        let (sender, receiver) = bounded(1);
        drop(named(&format!("link {link}")).spawn(move || hand_on(&before, &sender)));
        before = receiver;
    }
    drop(named("sink").spawn(move || while before.recv().is_ok() {}));
}

fn hand_on(from: &Receiver<u64>, to: &Sender<u64>) {
    while let Ok(number) = from.recv() {
        if sisal::sleep(STEP).is_err() || to.send(number).is_err() {
            return;
        }
    }
}

fn start_sharers() {
    let lock = Arc::new(Mutex::new(0u64));
    for sharer in 1..=3 {
        let lock = Arc::clone(&lock);
        drop(named(&format!("sharer {sharer}")).spawn(move || share(&lock)));
    }
}

fn share(lock: &Mutex<u64>) {
    loop {
        let mut count = lock.lock();
        *count += 1;
        if sisal::sleep(STEP).is_err() {
            return;
        }
    }
}

fn come_and_go() {
    while sisal::sleep(STEP * 2).is_ok() {
        drop(named("short").spawn(|| sisal::sleep(STEP * 5)));
    }
}
