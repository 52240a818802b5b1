//! The page: what is remembered, why it came up, and how to put it right, for a person's browser.
//!
//! Templates, styles, script, sign-in and the rooms of the page.

mod assets;
mod care;
mod chart;
mod door;
mod global;
mod memory;
mod page;
mod prompts;
mod refusal;
mod rooms;
mod shell;
mod strings;
mod tending;
mod text;
mod together;
mod undo;
mod workspace;

pub use care::{Backup, Bytes, Neighbour, PageCare, Setting, Token};
pub use door::Link;
pub use global::{Abroad, Leaving, PageGlobal, Receipt, TakenBack, Terms, Thing};
pub use memory::{
    Alike, Change, Changes, Erased, Growth, Learning, Overview, PageMemory, PastRecall, Recalled,
    Run, Runs, Seen, Standing, Story, TagCounts, Told, Verdict as Judged, Wording,
};
pub use page::Page;
pub use prompts::{Found, Given, PagePrompts, Prompt, Replay};
pub use refusal::Refusal;
pub use tending::{Audit, Consolidation, InDoubt, PageTending, Pair, Tended};
pub use workspace::{
    Between, PageWorkspaces, Patch, TrailLine, TrailQuery, Transaction, Tree, Waiting, Word,
};
