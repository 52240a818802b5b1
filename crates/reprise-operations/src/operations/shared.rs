//! Published knowledge: what would leave, publishing it, taking it back, what others published.

pub mod merge;
pub mod preview;
pub mod publish;
pub mod published;
pub mod rate;
pub mod receipts;
pub mod thing;
pub mod unpublish;
pub mod visibility;
