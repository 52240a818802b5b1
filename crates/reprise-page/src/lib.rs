//! The page: what is remembered, why it came up, and how to put it right, for a person's browser.
//!
//! Lives here: templates, styles, script, sign-in and the rooms of the page. Must never live here:
//! a rule about memory, a way to its file, or a listening socket: they are lent (`PageMemory`).

mod assets;
mod chart;
mod door;
mod memory;
mod page;
mod rooms;
mod shell;
mod strings;
mod text;
mod undo;
mod words;

pub use door::Link;
pub use memory::{
    Alike, Change, Changes, Erased, Growth, Learning, Overview, PageMemory, Recalled, Refusal,
    Story, TagCounts, Verdict as Judged, Wording,
};
pub use page::Page;
