//! The one door to how a plain thread sleeps until it is unparked: [`thread_parker`](super::thread_parker), or in the models their
//! checker's own way to block, which has fewer runs to try and tells of a lost wake at once. (The real one has a model of its own.)

#[cfg(not(modelled))]
pub(crate) use super::thread_parker::{Awake, ThreadParker};

#[cfg(modelled)]
pub(crate) use model::{Awake, ThreadParker};

#[cfg(modelled)]
mod model {
    use super::super::checker::sync::{Condvar, Mutex};
    pub(crate) use super::super::thread_parker::Awake;
    use std::time::Duration;

    #[derive(Debug)]
    pub(crate) struct ThreadParker {
        unparked_and_poked: Mutex<(bool, bool)>,
        raised: Condvar,
    }

    impl ThreadParker {
        pub(crate) fn new() -> ThreadParker {
            ThreadParker { unparked_and_poked: Mutex::new((false, false)), raised: Condvar::new() }
        }

        pub(crate) fn park(&self, _remaining: impl FnMut() -> Option<Duration>) -> Awake {
            let mut word = self.unparked_and_poked.lock().unwrap();
            loop {
                if std::mem::take(&mut word.0) {
                    return Awake::Unparked;
                }
                if std::mem::take(&mut word.1) {
                    return Awake::Poked;
                }
                word = self.raised.wait(word).unwrap();
            }
        }

        pub(crate) fn unpark(&self) {
            self.unparked_and_poked.lock().unwrap().0 = true;
            self.raised.notify_one();
        }

        pub(crate) fn poke(&self) {
            self.unparked_and_poked.lock().unwrap().1 = true;
            self.raised.notify_one();
        }
    }
}
