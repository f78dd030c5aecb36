//! A runtime that is what a test says, and a browser that looks at it.

use crate::story::{self, Story};
use sisal::inspect::{Selection, ServeOptions, Server, Source, Wait};
use sisal_tests_real::Browser;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What is to be seen.
pub(crate) struct Stage(Mutex<Scene>);

struct Scene {
    story: Story,
    /// The story as JSON. Making it takes a while where it is long.
    json: String,
}

impl Stage {
    pub(crate) fn with(story: Story) -> Arc<Stage> {
        let json = story.to_json().to_string();
        Arc::new(Stage(Mutex::new(Scene { story, json })))
    }

    pub(crate) fn serve(self: &Arc<Stage>, options: ServeOptions) -> Server {
        options.serve_from("127.0.0.1:0", self.clone()).unwrap()
    }

    /// Serves it, and looks at it until the first data are there. None without a browser.
    pub(crate) fn look(self: &Arc<Stage>) -> Option<(Browser, Server)> {
        let server = self.serve(ServeOptions::new());
        let browser = Browser::start(1400, 1000)?;
        browser.go(&format!("http://{}/", server.local_addr()));
        browser.until("document.body.className === 'live'");
        Some((browser, server))
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut Story)) {
        let mut scene = self.0.lock().unwrap();
        change(&mut scene.story);
        scene.json = scene.story.to_json().to_string();
    }
}

impl Source for Stage {
    fn fibers_text(&self, _selection: Selection) -> String {
        String::new()
    }

    fn fibers_json(&self, selection: Selection) -> String {
        let scene = self.0.lock().unwrap();
        selection.id.map_or_else(|| scene.json.clone(), |id| scene.story.only(id).to_json().to_string())
    }

    fn metrics_text(&self) -> String {
        String::new()
    }

    fn metrics_json(&self) -> String {
        "{}".to_owned()
    }

    fn trace_json(&self, _duration: Option<Duration>, _wait: Wait<'_>) -> String {
        story::trace(4).to_string()
    }
}
