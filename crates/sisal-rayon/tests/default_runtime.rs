//! Chains on a plain thread, with a default runtime. Alone in its process, whose default that is.

use rayon::prelude::*;
use sisal_rayon::OnFibers;

#[test]
fn however_little_there_is_to_do_bodies_run_in_fibers_of_the_default_runtime() {
    sisal::Runtime::builder().workers(2).build().unwrap().install_default().unwrap();
    for len in [1, 2, 1_000] {
        let spawned = sisal::sync::Mutex::new(0);
        (0..len).into_par_iter().on_fibers().for_each(|_| {
            sisal::nursery(|n| {
                n.spawn(|| *spawned.lock() += 1);
                Ok::<_, ()>(())
            })
            .unwrap();
        });
        assert_eq!(spawned.into_inner(), len);
    }
}
