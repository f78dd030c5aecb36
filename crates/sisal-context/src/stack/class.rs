//! Size classes: a guard, what is usable above it, and how far apart slots are.

use super::guard::GUARD_BYTES;
use std::fmt;

const MIN_USABLE: usize = 4 << 10;
const MAX_USABLE: usize = 1 << 30;

/// What a slot is larger by than a power of two: the largest page that Linux has on this kind of machine.
///
/// Of most stacks one page is in use, at the top. A processor keeps what it knows of pages in sets, chosen by the lowest bits of the
/// page's number. Pages a power of two apart would share a few of those sets, and a switch between a hundred fibers would look each up
/// in the page tables (1,000 fibers that yield: 24 ns a switch, and 14 like this).
const STAGGER: usize = if cfg!(target_arch = "x86_64") { 4 << 10 } else { 64 << 10 };

/// The size of a stack's slot: a power of two from 128 KiB to 2 GiB, and the largest page there is, so that stacks are not a power of two
/// apart. Of the power of two all but 64 KiB are usable; the rest of a slot, at its low end, is its guard.
///
/// ```
/// use sisal_context::stack::SizeClass;
///
/// assert_eq!(SizeClass::DEFAULT.usable(), 192 * 1024);
/// let class = SizeClass::for_usable(1_000_000).unwrap();
/// assert!(class.usable() >= 1_000_000);
/// assert!(class.slot_size() > 2 << 20);
/// ```
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct SizeClass(u8);

impl SizeClass {
    /// A slot of 256 KiB and a page, 192 KiB of it usable.
    pub const DEFAULT: SizeClass = SizeClass(18);

    const SMALLEST: SizeClass = SizeClass(17);
    const LARGEST: SizeClass = SizeClass(31);

    /// How many classes there are.
    pub(super) const COUNT: usize = (Self::LARGEST.0 - Self::SMALLEST.0) as usize + 1;

    /// The smallest class with at least `bytes` usable.
    ///
    /// # Errors
    ///
    /// If `bytes` is below 4 KiB or above 1 GiB.
    pub fn for_usable(bytes: usize) -> Result<SizeClass, SizeError> {
        if !(MIN_USABLE..=MAX_USABLE).contains(&bytes) {
            return Err(SizeError { asked: bytes });
        }
        let power = (bytes + GUARD_BYTES).next_power_of_two();
        Ok(SizeClass(power.trailing_zeros() as u8))
    }

    /// How many bytes of a slot may be used.
    #[inline]
    pub const fn usable(self) -> usize {
        self.power() - GUARD_BYTES
    }

    /// How many bytes at the low end of a slot are its guard.
    #[inline]
    pub(super) const fn guard(self) -> usize {
        self.slot_size() - self.usable()
    }

    /// A slot without what it is larger by than a power of two.
    pub(super) const fn power(self) -> usize {
        1 << self.0
    }

    /// How many bytes of address space a slot takes, guard included.
    #[inline]
    pub const fn slot_size(self) -> usize {
        self.power() + STAGGER
    }

    /// This class among all: below [`SizeClass::COUNT`].
    pub(super) fn index(self) -> usize {
        (self.0 - Self::SMALLEST.0) as usize
    }
}

/// A stack size that no class can serve.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct SizeError {
    asked: usize,
}

impl fmt::Display for SizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a stack of {} bytes is out of range: from 4 KiB ({MIN_USABLE}) to 1 GiB ({MAX_USABLE}) may be asked for",
            self.asked
        )
    }
}

impl std::error::Error for SizeError {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_smallest_slot_that_holds_guard_and_bytes_is_chosen() {
        let class = |bytes| SizeClass::for_usable(bytes).unwrap();
        assert_eq!(class(4 << 10), SizeClass::SMALLEST);
        assert_eq!(class(64 << 10), SizeClass::SMALLEST);
        assert_eq!(class((64 << 10) + 1), SizeClass::DEFAULT);
        assert_eq!(class(192 << 10), SizeClass::DEFAULT);
        assert_eq!(class((192 << 10) + 1).power(), 512 << 10);
        assert_eq!(class(1 << 30), SizeClass::LARGEST);
    }

    #[test]
    fn the_tops_of_many_stacks_have_different_lowest_bits_of_their_pages_numbers() {
        let slot = SizeClass::DEFAULT.slot_size();
        let numbers: HashSet<_> = (0..64).map(|number| number * slot / STAGGER % 64).collect();
        assert_eq!(numbers.len(), 64);
        assert_eq!(SizeClass::DEFAULT.guard(), GUARD_BYTES + STAGGER);
    }

    #[test]
    fn every_class_has_its_index() {
        assert_eq!(SizeClass::SMALLEST.index(), 0);
        assert_eq!(SizeClass::LARGEST.index(), SizeClass::COUNT - 1);
    }

    #[test]
    fn sizes_out_of_range_are_refused_with_the_limits() {
        for bytes in [0, (4 << 10) - 1, (1 << 30) + 1, usize::MAX] {
            let message = SizeClass::for_usable(bytes).unwrap_err().to_string();
            assert!(message.contains(&bytes.to_string()), "{message}");
            assert!(message.contains("4 KiB"), "{message}");
            assert!(message.contains("1 GiB"), "{message}");
        }
    }
}
