//! Which fibers are shown.

use crate::remote::snapshot::Fiber;

/// Words that all have to be found in a fiber, or with a `!` in front none.
#[derive(Debug)]
pub(super) struct Filter {
    words: Vec<Word>,
}

#[derive(Debug)]
struct Word {
    /// In small letters.
    text: String,
    is_wanted: bool,
}

impl Filter {
    pub(super) fn new(text: &str) -> Filter {
        let words = text.split_whitespace().map(|word| match word.strip_prefix('!') {
            Some(rest) => Word { text: rest.to_lowercase(), is_wanted: false },
            None => Word { text: word.to_lowercase(), is_wanted: true },
        });
        // A lone `!` is about to become a word.
        Filter { words: words.filter(|word| !word.text.is_empty()).collect() }
    }

    pub(super) fn admits(&self, fiber: &Fiber) -> bool {
        self.words.iter().all(|word| word.is_in(fiber) == word.is_wanted)
    }
}

impl Word {
    fn is_in(&self, fiber: &Fiber) -> bool {
        let id = fiber.id.to_string();
        if self.text == id || self.text.strip_prefix('#') == Some(&id) {
            return true;
        }
        let texts = [&fiber.name, &fiber.reason, &fiber.place, &fiber.spawned_at];
        let mut texts = texts.into_iter().flatten().chain([&fiber.state]);
        texts.any(|text| text.to_lowercase().contains(&self.text))
    }
}
