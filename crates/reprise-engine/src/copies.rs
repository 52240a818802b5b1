//! Other forms of a whole memory: its log in words, branches with their merge, and two histories
//! joined into one.

pub(crate) mod archive;
pub(crate) mod branch;
pub(crate) mod join;
