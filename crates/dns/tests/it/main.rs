//! Tests that need a process of their own.

#[cfg(test)]
mod allocations;
