//! `SISAL_TRACE`, the builder's setting, and files.

use crate::check::check;
use crate::common::child;
use crate::common::fixed;
use crate::common::watchdog::guarded;
use std::fs;
use std::path::PathBuf;

/// With this code ends a process for a deadlock.
const DEADLOCK: i32 = 124;

/// A directory of one test, gone afterwards.
struct Directory(PathBuf);

impl Directory {
    fn new(test: &str) -> Directory {
        let path = std::env::temp_dir().join(format!("sisal-trace-{test}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Directory(path)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    fn files(&self) -> Vec<String> {
        let names = fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn sisal_trace_writes_what_a_run_did_from_its_start_to_its_end() {
    guarded(|| {
        let directory = Directory::new("run");
        let ended = child::run_in(&[("SISAL_TRACE", &directory.file("out.json")), ("SISAL_WORKERS", "2")], || {
            sisal::run(|| {
                let child = sisal::Builder::new().name("a \"child\"\n").spawn(sisal::yield_now);
                child.join().unwrap();
            });
        });
        assert_eq!(ended.well().stderr, "");
        assert_eq!(directory.files(), ["out.json"]);
        let checked = check(&fs::read_to_string(directory.file("out.json")).unwrap());
        assert_eq!(checked.turns_of("a \"child\"\n").last().unwrap().1.args["then"], "ended");
        assert_eq!(checked.turns_of("main").last().unwrap().1.args["then"], "ended");
        for worker in ["worker 0", "worker 1"] {
            assert!(checked.has_mark(&format!("{worker} begins")) && checked.has_mark(&format!("{worker} goes")));
        }
        assert_eq!(checked.total("lost_events"), 0);
    });
}

#[test]
fn the_builder_traces_a_runtime_in_the_background_too() {
    guarded(|| {
        let directory = Directory::new("background");
        let file = directory.file("out.json");
        let runtime = fixed(2).trace(&file).build().unwrap();
        runtime.handle().builder().name("worker bee").spawn(|| ()).join().unwrap();
        assert_eq!(directory.files(), [""; 0], "nothing before the end");
        drop(runtime);
        assert_eq!(check(&fs::read_to_string(&file).unwrap()).turns_of("worker bee").len(), 1);
    });
}

#[test]
fn a_file_that_cannot_be_written_is_said_and_changes_nothing_else() {
    guarded(|| {
        let ended = child::run_in(&[("SISAL_TRACE", "/nowhere/at/all.json")], || {
            assert_eq!(sisal::run(|| sisal::spawn(|| 7).join().unwrap()), 7);
        });
        ended.well().saying("sisal: the trace could not be written to /nowhere/at/all.json: No such file or directory");
    });
}

#[test]
fn a_file_is_replaced_whole_where_a_link_leads_and_devices_are_written_to() {
    guarded(|| {
        let directory = Directory::new("replace");
        let trace = sisal::run(|| sisal::inspect::flight_recorder().unwrap().stop());
        fs::write(directory.file("old.json"), "old").unwrap();
        std::os::unix::fs::symlink("old.json", directory.file("link.json")).unwrap();
        trace.save(directory.file("link.json")).unwrap();
        assert!(fs::symlink_metadata(directory.file("link.json")).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(directory.file("old.json")).unwrap(), trace.to_json());
        assert_eq!(directory.files().len(), 2);
        fs::create_dir(directory.file("deeper")).unwrap();
        std::os::unix::fs::symlink("deeper/new.json", directory.file("to nothing.json")).unwrap();
        trace.save(directory.file("to nothing.json")).unwrap();
        assert!(fs::symlink_metadata(directory.file("to nothing.json")).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(directory.file("deeper/new.json")).unwrap(), trace.to_json());
        trace.save("/dev/null").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        let error = trace.save(&directory.0).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::IsADirectory);
    });
}

#[test]
fn what_a_standard_stream_goes_to_is_written_to_behind_what_is_there() {
    use std::os::fd::AsRawFd;
    guarded(|| {
        let directory = Directory::new("stream");
        fs::write(directory.file("log"), "said before\n").unwrap();
        let log = fs::File::options().append(true).open(directory.file("log")).unwrap();
        let trace = sisal::run(|| sisal::inspect::flight_recorder().unwrap().stop());
        // As `/dev/stderr` is a link to, and a link to that.
        let name = format!("/proc/self/fd/{}", log.as_raw_fd());
        trace.save(&name).unwrap();
        std::os::unix::fs::symlink(&name, directory.file("link")).unwrap();
        trace.save(directory.file("link")).unwrap();
        let json = trace.to_json();
        assert_eq!(fs::read_to_string(directory.file("log")).unwrap(), format!("said before\n{json}{json}"));
        assert_eq!(directory.files().len(), 2);
    });
}

#[test]
fn a_file_that_is_replaced_keeps_its_mode() {
    use std::os::unix::fs::PermissionsExt;
    guarded(|| {
        let directory = Directory::new("mode");
        let file = directory.file("private.json");
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        let trace = sisal::run(|| sisal::inspect::flight_recorder().unwrap().stop());
        trace.save(&file).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o7777, 0o600);
        assert_eq!(fs::read_to_string(&file).unwrap(), trace.to_json());
    });
}

#[test]
fn a_deadlock_that_ends_the_process_leaves_the_trace() {
    guarded(|| {
        let directory = Directory::new("deadlock");
        let ended = child::run_in(&[("SISAL_TRACE", &directory.file("out.json"))], || {
            sisal::run(|| {
                let mutex = std::sync::Arc::new(sisal::sync::Mutex::new(()));
                let locked = mutex.clone();
                let _guard = mutex.lock();
                let waits = sisal::Builder::new().name("waits").spawn(move || drop(locked.lock()));
                let _ = waits.join();
            });
        });
        ended.with_code(DEADLOCK);
        let checked = check(&fs::read_to_string(directory.file("out.json")).unwrap());
        assert_eq!(checked.turns_of("waits").last().unwrap().1.args["then"], "locking a mutex");
    });
}
