//! The command line: what may be said, and the help that tells it.

use crate::cases::Case;
use crate::launch::Launch;
use crate::load::Order;
use crate::peers::{self, Peer};

/// What the command line asks for.
#[derive(Debug)]
pub enum Command {
    /// `--help`.
    Help,
    /// `--list`.
    List,
    /// Measure cases.
    Run(Plan),
    /// `--child`: be one contestant.
    Child(One),
    /// `--load`: be the client of a server.
    Load(Order),
}

/// Cases to measure.
#[derive(Debug)]
pub struct Plan {
    /// In the order given, each once.
    pub cases: Vec<&'static Case>,
    /// Fewer rounds, smaller sizes.
    pub quick: bool,
    /// JSON in place of Markdown.
    pub json: bool,
}

/// One contestant in one case, to be run once in this process.
#[derive(Clone, Copy, Debug)]
pub struct One {
    /// The case.
    pub case: &'static Case,
    /// The contestant.
    pub peer: &'static Peer,
    /// The smaller size.
    pub quick: bool,
}

/// Every flag, as errors name them.
const FLAGS: &str = "--case NAME, --quick, --json, --list, --help, --child CASE CONTESTANT, --load CASE PROGRAM";
/// The case name that stands for every case.
const ALL: &str = "all";

/// Reads the arguments after the program's name.
pub fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Command, String> {
    let mut arguments = arguments.into_iter();
    let mut plan = Plan { cases: Vec::new(), quick: false, json: false };
    let mut child = None;
    while let Some(argument) = arguments.next() {
        let (flag, inline) = match argument.split_once('=') {
            Some((flag @ "--case", value)) => (flag, Some(value.to_owned())),
            _ => (argument.as_str(), None),
        };
        match flag {
            "--help" | "-h" => return Ok(Command::Help),
            "--list" => return Ok(Command::List),
            "--quick" => plan.quick = true,
            "--json" => plan.json = true,
            "--case" => {
                let name = inline.or_else(|| arguments.next());
                add_cases(&mut plan.cases, &name.ok_or_else(|| missing("--case", "a name"))?)?;
            }
            "--child" => {
                let mut next = || arguments.next().ok_or_else(|| missing(flag, "a case and a contestant"));
                child = Some((find_case(&next()?)?, find_peer(&next()?)?));
            }
            "--load" => {
                let mut next = || arguments.next().ok_or_else(|| missing(flag, "a case and a program"));
                let (case, program) = (find_case(&next()?)?, next()?.into());
                let server = Launch { program, arguments: arguments.collect() };
                return Ok(Command::Load(Order { case, quick: plan.quick, server }));
            }
            _ => {
                return Err(format!("unknown argument '{argument}'; known flags: {FLAGS}"));
            }
        }
    }
    match child {
        Some((case, peer)) => Ok(Command::Child(One { case, peer, quick: plan.quick })),
        None if plan.cases.is_empty() => Err(format!("no case given: say --case NAME or --help; {}", known_cases())),
        None => Ok(Command::Run(plan)),
    }
}

/// Adds the case of that name, or all of them, to those not there yet.
fn add_cases(cases: &mut Vec<&'static Case>, name: &str) -> Result<(), String> {
    let named: Vec<&'static Case> = if name == ALL { Case::all().collect() } else { vec![find_case(name)?] };
    for case in named {
        if !cases.iter().any(|known| known.name == case.name) {
            cases.push(case);
        }
    }
    Ok(())
}

fn find_case(name: &str) -> Result<&'static Case, String> {
    Case::find(name).ok_or_else(|| format!("unknown case '{name}'; {}", known_cases()))
}

fn find_peer(name: &str) -> Result<&'static Peer, String> {
    peers::find(name).ok_or_else(|| {
        let names: Vec<_> = peers::PEERS.iter().map(|peer| peer.name).collect();
        format!("unknown contestant '{name}'; known contestants: {}", names.join(", "))
    })
}

fn missing(flag: &str, what: &str) -> String {
    format!("{flag} needs {what}; {}", known_cases())
}

fn known_cases() -> String {
    let names: Vec<_> = Case::all().map(|case| case.name).collect();
    format!("known cases: {}, {ALL}", names.join(", "))
}

/// The cases, a line each.
pub fn list() -> String {
    let width = Case::all().map(|case| case.name.len()).max().unwrap_or(0);
    Case::all().map(|case| format!("{:width$}  {} [{}]\n", case.name, case.about, case.unit)).collect()
}

/// The text of `--help`.
pub fn help() -> String {
    format!(
        "\
sisal and its peers side by side, in one run.

    cargo run --release -p sisal-bench -- --case NAME [--quick] [--json]

    --case NAME    measure this case; may be given more than once; 'all' is every case
    --quick        3 rounds and smaller sizes: a look, not a measurement
    --json         one JSON object a case, one to a line, in place of a table
    --list         the cases, a line each
    --help         this text
    --child CASE CONTESTANT
                   run one contestant once, in this process, and print its sample: what the
                   parent starts, and what to put under a profiler; a server prints its port
                   and serves until its standard input ends
    --load CASE PROGRAM [ARGUMENT]...
                   start such a server, load it as the case says, and print the sample: what the
                   parent starts in place of a server; --quick has to stand before it

CASES
{cases}
CONTESTANTS
    {peers}, and go when `go` is on the PATH.
    All do the same work with the same number of worker threads (2, unless the case says 1), at their
    default settings otherwise, with nothing pinned, and with the system's allocator. Where allocation
    rules, a second set of rows has mimalloc for every Rust contestant.
    A library of channels plays with a runtime's tasks or with threads: tokio+kanal, smol+flume and so on.
    epoll is no runtime but an echo server by hand, as plain as can be: a thread to a worker, an epoll to a thread.
    chili has forks and nothing else; serial is one thread without any.
    sisal-recv is sisal's plain recv, for the one case where its select is measured by that.
    The channels of tokio and smol hold one message where a rendezvous is asked for: they have none. may's
    have no bound; to select, it has a coroutine receive for each arm.
    A contestant that cannot do a case is absent from it; the reason goes to standard error.
    References are shown but not counted in the ratio: OS threads everywhere (but with kanal where fibers
    are forced onto two threads), stackless tasks where the stack is what is measured, rayon where others'
    tasks park or wait, may where others' senders wait for room, everyone but rayon where it is what sisal's
    idling is set against, and serial. To sum and to compress there is a ratio to OS threads besides.

HOW IT MEASURES
    Every contestant runs in a process of its own, warms up, and is measured once; the processes of a
    round run one after the other, and the rounds start each with another contestant. The table shows
    the median of the rounds, least and greatest, the CPU time of all threads of the process, and
    sisal's ratio to the best peer that ran: below 1, sisal is better than every peer. (Of a rate the
    ratio is inverted, so that this always holds.) With two allocators there are two ratios; the one
    called \"ratio\" in the JSON is the system allocator's.
    A server is a process of its own, loaded by another: its CPU time is counted, the client's is not.
    Run it on a quiet machine: a case with 2 workers wants 2 idle cores.

OUTPUT AND EXIT CODE
    The report goes to standard output, everything else to standard error.
    0: measured.  1: sisal itself failed in some case.  2: the command line makes no sense.
",
        cases = list().lines().map(|line| format!("    {line}\n")).collect::<String>(),
        peers = peers::PEERS.iter().map(|peer| peer.name).collect::<Vec<_>>().join(", "),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command, String> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    fn plan(line: &str) -> Plan {
        match parsed(line) {
            Ok(Command::Run(plan)) => plan,
            other => panic!("{line}: {other:?}"),
        }
    }

    fn names(plan: &Plan) -> Vec<&str> {
        plan.cases.iter().map(|case| case.name).collect()
    }

    #[test]
    fn cases_and_switches_come_in_any_order() {
        let plan = plan("--quick --case yield-2 --json --case=spawn-100");
        assert_eq!(names(&plan), ["yield-2", "spawn-100"]);
        assert!(plan.quick && plan.json);
    }

    #[test]
    fn all_is_every_case_and_each_is_run_once() {
        assert_eq!(plan("--case all").cases.len(), Case::all().count());
        assert_eq!(names(&plan("--case sleepers --case sleepers")), ["sleepers"]);
        assert_eq!(plan("--case sleepers --case all").cases.len(), Case::all().count());
    }

    #[test]
    fn an_unknown_case_is_answered_with_the_known_ones() {
        let error = parsed("--case spwan").unwrap_err();
        assert!(error.contains("'spwan'"), "{error}");
        assert!(Case::all().all(|case| error.contains(case.name)), "{error}");
    }

    #[test]
    fn an_unknown_flag_is_answered_with_the_known_ones() {
        for line in ["--fast", "--quick=1", "spawn-100"] {
            let error = parsed(line).unwrap_err();
            assert!(error.contains(line) && error.contains("--quick, --json"), "{error}");
        }
    }

    #[test]
    fn no_case_at_all_is_an_error() {
        assert!(parsed("").unwrap_err().contains("no case given"));
        assert!(parsed("--quick --case").unwrap_err().contains("--case needs a name"));
    }

    #[test]
    fn help_and_list_name_every_case() {
        assert!(matches!(parsed("--case all --help"), Ok(Command::Help)));
        assert!(matches!(parsed("--list"), Ok(Command::List)));
        assert!(Case::all().all(|case| help().contains(case.name)));
        assert_eq!(list().lines().count(), Case::all().count());
    }

    #[test]
    fn what_follows_a_load_is_the_servers_command() {
        let Ok(Command::Load(order)) = parsed("--quick --load echo-100 ./server --quick --help") else { panic!() };
        assert_eq!((order.case.name, order.quick), ("echo-100", true));
        assert_eq!(order.server.program, std::path::Path::new("./server"));
        assert_eq!(order.server.arguments, ["--quick", "--help"]);
        assert!(parsed("--load echo-100").unwrap_err().contains("a program"));
    }

    #[test]
    fn a_child_is_one_contestant_in_one_case() {
        let Ok(Command::Child(one)) = parsed("--child yield-2 tokio --quick") else { panic!() };
        assert_eq!((one.case.name, one.peer.name, one.quick), ("yield-2", "tokio", true));
        assert!(parsed("--child yield-2 tokoi").unwrap_err().contains("tokio"));
        assert!(parsed("--child yield-2").unwrap_err().contains("needs"));
    }
}
