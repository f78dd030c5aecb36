//! Files, as in `std::fs`, for fibers and threads.
