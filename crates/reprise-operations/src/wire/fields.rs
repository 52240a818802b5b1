//! Names of fields that are nearly right: refused with the name that was meant, never dropped.

use reprise_types::{Embedding, EmbeddingSpace};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Names from this length on may have two slips.
const LONG: usize = 8;

/// The known name that `given` was meant to be; none where it is one, or far from all.
pub(crate) fn meant<'a>(
    given: &str,
    known: impl IntoIterator<Item = &'a str> + Clone,
) -> Option<&'a str> {
    let plain = |name: &str| -> String {
        let letters = name.chars().filter(char::is_ascii_alphanumeric);
        letters.map(|letter| letter.to_ascii_lowercase()).collect()
    };
    let near = |name: &&str| {
        let most = if name.len() < LONG { 1 } else { 2 };
        plain(name) == plain(given) || strsim::osa_distance(given, name) <= most
    };
    if known.clone().into_iter().any(|name| name == given) {
        return None;
    }
    known.into_iter().find(near)
}

/// Refuses fields that are nobody's, but nearly one of the known ones.
pub(super) fn refuse_slips(other: &Map<String, Value>, known: &[&str]) -> Result<(), String> {
    let mut slips = other.keys().filter_map(|given| {
        let name = meant(given, known.iter().copied())?;
        Some(format!(
            "there is no field `{given}`; did you mean `{name}`?"
        ))
    });
    slips.next().map_or(Ok(()), Err)
}

/// What a reader of fields says of one that it does not know, with the name that was meant.
pub fn hinted(said: String) -> String {
    // "unknown field `topk`, expected one of `query`, `top_k`"
    let mut names = said.split('`').skip(1).step_by(2);
    let given = names.next().filter(|_| said.contains("unknown field"));
    match given.and_then(|given| meant(given, names)) {
        Some(name) => format!("{said}; did you mean `{name}`?"),
        None => said,
    }
}

/// Reads JSON; the error is a sentence about it.
pub fn from_json<T: DeserializeOwned>(text: &[u8]) -> Result<T, String> {
    serde_json::from_slice(text).map_err(|error| hinted(error.to_string()))
}

/// The vector that came with its space; the error is a sentence about it.
pub(crate) fn embedding_of(
    space: Option<EmbeddingSpace>,
    vector: Option<Vec<f32>>,
) -> Result<Option<Embedding>, String> {
    match (space, vector) {
        (Some(space), Some(vector)) => Ok(Some(Embedding { space, vector })),
        (_, None) => Ok(None),
        (None, Some(_)) => Err("an embedding needs its embedding_space".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_told_from_a_name_of_its_own() {
        let known = ["top_k", "session_id", "external_id", "tags"];
        for (given, name) in [
            ("topk", "top_k"),
            ("sessionId", "session_id"),
            ("sesion_di", "session_id"),
            ("tag", "tags"),
            ("extrenal_id", "external_id"),
        ] {
            assert_eq!(meant(given, known), Some(name), "{given}");
        }
        for given in ["top_k", "speaker", "session", "k", "dia_id"] {
            assert_eq!(meant(given, known), None, "{given}");
        }
    }
}
