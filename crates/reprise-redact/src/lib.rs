//! Redaction of secrets, before anything is stored, sent or shown to others.
//!
//! The rules are data (`rules.toml`); one pass over a text applies them all. Text between
//! `<private>` tags is removed too.
//!
//! # Examples
//!
//! ```
//! use reprise_redact::Redactor;
//!
//! let key = ["AKIA", "IOSFODNN7EXAMPLE"].concat();
//! let redacted = Redactor::new().redact_text(&format!("the key is {key}"));
//! assert_eq!(redacted.text, "the key is [redacted:aws_key]");
//! assert_eq!(redacted.removed[0].rule, "aws_key");
//! ```

mod address;
mod element;
mod encoded;
mod fold;
mod lines;
mod named;
mod outbound;
mod proof;
mod redactor;
mod rules;
mod scan;
#[doc(hidden)]
pub mod testing;

pub use element::{Unclosed, elements, without_elements};
pub use outbound::{HeldBack, Outbound, cleaned, is_another, is_plain_to_another, is_this_machine};
pub use redactor::{Redaction, Redactor};
pub use rules::{Rules, RulesError};
pub use scan::{Redacted, Removed};
