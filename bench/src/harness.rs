//! The parent: every contestant of a case, round by round, and what came of it.

use std::path::Path;
use std::process::ExitCode;

use crate::cases::{Case, SUBJECT};
use crate::cli::Plan;
use crate::companions::Companions;
use crate::launch::{Failure, LIMIT, Launch};
use crate::peers::{PEERS, Peer};
use crate::report::{self, Allocator, CaseResult, Row};
use crate::sample::Sample;
use crate::{PROGRAM, progress};

/// Name of the contestant that is not written in Rust.
const GO: &str = "go";

/// A contestant of a case, and its samples so far.
struct Contestant {
    name: &'static str,
    allocator: Allocator,
    launch: Launch,
    samples: Vec<Sample>,
    /// It failed, or has no part in the case: no more rounds, no row.
    out: bool,
}

impl Contestant {
    fn new(name: &'static str, allocator: Allocator, launch: Launch) -> Self {
        Self { name, allocator, launch, samples: Vec::new(), out: false }
    }

    /// Takes one sample, or says on standard error why there is none.
    fn run_once(&mut self, case: &Case) {
        let reason = match self.launch.run(LIMIT) {
            Ok(sample) => return self.samples.push(sample),
            Err(Failure::Absent(absent)) => absent.reason,
            Err(Failure::Broken(reason)) => format!("failed: {reason}"),
        };
        say_absent(case, self.name, self.allocator, &reason);
        self.out = true;
    }
}

/// Says on standard error why a contestant has no row.
fn say_absent(case: &Case, name: &'static str, allocator: Allocator, reason: &str) {
    eprintln!("{}: {} is absent: {reason}", case.name, allocator.row_name(name));
}

/// Measures the cases of the plan and prints a report of each as soon as it is there.
pub fn run(plan: &Plan) -> ExitCode {
    if cfg!(debug_assertions) {
        eprintln!("{PROGRAM}: built without optimisation: the figures mean little");
    }
    let companions = match Companions::new() {
        Ok(companions) => companions,
        Err(error) => {
            eprintln!("{PROGRAM}: cannot find itself: {error}");
            return ExitCode::FAILURE;
        }
    };
    let mut subject_ran = true;
    for case in &plan.cases {
        let mut contestants = contestants(case, plan.quick, &companions);
        play(case, &mut contestants, case.rounds(plan.quick));
        let result = CaseResult { case, quick: plan.quick, rows: rows(&contestants) };
        match plan.json {
            true => println!("{}", report::json(&result)),
            false => println!("{}", report::markdown(&result)),
        }
        subject_ran &= result.rows.iter().any(|row| row.contestant == SUBJECT);
    }
    if subject_ran { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Everyone who might run the case: the Rust contestants, Go, and the Rust contestants with mimalloc.
fn contestants(case: &Case, quick: bool, companions: &Companions) -> Vec<Contestant> {
    let mut all = in_rust(companions.this(), Allocator::System, case, quick);
    match companions.go() {
        Ok(program) => {
            let arguments = case.work(quick).arguments();
            let launch = Launch { program: program.to_owned(), arguments };
            all.push(Contestant::new(GO, Allocator::System, launch));
        }
        Err(reason) => say_absent(case, GO, Allocator::System, reason),
    }
    if case.allocates {
        match companions.twin() {
            Ok(program) => all.extend(in_rust(program, Allocator::Mimalloc, case, quick)),
            Err(reason) => eprintln!("{}: no rows with mimalloc: {reason}", case.name),
        }
    }
    if case.work(quick).is_served() {
        for one in &mut all {
            one.launch = loaded(&one.launch, companions.this(), case, quick);
        }
    }
    all
}

/// The Rust contestants as children of `program`, which has that allocator. Says who has no part, and why.
fn in_rust(program: &Path, allocator: Allocator, case: &Case, quick: bool) -> Vec<Contestant> {
    let contestant = |name: &'static str| {
        let quick = quick.then_some("--quick");
        let arguments = ["--child", case.name, name].into_iter().chain(quick);
        let arguments = arguments.map(str::to_owned).collect();
        let launch = Launch { program: program.to_owned(), arguments };
        Contestant::new(name, allocator, launch)
    };
    let mut concerned = Vec::new();
    for peer in PEERS {
        match refusal(peer, allocator, case, quick) {
            None => concerned.push(contestant(peer.name)),
            Some(reason) => say_absent(case, peer.name, allocator, reason),
        }
    }
    concerned
}

/// Why a Rust contestant has no part in a case, if that is known before it is asked.
fn refusal(peer: &Peer, allocator: Allocator, case: &Case, quick: bool) -> Option<&'static str> {
    let is_twin = matches!(allocator, Allocator::Mimalloc);
    let second = (is_twin && case.is_reference(peer.name)).then_some("as a reference it is shown with one allocator");
    peer.refusal(&case.work(quick)).or(second)
}

/// What is started in place of a server, which is loaded and measured by another process.
fn loaded(server: &Launch, this: &Path, case: &Case, quick: bool) -> Launch {
    let quick = quick.then_some("--quick");
    let order = quick.into_iter().chain(["--load", case.name]).map(str::to_owned);
    let server = std::iter::once(server.program.display().to_string()).chain(server.arguments.iter().cloned());
    Launch { program: this.to_owned(), arguments: order.chain(server).collect() }
}

/// Plays all rounds: in each, every contestant once, another one first.
fn play(case: &Case, contestants: &mut [Contestant], rounds: usize) {
    for round in 0..rounds {
        progress(&format!("{}: round {} of {rounds}", case.name, round + 1));
        let (before, first) = contestants.split_at_mut(round % contestants.len());
        for contestant in first.iter_mut().chain(before) {
            if !contestant.out {
                contestant.run_once(case);
            }
        }
    }
}

/// The rows of those who played to the end.
fn rows(contestants: &[Contestant]) -> Vec<Row> {
    let played = contestants.iter().filter(|contestant| !contestant.out);
    played.map(|one| Row::new(one.name, one.allocator, &one.samples)).collect()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn scripted(name: &'static str, script: &str) -> Contestant {
        let arguments = vec!["-c".to_owned(), script.to_owned()];
        let launch = Launch { program: "/bin/sh".into(), arguments };
        Contestant::new(name, Allocator::System, launch)
    }

    #[test]
    fn whoever_is_not_asked_has_a_reason() {
        let reason = |case, peer, allocator| {
            refusal(crate::peers::find(peer).unwrap(), allocator, Case::find(case).unwrap(), false)
        };
        assert_eq!(reason("yield-2", "chili", Allocator::System), Some("it has forks and nothing else"));
        assert_eq!(reason("yield-2", "threads", Allocator::System), None);
        assert_eq!(
            reason("yield-2", "threads", Allocator::Mimalloc),
            Some("as a reference it is shown with one allocator")
        );
        for case in Case::all() {
            assert_eq!(reason(case.name, SUBJECT, Allocator::Mimalloc), None, "{}", case.name);
            let asked = in_rust(Path::new("/nowhere"), Allocator::System, case, true);
            let refused = PEERS.iter().filter(|peer| refusal(peer, Allocator::System, case, true).is_some());
            assert_eq!(asked.len() + refused.count(), PEERS.len(), "{}", case.name);
        }
    }

    #[test]
    fn only_those_who_play_every_round_get_a_row() {
        let mut contestants = [
            scripted("sisal", "echo sample figure=1 cpu=1"),
            scripted("rayon", "echo absent it never parks"),
            scripted("may", "exit 1"),
            scripted("tokio", "echo sample figure=2 cpu=1"),
        ];
        play(Case::find("yield-2").unwrap(), &mut contestants, 5);
        let rows = rows(&contestants);
        assert_eq!(rows.iter().map(|row| row.contestant).collect::<Vec<_>>(), ["sisal", "tokio"]);
        assert!(contestants.iter().all(|one| one.samples.len() == if one.out { 0 } else { 5 }));
    }
}
