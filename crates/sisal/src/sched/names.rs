//! Names beside the events of a trace, by numbers, of which the newest are kept.
//!
//! New ones go into a table of the writers. A reader takes what is in there away as a whole, and shares it with later readers: nothing is copied
//! while writers wait. Tables are forgotten as wholes, too, the oldest first, when those after it have enough.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::Arc;

/// Tables up to this size are put together when a reader comes, so that many readers don't make many tables.
const SMALL: usize = 1024;

/// See the [module](self).
pub(super) struct Names<K> {
    /// So many at least are kept.
    enough: usize,
    young: HashMap<K, Box<str>>,
    /// The oldest first.
    shared: VecDeque<Arc<HashMap<K, Box<str>>>>,
    turnover: u32,
}

/// What a reader got: the oldest first.
pub(super) struct Shared<K>(Vec<Arc<HashMap<K, Box<str>>>>);

impl<K: Copy + Eq + Hash> Names<K> {
    pub(super) fn new(enough: usize) -> Names<K> {
        Names { enough, young: HashMap::new(), shared: VecDeque::new(), turnover: 0 }
    }

    /// Keeps a name, if it was not kept since a reader came last.
    pub(super) fn keep(&mut self, key: K, name: impl FnOnce() -> Box<str>) {
        self.young.entry(key).or_insert_with(name);
        if self.young.len() >= self.enough {
            self.share();
        }
    }

    /// Changes when names have been forgotten.
    pub(super) fn turnover(&self) -> u32 {
        self.turnover
    }

    /// All that are kept.
    pub(super) fn read(&mut self) -> Shared<K> {
        self.share();
        Shared(self.shared.iter().cloned().collect())
    }

    pub(super) fn clear(&mut self) {
        *self = Names { turnover: self.turnover.wrapping_add(1), ..Names::new(self.enough) };
    }

    fn share(&mut self) {
        if self.young.is_empty() {
            return;
        }
        let young = std::mem::take(&mut self.young);
        // Fails if a reader still looks at it.
        match self.shared.back_mut().and_then(Arc::get_mut) {
            Some(last) if last.len() + young.len() <= SMALL => last.extend(young),
            _ => self.shared.push_back(Arc::new(young)),
        }
        self.forget();
    }

    /// Forgets every table after which there are enough.
    fn forget(&mut self) {
        let mut later: usize = self.shared.iter().skip(1).map(|table| table.len()).sum();
        while later >= self.enough {
            self.shared.pop_front();
            self.turnover = self.turnover.wrapping_add(1);
            later -= self.shared.front().map_or(later, |table| table.len());
        }
    }
}

impl<K: Copy + Eq + Hash> Shared<K> {
    /// As one table. Takes as long as there are many: not under a lock.
    pub(super) fn into_table(self) -> HashMap<K, Box<str>> {
        let all = self.0.iter().flat_map(|table| table.iter());
        all.map(|(&key, name)| (key, name.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keep(names: &mut Names<u32>, keys: std::ops::Range<u32>) -> bool {
        let before = names.turnover();
        keys.for_each(|key| names.keep(key, || key.to_string().into()));
        names.turnover() != before
    }

    fn kept(names: &mut Names<u32>) -> Vec<u32> {
        let table = names.read().into_table();
        let mut keys: Vec<_> =
            table.iter().map(|(&key, name)| name.parse().map(|name: u32| (key, name)).unwrap()).collect();
        keys.sort_unstable();
        assert!(keys.iter().all(|(key, name)| key == name));
        keys.into_iter().map(|(key, _)| key).collect()
    }

    #[test]
    fn the_newest_names_are_kept_whether_somebody_reads_them_or_not() {
        for read_every in [1, 7, 5_000, u32::MAX] {
            let mut names = Names::new(3_000);
            for key in 0..20_000 {
                keep(&mut names, key..key + 1);
                if key % read_every == 0 {
                    drop(names.read());
                }
            }
            let kept = kept(&mut names);
            assert!(kept.len() >= 3_000 && kept.len() <= 3 * 3_000, "{} are kept", kept.len());
            assert!(kept.iter().copied().eq(20_000 - kept.len() as u32..20_000));
            assert!(names.turnover() > 0 && names.shared.len() <= 20, "{} tables", names.shared.len());
        }
    }

    #[test]
    fn what_a_reader_got_stays_as_it_was() {
        let mut names = Names::new(100);
        assert!(!keep(&mut names, 0..10));
        let read = names.read();
        assert!(keep(&mut names, 10..500));
        names.clear();
        assert_eq!((read.into_table().len(), kept(&mut names).len()), (10, 0));
    }
}
