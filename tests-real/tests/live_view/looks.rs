//! How the page looks: in a narrow window, and to those who like it dark.

use crate::ESCAPE;
use crate::common::watchdog::guarded;
use crate::stage::Stage;
use crate::story::Story;
use sisal_tests_real::Browser;

/// The width of 80 columns.
const NARROW: u32 = 660;
/// A name that is longer than that, and has nowhere to break a line.
const UNBREAKABLE: &str = concat!(
    "taumatawhakatangihangakoauauotamateaturipukakapikimaungahoronukupokaiwhenuakitanatahu_",
    "llanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogogoch_pneumonoultramicroscopicsilicovolcanoconiosis"
);

#[test]
fn the_page_fits_into_80_columns() {
    guarded(|| {
        let mut story = Story::deadlocked(0, 30);
        story.runtime = UNBREAKABLE;
        story.fibers.iter_mut().for_each(|fiber| fiber.name = Some(UNBREAKABLE.to_owned()));
        story.stuck = true;
        let stage = Stage::with(story);
        let Some((browser, server)) = stage.look() else { return };
        browser.resize(NARROW, 900);
        browser.until(&format!("window.innerWidth === {NARROW}"));
        fits(&browser, "the fibers");
        browser.press("g");
        browser.until("document.querySelector('#picture svg')");
        fits(&browser, "the wait graph");
        browser.press("tr");
        browser.until("document.querySelectorAll('#busiest tbody tr').length > 0");
        fits(&browser, "the timeline");
        browser.press("f?");
        browser.until("document.getElementById('help').open");
        fits(&browser, "the help");
        browser.press(ESCAPE);
        browser.run("openFiber(71)");
        browser.until("document.querySelector('.trace')");
        fits(&browser, "one fiber");
        browser.press(ESCAPE);
        drop(server);
        browser.until("document.body.className === 'gone'");
        fits(&browser, "a process that is gone");
    });
}

/// Checks that there is nothing to scroll to at the side. What a scroll bar takes is no room for the page.
#[track_caller]
fn fits(browser: &Browser, what: &str) {
    let [width, room] = ["scrollWidth", "clientWidth"]
        .map(|property| browser.run(&format!("return document.documentElement.{property}")).as_u64().unwrap());
    assert!(width <= room && room <= NARROW.into(), "{what}: {width} pixels wide, for which there are {room}");
}

#[test]
fn the_page_is_light_or_dark_as_its_reader_prefers() {
    guarded(|| {
        let stage = Stage::with(Story::shop(0, 3));
        let Some((browser, _server)) = stage.look() else { return };
        browser.prefer("light");
        browser.until("!matchMedia('(prefers-color-scheme: dark)').matches");
        let light = ["backgroundColor", "color"].map(|property| brightness(&browser, property));
        browser.prefer("dark");
        browser.until("matchMedia('(prefers-color-scheme: dark)').matches");
        let dark = ["backgroundColor", "color"].map(|property| brightness(&browser, property));
        assert!(light[0] > light[1], "dark on light: {light:?}");
        assert!(dark[0] < dark[1], "light on dark: {dark:?}");
        assert!(dark[0] < light[0], "{dark:?}, {light:?}");
    });
}

/// How bright a colour of the page is: the sum of its red, green and blue.
fn brightness(browser: &Browser, property: &str) -> u32 {
    let colour = browser.run(&format!("return getComputedStyle(document.body).{property}"));
    let colour = colour.as_str().unwrap();
    let parts = colour.strip_prefix("rgb(").and_then(|rest| rest.strip_suffix(')'));
    let parts = parts.unwrap_or_else(|| panic!("not opaque: {colour}"));
    parts.split(", ").map(|part| part.parse::<u32>().unwrap()).sum()
}
