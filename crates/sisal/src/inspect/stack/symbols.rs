//! From addresses to functions, files and lines.

use super::frame::Frame;
use super::modules::{self, Generation};
use super::trim::Trimmer;
use std::collections::HashMap;

/// What is said of a function without a name.
const UNKNOWN: &str = "<unknown>";

/// Knows the frames of addresses that it was asked for before. What it has to look up in debug information takes milliseconds the first time.
pub(crate) struct Symbols {
    known: HashMap<usize, Vec<Frame>>,
    /// Of the modules for which that is so.
    generation: Option<Generation>,
    trimmer: Trimmer,
}

impl Symbols {
    pub(crate) fn new() -> Symbols {
        Symbols { known: HashMap::new(), generation: modules::generation(), trimmer: Trimmer::new(look_up) }
    }

    /// The calls of a stack, innermost first, without those of the runtime that nobody wants to see: see [`Trimmer`].
    pub(crate) fn resolve(&mut self, addresses: &[usize]) -> Vec<Frame> {
        let all = self.resolve_all(addresses);
        self.trimmer.trim(all)
    }

    /// The calls of a stack, innermost first.
    pub(super) fn resolve_all(&mut self, addresses: &[usize]) -> Vec<Frame> {
        self.forget_if_modules_changed();
        let mut frames = Vec::with_capacity(addresses.len());
        for &address in addresses {
            frames.extend_from_slice(self.known.entry(address).or_insert_with(|| look_up(address)));
        }
        frames
    }

    fn forget_if_modules_changed(&mut self) {
        let generation = modules::generation();
        if generation != self.generation {
            self.generation = generation;
            self.known.clear();
            backtrace::clear_symbol_cache();
        }
    }
}

/// The calls that an address stands for: a function, after all that was inlined into it there.
fn look_up(address: usize) -> Vec<Frame> {
    let mut frames = Vec::new();
    backtrace::resolve(std::ptr::without_provenance_mut(address), |symbol| {
        frames.push(Frame {
            // Without the hash.
            function: symbol.name().map_or_else(|| UNKNOWN.to_owned(), |name| format!("{name:#}")),
            file: symbol.filename().map(|file| file.to_string_lossy().into_owned()),
            line: symbol.lineno(),
            address,
        });
    });
    if frames.is_empty() {
        frames.push(Frame { function: UNKNOWN.to_owned(), file: None, line: None, address });
    }
    frames
}
