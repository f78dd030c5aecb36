//! tokio-console itself, in a terminal that tmux plays.
