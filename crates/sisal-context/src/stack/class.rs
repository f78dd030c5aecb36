//! Size classes: a slot is a power of two, a guard and the rest usable.

use super::guard::GUARD_BYTES;
use std::fmt;

const MIN_USABLE: usize = 4 << 10;
const MAX_USABLE: usize = 1 << 30;

/// The size of a stack's slot, a power of two from 128 KiB to 2 GiB. The lowest 64 KiB of a slot are its
/// guard, the rest is usable.
///
/// ```
/// use sisal_context::stack::SizeClass;
///
/// assert_eq!(SizeClass::DEFAULT.usable(), 192 * 1024);
/// let class = SizeClass::for_usable(1_000_000).unwrap();
/// assert_eq!(class.slot_size(), 2 << 20);
/// assert!(class.usable() >= 1_000_000);
/// ```
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct SizeClass(u8);

impl SizeClass {
    /// A slot of 256 KiB, 192 KiB of it usable.
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
        let slot = (bytes + GUARD_BYTES).next_power_of_two();
        Ok(SizeClass(slot.trailing_zeros() as u8))
    }

    /// How many bytes of a slot may be used.
    #[inline]
    pub const fn usable(self) -> usize {
        self.slot_size() - GUARD_BYTES
    }

    /// How many bytes of address space a slot takes, guard included.
    #[inline]
    pub const fn slot_size(self) -> usize {
        1 << self.0
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

    #[test]
    fn the_smallest_slot_that_holds_guard_and_bytes_is_chosen() {
        let class = |bytes| SizeClass::for_usable(bytes).unwrap();
        assert_eq!(class(4 << 10), SizeClass::SMALLEST);
        assert_eq!(class(64 << 10), SizeClass::SMALLEST);
        assert_eq!(class((64 << 10) + 1), SizeClass::DEFAULT);
        assert_eq!(class(192 << 10), SizeClass::DEFAULT);
        assert_eq!(class((192 << 10) + 1).slot_size(), 512 << 10);
        assert_eq!(class(1 << 30), SizeClass::LARGEST);
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
