//! A set of small numbers (arena indices), for "the next member from here".
//!
//! One bit per number, and a summary with one bit per word of those. 65,000 arenas, 4 million stacks,
//! are 1,016 words and 16 summary words: looking up reads one word and at most 16 more.

const BITS: usize = u64::BITS as usize;

#[derive(Default)]
pub(super) struct IndexSet {
    words: Vec<u64>,
    /// INVARIANT: bit `w` is set exactly if `words[w]` is not zero.
    summary: Vec<u64>,
}

impl IndexSet {
    pub(super) fn insert(&mut self, index: usize) {
        let word = index / BITS;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
            self.summary.resize(word / BITS + 1, 0);
        }
        self.words[word] |= 1 << (index % BITS);
        self.summary[word / BITS] |= 1 << (word % BITS);
    }

    pub(super) fn remove(&mut self, index: usize) {
        let word = index / BITS;
        let Some(bits) = self.words.get_mut(word) else {
            return;
        };
        *bits &= !(1 << (index % BITS));
        if *bits == 0 {
            self.summary[word / BITS] &= !(1 << (word % BITS));
        }
    }

    /// Inserts or removes.
    pub(super) fn set(&mut self, index: usize, member: bool) {
        if member {
            self.insert(index);
        } else {
            self.remove(index);
        }
    }

    /// The lowest member that is not below `from`.
    pub(super) fn next(&self, from: usize) -> Option<usize> {
        let word = from / BITS;
        member_at(&self.words, word, from % BITS).or_else(|| {
            let after = word + 1;
            let first = member_at(&self.summary, after / BITS, after % BITS);
            let word = first.or_else(|| first_in(&self.summary, after / BITS + 1))?;
            member_at(&self.words, word, 0)
        })
    }
}

/// The lowest member in `words[word]` from bit `bit` on.
fn member_at(words: &[u64], word: usize, bit: usize) -> Option<usize> {
    let rest = words.get(word)? & (u64::MAX << bit);
    (rest != 0).then(|| word * BITS + rest.trailing_zeros() as usize)
}

/// The lowest member in `words[word..]`.
fn first_in(words: &[u64], word: usize) -> Option<usize> {
    (word..words.len()).find_map(|word| member_at(words, word, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(set: &IndexSet) -> Vec<usize> {
        std::iter::successors(set.next(0), |&last| set.next(last + 1)).collect()
    }

    #[test]
    fn members_come_in_order_over_word_and_summary_borders() {
        let mut set = IndexSet::default();
        let mut expected = vec![0, 1, 63, 64, 127, 4095, 4096, 5000, 65_000];
        for &index in expected.iter().rev() {
            set.insert(index);
        }
        assert_eq!(members(&set), expected);
        for index in [4096, 0, 65_000] {
            set.remove(index);
            expected.retain(|&member| member != index);
            assert_eq!(members(&set), expected);
        }
        assert_eq!(set.next(1 << 20), None);
    }

    #[test]
    fn removing_what_is_not_there_changes_nothing() {
        let mut set = IndexSet::default();
        set.remove(7);
        set.set(70, true);
        set.set(71, false);
        set.remove(1 << 20);
        assert_eq!(members(&set), [70]);
    }
}
