//! Forks, in the models: there are none.

pub(crate) fn refuse_in_child() {}

pub(crate) fn watch() {}
