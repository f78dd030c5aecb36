//! The return addresses of a stack.

use std::hash::{Hash, Hasher};
use std::ops::Deref;

/// How many frames of a stack are looked at, from the innermost.
pub(crate) const MOST_FRAMES: usize = 64;

/// The return addresses of a stack, innermost first, in no memory but its own. Equal stacks are equal, which is how they are counted.
///
/// Where a stack was interrupted instead of left by a call, its first address is one more than that of the next instruction: so the instruction
/// that stands for the frame ends, or starts, just before the address, in every frame.
#[derive(Copy, Clone)]
pub(crate) struct Addresses {
    all: [usize; MOST_FRAMES],
    length: usize,
    is_cut: bool,
}

impl Addresses {
    pub(super) fn new() -> Addresses {
        Addresses { all: [0; MOST_FRAMES], length: 0, is_cut: false }
    }

    /// Puts one more at the outer end; false if there is no room, and the stack is cut there.
    pub(super) fn push(&mut self, address: usize) -> bool {
        let Some(place) = self.all.get_mut(self.length) else {
            self.is_cut = true;
            return false;
        };
        *place = address;
        self.length += 1;
        true
    }

    /// Whether there are more frames than are given.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut
    }
}

impl Deref for Addresses {
    type Target = [usize];

    fn deref(&self) -> &[usize] {
        &self.all[..self.length]
    }
}

impl PartialEq for Addresses {
    fn eq(&self, other: &Addresses) -> bool {
        **self == **other
    }
}

impl Eq for Addresses {}

impl Hash for Addresses {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl std::fmt::Debug for Addresses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter().map(|address| format_args!("{address:#x}").to_string())).finish()
    }
}
