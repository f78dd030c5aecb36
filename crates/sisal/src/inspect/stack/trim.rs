//! Which frames of a stack people want to see: their own, and what they called of the runtime.
//!
//! - *Inside a call of the runtime* that people have made everything goes up to the next function of theirs: at the inner end, where a fiber
//!   waits, and also where the runtime calls theirs in turn. If that call itself was inlined and nothing is known of it, their own
//!   function comes first.
//! - *At the outer end* everything goes from where the runtime calls the fiber's closure, and what is between the two.
//!
//! Whose code a frame is, its file tells: names are without their paths where a program has line tables only, and functions of ours are
//! compiled into programs of others. How files are called in debug information depends on how the program was built; so that is found out by
//! looking up functions of ours. Without debug information there are names with paths.
//!
//! A stack that has nothing but the runtime's frames is left as it is.

use crate::inspect::frame::Frame;
use sisal_context::stack::Depot;

/// Whose code a frame is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Origin<'a> {
    /// Of the runtime, in a module that starts like this, with the parts of its path separated by `/` or `::`.
    Runtime(&'a str),
    /// Of the standard library, or of some other language: it goes if it stands between things that go.
    Neutral,
    User,
}

/// See the [module](self).
pub(super) struct Trimmer {
    /// How the source directories of our crates are called, as far as there is debug information.
    sources: Vec<String>,
}

/// The crates that are ours, as paths start with them.
const CRATES: [&str; 2] = ["sisal::", "sisal_context::"];
/// And the standard library.
const STANDARD: [&str; 4] = ["std::", "core::", "alloc::", "test::"];

/// Where the runtime calls what runs as a fiber.
const ENTRIES: [[&str; 2]; 2] = [["fiber", "body"], ["sched", "threads"]];

/// Modules whose functions nobody calls but the runtime.
const INTERNAL: [&str; 5] = ["park", "sched", "prim", "queue", "switch"];
/// And one among them that people do.
const PUBLIC: [&str; 2] = ["sched", "grow"];

impl Trimmer {
    /// Finds out what our files are called, by `look_up`, which tells the frames of an address.
    pub(super) fn new(look_up: impl Fn(usize) -> Vec<Frame>) -> Trimmer {
        let functions =
            [(Trimmer::trim as *const (), "inspect/stack/trim.rs"), (Depot::new as *const (), "stack/depot.rs")];
        let source = |(function, file): (*const (), &str)| {
            // One more, since addresses are those that are returned to.
            let file_there = look_up(function.addr() + 1).pop()?.file?;
            file_there.strip_suffix(file).map(str::to_owned)
        };
        Trimmer { sources: functions.into_iter().filter_map(source).collect() }
    }

    /// Takes off what is the runtime's own.
    pub(super) fn trim(&self, mut frames: Vec<Frame>) -> Vec<Frame> {
        let mut shown = self.shown(&frames).into_iter();
        if shown.len() > 0 {
            frames.retain(|_| shown.next().unwrap_or(false));
        }
        frames
    }

    /// Which frames are left, from the innermost on; nothing if none are.
    fn shown(&self, frames: &[Frame]) -> Vec<bool> {
        let origins: Vec<Origin<'_>> = frames.iter().map(|frame| self.origin(frame)).collect();
        let is_user = |origin: &Origin<'_>| *origin == Origin::User;
        let entry = origins.iter().position(|origin| ENTRIES.iter().any(|entry| origin.is_in(entry)));
        let Some(outermost) = origins[..entry.unwrap_or(origins.len())].iter().rposition(is_user) else {
            return Vec::new();
        };
        // If there is no entry, the stack was cut before, or it is none of a fiber.
        let end = if entry.is_some() { outermost + 1 } else { origins.len() };
        let mut inside_runtime = false;
        let mut shown: Vec<bool> =
            origins[..end].iter().rev().map(|origin| origin.is_shown(&mut inside_runtime)).collect();
        shown.reverse();
        shown
    }

    fn origin<'a>(&self, frame: &'a Frame) -> Origin<'a> {
        match &frame.file {
            Some(file) => self.origin_of_file(file),
            None => origin_of_name(&frame.function),
        }
    }

    fn origin_of_file<'a>(&self, file: &'a str) -> Origin<'a> {
        if let Some(module) = self.sources.iter().find_map(|source| file.strip_prefix(source.as_str())) {
            // The users of unit tests live among us.
            return if cfg!(test) && module.ends_with("tests.rs") { Origin::User } else { Origin::Runtime(module) };
        }
        let is_standard = file.starts_with("/rustc/") || file.contains("/rustlib/src/rust/library/");
        if is_standard { Origin::Neutral } else { Origin::User }
    }
}

fn origin_of_name(name: &str) -> Origin<'_> {
    // `<path::Type as Trait>::function`, `<impl path::Type>::function`, `<&mut path::Type>::function`
    let path = name.trim_start_matches(['<', '&', '*', '(', '[']);
    let path = ["impl ", "mut ", "dyn "].iter().fold(path, |path, word| path.strip_prefix(word).unwrap_or(path));
    if let Some(module) = CRATES.iter().find_map(|name| path.strip_prefix(name)) {
        return if cfg!(test) && module.contains("::tests::") { Origin::User } else { Origin::Runtime(module) };
    }
    if !path.contains("::") || STANDARD.iter().any(|name| path.starts_with(name)) {
        Origin::Neutral
    } else {
        Origin::User
    }
}

impl Origin<'_> {
    /// Whether it is in a module of the runtime with this path, or below it.
    fn is_in(&self, path: &[&str]) -> bool {
        let Origin::Runtime(module) = self else { return false };
        let mut parts = module.split(['/', ':', '.']).filter(|part| !part.is_empty());
        path.iter().all(|&name| parts.next() == Some(name))
    }

    /// Whether it is left, all frames outside of it having been looked at; and is what it calls inside the runtime?
    fn is_shown(&self, inside_runtime: &mut bool) -> bool {
        match self {
            Origin::User => {
                *inside_runtime = false;
                true
            }
            Origin::Neutral => !*inside_runtime,
            // One through which a call of the runtime's goes, which is what says where it was made.
            Origin::Runtime(_) if self.is_in(&["switch"]) => false,
            Origin::Runtime(_) => !std::mem::replace(inside_runtime, true) && !self.is_internal(),
        }
    }

    fn is_internal(&self) -> bool {
        INTERNAL.iter().any(|name| self.is_in(&[name])) && !self.is_in(&PUBLIC)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "/home/me/.cargo/registry/src/index/sisal-0.1.0/src/";

    fn frame(function: &str, file: Option<String>) -> Frame {
        Frame { function: function.to_owned(), file, line: None, address: 0 }
    }

    /// What is left of a stack of these functions: with files if they stand behind an `@`, those of the runtime starting with a `~`.
    fn trimmed(frames: &[&str]) -> Vec<String> {
        let trimmer = Trimmer { sources: vec![SOURCE.to_owned()] };
        let frames = frames.iter().map(|text| match text.split_once('@') {
            Some((function, file)) => frame(function, Some(file.replace('~', SOURCE))),
            None => frame(text, None),
        });
        trimmer.trim(frames.collect()).into_iter().map(|frame| frame.function).collect()
    }

    #[test]
    fn with_files_the_call_and_what_made_it_are_left() {
        let frames = [
            "switch@~sched/dispatch.rs",
            "park@~park/fiber.rs",
            "receive<u8>@~chan/blocking.rs",
            "recv<u8>@~chan/receiver.rs",
            "fetch@/app/src/main.rs",
            "call_once@/rustc/0123/library/core/src/ops/function.rs",
            "run_body@~nursery/scope.rs",
            "nursery<..>@~nursery/mod.rs",
            "{closure#0}@/app/src/main.rs",
            "call_once@/rustc/0123/library/core/src/ops/function.rs",
            "__rust_try",
            "catch_unwind@/rustc/0123/library/std/src/panic.rs",
            "run@~fiber/body.rs",
            "run_loop@~sched/dispatch.rs",
        ];
        assert_eq!(trimmed(&frames), ["recv<u8>", "fetch", "nursery<..>", "{closure#0}"]);
    }

    #[test]
    fn a_call_that_returns_by_a_jump_is_left_without_the_way_it_takes() {
        let frames = [
            "sisal::chan::rendezvous::in_fiber::<impl sisal::chan::rendezvous::Rendezvous<T>>::wait_to_receive",
            "sisal_context::switch::x86_64::return_by_jump",
            "app::fetch",
        ];
        assert_eq!(trimmed(&frames), [frames[0], frames[2]]);
    }

    #[test]
    fn without_files_names_tell() {
        let frames = [
            "sisal::park::fiber::park",
            "<sisal::net::stream::TcpStream as std::io::Read>::read",
            "std::io::default_read_exact",
            "app::fetch",
            "app::main::{{closure}}",
            "core::ops::function::FnOnce::call_once",
            "sisal::spawn::local::{{closure}}",
            "sisal::fiber::body::Task<F,T>::call",
            "std::panicking::try::do_call",
            "__rust_try",
            "sisal::sched::dispatch::<impl sisal::sched::worker::Worker>::call",
            "sisal_context::switch::x86_64::root",
        ];
        let left = [
            "<sisal::net::stream::TcpStream as std::io::Read>::read",
            "std::io::default_read_exact",
            "app::fetch",
            "app::main::{{closure}}",
        ];
        assert_eq!(trimmed(&frames), left);
    }

    #[test]
    fn a_call_that_was_inlined_leaves_the_function_that_made_it() {
        let frames = ["sisal::park::fiber::park", "app::fetch", "sisal::fiber::body::Task<F,T>::call"];
        assert_eq!(trimmed(&frames), ["app::fetch"]);
        let frames = ["sisal::park::fiber::park", "sisal::sched::grow::grow", "app::deep", "sisal::fiber::body::run"];
        assert_eq!(trimmed(&frames), ["sisal::sched::grow::grow", "app::deep"]);
    }

    #[test]
    fn what_runs_is_left_whatever_it_calls() {
        let frames = ["memcpy", "core::slice::copy", "app::busy", "sisal::fiber::body::Task<F,T>::call"];
        assert_eq!(trimmed(&frames), ["memcpy", "core::slice::copy", "app::busy"]);
    }

    #[test]
    fn a_stack_that_was_cut_keeps_its_end() {
        let frames =
            ["sisal::park::fiber::park", "app::deep", "core::ops::function::FnOnce::call_once", "sisal::par::join"];
        assert_eq!(trimmed(&frames), ["app::deep", "sisal::par::join"]);
        let frames = ["app::deep", "sisal::par::job", "sisal::par::join", "core::iter::for_each"];
        assert_eq!(trimmed(&frames), ["app::deep", "sisal::par::join", "core::iter::for_each"]);
    }

    #[test]
    fn a_stack_of_the_runtime_alone_is_left_as_it_is() {
        let frames = ["sisal::park::fiber::park", "sisal::time::sleep", "sisal::fiber::body::Task<F,T>::call"];
        assert_eq!(trimmed(&frames), frames);
        assert_eq!(trimmed(&[]), [""; 0]);
    }
}
