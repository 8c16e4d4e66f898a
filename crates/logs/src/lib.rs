//! True log levels for pipes, files and node log directories
