//! The governed workspace under a session of the sandbox: its two actors, and the sink that writes
//! its events to the host's log, from which the relay publishes them and memory stores them.
//!
//! A package of its own, so that a host without a workspace links no git (ADR 0054).

mod bridge;
#[cfg(test)]
mod tests;

pub use bridge::WorkspaceBridge;
