//! The shapes of secrets in text.
//!
//! Lives here: the expressions and what each match is replaced by. Must never live here: where the
//! text came from.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex, RegexSet};

/// Every shape, and all of them in one pass: most texts hold none.
#[derive(Debug)]
pub(super) struct Patterns {
    any: RegexSet,
    each: Vec<Pattern>,
}

impl Patterns {
    /// The patterns to try on a text; none where none can match.
    pub(super) fn for_text(&self, text: &str) -> &[Pattern] {
        if self.any.is_match(text) {
            &self.each
        } else {
            &[]
        }
    }
}

/// One shape of secret.
#[derive(Debug)]
pub(super) struct Pattern {
    kind: &'static str,
    regex: Regex,
    /// Whether a match is a secret only where its group `secret` looks random.
    proof: Proof,
}

/// What makes a match a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Proof {
    /// The shape alone.
    Shape,
    /// A digit within: prose that happens to have the shape has none.
    Digit,
    /// A digit, or a sign that words do not have.
    DigitOrSign,
}

impl Pattern {
    /// The text with the group `secret` of every match replaced, and how many; `None` for none.
    pub(super) fn replace(&self, text: &str) -> Option<(String, u32)> {
        let mut hits = 0;
        let replaced = self.regex.replace_all(text, |found: &Captures<'_>| {
            let whole = &found[0];
            let secret = found.name("secret").map_or(whole, |group| group.as_str());
            if secret.starts_with("[redacted:") || !self.proof.holds(secret) {
                return whole.to_owned();
            }
            hits += 1;
            let start = found.name("secret").map_or(0, |group| {
                group.start() - found.get(0).map_or(0, |all| all.start())
            });
            let end = start + secret.len();
            format!(
                "{}[redacted:{}]{}",
                &whole[..start],
                self.kind,
                &whole[end..]
            )
        });
        match replaced {
            Cow::Owned(text) if hits > 0 => Some((text, hits)),
            _ => None,
        }
    }
}

impl Proof {
    fn holds(self, secret: &str) -> bool {
        let digit = secret.bytes().any(|b| b.is_ascii_digit());
        match self {
            Self::Shape => true,
            Self::Digit => digit,
            Self::DigitOrSign => {
                digit
                    || secret.chars().any(|c| {
                        matches!(c, '!'..='&' | '*' | '+' | '=' | '@' | '^' | '_' | '~' | '/')
                    })
            }
        }
    }
}

/// In the order in which they are tried: the longer and the more certain shape first.
pub(super) static PATTERNS: LazyLock<Patterns> = LazyLock::new(|| {
    let key = r"(?:[A-Za-z0-9]+[_-])*(?:authorization|api[_-]?key|apikey|token|password|passwd|pwd|secret|credentials?|private[_-]?key|access[_-]?key|secret[_-]?key)";
    [
        (
            "private_key",
            Proof::Shape,
            r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z)".to_owned(),
        ),
        (
            "jwt",
            Proof::Shape,
            r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?".to_owned(),
        ),
        ("anthropic_key", Proof::Shape, r"sk-ant-[A-Za-z0-9_-]{16,}".to_owned()),
        (
            "openai_key",
            Proof::Digit,
            r"(?:^|[^A-Za-z0-9])(?P<secret>sk-[A-Za-z0-9_-]{16,})".to_owned(),
        ),
        ("github_token", Proof::Shape, r"github_pat_[A-Za-z0-9_]{20,}".to_owned()),
        ("github_token", Proof::Shape, r"gh[pousr]_[A-Za-z0-9]{20,}".to_owned()),
        ("gitlab_token", Proof::Shape, r"glpat-[A-Za-z0-9_-]{16,}".to_owned()),
        ("slack_token", Proof::Shape, r"xox[abeposr]-[A-Za-z0-9-]{10,}".to_owned()),
        ("slack_token", Proof::Shape, r"xapp-[A-Za-z0-9-]{10,}".to_owned()),
        (
            "slack_webhook",
            Proof::Shape,
            r"hooks\.slack\.com/services/(?P<secret>[A-Za-z0-9/]{20,})".to_owned(),
        ),
        (
            "aws_key",
            Proof::Shape,
            r"(?:AKIA|ASIA|AGPA|AIDA|AROA|AIPA|ANPA|ANVA)[A-Z0-9]{16}".to_owned(),
        ),
        ("google_key", Proof::Shape, r"AIza[A-Za-z0-9_-]{35}".to_owned()),
        ("stripe_key", Proof::Shape, r"[rs]k_(?:live|test)_[A-Za-z0-9]{16,}".to_owned()),
        (
            "authorization",
            Proof::Shape,
            r#"(?i)(?-u:\b)authorization\\*"?\s*[:=]\s*\\*"?(?:(?:bearer|basic|token|digest)\s+)?(?P<secret>[A-Za-z0-9._~+/=:-]{6,})"#.to_owned(),
        ),
        (
            "bearer",
            Proof::Digit,
            r"(?i)(?-u:\b)bearer\s+(?P<secret>[A-Za-z0-9._~+/=-]{8,})".to_owned(),
        ),
        (
            "url_password",
            Proof::Shape,
            r"[A-Za-z][A-Za-z0-9+.-]*://[^\s:/@]*:(?P<secret>[^\s/@]+)@".to_owned(),
        ),
        // "password": "...", as JSON writes it, in a text or escaped within another JSON text.
        (
            "assigned",
            Proof::Shape,
            format!(r#"(?i)["']{key}\\*["']\s*:\s*\\*["'](?P<secret>[^"'\\\s][^"'\\]*)"#),
        ),
        // password="..." and password=...
        (
            "assigned",
            Proof::Shape,
            format!(r#"(?i)(?-u:\b){key}\s*=\s*\\*["'](?P<secret>[^"'\\\s][^"'\\]*)"#),
        ),
        (
            "assigned",
            Proof::Shape,
            format!(r#"(?i)(?-u:\b){key}=(?P<secret>[^\s"'\\&;,]+)"#),
        ),
        (
            "assigned",
            Proof::DigitOrSign,
            format!(r#"(?i)(?-u:\b){key}\s+=\s+(?P<secret>[^\s"'\\&;,]{{4,}})"#),
        ),
        // password: ... as YAML and people write it; prose after a colon has no digits.
        (
            "assigned",
            Proof::DigitOrSign,
            format!(r#"(?i)(?-u:\b){key}\s*:\s*["']?(?P<secret>[^\s"'\\&;,]{{6,}})"#),
        ),
    ]
    .into()
});

/// A shape as it is written down.
type Shape = (&'static str, Proof, String);

impl<const N: usize> From<[Shape; N]> for Patterns {
    #[expect(
        clippy::expect_used,
        reason = "the expressions are constants; every redaction test compiles them all"
    )]
    fn from(shapes: [Shape; N]) -> Self {
        let texts = shapes.iter().map(|(_, _, text)| text.as_str());
        let any = RegexSet::new(texts).expect("constant expressions compile");
        let each = shapes.iter().map(|(kind, proof, text)| Pattern {
            kind,
            proof: *proof,
            regex: Regex::new(text).expect("a constant expression compiles"),
        });
        Self {
            any,
            each: each.collect(),
        }
    }
}
