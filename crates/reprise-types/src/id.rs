//! Identifiers: ULIDs made from a time and randomness that the caller passes, never from the clock.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde_with::{DeserializeFromStr, SerializeDisplay};
use ulid::Ulid;

/// A text that is not an identifier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not an id; copy one that Reprise printed")]
pub struct IdError {
    text: String,
}

/// Every identifier, as a regular expression without its ends.
pub const ID_PATTERN: &str = "[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}";

macro_rules! ulid_newtype {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, SerializeDisplay, DeserializeFromStr,
        )]
        pub struct $name(u128);

        impl $name {
            /// Builds an id from milliseconds since the Unix epoch (48 bits are used) and 80 random
            /// bits.
            pub fn from_parts(unix_ms: u64, random: u128) -> Self {
                Self(Ulid::from_parts(unix_ms, random).0)
            }

            /// The id as the 128-bit number that the file format stores.
            pub fn to_u128(self) -> u128 {
                self.0
            }

            /// The inverse of [`Self::to_u128`].
            pub fn from_u128(value: u128) -> Self {
                Self(value)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&Ulid(self.0), f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({self})", stringify!($name))
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                Ulid::from_string(text)
                    .map(|ulid| Self(ulid.0))
                    .map_err(|_| IdError { text: text.chars().take(64).collect() })
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "type": "string",
                    "pattern": format!("^{ID_PATTERN}$"),
                })
            }
        }
    };
}

ulid_newtype! {
    /// The id of one record, unique within its file; sorts by the time at which it was stored.
    RecordId
}
ulid_newtype! {
    /// The id of one recall, to which an outcome can be credited later.
    RecallId
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_and_parses_as_a_ulid() {
        let id = RecordId::from_parts(1_771_234_567_890, 42);
        let text = id.to_string();
        assert_eq!(text.len(), 26);
        assert_eq!(text.parse::<RecordId>(), Ok(id));
        assert_eq!(RecordId::from_u128(id.to_u128()), id);
    }

    #[test]
    fn sorts_by_time() {
        assert!(RecordId::from_parts(1, u128::MAX >> 48) < RecordId::from_parts(2, 0));
    }

    #[test]
    fn refuses_other_text_with_what_to_do() {
        let error = "memory/one".parse::<RecordId>().unwrap_err().to_string();
        assert!(
            error.contains("memory/one") && error.contains("copy one"),
            "{error}"
        );
    }
}
