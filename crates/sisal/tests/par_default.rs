//! The default runtime: threads that are in none run parallel work there, and what they send into ordered channels. Alone in its process, since it stays.

mod common;
#[path = "par/work.rs"]
mod work;

use common::late_server::LateServer;
use common::watchdog::guarded;
use common::{WORKERS, child};
use sisal::chan::ordered;
use sisal::{Runtime, in_fiber, par};
use std::panic::{catch_unwind, resume_unwind};
use std::time::Duration;
use work::{Numbers, fibonacci, on_threads, trees};

/// Panics when it is dropped.
struct Spiteful;

impl Drop for Spiteful {
    fn drop(&mut self) {
        resume_unwind(Box::new(if in_fiber() { "spite" } else { "outside" }));
    }
}

#[test]
fn threads_run_parallel_work_in_the_default_runtime() {
    guarded(|| {
        let (sender, results) = ordered(1);
        let is_sent_to_a_fiber = || {
            sender.send(in_fiber).unwrap();
            results.recv().unwrap()
        };
        assert!(!is_sent_to_a_fiber());
        assert_eq!(par::join(in_fiber, in_fiber), (false, false));
        let standard = common::fixed(2).name("standard").build().unwrap();
        let handle = standard.handle().clone();
        standard.install_default().unwrap();
        assert!(is_sent_to_a_fiber());
        assert_eq!(par::join(in_fiber, in_fiber), (true, true));
        assert!(par::iter(0..100).all(|_| in_fiber()));
        assert!(par::scope(|_| in_fiber()));
        assert_eq!(par::broadcast(|worker| (worker, in_fiber())), [(0, true), (1, true)]);
        let mut items: Vec<u32> = (0..100_000).map(|number: u32| number.wrapping_mul(0x9e37_79b9)).collect();
        par::sort(&mut items);
        assert!(items.is_sorted());
        assert_eq!(par::iter(0..100_000u64).scan(|a, b| a + b).last(), Some(&4_999_950_000));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| assert_eq!(par::iter(0..100_000u64).sum::<u64>(), 4_999_950_000));
            }
        });

        // What ends waits on the thread ends those in the runtime.
        let waits = || sisal::sleep(common::LONG).is_err();
        let all: [&dyn Fn() -> bool; 5] = [
            &|| par::join(waits, waits) == (true, true),
            &|| par::iter(0..4).grain(1).all(|_| waits()),
            &|| {
                par::scope(|scope| scope.spawn(|_| assert!(waits())));
                true
            },
            &|| par::broadcast(|_| waits()) == [true, true],
            &|| sisal::shield(|| par::join(|| sisal::sleep(Duration::from_millis(1)), || ()).0.is_ok()),
        ];
        for is_ended in all {
            assert!(sisal::timeout(Duration::from_millis(2), is_ended));
            let token = sisal::CancelToken::new();
            token.cancel();
            assert!(token.run(is_ended));
        }

        // What is too little to be divided stays on the thread, unless closures might want to be in a fiber.
        let spawned = || handle.stats().spawned;
        let before = spawned();
        assert_eq!(par::iter(&mut [0; 0]).map(|_| unreachable!("there is none")).collect::<Vec<u32>>(), []);
        assert_eq!(par::iter(Vec::<u32>::new()).sum::<u32>(), 0);
        let few = [3, 1, 2, 0];
        let sorts: [fn(&mut [u32]); 3] =
            [par::sort, par::sort_unstable, |items| par::sort_by_key(items, |number| *number)];
        for sort in sorts {
            let mut items = few;
            sort(&mut items);
            assert_eq!(items, [0, 1, 2, 3]);
        }
        assert_eq!(spawned(), before);
        assert_eq!(par::iter([7]).map(|_| sisal::spawn(|| 7).join().unwrap()).collect::<Vec<_>>(), [7]);
        assert_eq!(spawned(), before + 2);

        // A fiber each, which wait for their sockets at the same time.
        let server = LateServer::start(50);
        let answers: Vec<u32> = par::iter(0..50u32).grain(1).map(|number| server.ask(number)).collect();
        assert!(answers.into_iter().eq((0..50u32).map(|number| 2 * number)));
        server.end();
        let server = LateServer::start(2);
        assert_eq!(par::join(|| server.ask(1), || server.ask(2)), (2, 4));
        server.end();

        let panic = catch_unwind(|| par::iter(0..10).for_each(|_| panic!("on purpose")));
        assert!(panic.is_err());
        // If nobody has taken the second half, what it owns is dropped there as well, before the first one's panic goes on.
        let spiteful = Spiteful;
        let panic = catch_unwind(|| par::join(|| resume_unwind(Box::new("first")), move || std::mem::forget(spiteful)));
        assert!(["first", "spite"].contains(panic.unwrap_err().downcast_ref::<&str>().unwrap()));

        // Another one is given back, and fibers use their own.
        let other = Runtime::new().unwrap().install_default().unwrap_err();
        let name = || Some(std::thread::current().name()?.to_owned());
        assert_ne!(other.run(|| par::broadcast(|_| name())), par::broadcast(|_| name()));
    });
}

/// Says to a child how many workers its default runtime has.
const SIZE: &str = "SISAL_TEST_WORKERS";

#[test]
fn threads_compute_much_in_default_runtimes_of_any_size() {
    for workers in WORKERS {
        let ended = child::run_in(&[(SIZE, &workers.to_string())], || {
            let workers = std::env::var(SIZE).unwrap().parse().unwrap();
            common::fixed(workers).build().unwrap().install_default().unwrap();
            assert_eq!(par::broadcast(|_| in_fiber()), vec![true; workers]);
            let numbers = Numbers::new();
            let all = || {
                fibonacci();
                trees();
                numbers.add();
                numbers.sort();
                numbers.sort_unstable();
            };
            all();
            on_threads(&all);
        });
        ended.well();
    }
}
