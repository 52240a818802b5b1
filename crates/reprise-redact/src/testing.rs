//! The labelled suite: forms of secrets in context, and lines without secrets.
//!
//! The secret of a form is between guillemets. `{w36}` means 36 random characters, by the letter:
//! `w` letters and digits, `d` digits, `h` and `H` hexadecimal, `l` small letters, `U` and `V`
//! capitals and digits, `v` small letters and digits, `b` Base64, `u` its form for addresses, `p` a
//! password with a digit and a sign. `{tab}`, `{cr}`, `{nbsp}` and `{zwsp}` are the characters of
//! those names, and text between double square brackets is encoded in Base64. So no secret, and
//! nothing that a scanner would report as one, is in the files.
//!
//! The blind set was written by somebody who had seen neither the rules nor the rest of the suite;
//! each line of it is an object in Base64. The third set has the same format and was written before
//! the rules were read again; lines with a number were added to its first half afterwards.

use data_encoding::BASE64;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::rules::RedactionRules;

/// The mark before the secret of a form.
const OPEN: char = '\u{ab}';
const CLOSE: char = '\u{bb}';
/// The mark before text that is encoded in Base64.
const ENCODED: char = '\u{27e6}';
const ENCODED_END: char = '\u{27e7}';
/// Invisible characters by name.
const NAMED: [(&str, char); 4] = [
    ("tab", '\t'),
    ("cr", '\r'),
    ("nbsp", '\u{a0}'),
    ("zwsp", '\u{200b}'),
];

/// A form with its random parts filled in.
#[derive(Debug, Clone, Deserialize)]
pub struct LabelledText {
    /// The text with the secrets.
    pub text: String,
    /// The secrets to be redacted.
    pub secrets: Vec<String>,
}

/// A part of the suite.
#[derive(Debug, Clone)]
pub struct SuitePart {
    /// The name of its file.
    pub name: &'static str,
    /// Whether only its totals are shown, so that no rule is written after its lines.
    pub is_held_out: bool,
    pub lines: Vec<&'static str>,
}

/// Returns the forms of secrets: those written before and with the first rules, and the two halves
/// of a set that was written later.
pub fn secret_forms() -> [SuitePart; 4] {
    [
        build_part("held-out", true, include_str!("testing/held-out.txt")),
        build_part("forms", false, include_str!("testing/forms.txt")),
        build_part(
            "fresh-held-out",
            true,
            include_str!("testing/fresh-held-out.txt"),
        ),
        build_part("fresh", false, include_str!("testing/fresh.txt")),
    ]
}

/// Returns lines without secrets: from this repository's code, pages, lock file and history, and
/// generated ones with hashes, UUIDs, digests, public keys and logs; then, in halves, lines from
/// the sources of public packages and what people write of passwords.
pub fn innocent_parts() -> [SuitePart; 3] {
    [
        build_part("innocent", false, include_str!("testing/innocent.txt")),
        build_part(
            "fresh-innocent-held-out",
            true,
            include_str!("testing/fresh-innocent-held-out.txt"),
        ),
        build_part(
            "fresh-innocent",
            false,
            include_str!("testing/fresh-innocent.txt"),
        ),
    ]
}

/// A half of the blind or of the third set, which are split by a hash.
#[derive(Debug, Default)]
pub struct BlindHalf {
    pub labelled: Vec<LabelledText>,
    pub innocent: Vec<&'static str>,
}

/// Returns the half of the blind set of which every miss may be shown, and the half of which only
/// totals are. A line that is not an object is left out.
pub fn blind_set() -> [BlindHalf; 2] {
    let innocent = include_str!("testing/blind-innocent.txt");
    split_halves(include_str!("testing/blind.txt"), innocent)
}

/// Returns the halves of the third set, as [`blind_set`] does for the blind set.
pub fn third_set() -> [BlindHalf; 2] {
    let innocent = include_str!("testing/third-innocent.txt");
    split_halves(include_str!("testing/third.txt"), innocent)
}

fn split_halves(labelled: &'static str, innocent: &'static str) -> [BlindHalf; 2] {
    let mut halves = [BlindHalf::default(), BlindHalf::default()];
    let half_of = |text: &str| usize::from(Sha256::digest(text)[0] % 2);
    for line in labelled.lines() {
        let plain = BASE64.decode(line.as_bytes()).unwrap_or_default();
        let read = serde_json::from_slice::<LabelledText>(&plain).ok();
        let half = &mut halves[half_of(line)];
        half.labelled.extend(read);
    }
    for line in innocent.lines() {
        halves[half_of(line)].innocent.push(line);
    }
    halves
}

fn build_part(name: &'static str, is_held_out: bool, page: &'static str) -> SuitePart {
    let is_form = !name.contains("innocent");
    let lines = page.lines();
    let lines = lines.filter(|line| {
        !is_form || !(line.is_empty() || line.starts_with("# ") && !line.contains(OPEN))
    });
    SuitePart {
        name,
        is_held_out,
        lines: lines.collect(),
    }
}

/// Fills in the random parts of a form from `seed`.
pub fn fill_form(form: &str, seed: u64) -> LabelledText {
    let mut state = seed ^ 0x9e37_79b9_7f4a_7c15;
    let mut next = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) as usize % below
    };
    let form = form
        .replace("\\\\n", "\u{1}")
        .replace("\\n", "\n")
        .replace('\u{1}', "\\n");
    let mut text = String::new();
    let mut rest = form.as_str();
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let named = after.split_once('}').and_then(|(name, after)| {
            let named = NAMED.iter().find(|(known, _)| *known == name)?;
            Some((named.1, after))
        });
        if let Some((character, after)) = named {
            text.push(character);
            rest = after;
            continue;
        }
        let part = after.split_once('}').and_then(|(part, after)| {
            let letter = part.chars().next().filter(|c| "wdhHlUVvbup".contains(*c))?;
            Some((letter, part.get(1..)?.parse::<usize>().ok()?, after))
        });
        if let Some((letter, count, after)) = part {
            text.push_str(&random_text(letter, count, &mut next));
            rest = after;
        } else {
            text.push('{');
            rest = after;
        }
    }
    text.push_str(rest);
    while let Some((start, end)) = text.find(ENCODED).zip(text.find(ENCODED_END)) {
        let plain = &text[start + ENCODED.len_utf8()..end];
        let encoded = BASE64.encode(plain.as_bytes());
        text.replace_range(start..end + ENCODED_END.len_utf8(), &encoded);
    }
    let secrets = text
        .split(OPEN)
        .skip(1)
        .filter_map(|part| part.split(CLOSE).next());
    let secrets = secrets.map(str::to_owned).collect();
    LabelledText {
        text: text.replace([OPEN, CLOSE], ""),
        secrets,
    }
}

fn random_text(letter: char, count: usize, next: &mut dyn FnMut(usize) -> usize) -> String {
    let (upper, lower, digits) = (
        "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        "abcdefghijklmnopqrstuvwxyz",
        "0123456789",
    );
    let set: String = match letter {
        'd' => digits.to_owned(),
        'h' => "0123456789abcdef".to_owned(),
        'H' => "0123456789ABCDEF".to_owned(),
        'l' => lower.to_owned(),
        'U' | 'V' => [upper, digits].concat(),
        'v' => [lower, digits].concat(),
        'b' => [upper, lower, digits, "+/"].concat(),
        'u' => [upper, lower, digits, "-_"].concat(),
        'p' => [upper, lower, digits, "!#%*+^~?"].concat(),
        _ => [upper, lower, digits].concat(),
    };
    let set: Vec<char> = set.chars().collect();
    let chars = (0..count).map(|place| {
        let any = set.get(next(set.len())).copied().unwrap_or('x');
        // A password has a digit and a sign, and begins with a letter.
        match place {
            0 if letter == 'p' => 'K',
            place if letter == 'p' && place == count / 2 => '7',
            place if letter == 'p' && place + 2 == count => '!',
            _ => any,
        }
    });
    chars.collect()
}

/// Whether redaction leaves no part of a secret: no run of eight characters, and no shorter secret.
pub fn is_clean(rules: &RedactionRules, labelled: &LabelledText) -> bool {
    is_clean_of(rules, labelled, 8)
}

/// Whether redaction leaves no run of twelve characters of a secret: texts of the blind set have
/// public keys that begin like their secret ones.
pub fn is_clean_blind(rules: &RedactionRules, labelled: &LabelledText) -> bool {
    is_clean_of(rules, labelled, 12)
}

fn is_clean_of(rules: &RedactionRules, labelled: &LabelledText, run: usize) -> bool {
    let text = rules.redact(&labelled.text).text;
    labelled.secrets.iter().all(|secret| {
        let parts = secret.split_whitespace().filter(|part| part.len() >= 4);
        !text.contains(secret.as_str())
            && parts.into_iter().all(|part| {
                let chars: Vec<char> = part.chars().collect();
                let mut runs = chars.windows(chars.len().min(run));
                !runs.any(|run| text.contains(&run.iter().collect::<String>()))
            })
    })
}
