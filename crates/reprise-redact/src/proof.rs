//! Decides whether a candidate value is a secret: not a placeholder, not code, random enough.

use std::collections::BTreeSet;

use serde::Deserialize;

/// Entropy in bits per character from which a text counts as random.
const ENTROPY_MIN: f64 = 3.0;
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
pub(crate) enum Proof {
    /// The shape of the value suffices.
    #[default]
    #[serde(rename = "shape")]
    ShapeOnly,
    /// A value with a digit, which prose of the same shape lacks.
    #[serde(rename = "digit")]
    HasDigit,
    /// Any value except a placeholder or code.
    #[serde(rename = "value")]
    NotPlaceholder,
    /// A value with a digit, a sign or a mixture of letters.
    #[serde(rename = "password")]
    UnlikeWord,
    /// A value with letters and digits, or another mixture that words do not have.
    #[serde(rename = "mixed")]
    MixedClasses,
    /// Long and random.
    #[serde(rename = "random")]
    HighEntropy,
    /// The second argument of a call: with a digit or a sign, or four groups of four letters.
    #[serde(rename = "call")]
    CallArgument,
    /// Digits whose last one is the check digit of the others (ISO/IEC 7812-1, annex B).
    #[serde(rename = "luhn")]
    LuhnChecksum,
    /// An account number whose check digits fit (ISO 13616: modulo 97).
    #[serde(rename = "iban")]
    AccountChecksum,
    /// A value after "is": a password, not an adjective that describes one.
    #[serde(rename = "said")]
    AfterIs,
    /// A value after "the password", not the next word of a sentence.
    #[serde(rename = "random_said")]
    InSentence,
    /// A value with a digit that is random.
    #[serde(rename = "scrambled")]
    DigitAndEntropy,
    /// A value at the end of a sentence or a line that is not the name of a method.
    #[serde(rename = "last")]
    EndOfLine,
    /// Digits that are not a year.
    #[serde(rename = "code")]
    NotYear,
    /// A value after a separator or "is", in any language: letters and something that words do not
    /// have.
    #[serde(rename = "coined")]
    AfterSeparator,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Placeholders {
    words: BTreeSet<String>,
    /// Words of prose that are no passwords.
    #[serde(rename = "said")]
    prose_words: BTreeSet<String>,
    /// Prefixes of expressions that read a value from elsewhere.
    #[serde(default, rename = "looked_up")]
    lookup_prefixes: Vec<String>,
}

impl Placeholders {
    /// Whether `value` may be a secret; `after` is what follows it.
    pub(crate) fn is_proven(&self, proof: Proof, value: &str, after: &str) -> bool {
        if value.starts_with("[redacted:") {
            return false;
        }
        let bare = value.trim_end_matches(['.', ',', ';', ':', '!', '?', ')']);
        match proof {
            Proof::ShapeOnly => !value.contains("xxxxxxxx"),
            Proof::HasDigit => has_digit(value) || value.rsplit(['-', '_', '.']).any(is_scrambled),
            Proof::NotPlaceholder => self.is_value(value),
            Proof::UnlikeWord => self.is_value(value) && is_unlike_word(bare),
            Proof::MixedClasses => self.is_value(value) && is_mixed(bare),
            Proof::HighEntropy => self.is_value(value) && is_random(value),
            Proof::CallArgument => {
                self.is_value(value) && (is_unlike_word(bare) || value.contains(' '))
            }
            Proof::LuhnChecksum => passes_luhn(value),
            Proof::AccountChecksum => passes_modulo_97(value),
            Proof::AfterIs => {
                let ends = after.is_empty()
                    || bare.len() < value.len()
                    || after.starts_with(['\n', '.', ',', ';', '!', '"', '\'', '`', '\\', '<'])
                    || [" for ", " on ", " please"]
                        .iter()
                        .any(|w| after.starts_with(w));
                self.is_value(bare)
                    && (has_digit(bare) && bare.len() >= 4 && !is_numeral(bare)
                        || has_sign(bare) && bare.len() >= 6
                        || ends && bare.len() >= 6 && self.is_not_prose_word(bare))
            }
            Proof::EndOfLine => {
                let ends = after.is_empty()
                    || bare.len() < value.len()
                    || after.starts_with(['\n', '"', '\'', '`', '\\', '<']);
                let stem = bare.split(|c: char| c.is_ascii_digit()).next();
                let stem = stem.unwrap_or_default().to_lowercase();
                let cased = bare.chars().any(char::is_lowercase)
                    && bare.chars().skip(1).any(char::is_uppercase);
                ends && bare.len() >= 8
                    && self.is_unusual_value(bare, value)
                    && !self.prose_words.contains(stem.trim_end_matches(['-', '_']))
                    && (stem.len() >= 3 || cased)
            }
            Proof::DigitAndEntropy => {
                has_digit(value) && (has_random_class_changes(value) || is_random(value))
            }
            Proof::NotYear => {
                // Years are as frequent as codes.
                !matches!(value.len(), 4 if value.starts_with("19") || value.starts_with("20"))
            }
            Proof::AfterSeparator => self.is_unusual_value(bare, value),
            Proof::InSentence => {
                let letters = bare.chars().any(char::is_alphabetic);
                let long = is_random(bare) && (has_digit(bare) || bare.len() >= 24)
                    || has_digit(bare) && is_scrambled(bare);
                let odd = bare.len() >= 8 && has_digit(bare) && has_inner_sign(bare) && letters;
                let is_candidate = self.is_value(value) && self.is_value(bare);
                is_candidate
                    && (long || odd || is_joined_words(bare))
                    && !is_path(bare)
                    && !is_fingerprint(bare)
            }
        }
    }

    /// Whether a value has letters and a digit, a sign or joined words, and is not an amount.
    fn is_unusual_value(&self, bare: &str, value: &str) -> bool {
        let counts = bare.starts_with(|c: char| c.is_ascii_digit())
            && !bare.chars().any(|c| c.is_ascii_alphabetic());
        let letters = bare.chars().any(char::is_alphabetic);
        let odd = letters && (has_digit(bare) || has_inner_sign(bare));
        let written = bare.chars().count() >= 6 && !counts && !is_numeral(bare);
        written && self.is_value(value) && !is_path(bare) && (odd || is_joined_words(bare))
    }

    fn is_not_prose_word(&self, word: &str) -> bool {
        let plain = word.chars().all(char::is_alphabetic);
        // `Elderflower-Nine`: no word of prose has a capital after a hyphen and goes on.
        let mut parts = word.split('-');
        let named = |part: &str| {
            part.starts_with(char::is_uppercase) && part.chars().all(char::is_alphabetic)
        };
        let joined = word.len() >= 10 && word.contains('-') && parts.all(named);
        (plain || joined) && !self.prose_words.contains(&word.to_lowercase())
    }

    /// Whether a text is neither empty, nor a placeholder, nor a look-up, nor code, nor redacted.
    pub(crate) fn is_value(&self, value: &str) -> bool {
        let lower = value.to_lowercase();
        let bare = lower.trim_end_matches(|c: char| c.is_ascii_digit());
        let bare = bare.trim_end_matches(['.', ',', ';', ':', '!', '?', '_', '-']);
        let known = self.words.contains(&lower) || self.words.contains(bare);
        let masked = value.chars().all(|c| {
            matches!(
                c,
                '*' | 'x' | 'X' | '.' | '-' | '_' | '?' | '\u{2022}' | '\u{2026}'
            )
        });
        let masked = masked || value.contains("****");
        let metavariable =
            value.len() > 1 && value.chars().all(|c| c.is_ascii_uppercase() || c == '_');
        let yours = [
            "your", "<", "{{", "${", "$(", "%(", "#{", "@{", "my_", "my-",
        ];
        let looked_up = &self.lookup_prefixes;
        let looked_up = looked_up.iter().any(|start| lower.starts_with(start));
        let nothing = !value.chars().any(char::is_alphanumeric);
        !(known
            || masked
            || nothing
            || value.starts_with("[redacted:")
            || value.contains("](")
            || value.starts_with("--")
            || metavariable
            || looked_up
            || yours.iter().any(|start| lower.starts_with(start))
            || is_variable(value)
            || is_colour(value)
            || value.starts_with("(?")
            || value.starts_with("[0")
            || is_code_expression(value)
            || is_path(value) && !value.split('/').any(is_unusual_path_part))
    }
}

/// Whether a part of a path is not the name of an ordinary file.
fn is_unusual_path_part(part: &str) -> bool {
    has_digit(part) && !(part.starts_with("id_") || part.contains('.'))
}

/// Whether a value is a variable: `$NAME`, `%NAME%`, `{name}`, `%s`, `:name` or `?`.
fn is_variable(value: &str) -> bool {
    let name = |text: &str| {
        let mut chars = text.chars();
        chars
            .next()
            .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
            && chars.all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.')
    };
    let between = |open: char, close: char| {
        let inner = value.strip_prefix(open).and_then(|v| v.strip_suffix(close));
        inner.is_some_and(|inner| inner.is_empty() || name(inner))
    };
    // `$1` too, and `$2b$10$...` (a hash) not.
    let shell = value.strip_prefix('$').is_some_and(|rest| {
        name(rest) && !rest.chars().any(|c| c.is_ascii_digit()) || rest.len() == 1
    });
    // `$self->{token}`, `$Auth::key`, `@{$keys}`, `{self.token}\n`.
    let looked_up = value.starts_with(['$', '@', '%'])
        && ["->", "::", "{", "[", "("]
            .iter()
            .any(|sign| value.contains(sign));
    let filled = value
        .strip_prefix('{')
        .and_then(|rest| rest.split_once('}'));
    shell
        || looked_up
        || filled.is_some_and(|(inner, _)| name(inner))
        || between('{', '}')
        || between('%', '%')
        || between('[', ']')
        || between('(', ')')
        || matches!(value, "%s" | "%d" | "%v" | "%q" | "{}" | "()" | "[]")
}

/// Whether a value is a colour such as `#abb2bf`.
fn is_colour(value: &str) -> bool {
    let digits = value.strip_prefix('#').unwrap_or_default();
    [3, 6, 8].contains(&digits.len()) && digits.chars().all(|c| c.is_ascii_hexdigit())
}

/// Whether a value is a call, a path of names, or a type with parameters.
fn is_code_expression(value: &str) -> bool {
    let start = value.trim_start_matches(['&', '*', '!', '(', '[', '{', '$', '?']);
    let end = start
        .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ':' | '?')))
        .unwrap_or(start.len());
    let (name, rest) = start.split_at(end);
    let named = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let dotted = name.contains('.') && rest.is_empty() && !has_digit(name) && {
        let mut parts = name.split('.');
        parts.all(|part| {
            !part.is_empty() && part.chars().all(|c| c.is_ascii_alphabetic() || c == '_')
        })
    };
    // `u32`, `&[u8]`, `[u8; 32]`.
    let number = name.strip_prefix(['u', 'i', 'f']).unwrap_or_default();
    let typed = matches!(number, "8" | "16" | "32" | "64" | "128" | "size");
    typed && (rest.is_empty() || rest.starts_with([']', ';', ')', ',']))
        || named
            && (name.contains("::")
                || value.starts_with(['&', '*'])
                    && (rest.is_empty() || rest.starts_with([')', '<', '>', ',']))
                    && !has_digit(name)
                || ["(&", "([", "<[", "<(", "<&"]
                    .iter()
                    .any(|open| rest.starts_with(open))
                || name.contains('.') && rest.starts_with('(')
                || ["!(", "![", "!{"].iter().any(|call| rest.starts_with(call))
                || rest.starts_with('(') && is_call_argument(&rest[1..])
                || rest.starts_with("()")
                || rest.starts_with('(')
                    && (rest.len() == 1 || rest.ends_with([')', '(', ',', ';']))
                || rest.starts_with('<') && rest.contains('>')
                || rest.starts_with('[') && rest.ends_with([']', ',', ';'])
                || dotted)
}

/// Whether a text is a named argument of a call such as `min_length=15`.
fn is_call_argument(text: &str) -> bool {
    let name = text.split('=').next().unwrap_or_default();
    let written = |c: char| c.is_ascii_lowercase() || c == '_';
    name.len() < text.len() && name.len() > 2 && name.chars().all(written)
}

/// Whether a value is the fingerprint of a public key, as `gpg` prints it.
fn is_fingerprint(value: &str) -> bool {
    let digit = |byte: u8| byte.is_ascii_digit() || (b'A'..=b'F').contains(&byte);
    matches!(value.len(), 16 | 40) && value.bytes().all(digit)
}

/// Whether the last digit of a number is the check digit of the others.
fn passes_luhn(number: &str) -> bool {
    let digits = number.bytes().rev().filter(u8::is_ascii_digit);
    let digits = digits.map(|byte| u32::from(byte - b'0')).enumerate();
    let parts = digits.map(|(place, digit)| match place % 2 {
        0 => digit,
        _ => digit * 2 / 10 + digit * 2 % 10,
    });
    parts.sum::<u32>() % 10 == 0
}

/// Whether the check digits of an account number fit the rest of it.
fn passes_modulo_97(account: &str) -> bool {
    let letters: Vec<u8> = account.bytes().filter(u8::is_ascii_alphanumeric).collect();
    let Some((head, rest)) = letters.split_at_checked(4) else {
        return false;
    };
    let number = rest.iter().chain(head).fold(0_u32, |number, byte| {
        let value = u32::from(*byte);
        match byte {
            b'0'..=b'9' => (number * 10 + value - u32::from(b'0')) % 97,
            _ => (number * 100 + value - u32::from(b'A') + 10) % 97,
        }
    });
    number == 1
}

/// Whether a value is a path such as `/run/secrets/db`, `./x`, `~/x` or `C:\x`.
fn is_path(value: &str) -> bool {
    let starts = ["/", "./", "../", "~/", "C:\\"];
    let separators = value.matches(['/', '\\']).count();
    let is_relative = value.starts_with(['.', '~']);
    starts.iter().any(|start| value.starts_with(start)) && (separators > 1 || is_relative)
}

pub(crate) fn has_digit(value: &str) -> bool {
    value.bytes().any(|b| b.is_ascii_digit())
}

/// Whether a value has a sign that neither words nor names have.
pub(crate) fn has_sign(value: &str) -> bool {
    value.contains([
        '!', '#', '$', '%', '^', '*', '+', '=', '@', '~', '?', '&', '|',
    ])
}

fn has_inner_sign(value: &str) -> bool {
    let mut inner = value.chars();
    inner.next();
    inner.next_back();
    inner
        .as_str()
        .contains(['!', '#', '$', '%', '^', '*', '+', '@', '~', '?'])
}

/// Whether a value has a digit, a sign or a mixture of letters that a word of prose does not have.
pub(crate) fn is_unlike_word(value: &str) -> bool {
    has_digit(value) || has_sign(value) || is_scrambled(value) || is_joined_words(value)
}

/// Whether a value consists of words that a person joined to a password, such as `Kombu-Knot`,
/// `velvet_Hatch7` or `Dulse!Tiller`.
pub(crate) fn is_joined_words(value: &str) -> bool {
    let bare = value.trim_end_matches(|c: char| c.is_ascii_digit());
    let mut parts = bare.split(['-', '_', '!', '#', '$', '%', '*', '+', '~', '&']);
    let is_word = |part: &str| {
        let rest = part.strip_prefix(|c: char| c.is_alphabetic());
        rest.is_some_and(|rest| rest.len() >= 2 && rest.chars().all(char::is_lowercase))
    };
    value.len() >= 9
        && parts.next().is_some_and(is_word)
        && parts.clone().count() > 0
        && parts.clone().all(is_word)
        && parts.any(|part| part.starts_with(char::is_uppercase))
}

/// Whether a value is long and its letters of both cases and digits alternate as often as in a
/// random value, as in the token of any provider.
pub(crate) fn has_random_class_changes(value: &str) -> bool {
    let class = |byte: &u8| match byte {
        b'0'..=b'9' => '0',
        b'a'..=b'z' => 'a',
        b'A'..=b'Z' => 'A',
        _ => '-',
    };
    let classes: Vec<char> = value.bytes().map(|byte| class(&byte)).collect();
    let count = |class| classes.iter().filter(|one| **one == class).count();
    let turns = classes.windows(2).filter(|pair| pair[0] != pair[1]).count();
    value.len() >= 20
        && count('0') >= 2
        && count('a') >= 3
        && count('A') >= 3
        && turns * 5 >= value.len() * 2
        && shannon_entropy(value) >= ENTROPY_MIN
}

/// Whether a value is a number, an amount or a date: `3`, `12.5`, `256ms`, `90%` or `2026-02-13`.
fn is_numeral(value: &str) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let others = value.len() - digits;
    value.starts_with(|c: char| c.is_ascii_digit())
        && (others <= 2 && digits < 4
            || value
                .chars()
                .all(|c| c.is_ascii_digit() || matches!(c, '.' | '-' | ':' | '/' | '%'))
                && others > 0)
}

/// Whether a value has letters and digits, letters of both cases in an order that no name has, or a
/// sign.
pub(crate) fn is_mixed(value: &str) -> bool {
    let letters = value.chars().any(|c| c.is_ascii_alphabetic());
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    letters && digits > 0 && value.len() >= 6
        || digits >= 12
        || has_sign(value) && value.len() >= 6
        || is_scrambled(value)
}

/// Whether a value has letters of both cases in an order that no name has.
fn is_scrambled(value: &str) -> bool {
    value.len() >= 12 && has_odd_case_changes(value)
}

/// Whether a value has changes of letter case that names do not have.
fn has_odd_case_changes(value: &str) -> bool {
    let turns = value.as_bytes().windows(2).filter(|pair| {
        let [a, b] = pair else { return false };
        a.is_ascii_alphabetic() && b.is_ascii_uppercase()
    });
    let lower = value.bytes().any(|b| b.is_ascii_lowercase());
    lower && value.bytes().all(|b| b.is_ascii_alphanumeric()) && turns.count() * 5 >= value.len()
}

/// Whether a value is long, in an alphabet of random values, and unlike words, ids or versions.
pub(crate) fn is_random(value: &str) -> bool {
    let written = |c: char| {
        c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=' | '_' | '-' | '.' | '~' | '%')
    };
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let letters = value.bytes().filter(u8::is_ascii_alphabetic).count();
    let worded = value.split(['-', '_', '.', '/']).all(|part| {
        let letters = part.chars().all(|c| c.is_ascii_alphabetic());
        letters && !is_scrambled(part) || part.chars().all(|c| c.is_ascii_digit())
    });
    value.len() >= 16
        && value.chars().all(written)
        && (digits >= 2 && letters >= 2 || has_odd_case_changes(value))
        && !worded
        && !is_id(value)
        && shannon_entropy(value) >= ENTROPY_MIN
}

/// Whether a value is a UUID or a ULID.
fn is_id(value: &str) -> bool {
    let groups: Vec<usize> = value.split('-').map(str::len).collect();
    let hex = value.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
    let ulid = value.len() == 26
        && value.starts_with('0')
        && value
            .chars()
            .all(|c| c.is_ascii_digit() || c.is_ascii_uppercase());
    hex && groups == [8, 4, 4, 4, 12] || ulid
}

/// Returns the Shannon entropy per byte, in bits.
fn shannon_entropy(value: &str) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in value.bytes() {
        if let Some(count) = counts.get_mut(usize::from(byte)) {
            *count += 1;
        }
    }
    let total = value.len() as f64;
    let shares = counts.iter().filter(|count| **count > 0);
    shares
        .map(|count| f64::from(*count) / total)
        .map(|share| -share * share.log2())
        .sum()
}
