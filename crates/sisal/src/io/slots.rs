//! All slots: by their number, in chunks that are twice as big each time and stay for ever.

use super::slot::Slot;
use crate::prim::lock::Lock;
use std::sync::OnceLock;

const CHUNKS: usize = 26;
const FIRST_CHUNK: usize = 64;

static SLOTS: [OnceLock<Box<[Slot]>>; CHUNKS] = [const { OnceLock::new() }; CHUNKS];
static FREE: Lock<Vec<&'static Slot>> = Lock::new(Vec::new());

/// A slot for a descriptor of its own.
pub(super) fn allocate() -> &'static Slot {
    let mut free = FREE.lock();
    if let Some(slot) = free.pop() {
        return slot;
    }
    let made = SLOTS.iter().take_while(|chunk| chunk.get().is_some()).count();
    let (length, first) = (FIRST_CHUNK << made, (FIRST_CHUNK << made) - FIRST_CHUNK);
    let chunk = SLOTS.get(made).unwrap_or_else(|| panic!("sisal: too many descriptors at once"));
    let slots = chunk.get_or_init(|| (first..first + length).map(|index| Slot::new(index as u32)).collect());
    free.extend(slots.iter().rev());
    free.pop().unwrap_or_else(|| unreachable!("INVARIANT: just made"))
}

/// Takes back a slot that serves no descriptor any more.
pub(super) fn give_back(slot: &'static Slot) {
    FREE.lock().push(slot);
}

/// The slot with this number, if there is one.
pub(super) fn get(index: u32) -> Option<&'static Slot> {
    // Chunk n begins at 64 * (2^n - 1).
    let position = index as usize + FIRST_CHUNK;
    let chunk = (position / FIRST_CHUNK).ilog2() as usize;
    SLOTS.get(chunk)?.get()?.get(position - (FIRST_CHUNK << chunk))
}

/// All that have been made.
pub(super) fn all() -> impl Iterator<Item = &'static Slot> {
    SLOTS.iter().map_while(OnceLock::get).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_found_by_their_number() {
        let slots: Vec<&'static Slot> = (0..1_000).map(|_| allocate()).collect();
        for slot in &slots {
            assert!(std::ptr::eq(get(slot.index).unwrap(), *slot));
        }
        assert!(get(u32::MAX).is_none());
        slots.into_iter().for_each(give_back);
    }
}
