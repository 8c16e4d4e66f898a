//! What level a log line itself declares
