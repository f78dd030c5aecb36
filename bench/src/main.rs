//! `sisal-bench` with the system's allocator: the parent of every run, and the child of most.

fn main() -> std::process::ExitCode {
    sisal_bench::main()
}
