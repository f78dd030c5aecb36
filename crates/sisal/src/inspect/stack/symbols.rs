//! From addresses to functions, files and lines.

use super::modules::{self, Generation};
use super::trim::Trimmer;
use crate::inspect::frame::Frame;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// What is said of a function without a name.
const UNKNOWN: &str = "<unknown>";

/// Types that a function was made for are left out if they are longer than this: they hold the names of whole functions, where closures are passed.
const LONGEST_TYPES: usize = 40;

/// Knows the frames of addresses that it was asked for before. What it has to look up in debug information takes milliseconds the first time.
pub(crate) struct Symbols {
    known: HashMap<usize, Vec<Frame>>,
    /// Of the modules for which that is so.
    generation: Option<Generation>,
    trimmer: Trimmer,
}

/// What has been found out so far, by anybody.
static KNOWN: Mutex<Option<Symbols>> = Mutex::new(None);

impl Symbols {
    /// Calls `f` with what is known so far.
    pub(crate) fn with<R>(f: impl FnOnce(&mut Symbols) -> R) -> R {
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        f(known.get_or_insert_with(Symbols::new))
    }

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
            function: symbol.name().map_or_else(|| UNKNOWN.to_owned(), |name| shorten(format!("{name:#}"))),
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

/// Leaves the types out that stand at the end of a name, if they are long.
fn shorten(mut name: String) -> String {
    if let Some(start) = start_of_types(&name)
        && name.len() - start > LONGEST_TYPES
    {
        name.replace_range(start.., "<..>");
    }
    name
}

/// Where the bracket opens that is closed at the end of a name; none if that is all of the name.
fn start_of_types(name: &str) -> Option<usize> {
    let mut open = 0;
    for (at, c) in name.char_indices().rev() {
        let is_arrow = name[..at].ends_with('-');
        match c {
            '>' if !is_arrow => open += 1,
            '<' => open -= 1,
            _ => {}
        }
        if open == 0 {
            return (c == '<' && at > 0).then_some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_types_at_the_end_of_a_name_are_left_out() {
        let cases = [
            ("park", "park"),
            ("recv<u8>", "recv<u8>"),
            ("app::map<alloc::vec::Vec<app::request::Request>, fn(u8) -> u8>", "app::map<..>"),
            ("app::apply<fn(app::request::Request, app::request::Request) -> u8>", "app::apply<..>"),
            (
                "<app::request::Request as app::answer::Answer<u8>>::answer",
                "<app::request::Request as app::answer::Answer<u8>>::answer",
            ),
            (
                "<app::request::Request as app::answer::Answer<app::Reply>>",
                "<app::request::Request as app::answer::Answer<app::Reply>>",
            ),
            ("", ""),
            (">", ">"),
        ];
        for (name, short) in cases {
            assert_eq!(shorten(name.to_owned()), short);
        }
    }

    #[test]
    fn an_address_outside_of_all_code_has_an_unknown_function() {
        let frames = Symbols::new().resolve(&[8]);
        assert_eq!((frames.len(), &*frames[0].function, frames[0].address), (1, UNKNOWN, 8));
    }
}
