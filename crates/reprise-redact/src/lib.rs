//! Secrets out of texts, before anything is kept, sent or shown to others.
//!
//! The rules (data: `rules.toml`), the one pass that finds what they describe, and what is private
//! by its tags.

mod element;
mod named;
mod proof;
mod redactor;
mod rules;
mod scan;
#[doc(hidden)]
pub mod testing;

pub use element::{Unclosed, elements, without_elements};
pub use redactor::Redactor;
pub use rules::{Rules, RulesError};
pub use scan::Redacted;
