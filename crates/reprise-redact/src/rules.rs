//! The rules: parsed from TOML, validated, and compiled into one Aho-Corasick search for their
//! words.

use std::collections::{BTreeMap, BTreeSet};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use regex::Regex;
use serde::Deserialize;

use crate::proof::{Placeholders, Proof};

/// Bytes from its beginning in which a rule finds its secret; a longer secret is then followed to
/// its end. So a rule costs no more than this for each position at which it may begin.
pub(crate) const REACH_BYTES: usize = 1024;

#[derive(Debug, thiserror::Error)]
pub enum RulesError {
    #[error("the rules of redaction cannot be read: {0}; correct that line")]
    Toml(#[from] toml_edit::de::Error),
    #[error("the rule `{kind}` of redaction has an expression that does not compile: {why}")]
    Expression { kind: String, why: String },
    #[error("the rule `{kind}` of redaction has no {what}; add it")]
    Incomplete { kind: String, what: &'static str },
    #[error("the words of the rules of redaction cannot be compiled: {0}")]
    Words(#[from] aho_corasick::BuildError),
}

#[derive(Debug)]
pub struct RedactionRules {
    pub(crate) word_search: AhoCorasick,
    /// By index of a search word: what may begin with it.
    pub(crate) word_roles: Vec<Vec<WordRole>>,
    pub(crate) tokens: Vec<TokenMatcher>,
    pub(crate) phrases: Vec<PhraseMatcher>,
    pub(crate) shapes: Vec<ShapeMatcher>,
    /// Shapes that are looked for only if their kind is switched on.
    optional_shapes: Vec<ShapeMatcher>,
    pub(crate) names: SecretNames,
    pub(crate) placeholders: Placeholders,
}

/// What may begin with a search word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WordRole {
    TokenMatcher(usize),
    PhraseMatcher(usize),
    Name,
}

/// A secret with a known prefix.
#[derive(Debug)]
pub(crate) struct TokenMatcher {
    pub(crate) kind: String,
    pub(crate) start: String,
    pub(crate) rest: Regex,
    pub(crate) before: Option<Regex>,
    pub(crate) inside_words: bool,
    /// Bytes in which `rest` is searched for.
    pub(crate) reach: usize,
    pub(crate) proof: Proof,
}

/// A secret recognised by the words around it.
#[derive(Debug)]
pub(crate) struct PhraseMatcher {
    pub(crate) kind: String,
    pub(crate) like: Regex,
    pub(crate) inside_words: bool,
    pub(crate) proof: Proof,
}

/// The names whose values are secrets, normalised to lower-case letters and digits.
#[derive(Debug, Default)]
pub(crate) struct SecretNames {
    /// The endings of names, longest first.
    pub(crate) endings: Vec<NameEnding>,
    pub(crate) suffixes: BTreeSet<String>,
}

#[derive(Debug)]
pub(crate) struct NameEnding {
    pub(crate) name: String,
    pub(crate) glued: bool,
    pub(crate) needs: ValueRequirement,
}

/// What the value of a name must have to count as a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ValueRequirement {
    Any,
    /// Any value; a plain word only if the position is certain.
    Value,
    /// A mixture that words do not have.
    Mixed,
    Random,
    /// Never a secret.
    Never,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RulesDocument {
    token: Vec<TokenRule>,
    shape: Vec<ShapeRule>,
    phrase: Vec<PhraseRule>,
    name: Vec<NameRule>,
    suffixes: NameSuffixes,
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
    #[serde(default)]
    optional: bool,
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
    needs: ValueRequirement,
    source: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NameSuffixes {
    words: BTreeSet<String>,
    /// The last words of names, which are the search words; a name is read backwards from them.
    #[serde(default)]
    searched: Vec<String>,
}

impl RedactionRules {
    /// Parses and compiles rules.
    pub fn from_toml(page: &str) -> Result<Self, RulesError> {
        let page: RulesDocument = toml_edit::de::from_str(page)?;
        let mut words: BTreeMap<String, Vec<WordRole>> = BTreeMap::new();
        let mut add = |word: &str, role| {
            let roles = words.entry(word.to_ascii_lowercase()).or_default();
            if !roles.contains(&role) {
                roles.push(role);
            }
        };
        let mut tokens = Vec::new();
        for rule in page.token {
            require_source(&rule.kind, &rule.source)?;
            let rest = compile_anchored(&rule.kind, &rule.then)?;
            let before = rule.before.as_deref();
            let before =
                before.map(|before| compile_regex(&rule.kind, &format!(r"(?:{before})\z")));
            let before = before.transpose()?;
            for start in rule.starts {
                add(&start, WordRole::TokenMatcher(tokens.len()));
                tokens.push(TokenMatcher {
                    kind: rule.kind.clone(),
                    start,
                    rest: rest.clone(),
                    before: before.clone(),
                    inside_words: rule.within,
                    reach: rule.reach.unwrap_or(REACH_BYTES),
                    proof: rule.proof,
                });
            }
        }
        let mut phrases = Vec::new();
        for rule in page.phrase {
            require_source(&rule.kind, &rule.source)?;
            for word in &rule.words {
                add(word, WordRole::PhraseMatcher(phrases.len()));
            }
            let like = compile_anchored(&rule.kind, &rule.like)?;
            if !like.capture_names().any(|name| name == Some("secret")) {
                return Err(missing_part(&rule.kind, "group `secret`"));
            }
            phrases.push(PhraseMatcher {
                kind: rule.kind,
                like,
                inside_words: rule.within,
                proof: rule.proof,
            });
        }
        let (optional_shapes, shapes) = compile_shapes(page.shape)?;
        let mut endings = Vec::new();
        for rule in page.name {
            require_source("name", &rule.source)?;
            endings.extend(rule.ends.into_iter().map(|name| NameEnding {
                name,
                glued: rule.glued,
                needs: rule.needs,
            }));
        }
        endings.sort_by_key(|ending| std::cmp::Reverse(ending.name.len()));
        for word in &page.suffixes.searched {
            add(word, WordRole::Name);
        }
        Ok(Self {
            word_search: build_word_search(words.keys())?,
            word_roles: words.into_values().collect(),
            tokens,
            phrases,
            shapes,
            optional_shapes,
            names: SecretNames {
                endings,
                suffixes: page.suffixes.words,
            },
            placeholders: page.placeholders,
        })
    }
}

/// The kind, the form and the proof of a value that is a secret by its form alone.
type ShapeMatcher = (String, Regex, Proof);

/// Compiles the optional shapes, and those that are always looked for.
fn compile_shapes(
    rules: Vec<ShapeRule>,
) -> Result<(Vec<ShapeMatcher>, Vec<ShapeMatcher>), RulesError> {
    let (mut optional, mut always) = (Vec::new(), Vec::new());
    for rule in rules {
        require_source(&rule.kind, &rule.source)?;
        let like = compile_regex(&rule.kind, &rule.like)?;
        let shapes = if rule.optional {
            &mut optional
        } else {
            &mut always
        };
        shapes.push((rule.kind, like, rule.proof));
    }
    Ok((optional, always))
}

impl RedactionRules {
    /// Looks for these optional kinds, too.
    pub(crate) fn switch_on(&mut self, kinds: &[String]) {
        let all = std::mem::take(&mut self.optional_shapes).into_iter();
        self.shapes
            .extend(all.filter(|(kind, ..)| kinds.contains(kind)));
    }
}

fn build_word_search<'a>(
    words: impl Iterator<Item = &'a String>,
) -> Result<AhoCorasick, RulesError> {
    let finder = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::Standard)
        .kind(Some(AhoCorasickKind::DFA))
        .build(words)?;
    Ok(finder)
}

fn require_source(kind: &str, source: &str) -> Result<(), RulesError> {
    if source.is_empty() {
        return Err(missing_part(kind, "source"));
    }
    Ok(())
}

fn missing_part(kind: &str, what: &'static str) -> RulesError {
    RulesError::Incomplete {
        kind: kind.to_owned(),
        what,
    }
}

fn compile_anchored(kind: &str, expression: &str) -> Result<Regex, RulesError> {
    compile_regex(kind, &format!(r"\A(?:{expression})"))
}

fn compile_regex(kind: &str, expression: &str) -> Result<Regex, RulesError> {
    Regex::new(expression).map_err(|error| RulesError::Expression {
        kind: kind.to_owned(),
        why: error.to_string(),
    })
}

impl SecretNames {
    /// Finds the ending that makes `name` the name of a secret.
    pub(crate) fn find_ending(&self, name: &str) -> Option<&NameEnding> {
        let words = split_name(name);
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
            ending.glued || before.is_empty() || is_word_boundary(kept, before.len())
        });
        found.filter(|ending| ending.needs != ValueRequirement::Never)
    }

    fn is_suffix(&self, word: &str) -> bool {
        self.suffixes.contains(word) || word.chars().all(|c| c.is_ascii_digit())
    }
}

/// Whether one of `words` begins `at` bytes after the first.
fn is_word_boundary(words: &[String], at: usize) -> bool {
    let mut length = 0;
    words.iter().any(|word| {
        let here = length == at;
        length += word.len();
        here
    })
}

/// Splits a name such as `DB_PASSWORD`, `dbPassword` or `db-password` into words in lower case.
fn split_name(name: &str) -> Vec<String> {
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
        assert!(RedactionRules::from_toml(&page("")).is_ok());
        let wrong = |from: &str, to: &str| {
            let page = page("").replace(from, to);
            RedactionRules::from_toml(&page)
                .err()
                .map(|error| error.to_string())
        };
        for (from, to, expected) in [
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
            assert!(error.contains(expected), "{error}");
        }
    }
}
