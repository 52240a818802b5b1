//! The rules: parsed from TOML, validated, and compiled into one Aho-Corasick search for their
//! words.

use std::collections::{BTreeMap, BTreeSet};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use regex::Regex;
use serde::Deserialize;

use crate::proof::{Placeholders, Proof};
use crate::scan::REACH;

#[derive(Debug, thiserror::Error)]
pub enum RulesError {
    #[error("the rules of redaction cannot be read: {0}; correct that line")]
    Page(#[from] toml_edit::de::Error),
    #[error("the rule `{kind}` of redaction has an expression that does not compile: {why}")]
    Expression { kind: String, why: String },
    #[error("the rule `{kind}` of redaction has no {what}; add it")]
    Incomplete { kind: String, what: &'static str },
    #[error("the words of the rules of redaction cannot be compiled: {0}")]
    Words(#[from] aho_corasick::BuildError),
}

#[derive(Debug)]
pub struct Rules {
    pub(crate) words: AhoCorasick,
    /// By index of a search word: what it may begin.
    pub(crate) meanings: Vec<Vec<Meaning>>,
    pub(crate) tokens: Vec<Token>,
    pub(crate) phrases: Vec<Phrase>,
    pub(crate) shapes: Vec<(String, Regex, Proof)>,
    pub(crate) names: Names,
    pub(crate) placeholders: Placeholders,
}

/// What a search word may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    Token(usize),
    Phrase(usize),
    Name,
}

/// A secret with a known prefix.
#[derive(Debug)]
pub(crate) struct Token {
    pub(crate) kind: String,
    pub(crate) start: String,
    pub(crate) then: Regex,
    pub(crate) before: Option<Regex>,
    pub(crate) within: bool,
    /// Bytes in which `then` is looked for.
    pub(crate) reach: usize,
    pub(crate) proof: Proof,
}

/// A secret recognised by the words around it.
#[derive(Debug)]
pub(crate) struct Phrase {
    pub(crate) kind: String,
    pub(crate) like: Regex,
    pub(crate) within: bool,
    pub(crate) proof: Proof,
}

/// Names, normalised to lower-case letters and digits, whose values are secrets.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// Longest first.
    pub(crate) endings: Vec<Ending>,
    pub(crate) suffixes: BTreeSet<String>,
}

#[derive(Debug)]
pub(crate) struct Ending {
    pub(crate) name: String,
    pub(crate) glued: bool,
    pub(crate) needs: Needs,
}

/// What the value of a name needs to count as a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Needs {
    Any,
    /// Any value; a plain word only where the position is certain.
    Value,
    /// A mixture that words do not have.
    Mixed,
    Random,
    /// Never a secret.
    Never,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Page {
    token: Vec<TokenRule>,
    shape: Vec<ShapeRule>,
    phrase: Vec<PhraseRule>,
    name: Vec<NameRule>,
    suffixes: Suffixes,
    placeholders: Placeholders,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenRule {
    kind: String,
    starts: Vec<String>,
    then: String,
    before: Option<String>,
    #[serde(default)]
    within: bool,
    reach: Option<usize>,
    #[serde(default)]
    proof: Proof,
    source: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ShapeRule {
    kind: String,
    like: String,
    #[serde(default)]
    proof: Proof,
    source: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PhraseRule {
    kind: String,
    words: Vec<String>,
    like: String,
    #[serde(default)]
    within: bool,
    #[serde(default)]
    proof: Proof,
    source: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NameRule {
    ends: Vec<String>,
    #[serde(default)]
    glued: bool,
    needs: Needs,
    source: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Suffixes {
    words: BTreeSet<String>,
    /// The last words of names, which the search looks for; a name is read backwards from them.
    #[serde(default)]
    searched: Vec<String>,
}

impl Rules {
    /// Parses and compiles rules.
    pub fn from_toml(page: &str) -> Result<Self, RulesError> {
        let page: Page = toml_edit::de::from_str(page)?;
        let mut words: BTreeMap<String, Vec<Meaning>> = BTreeMap::new();
        let mut add = |word: &str, meaning| {
            let meanings = words.entry(word.to_ascii_lowercase()).or_default();
            if !meanings.contains(&meaning) {
                meanings.push(meaning);
            }
        };
        let mut tokens = Vec::new();
        for rule in page.token {
            sourced(&rule.kind, &rule.source)?;
            let then = anchored(&rule.kind, &rule.then)?;
            let before = rule.before.as_deref();
            let before = before.map(|before| regex(&rule.kind, &format!(r"(?:{before})\z")));
            let before = before.transpose()?;
            for start in rule.starts {
                add(&start, Meaning::Token(tokens.len()));
                tokens.push(Token {
                    kind: rule.kind.clone(),
                    start,
                    then: then.clone(),
                    before: before.clone(),
                    within: rule.within,
                    reach: rule.reach.unwrap_or(REACH),
                    proof: rule.proof,
                });
            }
        }
        let mut phrases = Vec::new();
        for rule in page.phrase {
            sourced(&rule.kind, &rule.source)?;
            for word in &rule.words {
                add(word, Meaning::Phrase(phrases.len()));
            }
            let like = anchored(&rule.kind, &rule.like)?;
            if !like.capture_names().any(|name| name == Some("secret")) {
                return Err(incomplete(&rule.kind, "group `secret`"));
            }
            phrases.push(Phrase {
                kind: rule.kind,
                like,
                within: rule.within,
                proof: rule.proof,
            });
        }
        let mut shapes = Vec::new();
        for rule in page.shape {
            sourced(&rule.kind, &rule.source)?;
            let like = regex(&rule.kind, &rule.like)?;
            shapes.push((rule.kind, like, rule.proof));
        }
        let mut endings = Vec::new();
        for rule in page.name {
            sourced("name", &rule.source)?;
            endings.extend(rule.ends.into_iter().map(|name| Ending {
                name,
                glued: rule.glued,
                needs: rule.needs,
            }));
        }
        endings.sort_by_key(|ending| std::cmp::Reverse(ending.name.len()));
        for word in &page.suffixes.searched {
            add(word, Meaning::Name);
        }
        Ok(Self {
            words: finder(words.keys())?,
            meanings: words.into_values().collect(),
            tokens,
            phrases,
            shapes,
            names: Names {
                endings,
                suffixes: page.suffixes.words,
            },
            placeholders: page.placeholders,
        })
    }
}

fn finder<'a>(words: impl Iterator<Item = &'a String>) -> Result<AhoCorasick, RulesError> {
    let finder = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::Standard)
        .kind(Some(AhoCorasickKind::DFA))
        .build(words)?;
    Ok(finder)
}

fn sourced(kind: &str, source: &str) -> Result<(), RulesError> {
    if source.is_empty() {
        return Err(incomplete(kind, "source"));
    }
    Ok(())
}

fn incomplete(kind: &str, what: &'static str) -> RulesError {
    RulesError::Incomplete {
        kind: kind.to_owned(),
        what,
    }
}

fn anchored(kind: &str, expression: &str) -> Result<Regex, RulesError> {
    regex(kind, &format!(r"\A(?:{expression})"))
}

fn regex(kind: &str, expression: &str) -> Result<Regex, RulesError> {
    Regex::new(expression).map_err(|error| RulesError::Expression {
        kind: kind.to_owned(),
        why: error.to_string(),
    })
}

impl Names {
    /// The ending that makes `name` the name of a secret.
    pub(crate) fn ending(&self, name: &str) -> Option<&Ending> {
        let words = words_of(name);
        let kept = match words.split_last() {
            Some((last, first)) if !first.is_empty() && self.is_suffix(last) => first,
            _ => &words,
        };
        let folded = kept.concat();
        let folded = folded.trim_end_matches(|c: char| c.is_ascii_digit());
        let found = self.endings.iter().find(|ending| {
            let Some(before) = folded.strip_suffix(ending.name.as_str()) else {
                return false;
            };
            ending.glued || before.is_empty() || starts_word(kept, before.len())
        });
        found.filter(|ending| ending.needs != Needs::Never)
    }

    fn is_suffix(&self, word: &str) -> bool {
        self.suffixes.contains(word) || word.chars().all(|c| c.is_ascii_digit())
    }
}

/// Whether one of `words` begins `at` bytes after the first.
fn starts_word(words: &[String], at: usize) -> bool {
    let mut length = 0;
    words.iter().any(|word| {
        let here = length == at;
        length += word.len();
        here
    })
}

/// The words of a name, in lower case: `DB_PASSWORD`, `dbPassword`, `db-password`.
fn words_of(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut last = '_';
    for c in name.chars() {
        if c.is_ascii_alphanumeric() {
            let hump = c.is_ascii_uppercase() && last.is_ascii_lowercase();
            match words.last_mut() {
                Some(word) if last.is_ascii_alphanumeric() && !hump => {
                    word.push(c.to_ascii_lowercase());
                }
                _ => words.push(c.to_ascii_lowercase().to_string()),
            }
        }
        last = c;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_cannot_work_is_refused_with_its_rule() {
        let page = |more: &str| {
            format!(
                "token = []\nshape = []\nphrase = []\nname = []\nsuffixes = {{ words = [] }}\n\
                 placeholders = {{ words = [], said = [] }}\n{more}"
            )
        };
        assert!(Rules::from_toml(&page("")).is_ok());
        let wrong = |from: &str, to: &str| {
            let page = page("").replace(from, to);
            Rules::from_toml(&page).err().map(|error| error.to_string())
        };
        for (from, to, said) in [
            ("token = []", "token = 7", "correct that line"),
            (
                "shape = []",
                "shape = [{ kind = 'odd', like = '(', source = 'x' }]",
                "the rule `odd` of redaction has an expression",
            ),
            (
                "shape = []",
                "shape = [{ kind = 'odd', like = 'a', source = '' }]",
                "the rule `odd` of redaction has no source",
            ),
            (
                "phrase = []",
                "phrase = [{ kind = 'odd', words = ['a'], like = 'a', source = 'x' }]",
                "has no group `secret`",
            ),
        ] {
            let error = wrong(from, to).expect("it is refused");
            assert!(error.contains(said), "{error}");
        }
    }
}
