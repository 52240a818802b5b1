//! How far an evaluation is.

/// Progress of an evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EvalStage<'a> {
    /// The store being filled and asked.
    pub store: &'a str,
    /// Its number, from 1.
    pub number: usize,
    pub of: usize,
}
