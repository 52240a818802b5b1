//! The page: what an agent knows, what went into its prompts and whether it helped, and what needs
//! a person; for a person's browser.
//!
//! Each room asks memory by operations of the catalogue ([`reprise_operations`]), as every other
//! face does, and writes what they answer as HTML.

mod assets;
mod chart;
mod door;
mod markdown;
mod page;
mod pairs;
mod prelude;
mod rooms;
mod rows;
mod shell;
mod text;
mod undo;

pub use door::{Grant, Link};
pub use page::{Backup, Bytes, Host, Neighbour, Page, Setting, Token};
