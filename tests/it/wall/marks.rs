//! What is planted in a memory, and how it would look on its way out.

use std::collections::BTreeSet;

use base64_of::base64;
use serde_json::{Value, json};

/// Every mark of a text begins with this, which nobody writes by chance.
const TEXT: &str = "zq7mkvx";
/// What is tagged as sensitive begins so: not even its owner's export holds it.
const SENSITIVE: &str = "zq7mkvxq";
/// The first numbers of the marked vector, the rest fall off.
const NUMBERS: [f32; 4] = [0.412_345, -0.398_765, 0.301_928, -0.287_654];
const DIMENSIONS: usize = 384;

/// A vector with the marked numbers, of length 1.
fn vector() -> Vec<f32> {
    let mut vector: Vec<f32> = NUMBERS.to_vec();
    let rest = 1.0 - vector.iter().map(|number| number * number).sum::<f32>();
    let even = (rest / (DIMENSIONS - NUMBERS.len()) as f32).sqrt();
    vector.resize(DIMENSIONS, even);
    vector
}

/// The records of the planted memory. Of the open ones text and tags hold no mark,
/// so that they may be published; all the rest of them does.
pub(super) fn records() -> Vec<Value> {
    let space = json!({ "model": "planted", "version": "1", "dimensions": DIMENSIONS });
    let hidden = |number: usize| {
        let mark = |what: &str| format!("{TEXT}{what}{number}");
        json!({
            "session_id": mark("session"),
            "metadata": { "note": mark("note"), mark("key"): mark("value") },
            "details": { "title": mark("title"), "contexts": [mark("context")] },
            "embedding": vector(),
            "embedding_space": space,
        })
    };
    let mut records = Vec::new();
    for number in 0..4 {
        let mut record = hidden(number);
        record["external_id"] = json!(format!("{TEXT}open{number}"));
        record["text"] = json!(format!(
            "Otters number {number} hold hands asleep. <private>{TEXT}diary{number}</private>"
        ));
        record["tags"] = json!(["otter"]);
        records.push(record);
    }
    for (number, (tag, visibility)) in [
        ("plain", None),
        ("sensitive", None),
        ("private", None),
        ("plain", Some("private")),
    ]
    .into_iter()
    .enumerate()
    {
        let first = if tag == "sensitive" { SENSITIVE } else { TEXT };
        let mut record = hidden(number + 10);
        if tag == "sensitive" {
            record["session_id"] = json!(format!("{first}session"));
            record["metadata"] = json!({ "note": format!("{first}note") });
            record["details"] = json!({ "title": format!("{first}title") });
        }
        record["external_id"] = json!(format!("{first}closed{number}"));
        record["text"] = json!(format!(
            "The vault number {number} opens at {first}text{number}"
        ));
        record["tags"] = json!([tag, format!("{first}tag{number}")]);
        if let Some(visibility) = visibility {
            record["metadata"]["visibility"] = json!(visibility);
        }
        records.push(record);
    }
    records
}

/// How many numbered marks are typed, and how many there are with those that are kept.
pub(super) const TYPED: usize = 120;
pub(super) const NUMBERED: usize = 200;

/// A numbered mark as somebody types it where it should not leave: in five forms of what is taken
/// out.
pub(super) fn typed(number: usize) -> String {
    let mark = format!("{TEXT}{number:03}");
    match number % 5 {
        0 => format!("ghp_{mark}{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3"),
        1 => format!("<private>{mark}</private>"),
        2 => format!("password={mark}Xx9"),
        3 => format!("AKIA{}QWERTY", mark.to_ascii_uppercase()),
        _ => format!("postgres://ada:{mark}@db/main"),
    }
}

/// Records with the numbered marks that are kept, each at another place of what never leaves.
pub(super) fn numbered() -> Vec<Value> {
    let record = |number: usize| {
        let mark = format!("{TEXT}{number:03}");
        let mut record = json!({
            "external_id": format!("kept-{number}"), "tags": ["otter"],
            "text": format!("Otters hold hands asleep, they say at place {number}"),
        });
        match number % 8 {
            0 => record["external_id"] = json!(mark),
            1 => record["session_id"] = json!(mark),
            2 => record["metadata"] = json!({ "note": mark }),
            3 => record["metadata"] = json!({ mark: "a key" }),
            4 => record["details"] = json!({ "title": mark, "contexts": [mark] }),
            5 => {
                record["text"] = json!(format!("Otters of {mark}"));
                record["tags"] = json!(["otter", "sensitive"]);
            }
            6 => record["tags"] = json!(["otter", "private", mark]),
            _ => record["text"] = json!(format!("Otters use {}", typed(number))),
        }
        record
    };
    (TYPED..NUMBERED).map(record).collect()
}

/// The numbered marks in these bytes.
pub(super) fn numbers_in(bytes: &[u8]) -> BTreeSet<usize> {
    let small = String::from_utf8_lossy(bytes).to_ascii_lowercase();
    let parts = small.split(TEXT).skip(1);
    let numbers = parts.filter_map(|part| part.get(..3)?.parse().ok());
    numbers.collect()
}

/// The forms in which a mark is looked for.
#[derive(Debug)]
pub(super) struct Marks(Vec<(&'static str, Vec<u8>)>);

impl Marks {
    /// Every mark.
    pub(super) fn all() -> Self {
        let mut forms = text_forms(TEXT);
        let bytes: Vec<u8> = NUMBERS.iter().flat_map(|n| n.to_le_bytes()).collect();
        forms.push(("a vector's bytes", bytes.clone()));
        forms.push(("a vector in base64", base64(&bytes, 0)));
        for number in NUMBERS {
            let digits: String = number.to_string().chars().take(8).collect();
            forms.push(("a vector's number", digits.into_bytes()));
        }
        Self(forms)
    }

    /// Those of what is sensitive.
    pub(super) fn sensitive() -> Self {
        Self(text_forms(SENSITIVE))
    }

    /// The first mark in these bytes: its form, and the text around it.
    pub(super) fn find(&self, bytes: &[u8]) -> Option<String> {
        let small = bytes.to_ascii_lowercase();
        self.0.iter().find_map(|(form, wanted)| {
            let is_case_of_its_own = form.contains("base64") || form.contains("bytes");
            let hay = if is_case_of_its_own { bytes } else { &small };
            let at = position(hay, wanted)?;
            let from = at.saturating_sub(60);
            let around = bytes
                .get(from..(at + 60).min(bytes.len()))
                .unwrap_or_default();
            Some(format!("{form}: {}", String::from_utf8_lossy(around)))
        })
    }
}

fn text_forms(mark: &str) -> Vec<(&'static str, Vec<u8>)> {
    let digits = mark.bytes().flat_map(|byte| [byte >> 4, byte & 15]);
    let hex = digits.filter_map(|digit| char::from_digit(u32::from(digit), 16));
    let hex: String = hex.collect();
    let backwards: String = mark.chars().rev().collect();
    let mut forms = vec![
        ("a text", mark.as_bytes().to_vec()),
        ("a text in hex", hex.into_bytes()),
        ("a text backwards", backwards.into_bytes()),
    ];
    forms.extend((0..3).map(|shift| ("a text in base64", base64(mark.as_bytes(), shift))));
    forms
}

/// Finds where `wanted` is first; its first byte is looked for by the machine's own search.
fn position(hay: &[u8], wanted: &[u8]) -> Option<usize> {
    let (first, mut from) = (*wanted.first()?, 0);
    loop {
        let rest = hay.get(from..)?;
        let at = from + rest.iter().position(|byte| *byte == first)?;
        if hay.get(at..)?.starts_with(wanted) {
            return Some(at);
        }
        from = at + 1;
    }
}

mod base64_of {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    /// The letters that stand for these bytes alone where they begin `shift` bytes after a group.
    pub(super) fn base64(bytes: &[u8], shift: usize) -> Vec<u8> {
        let mut padded = vec![0; shift];
        padded.extend(bytes);
        let whole = padded.len() / 3 * 3;
        let groups = padded.get(..whole).unwrap_or_default().chunks(3);
        let letters = groups.flat_map(|group| {
            let number = group
                .iter()
                .fold(0_usize, |n, byte| n << 8 | usize::from(*byte));
            [18, 12, 6, 0].map(|bits| LETTERS[number >> bits & 63])
        });
        // The first letters stand for the padding too.
        letters.skip((shift * 8).div_ceil(6)).collect()
    }
}

#[test]
fn a_numbered_mark_is_found_in_each_of_its_forms() {
    for number in 0..TYPED {
        assert_eq!(
            numbers_in(typed(number).as_bytes()),
            BTreeSet::from([number])
        );
    }
    let kept = Value::from(numbered()).to_string();
    assert_eq!(numbers_in(kept.as_bytes()), (TYPED..NUMBERED).collect());
}

#[test]
fn a_mark_is_found_in_each_of_its_forms() {
    let marks = Marks::all();
    let hex = "61207a71376d6b7678";
    let vector: Vec<u8> = vector().iter().flat_map(|n| n.to_le_bytes()).collect();
    let json = serde_json::to_vec(&self::vector()).expect("numbers");
    for said in [
        b"so ZQ7mkvx says".as_slice(),
        hex.as_bytes(),
        b"xvkm7qz",
        // "zq7mkvx", "azq7mkvx" and "abzq7mkvx" by coreutils.
        b"enE3bWt2eA==",
        b"YXpxN21rdng=",
        b"YWJ6cTdta3Z4",
        &vector,
        &json,
    ] {
        assert!(
            marks.find(said).is_some(),
            "{}",
            String::from_utf8_lossy(said)
        );
    }
    assert!(marks.find(b"zq7 mkvx and 0.4 of it").is_none());
    assert!(Marks::sensitive().find(b"zq7mkvxopen").is_none());
}
