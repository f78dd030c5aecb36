//! Processes, as in `std::process`, for fibers and threads.
