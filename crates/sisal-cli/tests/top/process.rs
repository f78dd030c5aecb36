//! A process with a real runtime, which serves because its environment asks for it: this test program, run once more.

use crate::program::{Directory, Program};
use crate::wait::until;
use std::fs::{self, DirBuilder};
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::DirBuilderExt;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

/// Says that this process is the one that serves.
const CHILD: &str = "SISAL_TOP_SERVES";

/// The fiber that waits for a channel.
pub(crate) const WAITS: &str = "patient receiver";
/// The fiber that runs again and again, so that every recording has something of it.
pub(crate) const RUNS: &str = "ticker";
const TICK: Duration = Duration::from_millis(1);

/// What the process says when its runtime runs. By then it has also said where it serves.
const BEGUN: &str = "the fibers run";

/// The process. It ends with its standard input, and so whatever becomes of the test.
pub(crate) struct Process {
    child: Child,
    stderr: BufReader<ChildStderr>,
    address: String,
    directory: Directory,
}

/// Calls `test` with such a process, and checks that it ends well. In that process itself, which runs the same test, serves instead.
pub(crate) fn with_process<F: FnOnce(&Process)>(test: F) {
    if std::env::var_os(CHILD).is_some() {
        return serve();
    }
    let process = Process::start(&test_of::<F>());
    test(&process);
    process.end();
}

/// The name of the test that a closure stands in: `file::test::{{closure}}` without its ends.
fn test_of<F>() -> String {
    let name = std::any::type_name::<F>();
    let name = name.split("::{{closure}}").next().unwrap_or(name);
    name.split_once("::").map_or(name, |(_, name)| name).to_owned()
}

fn serve() {
    let ran = sisal::Runtime::builder().name("a served one").workers(2).run(|| {
        let (sender, receiver) = sisal::chan::bounded::<u32>(8);
        let fiber = |name: &str| sisal::Builder::new().name(name);
        let waiting = fiber(WAITS).spawn(move || receiver.recv());
        let running = fiber(RUNS).spawn(|| while sisal::sleep(TICK).is_ok() {});
        eprintln!("{BEGUN}");
        sisal::blocking(|| io::copy(&mut io::stdin(), &mut io::sink())).unwrap();
        drop(sender);
        running.cancel();
        drop((waiting.join(), running.join()));
    });
    ran.unwrap();
}

impl Process {
    fn start(test: &str) -> Process {
        let directory = Directory::new();
        // One that counts as a user's own, whatever the umask is.
        DirBuilder::new().mode(0o700).create(directory.path("run")).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"SISAL_")) {
            command.env_remove(name);
        }
        command.args(["--exact", test, "--nocapture"]).env(CHILD, "1").env("SISAL_SERVE", "127.0.0.1:0");
        command.env("XDG_RUNTIME_DIR", directory.path("run"));
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let address = served_at(&mut stderr);
        Process { child, stderr, address, directory }
    }

    pub(crate) fn number(&self) -> u32 {
        self.child.id()
    }

    /// What it is found by: its number, and where it says that it serves.
    pub(crate) fn found_by(&self) -> [String; 2] {
        [self.number().to_string(), self.address.clone()]
    }

    /// Where the file that it is found by lies, for a shell.
    pub(crate) fn variable(&self) -> String {
        format!("XDG_RUNTIME_DIR={}", self.directory.path("run").display())
    }

    /// `sisal` with these words, for whom the process can be found.
    pub(crate) fn sisal(&self, arguments: &[&str]) -> Program {
        self.directory.sisal(arguments)
    }

    /// A file that `sisal` has written.
    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        self.directory.read(name)
    }

    fn end(mut self) {
        drop(self.child.stdin.take());
        let status = until(|| self.child.try_wait().unwrap().ok_or_else(|| "the process does not end".to_owned()));
        assert!(status.success(), "{status}: {}", io::read_to_string(self.stderr).unwrap());
        assert_eq!(fs::read_dir(self.directory.path("run/sisal")).unwrap().count(), 0, "its file stays");
    }
}

/// The address that it says it serves at.
fn served_at(stderr: &mut impl BufRead) -> String {
    let mut said = String::new();
    while !said.ends_with(&format!("{BEGUN}\n")) {
        assert!(stderr.read_line(&mut said).unwrap() > 0, "it has ended: {said}");
    }
    let address = said.lines().find_map(|line| line.strip_prefix("sisal: serving at http://")?.strip_suffix('/'));
    address.unwrap_or_else(|| panic!("it does not serve: {said}")).to_owned()
}
