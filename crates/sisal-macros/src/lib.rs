//! The macros of the sisal fiber runtime: `#[sisal::main]`, `#[sisal::test]` and `select!`.
//!
//! Use them through the `sisal` crate, which re-exports them. This file owns what is written out for the
//! attributes; `parse.rs` owns what is understood and what is refused. `select.rs` and `arms.rs` are the
//! same for `select!`. The crate has no dependencies: the macros read one function signature, one list
//! of options and one list of arms, and every program that uses sisal compiles them.
//!
//! # What is written out for the attributes
//!
//! The annotated function keeps its attributes, visibility, name and return type. Its body moves,
//! token for token, into an inner function of the same name, which becomes the main fiber:
//!
//! ```text
//! fn main() -> Ret {
//!     fn main() -> Ret { body }
//!     match ::sisal::Runtime::builder().workers(4).run(main) {
//!         Ok(value) => value,
//!         Err(error) => { eprintln!("sisal: {}", error); exit(2) }
//!     }
//! }
//! ```
//!
//! An inner function rather than a closure, so that `-> impl Trait` works and type errors in the
//! body read as they would without the attribute.

mod arms;
mod parse;
mod select;

use parse::{Complaint, Function, Kind, Options};
use proc_macro::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};

/// Runs the annotated function as the main fiber of a sisal runtime.
///
/// The calling thread becomes a worker until the function returns, as with `sisal::run`. The
/// function is a plain one: no `async`, no arguments, no generics. What it returns is what `main`
/// returns.
///
/// Options, each of them a setter of `sisal::RuntimeBuilder` and each taking any expression:
/// `workers`, `max_workers`, `stack_size`, `max_fibers`, `name`. What isn't given here comes from
/// the `SISAL_*` environment, then from the default. Settings that make no sense (`workers = 0`,
/// `SISAL_WORKERS=abc`) are reported on standard error, and the process exits with status 2.
///
/// # Examples
///
/// ```
/// #[sisal::main(workers = 2, name = "adder")]
/// fn main() -> Result<(), sisal::JoinError> {
///     let left = sisal::spawn(|| (1..=50u64).sum::<u64>());
///     let right = sisal::spawn(|| (51..=100u64).sum::<u64>());
///     assert_eq!(left.join()? + right.join()?, 5050);
///     Ok(())
/// }
/// ```
///
/// Fibers are plain functions, so this doesn't compile:
///
/// ```compile_fail
/// #[sisal::main]
/// async fn main() {}
/// ```
///
/// Nor does an option that doesn't exist:
///
/// ```compile_fail
/// #[sisal::main(threads = 4)]
/// fn main() {}
/// ```
#[proc_macro_attribute]
pub fn main(options: TokenStream, item: TokenStream) -> TokenStream {
    expand(options, item, Flavour::Main)
}

/// Makes the annotated function a test whose body is the main fiber of a runtime of its own.
///
/// Takes the options of [`macro@main`]. Other attributes (`#[should_panic]`, `#[ignore]`,
/// `#[cfg(..)]`) stay in force. Settings that make no sense fail the test.
///
/// # Examples
///
/// ```
/// #[sisal::test(workers = 2)]
/// fn fibers_come_back_with_their_results() {
///     assert_eq!(sisal::spawn(|| 6 * 7).join().unwrap(), 42);
/// }
/// ```
#[proc_macro_attribute]
pub fn test(options: TokenStream, item: TokenStream) -> TokenStream {
    expand(options, item, Flavour::Test)
}

/// Waits for the first of several channel operations, does it, and runs its arm.
///
/// ```text
/// select! {
///     recv(receiver) -> message => ..,        // message: Result<T, RecvError>
///     recv(&mut receiver) -> message => ..,   // of a oneshot, broadcast or watch channel: as its recv, or changed
///     send(sender, value) -> result => ..,    // result: Result<(), SendError<T>>
///     default => ..,                          // if none can be done at once,
///     default(duration) => ..,                // or within that time
/// }
/// ```
///
/// An arm is ready if its operation need not wait; it is also if its channel is closed, which its result then says. Among several
/// ready ones the choice is random and fair. Exactly one arm runs, and only its channel is touched: nothing is lost by a choice.
/// `-> pattern` may be left out; there is one `default` at most. All arms have one type, which is that of the whole expression.
///
/// Channels and values are evaluated once, before the wait. The value of a send that is not chosen is dropped.
///
/// If something from outside ends the wait (see `sisal::Cause`), the first arm runs, with an error that says so. Works in fibers and
/// in threads. For arms known only at run time there is `sisal::Select`.
///
/// ```
/// use std::time::Duration;
/// sisal::run(|| {
///     let (sender, receiver) = sisal::chan::bounded(1);
///     let (out, _in) = sisal::chan::bounded(1);
///     sisal::spawn(move || sender.send("hello"));
///     let what = sisal::select! {
///         recv(receiver) -> message => message.unwrap(),
///         recv(sisal::chan::after(Duration::from_secs(60))) => "nothing came",
///     };
///     assert_eq!(what, "hello");
///     sisal::select! {
///         recv(receiver) -> message => assert!(message.is_err()),
///         send(out, 7) -> sent => assert!(sent.is_ok()),
///         default(Duration::from_secs(60)) => unreachable!(),
///     }
/// });
/// ```
///
/// The receiver of one message, of what is sent to all, or of changes has to be the select's own meanwhile (see `sisal::chan::Selectable`):
///
/// ```
/// sisal::run(|| {
///     let (answer, mut answered) = sisal::chan::oneshot();
///     let (_settings, mut changes) = sisal::chan::watch("old");
///     sisal::spawn(move || answer.send(42));
///     sisal::select! {
///         recv(&mut answered) -> answer => assert_eq!(answer, Ok(42)),
///         recv(&mut changes) -> _ => unreachable!(),
///     }
/// });
/// ```
///
/// Without an arm it would wait for ever, so this doesn't compile:
///
/// ```compile_fail
/// sisal::select! {}
/// ```
#[proc_macro]
pub fn select(arms: TokenStream) -> TokenStream {
    select::expand(arms)
}

/// Which of the two attributes is being expanded.
#[derive(Clone, Copy, PartialEq)]
enum Flavour {
    Main,
    Test,
}

impl Flavour {
    /// What stands in front of the function's own attributes.
    fn attribute(self) -> &'static str {
        match self {
            Flavour::Main => "",
            Flavour::Test => "#[::core::prelude::v1::test]",
        }
    }

    /// What happens when the runtime can't be built.
    fn on_error(self) -> &'static str {
        match self {
            Flavour::Main => "{ ::std::eprintln!(\"sisal: {}\", error); ::std::process::exit(2) }",
            Flavour::Test => "{ ::std::panic!(\"sisal: {}\", error) }",
        }
    }
}

fn expand(options: TokenStream, item: TokenStream, flavour: Flavour) -> TokenStream {
    let options: Vec<TokenTree> = options.into_iter().collect();
    let mut tokens = Vec::new();
    flatten(item, &mut tokens);

    let kinds = kinds(&tokens);
    let function = match parse::function(&kinds) {
        Ok(function) => function,
        Err(complaint) => return refuse(&complaint, &tokens, parse::name(&kinds)),
    };
    if flavour == Flavour::Test
        && let Err(complaint) = refuse_second_test_attribute(&function, &tokens)
    {
        return refuse(&complaint, &tokens, Some(function.name));
    }
    match parse::options(&self::kinds(&options)) {
        Ok(parsed) => write(&function, &tokens, &parsed, &options, flavour),
        Err(complaint) => {
            let mut output = refuse(&complaint, &options, None);
            output.extend(stub(&tokens, Some(function.name)));
            output
        }
    }
}

/// Writes out the wrapped function.
fn write(
    function: &Function,
    tokens: &[TokenTree],
    options: &Options,
    option_tokens: &[TokenTree],
    flavour: Flavour,
) -> TokenStream {
    let mut body = TokenStream::new();
    copy(&mut body, &tokens[function.signature..]);
    code(&mut body, "match ::sisal::Runtime::builder()");
    for option in options {
        code(&mut body, ".");
        copy(&mut body, [&option_tokens[option.name]]);
        group(&mut body, Delimiter::Parenthesis, |value| {
            copy_expression(value, &option_tokens[option.value.clone()]);
        });
    }
    code(&mut body, ".run");
    group(&mut body, Delimiter::Parenthesis, |main_fiber| {
        copy(main_fiber, [&tokens[function.name]]);
    });
    group(&mut body, Delimiter::Brace, |arms| {
        code(arms, "::core::result::Result::Ok(value) => value,");
        code(arms, "::core::result::Result::Err(error) =>");
        code(arms, flavour.on_error());
    });

    let mut whole = TokenStream::new();
    code(&mut whole, flavour.attribute());
    copy(&mut whole, &tokens[..function.body]);
    group(&mut whole, Delimiter::Brace, |inside| inside.extend(body));
    whole
}

/// `#[test]` beside `#[sisal::test]` would run the function twice.
fn refuse_second_test_attribute(function: &Function, tokens: &[TokenTree]) -> Result<(), Complaint> {
    for &at in &function.attributes {
        let TokenTree::Group(group) = &tokens[at] else {
            continue;
        };
        let mut words = group.stream().into_iter();
        let is_test = matches!(words.next(), Some(TokenTree::Ident(word)) if word.to_string() == "test");
        if is_test && words.next().is_none() {
            return Err(Complaint::at(at, "`#[sisal::test]` already makes this a test: remove `#[test]`"));
        }
    }
    Ok(())
}

/// A compile error where the complaint points, and a stub that keeps rustc from complaining in
/// turn that there is no such function.
fn refuse(complaint: &Complaint, tokens: &[TokenTree], name: Option<usize>) -> TokenStream {
    let span = match complaint.at.and_then(|at| tokens.get(at)) {
        Some(token) => token.span(),
        None => Span::call_site(),
    };
    let mut output = TokenStream::new();
    code(&mut output, &format!("::core::compile_error!{{ {:?} }}", complaint.message));
    let mut output = respan(output, span);
    output.extend(stub(tokens, name));
    output
}

/// An empty function of the same name, if there is a name.
fn stub(tokens: &[TokenTree], name: Option<usize>) -> TokenStream {
    let mut output = TokenStream::new();
    if let Some(TokenTree::Ident(name)) = name.and_then(|at| tokens.get(at)) {
        code(&mut output, "#[allow(dead_code)] fn");
        output.extend([TokenTree::from(Ident::new(&name.to_string(), Span::call_site()))]);
        code(&mut output, "() {}");
    }
    output
}

/// The same tokens, all of them pointing at `span`.
fn respan(tokens: TokenStream, span: Span) -> TokenStream {
    let point = |mut token: TokenTree| {
        if let TokenTree::Group(group) = &token {
            let inner = respan(group.stream(), span);
            token = Group::new(group.delimiter(), inner).into();
        }
        token.set_span(span);
        token
    };
    tokens.into_iter().map(point).collect()
}

/// Appends the tokens of a fixed piece of Rust.
fn code(output: &mut TokenStream, text: &str) {
    let tokens: TokenStream = text.parse().expect("fixed text is made of whole tokens");
    output.extend(tokens);
}

/// Appends tokens as the user wrote them, spans included.
fn copy<'a>(output: &mut TokenStream, tokens: impl IntoIterator<Item = &'a TokenTree>) {
    output.extend(tokens.into_iter().cloned());
}

/// Appends an expression as the user wrote it. rustc forgets the invisible brackets around a
/// substituted `$e:expr` once a macro has handed them on, and `$e * 2` would mean something else:
/// they become visible ones.
fn copy_expression(output: &mut TokenStream, tokens: &[TokenTree]) {
    for token in tokens {
        match token {
            TokenTree::Group(substituted) if substituted.delimiter() == Delimiter::None && tokens.len() > 1 => {
                group(output, Delimiter::Parenthesis, |inside| inside.extend(substituted.stream()));
            }
            token => copy(output, [token]),
        }
    }
}

/// Collects an item's tokens, with the invisible brackets that `macro_rules!` puts around a
/// substituted `$vis`, `$block` or `$item` taken off.
fn flatten(tokens: TokenStream, output: &mut Vec<TokenTree>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::None => {
                flatten(group.stream(), output);
            }
            token => output.push(token),
        }
    }
}

/// Appends brackets with something between them.
fn group(output: &mut TokenStream, delimiter: Delimiter, fill: impl FnOnce(&mut TokenStream)) {
    let mut inside = TokenStream::new();
    fill(&mut inside);
    output.extend([TokenTree::from(Group::new(delimiter, inside))]);
}

/// What the parser sees of each token.
fn kinds(tokens: &[TokenTree]) -> Vec<Kind> {
    let kind = |token: &TokenTree| match token {
        TokenTree::Ident(word) => Kind::Word(word.to_string()),
        TokenTree::Punct(mark) => Kind::Mark(mark.as_char()),
        TokenTree::Literal(_) => Kind::Literal,
        TokenTree::Group(group) => {
            let empty = group.stream().is_empty();
            match group.delimiter() {
                Delimiter::Parenthesis => Kind::Parentheses { empty },
                Delimiter::Brace => Kind::Braces,
                Delimiter::Bracket => Kind::Brackets,
                Delimiter::None => Kind::Invisible,
            }
        }
    };
    tokens.iter().map(kind).collect()
}
