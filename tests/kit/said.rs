//! What a text or a JSON object has to hold and must not: a test that fails shows the whole of it.

/// Asserts that a text holds every one of these.
#[macro_export]
macro_rules! says {
    ($text:expr, $($word:expr),+ $(,)?) => {{
        let text = &$text;
        $(assert!(text.contains($word), "{} is not in: {text}", stringify!($word));)+
    }};
}

/// Asserts that a text holds none of these.
#[macro_export]
macro_rules! lacks {
    ($text:expr, $($word:expr),+ $(,)?) => {{
        let text = &$text;
        $(assert!(!text.contains($word), "{} is in: {text}", stringify!($word));)+
    }};
}

/// Asserts what stands in fields of a JSON object.
#[macro_export]
macro_rules! has {
    ($object:expr, $($name:literal: $value:expr),+ $(,)?) => {{
        let object = &$object;
        $(assert_eq!(object[$name], ::serde_json::json!($value), "{} of {object:?}", $name);)+
    }};
}
