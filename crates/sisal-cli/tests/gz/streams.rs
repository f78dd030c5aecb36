//! Standard streams that are closed, and pipes that nobody reads any more, as whoever starts the program has left them.

use crate::program::{Directory, Ran, SISAL};
use crate::samples::random;

/// Runs a shell command in which `gz` is this program.
fn shell(directory: &Directory, command: &str) -> Ran {
    let script = format!("gz() {{ \"$0\" gz \"$@\"; }}; {command}");
    directory.program("bash", &["-c", &script, SISAL]).run()
}

#[test]
fn closed_standard_output_is_told_and_nothing_is_taken_for_written() {
    let directory = Directory::new();
    directory.write("file", b"bytes");
    directory.gz(&["-k", "file"]).output();
    for command in ["gz -c file >&-", "gz -dc file.gz >&-", "gz -l file.gz >&-", "gz < file >&-"] {
        let ran = shell(&directory, command);
        let said = (ran.code, ran.stderr.as_str());
        assert_eq!(said, (Some(1), "sisal gz: stdout: Bad file descriptor\n"), "{command}");
    }
    // Who does not need it does not miss it.
    let ran = shell(&directory, "gz -kf file >&-");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
}

#[test]
fn closed_standard_input_is_no_empty_input() {
    let directory = Directory::new();
    directory.write("file", b"bytes");
    for command in ["gz <&-", "gz -d <&-", "gz -t - <&-"] {
        let ran = shell(&directory, command);
        let said = (ran.code, ran.stderr.as_str());
        assert_eq!(said, (Some(1), "sisal gz: stdin: Bad file descriptor\n"), "{command}");
        assert_eq!(ran.stdout, b"", "{command}");
    }
    let ran = shell(&directory, "gz file <&-");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
}

#[test]
fn a_pipe_that_nobody_reads_is_told_if_its_signal_is_ignored() {
    let directory = Directory::new();
    directory.write("file", &random(3_000_000, 1));
    directory.gz(&["-k", "file"]).output();
    let many = "file.gz ".repeat(100);
    for arguments in ["-c file", "-dc file.gz", &format!("-l {many}")] {
        let command = format!("trap '' PIPE; gz {arguments} | head -c 10 > taken; exit ${{PIPESTATUS[0]}}");
        let ran = shell(&directory, &command);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(1), "sisal gz: stdout: Broken pipe\n"), "{arguments}");
    }
}

#[test]
fn limits_in_the_environment_are_for_others() {
    let directory = Directory::new();
    for limit in ["SISAL_MAX_FIBERS=2", "SISAL_MAX_BLOCKING_THREADS=1", "SISAL_MAX_STACKS=nonsense"] {
        let ran = shell(&directory, &format!("export {limit}; head -c 3000000 /dev/zero | gz -c | gz -dc | wc -c"));
        assert_eq!(ran.stdout.trim_ascii(), b"3000000", "{limit}");
    }
}
