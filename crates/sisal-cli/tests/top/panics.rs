//! The terminal is given back when something panics. The program has no panic to offer, so the test itself takes a terminal, in a process
//! of its own, and panics there.

use crate::terminal::has_it_back;
use crate::tmux::Tmux;

#[path = "../../src/top/screen.rs"]
#[allow(dead_code, reason = "the program needs more of it")]
mod screen;

/// Says that this process is the one that panics.
const CHILD: &str = "SISAL_TOP_PANICS";

#[test]
fn a_panic_gives_the_terminal_back_and_can_be_read() {
    if std::env::var_os(CHILD).is_some() {
        let mut screen = screen::Screen::open().unwrap();
        screen.draw(|frame| frame.render_widget("a picture", frame.area())).unwrap();
        panic!("on purpose");
    }
    let Some(tmux) = Tmux::open(80, 24) else { return };
    let (program, name) = (std::env::current_exe().unwrap(), std::thread::current().name().unwrap().to_owned());
    let child = format!("{CHILD}=1 RUST_BACKTRACE=0 {} --exact {name} --nocapture", program.display());
    tmux.run(&format!("{child}; echo ended with $?"));
    tmux.shows(&["on purpose", "ended with 101"]);
    has_it_back(&tmux, "101");
}
