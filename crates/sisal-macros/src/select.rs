//! `select!`: what is written out for a list of arms.
//!
//! ```text
//! match (&(channel 0), &(channel 1), ..) {
//!     (c0, c1, ..) => {
//!         enum Chosen<A0, A1, ..> { Arm0(A0), Arm1(A1), .., Default }
//!         let chosen = {
//!             let arm0 = recv(c0);
//!             let arm1 = send(c1, value);
//!             match wait([arm0.any(), arm1.any(), ..]) {
//!                 Some(0) => Chosen::Arm0(arm0.take()),
//!                 ..
//!                 _ => Chosen::Default,
//!             }
//!         };
//!         match chosen {
//!             Chosen::Arm0(result) => { let pattern = result; body }
//!             ..
//!         }
//!     }
//! }
//! ```
//! The outer match keeps temporaries alive, so that `recv(after(d))` works. The arms are gone before a body runs. Where a channel is given as
//! `&mut channel`, it stands in the outer match as it is, and is received from by `recv_mut`.

use crate::arms::{self, Arm, Arms, Operation};
use crate::{code, copy, copy_expression, group, kinds, refuse};
use proc_macro::{Delimiter, TokenStream, TokenTree};

pub(crate) fn expand(input: TokenStream) -> TokenStream {
    let tokens: Vec<TokenTree> = input.into_iter().collect();
    match arms::arms(&kinds(&tokens)) {
        Ok(arms) => write(&arms, &tokens),
        Err(complaint) => refuse(&complaint, &tokens, None),
    }
}

fn write(arms: &Arms, tokens: &[TokenTree]) -> TokenStream {
    let channels = || arms.operations.iter().enumerate();
    let mut output = TokenStream::new();
    code(&mut output, "match");
    group(&mut output, Delimiter::Parenthesis, |tuple| {
        for (_, arm) in channels() {
            let inside = contents(&tokens[arm.arguments]);
            let end = arm.operation.channel_end(&inside);
            if !is_borrowed_mutably(&inside[..end]) {
                code(tuple, "&");
            }
            group(tuple, Delimiter::Parenthesis, |channel| copy_expression(channel, &inside[..end]));
            code(tuple, ",");
        }
    });
    group(&mut output, Delimiter::Brace, |outer| {
        let names: String = channels().map(|(number, _)| format!("__sisal_channel_{number},")).collect();
        code(outer, &format!("({names}) =>"));
        group(outer, Delimiter::Brace, |body| {
            write_choice(body, arms, tokens);
            write_bodies(body, arms, tokens);
        });
    });
    let mut whole = TokenStream::new();
    group(&mut whole, Delimiter::Brace, |inside| inside.extend(output));
    whole
}

/// The part that waits.
fn write_choice(output: &mut TokenStream, arms: &Arms, tokens: &[TokenTree]) {
    let numbers = || 0..arms.operations.len();
    let types: String = numbers().map(|number| format!("A{number},")).collect();
    let variants: String = numbers().map(|number| format!("Arm{number}(A{number}),")).collect();
    code(output, &format!("#[allow(dead_code)] enum __SisalChosen<{types}> {{ {variants} Default }}"));
    code(output, "let __sisal_chosen =");
    group(output, Delimiter::Brace, |choice| {
        for (number, arm) in arms.operations.iter().enumerate() {
            let inside = contents(&tokens[arm.arguments]);
            let function = match arm.operation {
                Operation::Send => "send",
                operation if is_borrowed_mutably(&inside[..operation.channel_end(&inside)]) => "recv_mut",
                _ => "recv",
            };
            code(choice, &format!("let mut __sisal_arm_{number} = ::sisal::select::hidden::{function}"));
            group(choice, Delimiter::Parenthesis, |arguments| {
                code(arguments, &format!("__sisal_channel_{number},"));
                if arm.operation == Operation::Send {
                    let value = arm.operation.channel_end(&inside) + 1;
                    copy_expression(arguments, &inside[value..]);
                }
            });
            code(choice, ";");
        }
        code(choice, "match");
        write_wait(choice, arms, tokens);
        let taken: String = numbers()
            .map(|number| {
                format!(
                    "::core::option::Option::Some({number}) => __SisalChosen::Arm{number}(__sisal_arm_{number}.take()),"
                )
            })
            .collect();
        code(choice, &format!("{{ {taken} _ => __SisalChosen::Default }}"));
    });
    code(output, ";");
}

fn write_wait(output: &mut TokenStream, arms: &Arms, tokens: &[TokenTree]) {
    let all: String = (0..arms.operations.len()).map(|number| format!("__sisal_arm_{number}.any(),")).collect();
    match &arms.default {
        None => code(output, &format!("::core::option::Option::Some(::sisal::select::hidden::wait([{all}]))")),
        Some(Arm { operation: Operation::Timeout, arguments, .. }) => {
            code(output, "::sisal::select::hidden::wait_timeout");
            group(output, Delimiter::Parenthesis, |inside| {
                code(inside, &format!("[{all}],"));
                copy_expression(inside, &contents(&tokens[*arguments]));
            });
        }
        Some(_) => code(output, &format!("::sisal::select::hidden::poll([{all}])")),
    }
}

/// What is done with the result.
fn write_bodies(output: &mut TokenStream, arms: &Arms, tokens: &[TokenTree]) {
    code(output, "match __sisal_chosen");
    group(output, Delimiter::Brace, |matches| {
        for (number, arm) in arms.operations.iter().enumerate() {
            code(matches, &format!("__SisalChosen::Arm{number}(__sisal_result) =>"));
            group(matches, Delimiter::Brace, |inside| {
                if arm.pattern.is_empty() {
                    code(inside, "::core::mem::drop(__sisal_result);");
                } else {
                    code(inside, "let");
                    copy(inside, &tokens[arm.pattern.clone()]);
                    code(inside, "= __sisal_result;");
                }
                copy(inside, &tokens[arm.body.clone()]);
            });
        }
        code(matches, "__SisalChosen::Default =>");
        match &arms.default {
            Some(arm) => group(matches, Delimiter::Brace, |inside| copy(inside, &tokens[arm.body.clone()])),
            None => code(matches, "::core::unreachable!(),"),
        }
    });
}

/// Whether a channel is given as `&mut channel`: then it is not borrowed once more, which would make that a shared one.
fn is_borrowed_mutably(channel: &[TokenTree]) -> bool {
    match channel {
        [TokenTree::Punct(mark), TokenTree::Ident(word), ..] => mark.as_char() == '&' && word.to_string() == "mut",
        // As another macro passes on what it was given.
        [TokenTree::Group(group)] if matches!(group.delimiter(), Delimiter::None | Delimiter::Parenthesis) => {
            is_borrowed_mutably(&group.stream().into_iter().collect::<Vec<_>>())
        }
        _ => false,
    }
}

fn contents(token: &TokenTree) -> Vec<TokenTree> {
    match token {
        TokenTree::Group(group) => group.stream().into_iter().collect(),
        _ => Vec::new(),
    }
}

impl Operation {
    /// Where the channel's expression ends: at the first comma of a send.
    fn channel_end(self, inside: &[TokenTree]) -> usize {
        let mark = |token: &TokenTree| match token {
            TokenTree::Punct(mark) => Some(mark.as_char()),
            _ => None,
        };
        let is_comma = |token: &TokenTree| mark(token) == Some(',');
        let is_send = self == Operation::Send;
        let comma = if is_send { arms::comma(inside.len(), |at| mark(&inside[at])) } else { None };
        comma.unwrap_or_else(|| inside.len() - usize::from(inside.last().is_some_and(is_comma)))
    }
}
