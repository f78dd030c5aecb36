//! The default runtime: threads that are in none run parallel work there, and what they send into ordered channels. Alone in its process, since it stays.

mod common;

use common::watchdog::guarded;
use sisal::chan::ordered;
use sisal::{Runtime, in_fiber, par};
use std::panic::catch_unwind;

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
        common::fixed(2).name("standard").build().unwrap().install_default().unwrap();
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
        let panic = catch_unwind(|| par::iter(0..10).for_each(|_| panic!("on purpose")));
        assert!(panic.is_err());

        // Another one is given back, and fibers use their own.
        let other = Runtime::new().unwrap().install_default().unwrap_err();
        let name = || Some(std::thread::current().name()?.to_owned());
        assert_ne!(other.run(|| par::broadcast(|_| name())), par::broadcast(|_| name()));
    });
}
