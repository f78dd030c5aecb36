//! Tests in a process of their own: the test binary runs itself again with the name of a scenario.

use crate::{faults, refusals};
use sisal_context::fault::AltStack;
use std::process::{Command, Output};

const SCENARIO: &str = "SISAL_CONTEXT_TEST_SCENARIO";

pub(crate) fn run_in_child(scenario: &str) -> Output {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child::this_is_the_child_process_if_it_has_a_scenario", "--nocapture"])
        .env(SCENARIO, scenario)
        .output()
        .unwrap()
}

#[test]
fn this_is_the_child_process_if_it_has_a_scenario() {
    let Ok(scenario) = std::env::var(SCENARIO) else {
        return;
    };
    forbid_core_dumps();
    let _alt_stack = AltStack::ensure().unwrap();
    assert!(faults::play(&scenario) || refusals::play(&scenario), "no scenario {scenario}");
}

fn forbid_core_dumps() {
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: reads a live struct.
    unsafe { libc::setrlimit(libc::RLIMIT_CORE, &none) };
}
