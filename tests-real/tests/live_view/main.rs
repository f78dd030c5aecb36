//! The page of the live view in a real browser.

#[path = "../../../crates/sisal/tests/common/mod.rs"]
mod common;
mod looks;
mod pictures;
mod stage;
mod story;

use common::watchdog::guarded;
use sisal::inspect::ServeOptions;
use sisal_tests_real::Browser;
use stage::Stage;
use story::{Fiber, Story};

const ENTER: &str = "\u{e007}";
const ESCAPE: &str = "\u{e00c}";

#[test]
fn the_page_shows_who_is_stuck_on_what_since_when() {
    guarded(|| {
        let stage = Stage::with(Story::deadlocked(0, 30));
        let Some((browser, _server)) = stage.look() else { return };
        let verdict = browser.text("#verdict");
        for part in [
            "Deadlock: 3 fibers wait for each other",
            "#71 book order 8841",
            "locking a mutex",
            "3 min 12 s",
            "src/stock/reserve.rs:58:29",
        ] {
            assert!(verdict.contains(part), "{part}: {verdict}");
        }
        assert!(browser.run("return document.title").as_str().unwrap().starts_with("DEADLOCK"));
        assert!(browser.text("#numbers").contains("waiting"));
        assert!(browser.text("#workers").contains("#9000002 render invoice"));
        assert!(browser.text("#reasons").contains("waiting for a socket"));
        assert!(browser.text("#rows").contains("order worker 3"));
    });
}

#[test]
fn the_page_follows_what_changes_unless_it_is_paused() {
    guarded(|| {
        let stage = Stage::with(Story::shop(0, 5));
        let Some((browser, _server)) = stage.look() else { return };
        assert!(browser.text("#verdict").contains("Nothing looks stuck"));
        let newcomer = |id| Fiber::parked(id, "asleep", None, "src/new.rs:1:1").named(format!("newcomer {id}"));
        stage.change(|story| story.fibers.push(newcomer(777).since(99_999)));
        browser.until("document.getElementById('rows').innerText.includes('newcomer 777')");
        stage.change(|story| story.stuck = true);
        browser.until("document.getElementById('verdict').innerText.includes('Worker 2 is stuck')");
        browser.press("p");
        browser.until("document.body.className === 'paused' && !asking");
        stage.change(|story| story.fibers.push(newcomer(778).since(99_998)));
        assert_eq!(browser.run("return poll().then(() => state.snapshot.byId.has(778))"), false);
        browser.press("p");
        browser.until("document.getElementById('rows').innerText.includes('newcomer 778')");
    });
}

#[test]
fn the_list_is_filtered_sorted_and_walked_by_keys() {
    guarded(|| {
        let stage = Stage::with(Story::shop(0, 200));
        let Some((browser, _server)) = stage.look() else { return };
        browser.press("/");
        assert_eq!(browser.run("return document.activeElement.id"), "filter");
        browser.press("\"order worker\"");
        browser.until("document.getElementById('shown').textContent === '8 of 214'");
        let shown =
            |script: &str| browser.run(&format!("return [...document.querySelectorAll('#rows .row')].{script}"));
        assert_eq!(shown("every(row => row.innerText.includes('order worker'))"), true);
        browser.press(ENTER);
        browser.press("jjk");
        assert_eq!(browser.run("return list.at"), 1);
        browser.press(ENTER);
        browser.until("!document.getElementById('detail').hidden && document.querySelector('.trace')");
        let detail = browser.text("#detail");
        for part in [
            "#16 order worker 6",
            "receiving from a channel",
            "src/orders/handle.rs:57:22",
            "0 of 64",
            "shop::orders::handle",
            "192 KiB",
        ] {
            assert!(detail.contains(part), "{part}: {detail}");
        }
        browser.press(ESCAPE);
        browser.until("document.getElementById('detail').hidden");
        browser.press(ESCAPE);
        browser.until("document.getElementById('shown').textContent === '213 fibers, 1 thread'");
        browser.press("/");
        browser.press("-socket -asleep >9s");
        browser.until(
            "list.rows.length > 0 && list.rows.every(row => !row.reason.includes('socket') && row.since >= 9e9)",
        );
        browser.run("document.querySelector('.column-name button').click()");
        browser.until("list.rows.every((row, at) => at === 0 || list.rows[at - 1].name <= row.name)");
    });
}

#[test]
fn hostile_names_are_text() {
    guarded(|| {
        let mut story = Story::deadlocked(0, 3);
        let names = [
            "<img src=x onerror=\"window.broken=1\">",
            "<script>window.broken=1</script>",
            "\"><svg onload=window.broken=1>",
            "\u{202e}gnp.exe\0",
        ];
        for (fiber, name) in story.fibers.iter_mut().rev().zip(names) {
            fiber.name = Some(name.to_owned());
        }
        let ids: Vec<u64> = story.fibers.iter().rev().take(names.len()).map(|fiber| fiber.id).collect();
        let stage = Stage::with(story);
        let Some((browser, _server)) = stage.look() else { return };
        for id in ids {
            browser.run(&format!("openFiber({id})"));
            browser.until("document.querySelector('.trace')");
            browser.press(ESCAPE);
        }
        browser.press("g");
        browser.until("document.querySelector('#picture svg')");
        browser.press("f");
        let page = browser.text("body");
        assert!(names[..3].iter().all(|name| page.contains(name)), "{page}");
        assert!(page.contains("\\u202egnp.exe\\u0000"), "{page}");
        let foreign = "document.querySelectorAll('img, script:not([nonce]), svg[onload], iframe').length";
        assert_eq!(browser.run(&format!("return {foreign}")), 0);
        assert_eq!(browser.run("return window.broken === undefined"), true);
    });
}

#[test]
fn the_wait_graph_shows_cycles_and_stays_small() {
    guarded(|| {
        let stage = Stage::with(Story::deadlocked(0, 3000));
        let Some((browser, _server)) = stage.look() else { return };
        browser.press("g");
        browser.until("document.querySelectorAll('#picture g.cycle').length === 6");
        assert_eq!(browser.run("return document.querySelectorAll('#picture path.cycle').length"), 6);
        assert!(browser.run("return document.querySelectorAll('#picture g').length").as_u64().unwrap() < 200);
        assert!(browser.text("#picture").contains("book order 8841"));
        assert_eq!(browser.run("return document.querySelectorAll('#picture .group').length > 0"), true);
    });
}

#[test]
fn the_timeline_is_recorded_and_drawn_when_asked_for() {
    guarded(|| {
        let stage = Stage::with(Story::shop(0, 3));
        let Some((browser, _server)) = stage.look() else { return };
        browser.press("tr");
        browser.until("document.querySelectorAll('#busiest tbody tr').length === 8");
        let painted = "(() => { const canvas = document.getElementById('canvas'); const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data; return data.some(value => value > 0); })()";
        browser.until(painted);
        browser.press("+++");
        browser.until("trace.to - trace.from < (trace.last - trace.first) / 2");
        assert!(browser.text("#busiest").contains("order worker"));
    });
}

#[test]
fn a_real_runtime_is_shown() {
    guarded(|| {
        let Some(browser) = Browser::start(1400, 1000) else { return };
        let runtime = common::background(2);
        let server = ServeOptions::new().runtime(runtime.handle()).serve("127.0.0.1:0").unwrap();
        browser.go(&format!("http://{}/", server.local_addr()));
        let (let_go, go) = sisal::chan::bounded::<()>(1);
        let waiter = runtime.handle().builder().name("waits to be let go").spawn(move || go.recv());
        browser.until("document.getElementById('rows').innerText.includes('waits to be let go')");
        browser.press("g");
        browser.until("document.getElementById('picture').textContent.includes('waits to be let go')");
        browser.press("tr");
        browser.until("trace.tracks.some((track) => /worker/.test(track.name))");
        browser.press("f");
        drop(let_go);
        assert!(waiter.join().unwrap().is_err());
        browser.until("!document.getElementById('rows').innerText.includes('waits to be let go')");
    });
}

#[test]
fn a_hundred_thousand_fibers_do_not_freeze_it() {
    guarded(|| {
        let stage = Stage::with(Story::shop(0, 100_000));
        let Some((browser, _server)) = stage.look() else { return };
        assert_eq!(browser.text("#shown"), "100,013 fibers, 1 thread");
        assert!(browser.run("return document.querySelectorAll('*').length").as_u64().unwrap() < 2000);
        browser.press("/");
        browser.press("connection 104999");
        browser.until("list.rows.length === 1");
    });
}

#[test]
fn a_process_that_is_gone_is_said_to_be() {
    guarded(|| {
        let stage = Stage::with(Story::shop(0, 3));
        let Some((browser, server)) = stage.look() else { return };
        drop(server);
        browser.until("document.body.className === 'gone' && !document.getElementById('gone').hidden");
        assert!(browser.text("#gone").contains("has ended, or is frozen"));
        assert!(browser.text("#rows").contains("accept loop"), "the last that was known stays");
    });
}

#[test]
fn a_token_is_asked_for_and_kept_out_of_the_address() {
    guarded(|| {
        let stage = Stage::with(Story::shop(0, 3));
        let server = stage.serve(ServeOptions::new().token("s3cret"));
        let Some(browser) = Browser::start(1400, 1000) else { return };
        browser.go(&format!("http://{}/", server.local_addr()));
        browser.until("document.getElementById('token').open");
        browser.press("wrong");
        browser.press(ENTER);
        browser.until("document.getElementById('token').open && document.getElementById('token-text').textContent.includes('not it')");
        browser.press("s3cret");
        browser.press(ENTER);
        browser.until("document.body.className === 'live'");
        // A new tab without what this one has kept.
        browser.run("sessionStorage.clear()");
        browser.go(&format!("http://{}/?token=s3cret", server.local_addr()));
        browser.until("document.body.className === 'live'");
        assert_eq!(browser.run("return location.search"), "");
    });
}

#[test]
fn nothing_is_asked_of_anybody_else() {
    guarded(|| {
        let stage = Stage::with(Story::deadlocked(0, 20));
        let Some((browser, server)) = stage.look() else { return };
        browser.press("gtr");
        browser.until("document.querySelectorAll('#busiest tr').length > 0");
        browser.press("f");
        browser.run("openFiber(71)");
        browser.until("document.querySelector('.trace')");
        let (requests, complaints) = browser.requests_and_complaints();
        let own = format!("http://{}/", server.local_addr());
        assert!(requests.iter().any(|url| url.contains("/debug/trace")), "{requests:?}");
        let others: Vec<_> =
            requests.iter().filter(|url| !url.starts_with(&own) && !url.starts_with("data:")).collect();
        assert!(others.is_empty(), "{others:?}");
        assert!(complaints.is_empty(), "{complaints:?}");
    });
}
