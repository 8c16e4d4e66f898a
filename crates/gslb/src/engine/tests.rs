//! The engine in scenarios, and a fleet of them under a virtual clock.

mod fleet;
mod inputs;
mod scale;
mod scenarios;
mod simulation;
mod steadiness;
mod terratest;
