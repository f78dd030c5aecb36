//! Words from elsewhere, made fit for a terminal.
//!
//! A fiber's name can be anything: a sequence that clears the screen, a line break, marks that turn the direction of writing. All text of an
//! answer goes through [`clean`] as it is read, so nothing behind it need think of that.

use serde::de::Visitor;
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

/// Text in which every character takes the room it seems to take.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Text(Box<str>);

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Text, D::Error> {
        struct Cleaning;

        impl Visitor<'_> for Cleaning {
            type Value = Text;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E>(self, text: &str) -> Result<Text, E> {
                Ok(Text(clean(text).into()))
            }
        }

        deserializer.deserialize_str(Cleaning)
    }
}

/// Writes out what a terminal would act on, or not show: `\u{1b}`.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unfit) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        match character {
            unfit if is_unfit(unfit) => out.extend(unfit.escape_default()),
            fit => out.push(fit),
        }
    }
    Cow::Owned(out)
}

/// Controls, and what has no width of its own or turns the direction: it would hide, or move what stands beside it.
fn is_unfit(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_act_on_is_written_out() {
        assert_eq!(clean("a\x1b[2Jb\r\n\t\u{9b}31m\u{7f}"), "a\\u{1b}[2Jb\\r\\n\\t\\u{9b}31m\\u{7f}");
        assert_eq!(clean("\u{202e}evil\u{200b}"), "\\u{202e}evil\\u{200b}");
    }

    #[test]
    fn what_can_be_shown_stays() {
        for text in ["plain", "na\u{ef}ve", "\u{4f60}\u{597d}", "\u{1f980} crab", "e\u{301}"] {
            assert!(matches!(clean(text), Cow::Borrowed(same) if same == text));
        }
    }
}
