//! Token ids of known texts, and where a long one is cut.

use super::*;
use crate::testing::shared_models;

const GOLDEN: &str = include_str!("../../../../tests/fixtures/golden.json");
const LIMIT: usize = 256;

fn tokenizer() -> TextTokenizer {
    let installed = shared_models().find_installed().unwrap();
    let json = std::fs::read(installed.tokenizer()).unwrap();
    TextTokenizer::from_bytes(&json, LIMIT).unwrap()
}

#[test]
fn token_ids_are_the_references() {
    let golden: serde_json::Value = serde_json::from_str(GOLDEN).unwrap();
    let items = golden["items"].as_array().unwrap();
    assert_eq!(items.len(), 24);
    let tokenizer = tokenizer();
    for item in items {
        let text = item["text"].as_str().unwrap();
        let expected: Vec<u32> = serde_json::from_value(item["token_ids"].clone()).unwrap();
        assert_eq!(tokenizer.encode(text).unwrap(), expected, "{text}");
    }
}

#[test]
fn a_long_text_is_cut_to_the_limit_and_keeps_its_last_special_token() {
    let tokenizer = tokenizer();
    let words = "word ".repeat(10_000);
    let ids = tokenizer.encode(&words).unwrap();
    assert_eq!(ids.len(), LIMIT);
    assert_eq!((ids[0], ids[LIMIT - 1]), (101, 102));
    // Cut in the middle of a four-byte character, and still a text.
    let emoji = format!("x{}", "\u{1f600}".repeat(TEXT_BYTES_SEEN_MAX));
    assert!(tokenizer.encode(&emoji).unwrap().len() <= LIMIT);
}

#[test]
fn a_short_text_is_not_padded() {
    assert_eq!(tokenizer().encode("hello").unwrap().len(), 3);
}

#[test]
fn a_file_that_is_no_tokeniser_is_an_error_that_says_what_to_run() {
    for json in [&b""[..], b"{}", b"not json", &[0xff; 100]] {
        let error = TextTokenizer::from_bytes(json, LIMIT).unwrap_err();
        assert!(matches!(error, EmbedError::Unavailable { .. }));
        assert!(
            error.to_string().contains("reprise doctor models pull"),
            "{error}"
        );
    }
}
