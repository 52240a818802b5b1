//! Assertions about the content of a text or a JSON object; a failure shows all of it.

/// Asserts that a text holds every one of these.
#[macro_export]
macro_rules! assert_contains {
    ($text:expr, $($word:expr),+ $(,)?) => {{
        let text = &$text;
        $(assert!(text.contains($word), "{} is not in: {text}", stringify!($word));)+
    }};
}

/// Asserts that a text holds none of these.
#[macro_export]
macro_rules! assert_lacks {
    ($text:expr, $($word:expr),+ $(,)?) => {{
        let text = &$text;
        $(assert!(!text.contains($word), "{} is in: {text}", stringify!($word));)+
    }};
}

/// Asserts the values of fields of a JSON object.
#[macro_export]
macro_rules! assert_fields {
    ($object:expr, $($name:literal: $value:expr),+ $(,)?) => {{
        let object = &$object;
        $(assert_eq!(object[$name], ::serde_json::json!($value), "{} of {object:?}", $name);)+
    }};
}
