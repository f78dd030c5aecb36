//! A clock for traces: the processor's own counter, which is read in a third of the time that the system's clock takes.
//!
//! Its unit is not known. Whoever wants nanoseconds reads both clocks twice, some time apart, and puts the line through them: a
//! [`Calibration`]. Where the counter can't be relied on (it stops with the processor's clock, or differs between processors), the system's clock
//! stands in for it, and a tick is a nanosecond.

use super::clock::Moment;
use std::sync::OnceLock;

/// Reads the counter. Times of one thread never go backwards by more than its reader can see to.
#[inline]
pub(crate) fn now() -> u64 {
    if counter::is_reliable() { counter::read() } else { Moment::now().0 }
}

/// Both clocks at about the same time.
#[derive(Copy, Clone, Debug)]
struct Reading {
    ticks: u64,
    moment: Moment,
}

impl Reading {
    fn take() -> Reading {
        Reading { ticks: now(), moment: Moment::now() }
    }
}

/// The two readings must be so far apart, in nanoseconds, that reading itself does not matter.
const LEAST_APART: u64 = 1_000_000;

/// How ticks become nanoseconds.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Calibration {
    from: Reading,
    nanoseconds_a_tick: f64,
}

/// Takes the first of the two readings, if that has not been done in this process.
pub(crate) fn begin_calibration() {
    first_reading();
}

fn first_reading() -> Reading {
    static FIRST: OnceLock<Reading> = OnceLock::new();
    *FIRST.get_or_init(Reading::take)
}

impl Calibration {
    /// Takes the second reading. Spins for up to a millisecond if the first was not longer ago.
    pub(crate) fn now() -> Calibration {
        let from = first_reading();
        loop {
            let to = Reading::take();
            let nanoseconds = to.moment.0.saturating_sub(from.moment.0);
            if nanoseconds >= LEAST_APART {
                let ticks = to.ticks.saturating_sub(from.ticks).max(1);
                return Calibration { from, nanoseconds_a_tick: nanoseconds as f64 / ticks as f64 };
            }
            std::hint::spin_loop();
        }
    }

    /// The moment at which the counter stood there.
    pub(crate) fn moment(&self, ticks: u64) -> Moment {
        // Apart, so that little is lost in the conversion to a floating number.
        let nanoseconds = |ticks: u64| (ticks as f64 * self.nanoseconds_a_tick) as u64;
        Moment(match ticks.checked_sub(self.from.ticks) {
            Some(after) => self.from.moment.0 + nanoseconds(after),
            None => self.from.moment.0.saturating_sub(nanoseconds(self.from.ticks - ticks)),
        })
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[allow(unsafe_code, reason = "the counter is read by an intrinsic")]
mod counter {
    use std::arch::x86_64::{__cpuid, _rdtsc};
    use std::sync::OnceLock;

    #[inline]
    pub(super) fn read() -> u64 {
        // SAFETY: every processor of this architecture has it, and Linux lets everybody read it.
        unsafe { _rdtsc() }
    }

    /// Whether it runs at the same speed always and everywhere, as the processor says.
    #[inline]
    pub(super) fn is_reliable() -> bool {
        static RELIABLE: OnceLock<bool> = OnceLock::new();
        const ADVANCED_POWER_MANAGEMENT: u32 = 0x8000_0007;
        const INVARIANT: u32 = 1 << 8;
        *RELIABLE.get_or_init(|| {
            __cpuid(0x8000_0000).eax >= ADVANCED_POWER_MANAGEMENT
                && __cpuid(ADVANCED_POWER_MANAGEMENT).edx & INVARIANT != 0
        })
    }
}

#[cfg(all(target_arch = "aarch64", not(miri)))]
#[allow(unsafe_code, reason = "the counter is read by an instruction")]
mod counter {
    #[inline]
    pub(super) fn read() -> u64 {
        let ticks: u64;
        // SAFETY: reads the virtual counter, which Linux lets everybody do.
        unsafe { std::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack, preserves_flags)) };
        ticks
    }

    /// The architecture says so.
    #[inline]
    pub(super) fn is_reliable() -> bool {
        true
    }
}

#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod counter {
    pub(super) fn read() -> u64 {
        unreachable!("INVARIANT: not reliable")
    }

    pub(super) fn is_reliable() -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_become_the_moments_at_which_they_were_read() {
        begin_calibration();
        let before = Moment::now();
        let ticks = now();
        let after = Moment::now();
        let calibration = Calibration::now();
        // The line is put through two readings that each took a moment themselves.
        let slack = 100_000;
        let moment = calibration.moment(ticks);
        assert!(before.0 <= moment.0 + slack && moment.0 <= after.0 + slack, "{before:?} {moment:?} {after:?}");
    }

    #[test]
    fn later_ticks_are_later_moments() {
        let calibration = Calibration::now();
        let ticks: Vec<u64> = (0..1000).map(|_| now()).collect();
        assert!(ticks.is_sorted());
        assert!(ticks.iter().map(|&ticks| calibration.moment(ticks)).is_sorted());
        assert!(calibration.moment(0) <= calibration.moment(1));
    }
}
