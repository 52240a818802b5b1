//! The command line: parses what was typed, runs one command, and turns its result into an exit
//! code. A library, so that `reprise-global` and `reprise-lab` open what the product itself opens.

mod args;
mod cli;
mod config;
mod configured_places;
mod env;
pub mod lab;
mod outbound;
pub mod plugin;
mod printer;
mod process_limits;
mod start;
mod terminal;
mod trace;

pub use start::main;
