//! Writing JSON: what the crate hands to machines, without a dependency for it.
//!
//! An [`Object`] or [`Array`] is open as long as its closure runs, so that every bracket is closed; commas and escapes are put here.
//! Names of fields may stand twice if the caller writes them twice: nothing is remembered of what was written.

use std::fmt::{self, Display, Write};

/// The text of one object.
pub(crate) fn object(fill: impl FnOnce(&mut Object<'_>)) -> String {
    let mut out = String::new();
    write_object(&mut out, fill);
    out
}

/// What stands behind a name, or in an array.
pub(crate) trait Value {
    fn write(&self, out: &mut String);
}

macro_rules! value_as_displayed {
    ($($type:ty),*) => {
        $(impl Value for $type {
            fn write(&self, out: &mut String) {
                push_displayed(out, self);
            }
        })*
    };
}

value_as_displayed!(bool, u8, u16, u32, u64, usize, i32, i64);

impl Value for f64 {
    /// What is no number, JSON can't say.
    fn write(&self, out: &mut String) {
        if self.is_finite() { push_displayed(out, self) } else { out.push_str("null") }
    }
}

impl Value for str {
    fn write(&self, out: &mut String) {
        Text(self).write(out);
    }
}

impl Value for String {
    fn write(&self, out: &mut String) {
        self.as_str().write(out);
    }
}

impl<T: Value> Value for Option<T> {
    fn write(&self, out: &mut String) {
        match self {
            Some(value) => value.write(out),
            None => out.push_str("null"),
        }
    }
}

impl<T: Value + ?Sized> Value for &T {
    fn write(&self, out: &mut String) {
        (**self).write(out);
    }
}

/// Something that is written as it is displayed, in quotes.
pub(crate) struct Text<T>(pub(crate) T);

impl<T: Display> Value for Text<T> {
    fn write(&self, out: &mut String) {
        out.push('"');
        // A string takes everything; what can't be displayed is cut off.
        let _ = write!(Escaped(out), "{}", self.0);
        out.push('"');
    }
}

impl<T: Display> Display for Text<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        write!(Escaped(f), "{}", self.0)?;
        f.write_char('"')
    }
}

/// An object that is being written.
pub(crate) struct Object<'a> {
    out: &'a mut String,
    is_empty: bool,
}

impl Object<'_> {
    pub(crate) fn field(&mut self, name: &str, value: impl Value) -> &mut Self {
        value.write(self.named(name));
        self
    }

    pub(crate) fn object(&mut self, name: &str, fill: impl FnOnce(&mut Object<'_>)) -> &mut Self {
        write_object(self.named(name), fill);
        self
    }

    pub(crate) fn array(&mut self, name: &str, fill: impl FnOnce(&mut Array<'_>)) -> &mut Self {
        write_array(self.named(name), fill);
        self
    }

    fn named(&mut self, name: &str) -> &mut String {
        separate(self.out, &mut self.is_empty);
        name.write(self.out);
        self.out.push(':');
        self.out
    }
}

/// An array that is being written.
pub(crate) struct Array<'a> {
    out: &'a mut String,
    is_empty: bool,
}

impl Array<'_> {
    pub(crate) fn item(&mut self, value: impl Value) -> &mut Self {
        separate(self.out, &mut self.is_empty);
        value.write(self.out);
        self
    }

    pub(crate) fn object(&mut self, fill: impl FnOnce(&mut Object<'_>)) -> &mut Self {
        separate(self.out, &mut self.is_empty);
        write_object(self.out, fill);
        self
    }

    pub(crate) fn array(&mut self, fill: impl FnOnce(&mut Array<'_>)) -> &mut Self {
        separate(self.out, &mut self.is_empty);
        write_array(self.out, fill);
        self
    }
}

fn write_object(out: &mut String, fill: impl FnOnce(&mut Object<'_>)) {
    out.push('{');
    fill(&mut Object { out, is_empty: true });
    out.push('}');
}

fn write_array(out: &mut String, fill: impl FnOnce(&mut Array<'_>)) {
    out.push('[');
    fill(&mut Array { out, is_empty: true });
    out.push(']');
}

fn separate(out: &mut String, is_empty: &mut bool) {
    if !std::mem::replace(is_empty, false) {
        out.push(',');
    }
}

fn push_displayed(out: &mut String, value: impl Display) {
    // A string takes everything.
    let _ = write!(out, "{value}");
}

/// Escapes what JSON wants escaped, and `<`, so that the text may stand in a page's script.
struct Escaped<'a, W>(&'a mut W);

impl<W: Write> Write for Escaped<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text;
        while let Some((at, character)) = rest.char_indices().find(|(_, character)| must_be_escaped(*character)) {
            self.0.write_str(&rest[..at])?;
            match character {
                '"' => self.0.write_str("\\\"")?,
                '\\' => self.0.write_str("\\\\")?,
                '\n' => self.0.write_str("\\n")?,
                '\r' => self.0.write_str("\\r")?,
                '\t' => self.0.write_str("\\t")?,
                _ => write!(self.0, "\\u{:04x}", u32::from(character))?,
            }
            rest = &rest[at + character.len_utf8()..];
        }
        self.0.write_str(rest)
    }
}

fn must_be_escaped(character: char) -> bool {
    matches!(character, '"' | '\\' | '<' | '\u{7f}' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(value: impl Value) -> String {
        let mut out = String::new();
        value.write(&mut out);
        out
    }

    #[test]
    fn odd_strings_are_escaped() {
        let cases = [
            ("", r#""""#),
            ("plain", r#""plain""#),
            ("say \"hi\"", r#""say \"hi\"""#),
            (r"C:\x", r#""C:\\x""#),
            ("a\nb\r\tc", r#""a\nb\r\tc""#),
            ("\0\u{1b}[31m\u{7f}", r#""\u0000\u001b[31m\u007f""#),
            ("</script>", r#""\u003c/script>""#),
            ("\u{2028}\u{2029}", r#""\u2028\u2029""#),
            ("Grüße 🧵 \u{10ffff}", "\"Grüße 🧵 \u{10ffff}\""),
        ];
        for (text, expected) in cases {
            assert_eq!(written(text), expected);
            assert_eq!(written(text.to_owned()), expected);
            assert_eq!(written(Text(text)), expected, "{text:?} as something displayed");
            assert_eq!(Text(text).to_string(), expected, "{text:?} into something that is displayed");
        }
    }

    #[test]
    fn numbers_are_written_whole_and_what_is_none_is_null() {
        assert_eq!(written(u64::MAX), "18446744073709551615");
        assert_eq!(written(-7i64), "-7");
        assert_eq!(written(1.5), "1.5");
        assert_eq!(written(1e21), "1000000000000000000000");
        assert_eq!(written([f64::NAN, f64::INFINITY].map(written).join(" ").as_str()), "\"null null\"");
        assert_eq!(written(Some(3u32)), "3");
        assert_eq!(written(None::<&str>), "null");
        assert_eq!(written(true), "true");
    }

    #[test]
    fn objects_and_arrays_nest_with_a_comma_between_any_two() {
        let text = object(|whole| {
            whole.field("a", 1u64).object("empty", |_| ()).array("none", |_| ());
            whole.array("list", |list| {
                list.item(1u8)
                    .item("two")
                    .object(|item| _ = item.field("three", 3usize))
                    .array(|list| _ = list.item(4i32));
            });
            whole.object("o", |o| _ = o.field("\"", Text(format_args!("{}\n", 5))));
        });
        assert_eq!(text, r#"{"a":1,"empty":{},"none":[],"list":[1,"two",{"three":3},[4]],"o":{"\"":"5\n"}}"#);
    }
}
