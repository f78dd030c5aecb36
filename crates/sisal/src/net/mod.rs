//! Sockets, as in `std::net` and `std::os::unix::net`, for fibers and threads.
