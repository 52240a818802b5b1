//! Redaction of secrets, before anything is stored, sent or shown to others.
//!
//! The rules are data (`rules.toml`); one pass over a text applies them all. Text between
//! `<private>` tags is removed, too.
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
mod named_values;
mod nearby_values;
mod outbound;
mod proof;
mod redactor;
mod rules;
mod scan;
#[doc(hidden)]
pub mod testing;
mod text_parts;

pub use element::{UnclosedElement, find_elements, remove_elements};
pub use outbound::{
    OutboundBody, OutboundError, clean_text, is_other_machine, is_plain_http_to_other_machine,
    is_this_machine,
};
pub use redactor::{Redaction, Redactor, switch_on_kinds};
pub use rules::{RedactionRules, RulesError};
pub use scan::{RedactedText, RemovedSecret};
