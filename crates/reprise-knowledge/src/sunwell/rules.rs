//! Tells whether a person's sentence sets a rule for all work to come: "we always use pnpm here".
//! The words and forms of each language are in a file of their own.

mod english;
mod german;
mod norms;
mod spelling;

pub(super) use spelling::mend_spelling;

use crate::requests::{asks_for_work, ends_for_all, is_question, split_sentences};
use crate::values::is_in_words;

/// Length of a rule, in characters, and the fewest words of one.
const RULE: std::ops::RangeInclusive<usize> = 12..=400;
const WORDS_MIN: usize = 3;

/// A sentence as it is read in each language.
struct Sentence<'a> {
    written: &'a str,
    /// In lower case.
    lower: &'a str,
    words: Vec<&'a str>,
    /// In lower case and without umlauts.
    folded: &'a str,
    folded_words: Vec<&'a str>,
}

/// Returns whether a text has a sentence that sets a rule.
pub fn states_rule(text: &str) -> bool {
    split_sentences(text).any(is_rule)
}

/// How somebody proposes a rule as a question.
const PROPOSALS: [&str; 7] = [
    "can we agree that ",
    "can we agree to ",
    "could we agree that ",
    "let's agree that ",
    "let's agree to ",
    "koennen wir uns darauf einigen, dass ",
    "einigen wir uns darauf, dass ",
];
/// How a sentence ends that is to be remembered.
const REMEMBERED: [&str; 8] = [
    "keep that in mind",
    "keep this in mind",
    "remember that",
    "remember this",
    "don't forget that",
    "merk dir das",
    "merke dir das",
    "denk daran",
];
/// Verbs of what goes wrong by itself. A rule may order to fail, and nothing "fails" by a rule.
const GOES_WRONG: &str = "\
    fails failed failing hangs crashes crashed panics broken kaputt scheitert stuerzt fehl haengt";

/// Whether a person's sentence sets a rule for all work to come.
pub(crate) fn is_rule(sentence: &str) -> bool {
    let lower = sentence.to_lowercase().replace('\u{2019}', "'");
    let lower = mend_spelling(&lower);
    let folded = fold_umlauts(&lower);
    let proposed = PROPOSALS.iter().find_map(|one| folded.strip_prefix(one));
    if let Some(proposed) = proposed {
        return is_rule(proposed.trim_end_matches('?'));
    }
    let read = Sentence {
        written: sentence.trim_end_matches(|c: char| !c.is_alphanumeric()),
        lower: &lower,
        words: split_words(&lower).collect(),
        folded: &folded,
        folded_words: split_words(&folded).collect(),
    };
    let is_plain = RULE.contains(&sentence.chars().count()) && read.words.len() >= WORDS_MIN;
    if !is_plain || sentence.contains("```") || is_quoted(sentence) {
        return false;
    }
    let end = folded.trim_end_matches(|c: char| !c.is_alphanumeric());
    if ends_for_all(&lower) || REMEMBERED.iter().any(|one| end.ends_with(one)) {
        return true;
    }
    if is_question(sentence) || norms::is_disputed(&folded) {
        return false;
    }
    let goes_wrong = read
        .folded_words
        .iter()
        .any(|word| is_in_words(GOES_WRONG, word));
    let is_certain = !goes_wrong && (english::is_certain(&read) || german::is_certain(&read));
    let is_known = || english::is_rule(&read) || german::is_rule(&read) || norms::is_norm(&folded);
    is_certain || !asks_for_work(sentence) && is_known()
}

/// Whether a sentence is part of a text that is quoted: it has one quotation mark of a pair, or is
/// between two.
fn is_quoted(sentence: &str) -> bool {
    let outside: String = sentence.split('`').step_by(2).collect();
    let marks = outside
        .matches(['"', '\u{201c}', '\u{201d}', '\u{201e}'])
        .count();
    let bare = sentence.trim();
    let ends = [".'", "!'", ".\"", "!\"", ".\u{201d}", ".\u{201c}"];
    let is_at_edge = ends.iter().any(|end| bare.ends_with(end)) || bare.starts_with('\'');
    marks % 2 == 1 || is_at_edge
}

/// Splits a text into its words, which may have a hyphen or an apostrophe.
pub(super) fn split_words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '-');
    words
        .map(|word| word.trim_matches(['\'', '-']))
        .filter(|word| !word.is_empty())
}

/// Returns a text in lower case without umlauts: `ue` for `\u{fc}`.
#[must_use]
pub fn fold_umlauts(lower: &str) -> String {
    let mut folded = String::with_capacity(lower.len());
    for letter in lower.chars() {
        match letter {
            '\u{e4}' => folded.push_str("ae"),
            '\u{f6}' => folded.push_str("oe"),
            '\u{fc}' => folded.push_str("ue"),
            '\u{df}' => folded.push_str("ss"),
            other => folded.push(other),
        }
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &[&str] = &[
        "we always use pnpm in this repo",
        "We always use pnpm, never npm.",
        "use pnpm, never npm",
        "we use the bank's clock for interest, never the machine's",
        "Always use tabs in Makefiles",
        "Never commit to main.",
        "We never merge on Fridays",
        "In this repo we squash every merge",
        "From now on tests go next to the code",
        "our convention is snake case for files",
        "in this repo, use pnpm",
        "Wir benutzen immer pnpm",
        "in diesem Repo schreiben wir Tests zuerst",
        "Hier verwenden wir nie Tabs",
        "Bitte schreibe Commit-Messages immer auf Deutsch.",
        "Bitte nie am Freitag ausrollen.",
        "prices must always be stored as integers in cents",
        "The lock file must never be edited by hand.",
        "Tests must never use the network.",
        "Don't use any default exports in this project.",
        "Do not commit generated files in this repo.",
        "Use conventional commits in this project.",
        "use tabs, not spaces",
        "Use pnpm instead of npm.",
        "We use tabs, not spaces.",
        "I prefer small pull requests",
        "I prefer to keep functions short.",
        "Ich bevorzuge kleine Commits.",
        "please never use tabs",
        "remember: our staging URL is https://staging.example.org",
        "No deploys on Fridays.",
        "Never mutate props directly.",
        "Each endpoint should have an OpenAPI description.",
        "No console.log in committed code.",
        "Logs must never contain tokens.",
        "Please keep all SQL in the repositories folder.",
        "We name feature branches after the ticket.",
        "Under no circumstances should you rewrite published migrations.",
        "Everything user-facing goes through the i18n helper.",
        "Only merge after two approvals.",
        "New endpoints always need an integration test.",
        "Neue Endpunkte bekommen immer einen Integrationstest.",
        "Don't ever push directly to main.",
        "Every public function needs a docstring.",
        "I want you to always answer in German.",
        "You must not touch the generated folder.",
        "Do not use lodash here.",
        "we don't deploy on fridays",
        "Deploys happen on Tuesdays only.",
        "We indent with tabs, never spaces.",
        "Avoid default exports.",
        "Write tests with vitest from now on.",
        "Keine Deploys am Freitag!",
        "Commits immer auf Englisch.",
        "Wir verwenden hier Tabs, keine Leerzeichen.",
        "Jede Migration braucht ein Rollback-Skript.",
        "Du sollst nie direkt auf main pushen.",
        "Von jetzt an hei\u{df}en Branches feat/TICKET.",
        "Nie Kundendaten loggen!",
        "Bei uns wird nie am Freitag ausgerollt.",
        "Fass den Ordner generated nie an.",
        "Ich will, dass du immer auf Deutsch antwortest.",
        "Remember that our staging server is called heron.",
    ];

    const NO_RULES: &[&str] = &[
        "we never get an answer from the server",
        "we always see this test fail on Windows",
        "The login page never loads on a slow connection.",
        "we never run into this on Linux",
        "should we always use pnpm?",
        "can you always use pnpm",
        "use the handler of the refunds",
        "Add a handler for the refunds",
        "I never tested this on Windows",
        "it always uses the wrong cache",
        "never mind",
        "we use a cache, but it never answers",
        "it fails because we never save the cookie",
        "in this repo, fix the login",
        "in this repo we have a bug in the login",
        "wir sehen das immer auf Windows",
        "Bitte schreibe den Test noch einmal auf Deutsch.",
        "Schreibe nur den Test um",
        "Mach immer weiter mit dem Parser",
        "Bitte immer noch den alten Port nehmen",
        "The prices must be wrong on this page.",
        "this must never have worked on Windows",
        "The button should always be visible but is not",
        "Don't use the cache for this request.",
        "don't push this yet",
        "Don't add a test for it in this project.",
        "Use the existing handler in this project.",
        "use the old handler, not the new one",
        "use port 8081, not 8080",
        "Use mocks, not working without them",
        "use pnpm instead of npm for this build",
        "I prefer the second one",
        "I prefer option B",
        "I prefer not to change the API",
        "I prefer Redis for this",
        "we prefer to wait for the review",
        "remember the bug from yesterday",
        "Remember that flaky login test",
        "Do the tests pass in this repo",
        "No answer from the server on port 8080",
        "No answer on api.example.org",
        "We sign in with Google and it fails",
        "Always the same error on Windows",
        "never seen this before",
        "Never works on Windows",
        "We store the file in the wrong folder",
        "keep all of it in this folder",
        "all requests must have timed out",
        "Everything goes wrong on Windows",
        "Everything is red on Windows",
        "only change the header",
        "Users always get two mails",
        "Wir bekommen immer zwei Mails",
        "No tests are run on Windows",
        "no images on the landing page",
        "no, the build is on the other machine",
        "All tests have failed in the shop",
        "Every test fails on Windows",
        "The service may not start on Windows",
        "we don't see the banner on Windows",
        "Don't use mocks for this test",
        "Avoid the old handler here",
        "Releases always fail on Windows",
        "should we never deploy from now on?",
        "you should always see the banner",
        "Keine Ahnung, warum der Build scheitert",
        "Keine Antwort vom Server auf Port 8080",
        "wir bekommen nie eine Antwort vom Server",
        "Wir brauchen nur einen Port",
        "Der Handler wird nie aufgerufen",
        "Tests schlagen immer fehl",
        "Du musst nicht alle Tests starten",
        "Immer die gleichen Fehlermeldungen",
        "Alle Tests sind rot",
        "Ich will, dass du den Test reparierst",
    ];

    #[test]
    fn a_rule_is_told_from_what_happens_and_from_what_is_asked_for() {
        for rule in RULES {
            assert!(is_rule(rule), "{rule}");
        }
        for other in NO_RULES {
            assert!(!is_rule(other), "{other}");
        }
    }

    #[test]
    fn a_text_states_a_rule_in_any_of_its_sentences() {
        assert!(states_rule("Add a handler. We always use pnpm here!"));
        assert!(!states_rule("Add a handler. It never answers."));
        // What is quoted is nobody's rule, and what goes wrong from now on is none.
        for other in [
            "Review this: 'Start the server. Always set a secret before you start.'",
            "The README says \"Run make. Always set a secret.\" and no more.",
            "From now on the lobby test fails.",
            "Always this error when I start the server.",
        ] {
            assert!(!states_rule(other), "{other}");
        }
        for rule in [
            "Add a handler, and never log a token again.",
            "the server must run with 256 MB, keep that in mind",
            "please stop adding comments to every line",
            "use cargo nextest here instead of cargo test",
            "Every query goes through `db.query(sql)`; no sum of texts like `\"a \" + id`.",
        ] {
            assert!(states_rule(rule), "{rule}");
        }
    }
}
