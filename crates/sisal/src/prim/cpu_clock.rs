//! How much of a processor a thread has used, as others can read it.
#![allow(unsafe_code, reason = "clocks of threads are the C library's")]

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

/// The clock of whichever thread last [became its own](Self::set_to_this_thread).
pub(crate) struct CpuClock(AtomicI32);

/// No thread's.
const NONE: i32 = 0;

impl CpuClock {
    pub(crate) fn new() -> CpuClock {
        CpuClock(AtomicI32::new(NONE))
    }

    pub(crate) fn set_to_this_thread(&self) {
        let mut clock = MaybeUninit::uninit();
        // SAFETY: this thread lives, and the place can be written.
        let clock = unsafe {
            match libc::pthread_getcpuclockid(libc::pthread_self(), clock.as_mut_ptr()) {
                0 => clock.assume_init(),
                _ => NONE,
            }
        };
        self.0.store(clock, Ordering::Relaxed);
    }

    /// What the thread has used so far; none if it has gone, or there is none.
    pub(crate) fn read(&self) -> Option<Duration> {
        let clock = Some(self.0.load(Ordering::Relaxed)).filter(|&clock| clock != NONE)?;
        let mut time = MaybeUninit::<libc::timespec>::uninit();
        // SAFETY: the place can be written; a clock of a thread that has gone is refused.
        let time = unsafe {
            match libc::clock_gettime(clock, time.as_mut_ptr()) {
                0 => time.assume_init(),
                _ => return None,
            }
        };
        Some(Duration::new(u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn the_clock_of_a_thread_runs_with_it_and_is_gone_with_it() {
        let clock = Arc::new(CpuClock::new());
        assert_eq!(clock.read(), None);
        let of_thread = Arc::clone(&clock);
        let used = std::thread::spawn(move || {
            of_thread.set_to_this_thread();
            let before = of_thread.read().unwrap();
            while of_thread.read().unwrap() < before + Duration::from_millis(1) {}
            of_thread.read().unwrap()
        });
        assert!(used.join().unwrap() >= Duration::from_millis(1));
    }
}
