//! What all clients have been told of one kind of things, so that only news are sent.
//!
//! A thing has a *face*, which the protocol takes to be fixed, and *figures*, which change. A face that changes is told anew: tokio-console
//! then replaces the thing by a new one of the same number.

use std::collections::BTreeMap;

pub(crate) struct Told<F, S> {
    /// In order, so that tokio-console, which numbers things anew, has the oldest first.
    things: BTreeMap<u64, (F, S)>,
}

/// One thing to tell.
#[derive(Clone, Debug)]
pub(crate) struct News<F, S> {
    pub(crate) id: u64,
    /// None if it is as it was.
    pub(crate) face: Option<F>,
    pub(crate) figures: S,
}

impl<F, S> Default for Told<F, S> {
    fn default() -> Self {
        Told { things: BTreeMap::new() }
    }
}

impl<F: Clone + PartialEq, S: Clone + PartialEq> Told<F, S> {
    /// The news of a thing, if there are any.
    pub(crate) fn tell(&mut self, id: u64, face: F, figures: S) -> Option<News<F, S>> {
        let before = self.things.insert(id, (face.clone(), figures.clone()));
        let (old_face, old_figures) = before.unzip();
        let is_new = old_face.as_ref() != Some(&face);
        let news = || News { id, face: is_new.then_some(face), figures };
        (is_new || old_figures.as_ref() != Some(&self.things[&id].1)).then(news)
    }

    /// The same, of a thing whose face is to stay as it was told.
    pub(crate) fn tell_figures(&mut self, id: u64, figures: S) -> Option<News<F, S>> {
        let (_, before) = self.things.get_mut(&id)?;
        (*before != figures).then(|| {
            before.clone_from(&figures);
            News { id, face: None, figures }
        })
    }

    /// The last news of a thing.
    pub(crate) fn tell_end(&mut self, id: u64, change: impl FnOnce(&mut S)) -> Option<News<F, S>> {
        let (_, mut figures) = self.things.remove(&id)?;
        change(&mut figures);
        Some(News { id, face: None, figures })
    }

    pub(crate) fn has(&self, id: u64) -> bool {
        self.things.contains_key(&id)
    }

    pub(crate) fn len(&self) -> usize {
        self.things.len()
    }

    /// All that are not seen any more.
    pub(crate) fn without(&self, is_seen: impl Fn(u64) -> bool) -> Vec<u64> {
        self.things.keys().copied().filter(|id| !is_seen(*id)).collect()
    }

    /// All there is, for a client that knows nothing.
    pub(crate) fn everything(&self) -> impl Iterator<Item = News<F, S>> {
        let whole = |(id, (face, figures)): (&u64, &(F, S))| (*id, face.clone(), figures.clone());
        self.things.iter().map(whole).map(|(id, face, figures)| News { id, face: Some(face), figures })
    }
}

#[cfg(test)]
mod tests {
    use super::Told;

    #[test]
    fn only_what_changed_is_told() {
        let mut told = Told::default();
        let news = told.tell(1, "face", 10).unwrap();
        assert_eq!((news.id, news.face, news.figures), (1, Some("face"), 10));
        assert!(told.tell(1, "face", 10).is_none());
        let news = told.tell(1, "face", 11).unwrap();
        assert_eq!((news.face, news.figures), (None, 11));
        let news = told.tell(1, "other", 11).unwrap();
        assert_eq!((news.face, news.figures), (Some("other"), 11));
        let news = told.tell_figures(1, 12).unwrap();
        assert_eq!((news.face, news.figures), (None, 12));
        assert!(told.tell_figures(1, 12).is_none());
        assert_eq!(told.everything().map(|news| (news.face, news.figures)).collect::<Vec<_>>(), [(Some("other"), 12)]);
        let news = told.tell_end(1, |figures| *figures = 0).unwrap();
        assert_eq!((news.face, news.figures), (None, 0));
        assert!(told.tell_end(1, |_| ()).is_none());
        assert_eq!(told.len(), 0);
    }
}
