//! Any local clone with a hand-written changelog: its commits are the records, the changelog's
//! entries the questions, and the commits that name an entry's issue what should come back.
//!
//! The numbers of issues are removed from both, so that nothing is found by them. Reads only: no
//! network, no change to the clone.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use regex::Regex;
use reprise_types::{ExternalId, MemoryKind, MemorySource, NewRecord, parse_timestamp};

use super::list_sorted;
use crate::dataset::{Corpus, Dataset, Format, Question};
use crate::error::{EvalError, EvalResult};
use crate::ranking_metrics::Gold;

/// Digits of a commit's hash used as external id.
const ID_DIGITS: usize = 12;
/// Most commits that name an issue; with more, it does not identify the gold of an entry.
const GOLD_MAX: usize = 3;
/// Fewest words of an entry; a shorter one ("Fix typo") is no question.
const WORDS_MIN: usize = 3;
/// File names of changelogs, without extension, in any letter case.
const CHANGELOGS: [&str; 4] = ["changelog", "changes", "history", "news"];
/// Separators of fields and commits: bytes that no message contains.
const FIELD: char = '\u{1f}';
const COMMIT: char = '\u{1e}';

/// Reads a clone; without `changelog` the one in its root is used.
pub fn read_git(repository: &Path, changelog: Option<&Path>) -> EvalResult<Dataset> {
    let changelog = match changelog {
        Some(path) => path.to_owned(),
        None => find_changelog(repository)?,
    };
    let log = read_commit_log(repository)?;
    let entries = fs_err::read(&changelog)?;
    let name = repository.canonicalize().ok();
    let name = name
        .as_deref()
        .and_then(Path::file_name)
        .unwrap_or_default();
    let corpus = build_corpus(
        name.to_string_lossy().into_owned(),
        &log,
        &String::from_utf8_lossy(&entries),
    );
    if corpus.questions.is_empty() {
        return Err(EvalError::Clone {
            path: changelog,
            lacking: "entry (list item) with an issue that one to three commits name too; take a \
                      repository whose changelog and commits name their issues",
        });
    }
    Ok(Dataset {
        protocol: crate::dataset::Protocol::default(),
        format: Format::Git,
        corpora: vec![corpus],
    })
}

fn find_changelog(repository: &Path) -> EvalResult<PathBuf> {
    let is_one = |path: &PathBuf| {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        path.is_file() && CHANGELOGS.contains(&stem.to_lowercase().as_str())
    };
    let found = list_sorted(repository)?.into_iter().find(is_one);
    found.ok_or_else(|| EvalError::Clone {
        path: repository.to_owned(),
        lacking: "changelog in its root; pass --changelog FILE",
    })
}

/// Every commit of the checked-out branch except merges, oldest first.
fn read_commit_log(repository: &Path) -> EvalResult<String> {
    let mut git = Command::new("git");
    // Git's environment variables would select another repository, as within a hook.
    for variable in [
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_NAMESPACE",
    ] {
        git.env_remove(variable);
    }
    let form = format!("--format={COMMIT}%H{FIELD}%an{FIELD}%aI{FIELD}%B");
    git.arg("-C")
        .arg(repository)
        .args(["-c", "log.showSignature=false", "log"]);
    git.args([
        "--no-merges",
        "--reverse",
        "--no-color",
        "--encoding=UTF-8",
        &form,
    ]);
    let failed = |why: &str| EvalError::wrong_shape(repository, "a git clone with commits", &why);
    let done = git.output();
    let done = done.map_err(|error| failed(&format!("`git` did not run ({error})")))?;
    if !done.status.success() {
        return Err(failed(String::from_utf8_lossy(&done.stderr).trim()));
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

fn build_corpus(name: String, log: &str, changelog: &str) -> Corpus {
    let mut records = Vec::new();
    let mut named: BTreeMap<u64, BTreeSet<String>> = BTreeMap::new();
    for commit in log.split(COMMIT).skip(1) {
        let mut fields = commit.splitn(4, FIELD);
        let mut field = || fields.next().unwrap_or_default();
        let (hash, author, at, message) = (field(), field(), field(), field());
        let id: String = hash.chars().take(ID_DIGITS).collect();
        let text = strip_issues(message);
        if text.is_empty() {
            continue;
        }
        for issue in find_issue_numbers(message) {
            named.entry(issue).or_default().insert(id.clone());
        }
        let mut record = NewRecord::new(text, MemorySource::WorkerResult, MemoryKind::Finding);
        record.external_ids = vec![ExternalId::new(ExternalId::BATCH, id)];
        record.timestamp = parse_timestamp(at).ok();
        let week = record.timestamp.map(|at| at.format("w%G-%V").to_string());
        record.session_id = week.unwrap_or_default();
        record.metadata.insert("author".to_owned(), author.into());
        records.push(record);
    }
    let mut questions: Vec<Question> = Vec::new();
    for entry in list_entries(changelog) {
        let issues = find_issue_numbers(&entry);
        let gold = issues.iter().filter_map(|issue| named.get(issue)).flatten();
        let gold: BTreeSet<String> = gold.cloned().collect();
        let text = strip_issues(&replace_all(&THANKS, &entry, ""));
        let asks = text.split_whitespace().count() >= WORDS_MIN;
        if !asks || gold.is_empty() || gold.len() > GOLD_MAX {
            continue;
        }
        questions.push(Question {
            id: format!("q{}", questions.len()),
            text,
            category: "commits".to_owned(),
            gold: gold.into_iter().map(Gold::from_id).collect(),
            answerable: true,
            ..Question::default()
        });
    }
    Corpus::new(name, records, questions).with_sessions_of_gold()
}

/// The list items of a Markdown document, with their continuation lines.
fn list_entries(changelog: &str) -> Vec<String> {
    let mut entries: Vec<String> = Vec::new();
    let mut open = false;
    for line in changelog.lines() {
        let text = line.trim();
        let item = ["- ", "* ", "+ "]
            .iter()
            .find_map(|mark| text.strip_prefix(mark));
        match item {
            Some(item) => {
                entries.push(item.trim().to_owned());
                open = true;
            }
            None if text.is_empty() || !line.starts_with([' ', '\t']) => open = false,
            None => {
                if let Some(entry) = entries.last_mut().filter(|_| open) {
                    entry.push(' ');
                    entry.push_str(text);
                }
            }
        }
    }
    entries
}

/// The issues and pull requests that a text names.
fn find_issue_numbers(text: &str) -> BTreeSet<u64> {
    let named = ISSUE
        .as_ref()
        .into_iter()
        .flat_map(|issue| issue.captures_iter(text));
    named
        .filter_map(|found| found.name("number")?.as_str().parse().ok())
        .collect()
}

/// A text without issue numbers, link targets and signatures, and without the brackets and words
/// left over.
fn strip_issues(text: &str) -> String {
    let mut text = text.to_owned();
    for (pattern, with) in [(&LINK, "$text"), (&ISSUE, ""), (&SIGNED, ""), (&CRUMBS, "")] {
        text = replace_all(pattern, &text, with);
    }
    let lines = text.lines().map(reprise_types::to_one_line);
    let lines: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
    lines
        .join("\n")
        .trim_matches([' ', ',', ';', '-', ':'])
        .to_owned()
}

fn replace_all(pattern: &LazyLock<Option<Regex>>, text: &str, with: &str) -> String {
    match pattern.as_ref() {
        Some(pattern) => pattern.replace_all(text, with).into_owned(),
        None => text.to_owned(),
    }
}

/// `[text](address)`; issue addresses are read before this removes them.
static LINK: LazyLock<Option<Regex>> =
    LazyLock::new(|| compile_pattern(r"\[(?P<text>[^\]\n]*)\](?:\([^)\s]*\)|\[[^\]\n]*\])"));

/// `#12`, `GH-12`, `owner/name#12`, the address of an issue or pull request, with a verb such as
/// "fixes" before it.
static ISSUE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compile_pattern(concat!(
        r"(?i)(?:\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?|refs?|see(?: also)?|issues?|pr|pull)",
        r":? +)?(?:https?://[^\s)\]]+/(?:issues|pull|merge_requests)/|\bgh-|[\w.-]+/[\w.-]+#|#)",
        r"(?P<number>\d{1,7})\b(?:#[\w-]+)?",
    ))
});

/// `(@somebody)`, `by @somebody`: credits in an entry.
static THANKS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compile_pattern(r"(?i)(?:\b(?:by|thanks to|thanks|and) +)?\B@[\w-]+(?:\[bot\])?")
});

/// Sign-off lines at the end of a message.
static SIGNED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compile_pattern(r"(?im)^(?:signed-off|co-authored|reviewed|acked|tested|reported)-by:.*$")
});

/// Empty brackets and dangling words.
static CRUMBS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compile_pattern(concat!(
        r"(?i)[(\[][\s,;:/&.-]*(?:(?:and|see|by|also)[\s,;:/&.-]*)*[)\]]",
        r"|[,;:]?\s*\b(?:see|closes|fixes|resolves|refs?|by)\b:?[\s,;.]*$",
    ))
});

/// Compiles a constant pattern; the tests of this file show that all compile.
fn compile_pattern(text: &str) -> Option<Regex> {
    Regex::new(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        for pattern in [&LINK, &ISSUE, &SIGNED, &THANKS, &CRUMBS] {
            assert!(pattern.is_some());
        }
    }

    #[test]
    fn the_numbers_of_issues_are_read_and_taken_out() {
        for (text, expected, left) in [
            ("Fix a panic (#12)", vec![12], "Fix a panic"),
            ("Add Git support, closes #1", vec![1], "Add Git support"),
            (
                "- Handle `--x`, see [#1268](https://example.org/o/r/issues/1268) ()",
                vec![1268],
                "Handle `--x`",
            ),
            (
                "Keep [the docs](https://example.org/docs) true. Closes #5, #6",
                vec![5, 6],
                "Keep the docs true.",
            ),
            (
                "See https://example.org/o/r/pull/77#issuecomment-5",
                vec![77],
                "",
            ),
            (
                "Colour #ff0000 stays, o/r#9 and GH-10 go",
                vec![9, 10],
                "Colour #ff0000 stays, and go",
            ),
            (
                "Bump @types/node\n\nSigned-off-by: A <a@b.c>",
                vec![],
                "Bump @types/node",
            ),
            (
                "Take C# and 3 (three) more",
                vec![],
                "Take C# and 3 (three) more",
            ),
        ] {
            let expected: BTreeSet<u64> = expected.into_iter().collect();
            assert_eq!(find_issue_numbers(text), expected, "{text}");
            assert_eq!(strip_issues(text), left, "{text}");
        }
        let thanked = replace_all(&THANKS, "Read a@b.c (#1) by @ann and @bo", "");
        assert_eq!(strip_issues(&thanked), "Read a@b.c");
    }

    #[test]
    fn an_entry_is_a_list_item_with_the_lines_that_go_on_with_it() {
        let changelog = "# Changelog\n\n## v2\n- One thing\n  and more of it (#1)\n* Another\n\n\
                         Prose is none.\n\n  - Nested (#2)\n[#1]: https://example.org\n";
        assert_eq!(
            list_entries(changelog),
            ["One thing and more of it (#1)", "Another", "Nested (#2)"]
        );
    }
}
