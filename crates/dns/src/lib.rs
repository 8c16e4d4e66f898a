//! Authoritative DNS from compiled snapshots, and a small resolver
