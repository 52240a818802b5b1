//! The labelled suite: forms of secrets in context, and lines that hold none.
//!
//! A form's secret stands between guillemets. `{w36}` stands for 36 random characters, by the
//! letter: `w` letters and digits, `d` digits, `h` and `H` hexadecimal, `l` small letters, `U` and
//! `V` capitals and digits, `v` small letters and digits, `b` Base64, `u` its form for addresses,
//! `p` a password with a digit and a sign. `{tab}`, `{cr}`, `{nbsp}` and `{zwsp}` are the
//! characters of those names, and what stands between double square brackets is written in Base64.
//! So no secret, and nothing that a scanner takes for one, is in the files.
//!
//! The blind set was written by somebody who had seen neither the rules nor the rest of the suite;
//! each line of it is an object in Base64. So is each of the third set, which was written before
//! the rules were looked at again; lines with a number were added to its first half afterwards.

use data_encoding::BASE64;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::rules::Rules;

/// Opens the secret of a form.
const OPEN: char = '\u{ab}';
const CLOSE: char = '\u{bb}';
/// Opens what is written in Base64.
const ENCODED: char = '\u{27e6}';
const ENCODED_END: char = '\u{27e7}';
/// Characters that cannot be seen, by name.
const NAMED: [(&str, char); 4] = [
    ("tab", '\t'),
    ("cr", '\r'),
    ("nbsp", '\u{a0}'),
    ("zwsp", '\u{200b}'),
];

/// A form with its random parts filled in.
#[derive(Debug, Clone, Deserialize)]
pub struct Labelled {
    /// The text with the secrets.
    pub text: String,
    /// The secrets to be redacted.
    pub secrets: Vec<String>,
}

/// A part of the suite.
#[derive(Debug, Clone)]
pub struct Part {
    /// Its file.
    pub name: &'static str,
    /// Whether it is looked at only as a total: no rule is written after its lines.
    pub is_held_out: bool,
    pub lines: Vec<&'static str>,
}

/// Forms of secrets: before and with the first rules, and the two halves of a set written later.
pub fn forms() -> [Part; 4] {
    [
        part("held-out", true, include_str!("testing/held-out.txt")),
        part("forms", false, include_str!("testing/forms.txt")),
        part(
            "fresh-held-out",
            true,
            include_str!("testing/fresh-held-out.txt"),
        ),
        part("fresh", false, include_str!("testing/fresh.txt")),
    ]
}

/// Lines without secrets: from this repository's code, pages, lock file and history, and generated
/// ones with hashes, UUIDs, digests, public keys and logs; then, in halves, lines from the
/// sources of public packages and what people write of passwords.
pub fn innocent() -> [Part; 3] {
    [
        part("innocent", false, include_str!("testing/innocent.txt")),
        part(
            "fresh-innocent-held-out",
            true,
            include_str!("testing/fresh-innocent-held-out.txt"),
        ),
        part(
            "fresh-innocent",
            false,
            include_str!("testing/fresh-innocent.txt"),
        ),
    ]
}

/// A half of the blind or of the third set, as a hash has cut it.
#[derive(Debug, Default)]
pub struct Blind {
    pub labelled: Vec<Labelled>,
    pub innocent: Vec<&'static str>,
}

/// The half of which every miss may be looked at, and the one that is looked at only as a total. A
/// line that is no object is left out.
pub fn blind() -> [Blind; 2] {
    let innocent = include_str!("testing/blind-innocent.txt");
    halves(include_str!("testing/blind.txt"), innocent)
}

/// The third set in the same way.
pub fn third() -> [Blind; 2] {
    let innocent = include_str!("testing/third-innocent.txt");
    halves(include_str!("testing/third.txt"), innocent)
}

fn halves(labelled: &'static str, innocent: &'static str) -> [Blind; 2] {
    let mut halves = [Blind::default(), Blind::default()];
    let half_of = |text: &str| usize::from(Sha256::digest(text)[0] % 2);
    for line in labelled.lines() {
        let plain = BASE64.decode(line.as_bytes()).unwrap_or_default();
        let read = serde_json::from_slice::<Labelled>(&plain).ok();
        let half = &mut halves[half_of(line)];
        half.labelled.extend(read);
    }
    for line in innocent.lines() {
        halves[half_of(line)].innocent.push(line);
    }
    halves
}

fn part(name: &'static str, is_held_out: bool, page: &'static str) -> Part {
    let is_form = !name.contains("innocent");
    let lines = page.lines();
    let lines = lines.filter(|line| {
        !is_form || !(line.is_empty() || line.starts_with("# ") && !line.contains(OPEN))
    });
    Part {
        name,
        is_held_out,
        lines: lines.collect(),
    }
}

/// A form with its random parts filled in from `seed`.
pub fn drawn(form: &str, seed: u64) -> Labelled {
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
            text.push_str(&random(letter, count, &mut next));
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
    Labelled {
        text: text.replace([OPEN, CLOSE], ""),
        secrets,
    }
}

fn random(letter: char, count: usize, next: &mut dyn FnMut(usize) -> usize) -> String {
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
    let drawn = (0..count).map(|place| {
        let any = set.get(next(set.len())).copied().unwrap_or('x');
        // A password has a digit and a sign, and begins with a letter.
        match place {
            0 if letter == 'p' => 'K',
            place if letter == 'p' && place == count / 2 => '7',
            place if letter == 'p' && place + 2 == count => '!',
            _ => any,
        }
    });
    drawn.collect()
}

/// Whether no part of a secret is left: no run of eight characters, and no shorter secret.
pub fn is_clean(rules: &Rules, labelled: &Labelled) -> bool {
    is_clean_of(rules, labelled, 8)
}

/// The same of a text of the blind set, in which public keys begin as their secret ones do.
pub fn is_clean_blind(rules: &Rules, labelled: &Labelled) -> bool {
    is_clean_of(rules, labelled, 12)
}

fn is_clean_of(rules: &Rules, labelled: &Labelled, run: usize) -> bool {
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
