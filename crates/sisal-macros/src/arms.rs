//! What `select!` understands of its arms, and what it refuses. Like `parse.rs`, it sees only the kinds of tokens.
//!
//! ```text
//! recv(channel) -> pattern => body,
//! send(channel, value) -> pattern => body,
//! default => body,      default(duration) => body,
//! ```
//! `-> pattern` may be left out. A body in braces needs no comma after it.

use crate::parse::{Complaint, Kind};
use std::ops::Range;

/// What an arm does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Operation {
    Recv,
    Send,
    /// `default`
    Otherwise,
    /// `default(duration)`
    Timeout,
}

/// One arm, as positions in the token list.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Arm {
    pub(crate) operation: Operation,
    /// The parentheses; the word itself where there are none.
    pub(crate) arguments: usize,
    /// Empty if there is none.
    pub(crate) pattern: Range<usize>,
    pub(crate) body: Range<usize>,
}

#[derive(Debug, PartialEq)]
pub(crate) struct Arms {
    pub(crate) operations: Vec<Arm>,
    pub(crate) default: Option<Arm>,
}

pub(crate) fn arms(tokens: &[Kind]) -> Result<Arms, Complaint> {
    let mut found = Arms { operations: Vec::new(), default: None };
    let mut at = 0;
    while at < tokens.len() {
        let (arm, next) = arm(tokens, at)?;
        match arm.operation {
            Operation::Recv | Operation::Send => found.operations.push(arm),
            Operation::Otherwise | Operation::Timeout if found.default.is_some() => {
                return Err(Complaint::at(at, "a select has one `default` at most"));
            }
            Operation::Otherwise | Operation::Timeout => found.default = Some(arm),
        }
        at = next;
    }
    if found.operations.is_empty() && found.default.is_none() {
        return Err(Complaint { at: None, message: "a select without arms would wait for ever".to_owned() });
    }
    Ok(found)
}

const EXPECTED: &str = "expected an arm: `recv(channel) -> message => ..`, `send(channel, value) -> result => ..`, `default => ..` or \
                        `default(duration) => ..`";

/// Reads one arm, and returns where the next begins.
fn arm(tokens: &[Kind], start: usize) -> Result<(Arm, usize), Complaint> {
    let parenthesised = matches!(tokens.get(start + 1), Some(Kind::Parentheses { empty: false }));
    let operation = match &tokens[start] {
        Kind::Word(word) if word == "recv" && parenthesised => Operation::Recv,
        Kind::Word(word) if word == "send" && parenthesised => Operation::Send,
        Kind::Word(word) if word == "default" && parenthesised => Operation::Timeout,
        Kind::Word(word) if word == "default" => Operation::Otherwise,
        _ => return Err(Complaint::at(start, EXPECTED)),
    };
    let arguments = start + usize::from(parenthesised);
    let mut at = arguments + 1;
    let mut pattern = at..at;
    if is_arrow(tokens, at, '-') {
        if matches!(operation, Operation::Otherwise | Operation::Timeout) {
            return Err(Complaint::at(at, "`default` has no result"));
        }
        let Some(length) = (at + 2..tokens.len()).position(|at| is_arrow(tokens, at, '=')) else {
            return Err(Complaint::at(at, "expected `-> pattern => ..`"));
        };
        pattern = at + 2..at + 2 + length;
        if pattern.is_empty() {
            return Err(Complaint::at(at, "expected `-> pattern => ..`"));
        }
        at = pattern.end;
    }
    if !is_arrow(tokens, at, '=') {
        return Err(Complaint::at(at.min(tokens.len() - 1), "expected `=>` and what to do when the arm is chosen"));
    }
    let body = body(tokens, at + 2);
    if body.is_empty() {
        return Err(Complaint::at(at, "expected what to do after `=>`"));
    }
    let comma = tokens.get(body.end) == Some(&Kind::Mark(','));
    let next = body.end + usize::from(comma);
    Ok((Arm { operation, arguments, pattern, body }, next))
}

/// A block, or everything up to the next comma.
fn body(tokens: &[Kind], start: usize) -> Range<usize> {
    if tokens.get(start) == Some(&Kind::Braces) {
        return start..start + 1;
    }
    let rest = tokens.get(start..).unwrap_or_default();
    let mark = |at: usize| match rest.get(at) {
        Some(Kind::Mark(mark)) => Some(*mark),
        _ => None,
    };
    start..comma(rest.len(), mark).map_or(tokens.len().max(start), |length| start + length)
}

/// The place of the first comma among so many tokens, of which `mark` tells the marks, that does not stand between `::<` and `>`.
pub(crate) fn comma(tokens: usize, mark: impl Fn(usize) -> Option<char>) -> Option<usize> {
    let mut depth = 0;
    (0..tokens).find(|&at| {
        let before = |places: usize| at.checked_sub(places).and_then(&mark);
        match mark(at) {
            Some('<') if depth > 0 || (before(1), before(2)) == (Some(':'), Some(':')) => depth += 1,
            // Not that of an arrow.
            Some('>') if depth > 0 && !matches!(before(1), Some('-' | '=')) => depth -= 1,
            Some(',') if depth == 0 => return true,
            _ => {}
        }
        false
    })
}

/// Whether `->` or `=>` begins here.
fn is_arrow(tokens: &[Kind], at: usize, first: char) -> bool {
    tokens.get(at) == Some(&Kind::Mark(first)) && tokens.get(at + 1) == Some(&Kind::Mark('>'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::tests::tokens;

    #[test]
    fn arms_are_taken_apart() {
        let found = arms(&tokens("recv (..) - > message = > {} send (..) = > done ( 1 ) , default = > {}")).unwrap();
        let [recv, send] = &found.operations[..] else { panic!("{found:?}") };
        assert_eq!((recv.operation, recv.arguments), (Operation::Recv, 1));
        assert_eq!((recv.pattern.clone(), recv.body.clone()), (4..5, 7..8));
        assert_eq!((send.operation, send.arguments), (Operation::Send, 9));
        assert!(send.pattern.is_empty());
        assert_eq!(send.body, 12..16);
        let default = found.default.unwrap();
        assert_eq!((default.operation, default.body), (Operation::Otherwise, 20..21));
    }

    #[test]
    fn a_default_may_have_a_time_and_stand_alone() {
        let found = arms(&tokens("default (..) = > 7 ,")).unwrap();
        assert!(found.operations.is_empty());
        assert_eq!(found.default.unwrap().operation, Operation::Timeout);
    }

    #[test]
    fn arms_that_make_no_sense_are_refused_where_they_stand() {
        let cases = [
            ("", None, "would wait for ever"),
            ("receive (..) = > 1", Some(0), "expected an arm"),
            ("recv () = > 1", Some(0), "expected an arm"),
            ("recv (..) - > = > 1", Some(2), "expected `-> pattern"),
            ("recv (..) - > x", Some(2), "expected `-> pattern"),
            ("recv (..) x", Some(2), "expected `=>`"),
            ("recv (..)", Some(1), "expected `=>`"),
            ("recv (..) = >", Some(2), "after `=>`"),
            ("default = > 1 , default = > 2", Some(5), "one `default`"),
            ("default - > x = > 1", Some(1), "no result"),
        ];
        for (line, at, message) in cases {
            let complaint = arms(&tokens(line)).expect_err(line);
            assert_eq!(complaint.at, at, "{line}");
            assert!(complaint.message.contains(message), "{line}: {complaint:?}");
        }
    }
}
