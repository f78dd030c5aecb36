//! `sisal-bench` with mimalloc: the child behind the `+mimalloc` rows.

/// Every allocation of this process, whoever the contestant is.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    sisal_bench::child_main()
}
