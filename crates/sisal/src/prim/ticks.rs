//! A clock for traces: the processor's own counter, which one instruction reads.
//!
//! Its unit is not known. Whoever wants nanoseconds reads both clocks twice, some time apart, and puts the line through them: a
//! [`Calibration`]. Where the processor does not promise that the counter runs evenly, the system's clock stands in for it, and a tick is a
//! nanosecond. Whether the kernel has found fault with the counter is not asked.

use super::clock::Moment;
use std::sync::OnceLock;

/// Reads the counter. Times of one thread never go backwards by more than its reader can see to.
#[inline]
pub(crate) fn now() -> u64 {
    if counter::is_reliable() { counter::read() } else { Moment::now().0 }
}

/// Both clocks at about the same time.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct Reading {
    ticks: u64,
    moment: Moment,
}

impl Reading {
    fn take() -> Reading {
        Reading::tightest([(); ATTEMPTS].map(|()| (Moment::now(), now(), Moment::now())))
    }

    /// Of ticks that were each read between two moments, those that took the shortest: in the others the thread may have been kept from running.
    fn tightest(attempts: [(Moment, u64, Moment); ATTEMPTS]) -> Reading {
        let readings = attempts.map(|(before, ticks, after)| {
            let took = after.0.saturating_sub(before.0);
            (took, Reading { ticks, moment: Moment(before.0.saturating_add(took / 2)) })
        });
        let tightest = |a: (u64, Reading), b: (u64, Reading)| if b.0 < a.0 { b } else { a };
        readings
            .into_iter()
            .reduce(tightest)
            .map_or_else(|| unreachable!("INVARIANT: some attempts"), |(_, reading)| reading)
    }
}

/// How often the clocks are read for one reading.
const ATTEMPTS: usize = 5;

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
                return Calibration::through(from, to);
            }
            std::hint::spin_loop();
        }
    }

    fn through(from: Reading, to: Reading) -> Calibration {
        let nanoseconds = to.moment.0.saturating_sub(from.moment.0);
        let ticks = to.ticks.saturating_sub(from.ticks).max(1);
        Calibration { from, nanoseconds_a_tick: nanoseconds as f64 / ticks as f64 }
    }

    /// The moment at which the counter stood there.
    pub(crate) fn moment(&self, ticks: u64) -> Moment {
        // Apart, so that little is lost in the conversion to a floating number.
        let nanoseconds = |ticks: u64| (ticks as f64 * self.nanoseconds_a_tick) as u64;
        Moment(match ticks.checked_sub(self.from.ticks) {
            Some(after) => self.from.moment.0.saturating_add(nanoseconds(after)),
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

    const FROM: Reading = Reading { ticks: 1_000, moment: Moment(50_000) };
    const TO: Reading = Reading { ticks: 5_000, moment: Moment(52_000) };

    #[test]
    fn ticks_become_moments_on_the_line_through_two_readings() {
        let calibration = Calibration::through(FROM, TO);
        for (ticks, moment) in [(0, 49_500), (1_000, 50_000), (1_002, 50_001), (5_000, 52_000), (9_000, 54_000)] {
            assert_eq!(calibration.moment(ticks), Moment(moment), "{ticks}");
        }
    }

    #[test]
    fn a_counter_that_was_set_back_or_far_ahead_gives_some_moment_nevertheless() {
        let set_back = Calibration::through(TO, FROM);
        assert_eq!(set_back.moment(TO.ticks), TO.moment);
        let in_one_tick = Calibration::through(FROM, Reading { ticks: 0, moment: Moment(u64::MAX) });
        assert_eq!(in_one_tick.moment(u64::MAX), Moment(u64::MAX));
        assert_eq!(in_one_tick.moment(0), Moment(0));
    }

    #[test]
    fn of_several_attempts_the_one_that_took_the_shortest_is_the_reading() {
        let attempts = [(0, 7, 100), (200, 8, 204), (300, 9, 400), (500, 10, 504), (600, 11, 610)];
        let reading = Reading::tightest(attempts.map(|(before, ticks, after)| (Moment(before), ticks, Moment(after))));
        assert_eq!(reading, Reading { ticks: 8, moment: Moment(202) });
    }

    #[test]
    fn later_ticks_are_later_moments() {
        let mut ticks: Vec<u64> = (0..1000).map(|_| now()).collect();
        // A thread that changes its processor may see the counter go back a little.
        ticks.sort_unstable();
        let calibration = Calibration::now();
        assert!(ticks.iter().map(|&ticks| calibration.moment(ticks)).is_sorted());
        assert!(calibration.moment(0) <= calibration.moment(1));
    }
}
