//! The user id: a name that is safe as a directory, validated on construction.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde_with::{DeserializeFromStr, SerializeDisplay};

use crate::limits::USER_ID_BYTES_MAX;

/// The id of one user, who owns one store: letters, digits, `.`, `_`, `-`, `@` and `+`, not
/// starting with a dot.
#[derive(
    Debug,
    Clone,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    SerializeDisplay,
    DeserializeFromStr,
    JsonSchema,
)]
#[schemars(with = "String", extend("pattern" = r"^[A-Za-z0-9_@+-][A-Za-z0-9._@+-]{0,127}$"))]
pub struct UserId(String);

/// Why a text cannot be a user id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UserIdError {
    #[error("the user id is empty; pass a name such as `ada`")]
    Empty,
    /// Longer than a directory name should be.
    #[error("the user id has {got} bytes; use at most {USER_ID_BYTES_MAX}")]
    TooLong { got: usize },
    /// Could be read as a hidden file or a parent directory.
    #[error(
        "the user id `{got}` starts with a dot; user ids name directories, use letters and digits first"
    )]
    LeadingDot { got: String },
    /// A character that is not safe in a file name.
    #[error("the user id contains {character:?}; use letters, digits and . _ - @ + only")]
    Character { character: char },
}

impl Default for UserId {
    /// Returns the user whose memory is used if none is named.
    fn default() -> Self {
        Self(Self::DEFAULT.to_owned())
    }
}

impl UserId {
    /// The text of [`Self::default`].
    pub const DEFAULT: &str = "default";

    /// Returns the id that is used for a user who is not named.
    pub fn anonymous() -> Self {
        Self("anonymous".to_owned())
    }

    /// The part between user and repository in the id of a memory that a repository shares.
    pub const REPOSITORY_INFIX: &str = "+repository-";

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is not a user, but the memory that a trusted repository shares, which is rebuilt
    /// from its files.
    pub fn is_repository_memory(&self) -> bool {
        self.0.contains(Self::REPOSITORY_INFIX)
    }
}

impl FromStr for UserId {
    type Err = UserIdError;

    fn from_str(text: &str) -> Result<Self, UserIdError> {
        if text.is_empty() {
            return Err(UserIdError::Empty);
        }
        if text.len() > USER_ID_BYTES_MAX {
            return Err(UserIdError::TooLong { got: text.len() });
        }
        let allowed =
            |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '@' | '+');
        if let Some(character) = text.chars().find(|c| !allowed(*c)) {
            return Err(UserIdError::Character { character });
        }
        if text.starts_with('.') {
            return Err(UserIdError::LeadingDot {
                got: text.to_owned(),
            });
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for UserId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_names_pass() {
        for name in ["ada", "user-1", "a.b@example.org", "conv-26", "01JK"] {
            assert_eq!(name.parse::<UserId>().unwrap().as_str(), name);
        }
    }

    #[test]
    fn names_that_could_leave_the_directory_do_not() {
        for name in [
            "",
            "..",
            ".hidden",
            "a/b",
            "a\\b",
            "a\0b",
            "a b",
            "\u{e9}",
            &"x".repeat(300),
        ] {
            assert!(name.parse::<UserId>().is_err(), "{name:?}");
        }
    }
}
