//! What the macros understand of a function and of a list of options, and what they refuse.
//!
//! The parser knows nothing of `proc_macro`, whose types exist only while rustc runs a macro: it
//! reads the [`Kind`] of each token and answers with positions in the token list. So it can be
//! tested like any other code.

use std::ops::Range;

/// What the parser sees of a token.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    /// An identifier or keyword.
    Word(String),
    /// One punctuation character.
    Mark(char),
    /// A number, string or character.
    Literal,
    /// `( .. )`
    Parentheses {
        /// Whether nothing stands between them.
        empty: bool,
    },
    /// `{ .. }`
    Braces,
    /// `[ .. ]`
    Brackets,
    /// What `macro_rules!` substituted for an expression.
    Invisible,
}

impl Kind {
    fn is_word(&self, word: &str) -> bool {
        matches!(self, Kind::Word(found) if found == word)
    }
}

/// Where the parts of a function are in its token list.
#[derive(Debug, PartialEq)]
pub(crate) struct Function {
    /// The bracketed part of each attribute.
    pub(crate) attributes: Vec<usize>,
    /// The word `fn`: before it stand attributes and visibility, nothing else.
    pub(crate) signature: usize,
    /// The function's name.
    pub(crate) name: usize,
    /// The body, braces included, and the last token.
    pub(crate) body: usize,
}

/// One `name = value`, as positions in the options' token list.
#[derive(Debug, PartialEq)]
pub(crate) struct Setting {
    pub(crate) name: usize,
    pub(crate) value: Range<usize>,
}

/// All options, in the order they were written.
pub(crate) type Options = Vec<Setting>;

/// Why something was refused, and the token to point at.
#[derive(Debug, PartialEq)]
pub(crate) struct Complaint {
    /// `None` points at the attribute itself.
    pub(crate) at: Option<usize>,
    pub(crate) message: String,
}

impl Complaint {
    pub(crate) fn at(at: usize, message: impl Into<String>) -> Complaint {
        Complaint { at: Some(at), message: message.into() }
    }
}

/// The options there are: setters of `sisal::RuntimeBuilder`.
const OPTIONS: [&str; 5] = ["workers", "max_workers", "stack_size", "max_fibers", "name"];

/// Reads `attributes visibility fn name() -> Output { body }`.
pub(crate) fn function(tokens: &[Kind]) -> Result<Function, Complaint> {
    let mut at = 0;
    let attributes = skip_attributes(tokens, &mut at);
    skip_visibility(tokens, &mut at);
    refuse_qualifiers(tokens, at)?;
    let signature = at;
    if !tokens.get(at).is_some_and(|token| token.is_word("fn")) {
        return Err(expected_function(tokens, at));
    }
    let name = at + 1;
    if !matches!(tokens.get(name), Some(Kind::Word(_))) {
        return Err(expected_function(tokens, name));
    }
    let arguments = name + 1;
    match tokens.get(arguments) {
        Some(Kind::Parentheses { empty: true }) => {}
        Some(Kind::Parentheses { empty: false }) => {
            return Err(Complaint::at(arguments, "the runtime calls this function with nothing: remove its arguments"));
        }
        Some(Kind::Mark('<')) => {
            return Err(Complaint::at(
                arguments,
                "the runtime can't choose types for this function: remove its generics",
            ));
        }
        _ => return Err(expected_function(tokens, arguments)),
    }
    let body = tokens.len() - 1;
    if body == arguments || tokens[body] != Kind::Braces {
        return Err(Complaint::at(body, "expected a function with a body"));
    }
    if let Some(clause) = (arguments..body).find(|&at| tokens[at].is_word("where")) {
        return Err(Complaint::at(
            clause,
            "the runtime can't choose types for this function: remove the `where` clause",
        ));
    }
    Ok(Function { attributes, signature, name, body })
}

/// The name of whatever function this is, for one that was refused.
pub(crate) fn name(tokens: &[Kind]) -> Option<usize> {
    let keyword = tokens.iter().position(|token| token.is_word("fn"))?;
    matches!(tokens.get(keyword + 1), Some(Kind::Word(_))).then_some(keyword + 1)
}

/// Reads `name = expression, name = expression`. A comma ends an expression, so one that holds a
/// bare comma goes in parentheses.
pub(crate) fn options(tokens: &[Kind]) -> Result<Options, Complaint> {
    let mut found: Options = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let word = option_name(tokens, at)?;
        if found.iter().any(|earlier| tokens[earlier.name].is_word(word)) {
            return Err(Complaint::at(at, format!("`{word}` is given twice")));
        }
        if tokens.get(at + 1) != Some(&Kind::Mark('=')) {
            return Err(Complaint::at(at, format!("expected `{word} = value`")));
        }
        let start = at + 2;
        let length = tokens[start..].iter().position(|token| *token == Kind::Mark(',')).unwrap_or(tokens.len() - start);
        if length == 0 {
            return Err(Complaint::at(at + 1, format!("expected `{word} = value`")));
        }
        let value = start..start + length;
        let next = value.end + 1;
        found.push(Setting { name: at, value });
        at = next;
    }
    Ok(found)
}

/// The word at `at`, if it is the name of an option.
fn option_name(tokens: &[Kind], at: usize) -> Result<&str, Complaint> {
    let allowed = || OPTIONS.map(|option| format!("`{option}`")).join(", ");
    match &tokens[at] {
        Kind::Word(word) if OPTIONS.contains(&word.as_str()) => Ok(word),
        Kind::Word(word) => Err(Complaint::at(at, format!("unknown option `{word}`: there are {}", allowed()))),
        _ => Err(Complaint::at(at, format!("expected an option: one of {}", allowed()))),
    }
}

/// Moves past `#[..] #[..]` and returns where their brackets are.
fn skip_attributes(tokens: &[Kind], at: &mut usize) -> Vec<usize> {
    let mut brackets = Vec::new();
    while let [Kind::Mark('#'), Kind::Brackets, ..] = tokens[*at..] {
        brackets.push(*at + 1);
        *at += 2;
    }
    brackets
}

/// Moves past `pub` and `pub(..)`.
fn skip_visibility(tokens: &[Kind], at: &mut usize) {
    if tokens.get(*at).is_some_and(|token| token.is_word("pub")) {
        *at += 1;
        if matches!(tokens.get(*at), Some(Kind::Parentheses { .. })) {
            *at += 1;
        }
    }
}

/// Refuses what may stand between visibility and `fn`.
fn refuse_qualifiers(tokens: &[Kind], at: usize) -> Result<(), Complaint> {
    let Some(Kind::Word(word)) = tokens.get(at) else {
        return Ok(());
    };
    // `const X: ..` and `unsafe impl ..` aren't functions at all.
    if name(&tokens[at..]).is_none() {
        return Ok(());
    }
    match word.as_str() {
        "async" => Err(Complaint::at(at, "sisal functions are plain functions: remove `async`")),
        "const" | "unsafe" | "extern" | "safe" => {
            Err(Complaint::at(at, format!("sisal functions are plain functions: remove `{word}`")))
        }
        _ => Ok(()),
    }
}

fn expected_function(tokens: &[Kind], at: usize) -> Complaint {
    Complaint { at: (at < tokens.len()).then_some(at), message: "expected a function: `fn name() { .. }`".to_owned() }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Tokens of a line in which every token is set off by spaces; `(..)` has something inside.
    pub(crate) fn tokens(line: &str) -> Vec<Kind> {
        line.split_whitespace()
            .map(|token| match token {
                "()" => Kind::Parentheses { empty: true },
                "(..)" => Kind::Parentheses { empty: false },
                "{}" => Kind::Braces,
                "[]" => Kind::Brackets,
                "$" => Kind::Invisible,
                word if word.starts_with(char::is_alphabetic) => Kind::Word(word.to_owned()),
                literal if literal.starts_with(|c: char| c.is_ascii_digit() || c == '"') => Kind::Literal,
                mark => Kind::Mark(mark.chars().next().unwrap()),
            })
            .collect()
    }

    #[test]
    fn functions_are_taken_apart() {
        let cases = [
            ("fn main () {}", (vec![], 0, 1, 3)),
            ("fn main () - > u32 {}", (vec![], 0, 1, 6)),
            ("# [] # [] fn t () {}", (vec![1, 3], 4, 5, 7)),
            ("pub fn main () {}", (vec![], 1, 2, 4)),
            ("# [] pub (..) fn t () {}", (vec![1], 4, 5, 7)),
            // A return type with braces of its own.
            ("fn main () - > A < {} > {}", (vec![], 0, 1, 9)),
        ];
        for (line, (attributes, signature, name, body)) in cases {
            let expected = Function { attributes, signature, name, body };
            assert_eq!(function(&tokens(line)), Ok(expected), "{line}");
        }
    }

    #[test]
    fn what_is_no_plain_function_is_refused_where_it_goes_wrong() {
        let cases = [
            ("async fn main () {}", Some(0), "remove `async`"),
            ("# [] pub async fn main () {}", Some(3), "plain functions: remove `async`"),
            ("unsafe fn main () {}", Some(0), "remove `unsafe`"),
            ("const fn main () {}", Some(0), "remove `const`"),
            ("extern \"C\" fn main () {}", Some(0), "remove `extern`"),
            ("fn main (..) {}", Some(2), "remove its arguments"),
            ("fn main < T > () {}", Some(2), "remove its generics"),
            ("fn main () where u8 : Copy {}", Some(3), "remove the `where` clause"),
            ("fn main () - > u8 where u8 : Copy {}", Some(6), "remove the `where` clause"),
            ("fn main () ;", Some(3), "a function with a body"),
            ("fn main ()", Some(2), "a function with a body"),
            ("fn main", None, "expected a function"),
            ("fn", None, "expected a function"),
            ("struct A ;", Some(0), "expected a function"),
            ("const A : u8 = 1 ;", Some(0), "expected a function"),
            ("", None, "expected a function"),
        ];
        for (line, at, message) in cases {
            let complaint = function(&tokens(line)).expect_err(line);
            assert_eq!(complaint.at, at, "{line}");
            assert!(complaint.message.contains(message), "{line}: {complaint:?}");
        }
    }

    #[test]
    fn a_refused_function_still_has_a_name() {
        assert_eq!(name(&tokens("async fn main () {}")), Some(2));
        assert_eq!(name(&tokens("struct A ;")), None);
        assert_eq!(name(&tokens("fn")), None);
    }

    #[test]
    fn options_take_any_expression_up_to_the_next_comma() {
        let cases = [
            ("", vec![]),
            ("workers = 4", vec![(0, 2..3)]),
            ("workers = 4 ,", vec![(0, 2..3)]),
            ("stack_size = 64 * 1024 , name = \"x\"", vec![(0, 2..5), (6, 8..9)]),
            ("max_fibers = limit (..) , max_workers = $", vec![(0, 2..4), (5, 7..8)]),
        ];
        for (line, expected) in cases {
            let expected: Options = expected.into_iter().map(|(name, value)| Setting { name, value }).collect();
            assert_eq!(options(&tokens(line)), Ok(expected), "{line}");
        }
    }

    #[test]
    fn options_that_make_no_sense_are_refused_where_they_stand() {
        let cases = [
            ("threads = 4", 0, "unknown option `threads`: there are `workers`"),
            ("workers = 4 , workers = 5", 4, "`workers` is given twice"),
            ("workers", 0, "expected `workers = value`"),
            ("workers (..)", 0, "expected `workers = value`"),
            ("workers =", 1, "expected `workers = value`"),
            ("workers = , name = \"x\"", 1, "expected `workers = value`"),
            ("4", 0, "expected an option: one of `workers`"),
            (", workers = 4", 0, "expected an option"),
        ];
        for (line, at, message) in cases {
            let complaint = options(&tokens(line)).expect_err(line);
            assert_eq!(complaint.at, Some(at), "{line}");
            assert!(complaint.message.contains(message), "{line}: {complaint:?}");
        }
    }
}
