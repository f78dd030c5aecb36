//! Printing whole lines from fibers and threads: [`println!`](crate::println!), [`print!`](crate::print!),
//! [`eprintln!`](crate::eprintln!), [`eprint!`](crate::eprint!).
//!
//! ```
//! sisal::run(|| {
//!     let fibers: Vec<_> = (0..3).map(|i| sisal::spawn(move || sisal::println!("fiber {i}"))).collect();
//!     fibers.into_iter().for_each(|fiber| fiber.join().unwrap());
//! });
//! ```
//!
//! They are used as `std`'s. What one call prints comes out whole, with nothing of other calls in it, and what one fiber
//! prints comes out in its order. The difference is what happens if the output is a pipe or terminal whose reader is slow: `std`'s block
//! the worker, and all its fibers with it; these leave the output to a thread, and wait only when that is 64 KiB behind.
//!
//! They work outside of runtimes and in plain threads as well.
//!
//! # When it is out
//! As a rule when the call returns. If the reader is slow, or a terminal, which may stop at any time, it is out later, but before [`flush`] returns, at the end of
//! [`run`](crate::run), and before the process exits, by [`std::process::exit`] or by returning from `main`. An abort, a signal
//! that kills or an `exec` may lose the last of it.
//!
//! # When it can't be written
//! If nobody reads the pipe any more, or the disk is full, `std`'s macros panic. Here the output is dropped from then on, silently,
//! until [`flush`] is called: it returns the error, and what is printed after that is tried again. (A standard stream that
//! was closed takes everything, as in `std`.)
//!
//! # Together with std's
//! Lines are written under the lock of [`std::io::stdout`] or [`std::io::stderr`], so that neither cuts the other's in two, but
//! for a line of more than 3 KiB to a slow reader. Their order is that of the calls, unless the reader is slow, or a terminal: [`flush`] before what
//! `std` is to print behind these, such as a question. To hold `std`'s lock for long
//! holds these up too; whoever holds it while waiting for these to be written, waits for ever.
//!
//! Unlike `std`'s, they are not captured by the test harness.
//!
//! # After a fork
//! In the child of a `fork` without `exec`, they write at once, and can block. What was not written before the fork is the parent's.

mod exit;
mod sink;
mod stream;
#[cfg(test)]
mod tests;
mod writer;

use self::sink::{Stderr, Stdout};
use self::stream::Stream;
use crate::prim::reason::Place;
use std::fmt::{self, Write};
use std::io;
use std::panic::Location;

static STDOUT: Stream<Stdout> = Stream::new(Stdout);
static STDERR: Stream<Stderr> = Stream::new(Stderr);

/// Where to print.
#[doc(hidden)]
#[derive(Copy, Clone, Debug)]
pub enum To {
    Stdout,
    Stderr,
}

/// What the macros call.
#[doc(hidden)]
#[track_caller]
pub fn print(to: To, text: fmt::Arguments<'_>, end: &str) {
    let place = Location::caller();
    let text = format(text, end);
    match to {
        To::Stdout => STDOUT.print(text, place),
        To::Stderr => STDERR.print(text, place),
    }
}

/// Calls the user's code, so nothing is held.
fn format(text: fmt::Arguments<'_>, end: &str) -> Vec<u8> {
    /// Room for a usual line.
    const USUAL: usize = 80;
    let mut formatted = String::with_capacity(text.as_str().map_or(USUAL, |text| text.len() + end.len()));
    assert!(formatted.write_fmt(text).is_ok(), "a formatting trait implementation returned an error");
    formatted.push_str(end);
    formatted.into_bytes()
}

/// Waits until all that was printed before is written. Parks the fiber, or blocks the thread.
///
/// # Errors
/// The first error since the last call. What was printed since then is lost; what is printed from now on is tried again.
///
/// ```
/// sisal::print!("a prompt: ");
/// sisal::output::flush()?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn flush() -> io::Result<()> {
    settle(Location::caller());
    let (stdout, stderr) = (STDOUT.take_error(), STDERR.take_error());
    stdout.or(stderr).map_or(Ok(()), Err)
}

/// As [`flush`], but leaves the error to that. For the end of a `run`.
pub(crate) fn settle(place: Place) {
    STDOUT.settle(place);
    STDERR.settle(place);
}

/// Prints a line to the standard output, whole, without blocking the worker. As [`std::println!`], but see
/// [`output`](crate::output).
///
/// ```
/// let name = "fiber";
/// sisal::println!();
/// sisal::println!("hello, {name}! {:>4}", 7);
/// ```
#[macro_export]
macro_rules! println {
    () => { $crate::output::print($crate::output::To::Stdout, ::core::format_args!(""), "\n") };
    ($($text:tt)*) => { $crate::output::print($crate::output::To::Stdout, ::core::format_args!($($text)*), "\n") };
}

/// Prints to the standard output, whole, without blocking the worker. As [`std::print!`], but see [`output`](crate::output); and it
/// is written at once, not with the next newline.
///
/// ```
/// sisal::print!("{}, ", 1);
/// sisal::print!("2\n");
/// ```
#[macro_export]
macro_rules! print {
    ($($text:tt)*) => { $crate::output::print($crate::output::To::Stdout, ::core::format_args!($($text)*), "") };
}

/// Prints a line to the standard error, whole, without blocking the worker. As [`std::eprintln!`], but see
/// [`output`](crate::output).
///
/// ```
/// sisal::eprintln!("{} went wrong", "nothing");
/// ```
#[macro_export]
macro_rules! eprintln {
    () => { $crate::output::print($crate::output::To::Stderr, ::core::format_args!(""), "\n") };
    ($($text:tt)*) => { $crate::output::print($crate::output::To::Stderr, ::core::format_args!($($text)*), "\n") };
}

/// Prints to the standard error, whole, without blocking the worker. As [`std::eprint!`], but see [`output`](crate::output).
///
/// ```
/// sisal::eprint!("working .. ");
/// sisal::eprintln!("done");
/// ```
#[macro_export]
macro_rules! eprint {
    ($($text:tt)*) => { $crate::output::print($crate::output::To::Stderr, ::core::format_args!($($text)*), "") };
}
