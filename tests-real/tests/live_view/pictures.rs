//! Pictures of the page for a reviewer, if `SISAL_SCREENSHOTS` names a folder for them: light, dark, narrow, and what can be wrong.

use crate::ESCAPE;
use crate::common::watchdog::guarded;
use crate::stage::Stage;
use crate::story::Story;

#[test]
fn pictures_are_taken_when_asked_for() {
    let Some(folder) = std::env::var_os("SISAL_SCREENSHOTS").map(std::path::PathBuf::from) else { return };
    guarded(|| {
        let stage = Stage::with(Story::deadlocked(0, 400));
        let Some((browser, server)) = stage.look() else { return };
        let take = |name: &str| std::fs::write(folder.join(format!("{name}.png")), browser.screenshot()).unwrap();
        for tick in 1..12 {
            stage.change(|story| *story = Story::deadlocked(tick, 380 + tick * 9 % 40));
            let before = browser.run("return state.history.length").as_u64().unwrap();
            browser.until(&format!("state.history.length > {before}"));
        }
        browser.prefer("light");
        take("light");
        browser.press("g");
        take("graph");
        browser.press("tr");
        browser.until("document.querySelectorAll('#busiest tr').length > 0");
        take("timeline");
        browser.prefer("dark");
        take("timeline-dark");
        browser.press("g");
        take("graph-dark");
        browser.press("f");
        take("dark");
        browser.run("openFiber(71)");
        browser.until("document.querySelector('.trace')");
        take("detail-dark");
        browser.prefer("light");
        take("detail");
        browser.press(ESCAPE);
        browser.resize(660, 900);
        take("narrow");
        browser.resize(420, 800);
        take("phone");
        browser.resize(1400, 1000);
        browser.press("?");
        take("help");
        browser.press(ESCAPE);
        stage.change(|story| {
            *story = Story::shop(20, 50);
            story.stuck = true;
        });
        browser.until("document.getElementById('verdict').innerText.includes('stuck')");
        browser.run("window.scrollTo(0, 0)");
        take("stuck");
        stage.change(|story| *story = Story::shop(21, 50));
        browser.until("document.getElementById('verdict').innerText.includes('Nothing')");
        take("calm");
        drop(server);
        browser.until("document.body.className === 'gone'");
        take("gone");
    });
}
