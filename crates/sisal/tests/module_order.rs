//! The modules of the crate are layers, and a layer uses only those below it.
//!
//! The test reads every source file, finds each path that starts at the crate's root (`crate::..`,
//! and `super::..` once it has climbed that far) wherever it stands, and checks that it leads to
//! an earlier line of [`LAYERS`]. Tests inside a file and loom models obey like everything else;
//! only files and folders called `tests` are left alone.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// The layers, lowest first. A module may use its own line and those above it in this table.
const LAYERS: &[&[&str]] = &[
    &["prim"],
    &["queue"],
    &["fiber"],
    &["sched"],
    &["park"],
    &["time"],
    &["join"],
    &["spawn"],
    &["sync"],
    &["chan"],
    &["select"],
    &["blocking"],
    &["io"],
    &["net"],
    &["fs"],
    &["process"],
    &["signal"],
    &["nursery"],
    &["par"],
    &["stm"],
    &["output"],
    &["interop"],
    &["inspect"],
    &["sim"],
    &["settings"],
    FACADE,
    // Tests of several layers together.
    &["scenarios"],
];

/// The top: what users see. `lib` is the crate's root, and a name taken from there (`crate::spawn`)
/// is a use of the facade.
const FACADE: &[&str] = &["runtime", "builder", "lib"];

#[test]
fn modules_use_only_what_comes_before_them() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    collect(&src, Path::new(""), &mut files);
    assert!(!files.is_empty(), "no sources under {}", src.display());

    let complaints: Vec<String> = files
        .iter()
        .flat_map(|file| {
            let source = fs::read_to_string(src.join(file)).unwrap();
            check(file, &source)
        })
        .map(|complaint| complaint.to_string())
        .collect();
    assert!(
        complaints.is_empty(),
        "\n{}\nThe order stands at the top of tests/module_order.rs.\n",
        complaints.join("\n")
    );
}

/// Every source file under `folder`, as a path relative to `src`, in a fixed order.
fn collect(src: &Path, folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(src.join(folder)).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    for name in names {
        let path = folder.join(name);
        if src.join(&path).is_dir() {
            collect(src, &path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// What is wrong in one place.
#[derive(Debug, PartialEq)]
enum Complaint {
    Unlisted { file: PathBuf, module: String },
    Upward { file: PathBuf, line: usize, user: String, used: String },
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Complaint::Unlisted { file, module } => {
                write!(f, "src/{}: module `{module}` has no place in the order: add it to the list", file.display())
            }
            Complaint::Upward { file, line, user, used } => {
                write!(f, "src/{}:{line}: `{user}` uses `{used}`, which comes after it", file.display())
            }
        }
    }
}

/// Checks one file, given its path relative to `src`.
fn check(file: &Path, source: &str) -> Vec<Complaint> {
    let path = module_path(file);
    if path.iter().any(|part| part == "tests") {
        return Vec::new();
    }
    let user = path.first().map_or("lib", String::as_str);
    let Some(layer) = layer_of(user) else {
        return vec![Complaint::Unlisted { file: file.to_owned(), module: user.to_owned() }];
    };
    let upward = |used: &Use| {
        let reached = layer_of(&used.module).expect("only listed modules are found");
        reached > layer
    };
    uses(&path, source)
        .into_iter()
        .filter(upward)
        .map(|used| Complaint::Upward {
            file: file.to_owned(),
            line: used.line,
            user: user.to_owned(),
            used: used.module,
        })
        .collect()
}

fn layer_of(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
}

/// `sched/worker.rs` is `sched::worker`, `sched/mod.rs` is `sched`, `lib.rs` is the root.
fn module_path(file: &Path) -> Vec<String> {
    let without_extension = file.with_extension("");
    let mut path: Vec<String> = without_extension.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if path.last().is_some_and(|last| last == "mod") || path == ["lib"] {
        path.pop();
    }
    path
}

/// A module of the crate that is used, and where.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Use {
    line: usize,
    module: String,
}

/// Every module of the crate that `source` uses, `path` being the module it is the source of.
fn uses(path: &[String], source: &str) -> BTreeSet<Use> {
    let code = blank_comments_and_literals(source);
    let tokens = tokens(&code);
    let mut found = BTreeSet::new();
    // Modules written inside the file: their names, and how deep in braces their bodies are.
    let mut inline: Vec<(String, usize)> = Vec::new();
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate() {
        match token.text {
            "{" => {
                depth += 1;
                if at >= 2 && tokens[at - 2].text == "mod" {
                    inline.push((tokens[at - 1].text.to_owned(), depth));
                }
            }
            "}" => {
                inline.pop_if(|(_, body)| *body == depth);
                depth -= 1;
            }
            "crate" | "super" if starts_a_path(&tokens, at) => {
                let here = path.iter().cloned();
                let here = here.chain(inline.iter().map(|(name, _)| name.clone()));
                follow(&tokens, at, here.collect(), &mut found);
            }
            _ => {}
        }
    }
    found
}

/// Whether the word at `at` is the first of a path: not `super` in `super::super`, which belongs
/// to the first, and not `crate` in `pub(crate)`.
fn starts_a_path(tokens: &[Token<'_>], at: usize) -> bool {
    let text = |at: usize| tokens.get(at).map(|token| token.text);
    let continues = at >= 2 && text(at - 1) == Some("::") && text(at - 2) != Some("self");
    let goes_on = text(at + 1) == Some("::");
    let renamed = text(at + 1) == Some("as");
    !continues && (goes_on || renamed)
}

/// Follows the path at `at` from the module `here` and notes which modules of the crate it leads to.
fn follow(tokens: &[Token<'_>], mut at: usize, mut here: Vec<String>, found: &mut BTreeSet<Use>) {
    loop {
        let Some(token) = tokens.get(at) else {
            return;
        };
        match token.text {
            "crate" => here.clear(),
            "super" => {
                here.pop();
            }
            "self" => {}
            "{" => {
                for element in elements_of_group(tokens, at) {
                    follow(tokens, element, here.clone(), found);
                }
                return;
            }
            // A macro that is exported stands at the root, wherever it was written.
            _ if here.is_empty() && text_is(tokens, at + 1, "!") => return,
            name => {
                note(token.line, here.first().map_or(name, String::as_str), found);
                return;
            }
        }
        if !text_is(tokens, at + 1, "::") {
            // The module itself: `crate as root`, `{self, ..}`.
            note(token.line, here.first().map_or("lib", String::as_str), found);
            return;
        }
        at += 2;
    }
}

/// A name at the root that is no module is something `lib.rs` re-exports.
fn note(line: usize, name: &str, found: &mut BTreeSet<Use>) {
    let module = if layer_of(name).is_some() { name } else { "lib" };
    found.insert(Use { line, module: module.to_owned() });
}

fn text_is(tokens: &[Token<'_>], at: usize, text: &str) -> bool {
    tokens.get(at).is_some_and(|token| token.text == text)
}

/// Where each element of the group that opens at `open` starts.
fn elements_of_group(tokens: &[Token<'_>], open: usize) -> Vec<usize> {
    let mut starts = vec![open + 1];
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.text {
            "{" => depth += 1,
            "}" => depth -= 1,
            "," if depth == 1 => starts.push(at + 1),
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    // A trailing comma leaves a start at the closing brace.
    starts.retain(|&start| !text_is(tokens, start, "}"));
    starts
}

/// A word, `::`, or one other character.
#[derive(Debug)]
struct Token<'a> {
    text: &'a str,
    line: usize,
}

fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    for (index, text) in source.lines().enumerate() {
        let mut rest = text.trim_start();
        while let Some(first) = rest.chars().next() {
            let length = if is_word(first) {
                rest.find(|c| !is_word(c)).unwrap_or(rest.len())
            } else if rest.starts_with("::") {
                2
            } else {
                first.len_utf8()
            };
            let (token, after) = rest.split_at(length);
            found.push(Token { text: token, line: index + 1 });
            rest = after.trim_start();
        }
    }
    found
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The source with comments, strings and characters blanked out and every line where it was.
fn blank_comments_and_literals(source: &str) -> String {
    let mut output = String::with_capacity(source.len());
    let mut rest = source;
    let mut in_word = false;
    while let Some(first) = rest.chars().next() {
        let length = match literal_or_comment(rest, in_word) {
            Some(length) => {
                let blanked = rest[..length].chars();
                output.extend(blanked.map(|c| if c == '\n' { '\n' } else { ' ' }));
                in_word = false;
                length
            }
            None => {
                output.push(first);
                in_word = is_word(first);
                first.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    output
}

/// The length of the comment, string or character that `rest` starts with, if it does.
fn literal_or_comment(rest: &str, in_word: bool) -> Option<usize> {
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return Some(block_comment(rest));
    }
    if rest.starts_with('"') {
        return Some(quoted(rest, '"'));
    }
    if rest.starts_with('\'') {
        return character(rest);
    }
    if in_word {
        return None;
    }
    let prefix = ["br", "cr", "r"].into_iter().find(|prefix| rest.starts_with(prefix))?;
    raw_string(&rest[prefix.len()..]).map(|length| prefix.len() + length)
}

/// Block comments nest.
fn block_comment(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let mut depth = 0;
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if bytes[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

/// From a quote to the next that no backslash stands before.
fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// `'x'` and `'\n'`, but not the lifetime `'x`.
fn character(rest: &str) -> Option<usize> {
    let mut chars = rest.chars().skip(1);
    let first = chars.next()?;
    let is_character = first == '\\' || chars.next() == Some('\'');
    is_character.then(|| quoted(rest, '\''))
}

/// `"..."`, `#"..."#`, and so on: what follows the `r`.
fn raw_string(rest: &str) -> Option<usize> {
    let hashes = rest.len() - rest.trim_start_matches('#').len();
    let body = rest[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let length = body.find(&end).map_or(body.len(), |at| at + end.len());
    Some(hashes + 1 + length)
}

/// Tests of the checker itself, on made-up sources: a checker that finds nothing proves nothing.
mod checker {
    use super::*;

    /// What `source`, as the file `file`, is found to use against the order.
    fn upward(file: &str, source: &str) -> Vec<String> {
        let complaints = check(Path::new(file), source);
        let used = complaints.into_iter().map(|complaint| match complaint {
            Complaint::Upward { line, used, .. } => format!("{line} {used}"),
            Complaint::Unlisted { module, .. } => format!("unlisted {module}"),
        });
        used.collect()
    }

    #[test]
    fn upward_uses_are_found() {
        let cases: &[(&str, &str, &[&str])] = &[
            ("prim/id.rs", "use crate::queue::Ring;", &["1 queue"]),
            ("prim/mod.rs", "\n\nuse crate::sync::{Mutex, Once};", &["3 sync"]),
            ("queue/ring.rs", "fn f() { crate::inspect::dump() }", &["1 inspect"]),
            ("queue/ring.rs", "pub(in crate::sched) fn f() {}", &["1 sched"]),
            // Groups, nested, over several lines.
            ("fiber/mod.rs", "use crate::{prim::id,\n sched, time::{sleep, Sleep}};", &["2 sched", "2 time"]),
            ("fiber/mod.rs", "use crate::{\n  self as root,\n};", &["2 lib"]),
            // Climbing.
            ("prim/id.rs", "use super::super::park::park;", &["1 park"]),
            ("prim/id.rs", "use super::super::{queue, time as t};", &["1 queue", "1 time"]),
            ("prim/id.rs", "use super::{super::queue};", &["1 queue"]),
            ("prim/id.rs", "use self::super::super::queue;", &["1 queue"]),
            ("prim/mod.rs", "use super::queue::Ring;", &["1 queue"]),
            ("prim/mod.rs", "use super::*;", &["1 lib"]),
            // Modules inside a file are one step deeper.
            ("prim/mod.rs", "mod tests { use super::super::chan; }", &["1 chan"]),
            ("prim/mod.rs", "mod a { fn f() {} } use super::chan;", &["1 chan"]),
            // The facade is above everything else.
            ("sim/mod.rs", "use crate::run;", &["1 lib"]),
            ("sim/mod.rs", "crate::runtime::stop();", &["1 runtime"]),
            ("sim/mod.rs", "use crate as sisal;", &["1 lib"]),
            ("sim/mod.rs", "use crate::*;", &["1 lib"]),
            ("settings/mod.rs", "fn f() -> crate::JoinHandle<()> {}", &["1 lib"]),
            // Macros are code too.
            ("prim/mod.rs", "macro_rules! m { () => { $crate::sched::go() } }", &["1 sched"]),
            // What hides neither in nor behind literals and comments.
            ("prim/mod.rs", "let c = '\"'; crate::chan::f(); let d = '\"';", &["1 chan"]),
            ("prim/mod.rs", "let s = \"\\\"\"; crate::chan::f();", &["1 chan"]),
            ("prim/mod.rs", "let s = r#\"\"\"#; crate::chan::f();", &["1 chan"]),
            ("prim/mod.rs", "/* /* */ */ crate::chan::f();", &["1 chan"]),
            ("prim/mod.rs", "fn f<'a>(x: &'a u8) { crate::chan::f('b') }", &["1 chan"]),
            ("prim/mod.rs", "let s = \"a\nb\";\ncrate::chan::f();", &["3 chan"]),
        ];
        for (file, source, expected) in cases {
            assert_eq!(upward(file, source), *expected, "{file}: {source}");
        }
    }

    #[test]
    fn what_the_order_allows_is_let_pass() {
        let cases = [
            ("queue/ring.rs", "use crate::prim::atomic::AtomicU64;"),
            ("queue/ring.rs", "use crate::queue::link::Link; use super::list::List;"),
            ("sched/worker/mod.rs", "use super::super::fiber::Fiber;"),
            ("prim/id.rs", "mod tests { use super::*; use super::super::reason; }"),
            ("prim/id.rs", "pub(crate) struct Id; pub(super) fn f() {}"),
            ("prim/id.rs", "// crate::sched::go()\n/* use crate::sched; */"),
            ("prim/id.rs", "//! [`crate::spawn`]\nlet s = \"crate::sched\";"),
            ("prim/id.rs", "let s = r##\"crate::sched \"# \"##; let b = b\"crate::chan\";"),
            ("sync/mod.rs", "crate::fiber_local!(static A: u8 = 0);"),
            ("lib.rs", "pub use crate::chan::channel; use self::runtime::Runtime;"),
            ("runtime.rs", "use crate::builder::RuntimeBuilder; use crate::run;"),
            ("builder.rs", "use crate::runtime::Runtime; use super::sim;"),
            ("prim/tests.rs", "use crate::chan;"),
            ("prim/tests/order.rs", "use crate::chan;"),
            ("prim/id.rs", "let a_crate = mycrate::sched::go(); other::sched::go();"),
        ];
        for (file, source) in cases {
            assert_eq!(upward(file, source), [""; 0], "{file}: {source}");
        }
    }

    #[test]
    fn modules_without_a_place_are_found() {
        for file in ["misc.rs", "misc/mod.rs", "misc/deep/down.rs"] {
            assert_eq!(upward(file, ""), ["unlisted misc"], "{file}");
            let complaint = &check(Path::new(file), "")[0];
            assert!(complaint.to_string().contains("add it to the list"));
        }
    }

    #[test]
    fn no_module_stands_in_two_layers() {
        let names: Vec<_> = LAYERS.concat();
        let distinct: BTreeSet<_> = names.iter().collect();
        assert_eq!(names.len(), distinct.len());
    }
}
