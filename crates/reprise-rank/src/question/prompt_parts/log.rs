//! Takes the log, trace or patch next to a question off a prompt.

use std::sync::LazyLock;

use regex::Regex;
use reprise_types::limits::QUERY_BYTES_MAX;

use super::{ABOUT_MIN, begins_to_ask, split_sentences, words_about};
use crate::question::compile_pattern;

/// Fewest bytes of log lines that are no part of the question.
const LOG_BYTES_MIN: usize = 160;
/// Most bytes that are looked at of each end of a prompt that is too long.
pub(super) const END_BYTES_MAX: usize = QUERY_BYTES_MAX / 2 - 1;
/// Longest line in bytes that is looked at.
const LINE_BYTES_MAX: usize = 512;
/// Share of the characters of a line that are marks from which on it is no sentence.
const MARKS: f32 = 0.25;

/// Returns a prompt without its log lines, if it has enough of them and a question as well.
pub(super) fn question_without_log(prompt: &str) -> String {
    let read = cut_to_both_ends(prompt);
    let (mut said, mut log_bytes, mut in_fence) = (Vec::new(), 0, false);
    let lines: Vec<(&str, bool)> = read.lines().map(|line| (line, is_log_line(line))).collect();
    let is_log = |at: Option<usize>| at.and_then(|at| lines.get(at)).is_some_and(|line| line.1);
    for (at, (line, is_known)) in lines.iter().enumerate() {
        let is_fence = line.trim_start().starts_with("```");
        in_fence ^= is_fence;
        // What a trace indents, or has between two of its lines, is of it.
        let follows = is_log(at.checked_sub(1)) && !line.trim().is_empty();
        let within = follows && (line.starts_with("  ") || is_log(Some(at + 1)));
        // A log that was cut begins and ends with a part of a line.
        let is_beside = is_log(at.checked_sub(1)) || is_log(Some(at + 1));
        let within = within || (is_beside && !has_two_words(line));
        if in_fence || is_fence || *is_known || within {
            log_bytes += line.len();
        } else {
            said.push(line.trim());
        }
    }
    let question = said.join("\n");
    let question = question.trim();
    if log_bytes >= LOG_BYTES_MIN && says_something_without_log(question) {
        return question.to_owned();
    }
    // A log may be on one line with its question.
    let sentences = split_sentences(&read);
    let asks = |sentence: &str| sentence.ends_with('?') && sentence.len() <= LINE_BYTES_MAX;
    let asking: Vec<&str> = sentences.iter().copied().filter(|one| asks(one)).collect();
    let rest: usize = read.len() - asking.iter().map(|one| one.len()).sum::<usize>();
    let is_log = sentences.iter().any(|one| !asks(one) && is_log_line(one));
    let asked = asking.join(" ");
    if is_log && rest >= LOG_BYTES_MIN && says_something_without_log(&asked) {
        return asked;
    }
    read
}

/// Returns a text as it is, or the beginning and the end of one that is too long to be read.
fn cut_to_both_ends(text: &str) -> String {
    if text.len() <= QUERY_BYTES_MAX {
        return text.to_owned();
    }
    let head = text
        .get(..text.floor_char_boundary(END_BYTES_MAX))
        .unwrap_or_default();
    let tail = text
        .get(text.ceil_char_boundary(text.len() - END_BYTES_MAX)..)
        .unwrap_or_default();
    // Half a line of a log is hard to know as one.
    let head = head.rsplit_once('\n').map_or(head, |(whole, _)| whole);
    let tail = tail.split_once('\n').map_or(tail, |(_, whole)| whole);
    [head, "\n", tail].concat()
}

fn is_log_line(line: &str) -> bool {
    let line = line
        .get(..line.floor_char_boundary(LINE_BYTES_MAX))
        .unwrap_or_default();
    if LOG.as_ref().is_some_and(|log| log.is_match(line)) {
        return true;
    }
    let (mut marks, mut all) = (0_usize, 0_usize);
    for c in line.chars().filter(|c| !c.is_whitespace()) {
        marks += usize::from(!c.is_alphanumeric());
        all += 1;
    }
    all >= 20 && marks as f32 > MARKS * all as f32
}

/// Whether a line has two words of letters alone.
fn has_two_words(line: &str) -> bool {
    let words = line.split(|c: char| !c.is_alphanumeric());
    let is_word = |word: &&str| !word.is_empty() && word.chars().all(char::is_alphabetic);
    words.filter(is_word).take(2).count() == 2
}

/// Whether a text next to a log says what is sought: `Where do the backups go?` does, and `how do I
/// fix this error?` is about its log.
fn says_something_without_log(text: &str) -> bool {
    let is_of_log = |word: &str| {
        let lower = word.to_lowercase();
        OF_A_LOG.split_whitespace().any(|known| known == lower)
    };
    let asks = text.ends_with(['?', '\u{ff1f}']) || begins_to_ask(text);
    let least = if asks { 1 } else { ABOUT_MIN };
    let words = words_about(text).filter(|word| !is_of_log(word));
    words.take(least).count() == least
}

/// Words with which a prompt speaks of the log next to it.
const OF_A_LOG: &str = "fix error errors exception problem problems wrong fail fails failed \
    failing failure issue bug happen happens happened happening mean means meaning explain help \
    debug solve log logs output trace stacktrace message broken break breaks cause caused causes \
    going seeing getting keeps reason right bedeutet bedeuten dieser diese dieses fehler hier \
    problem falsch passiert";

/// A line of a log, a stack trace, a patch or a terminal.
static LOG: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compile_pattern(concat!(
        r"^\s*\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|^\s*\[?\d\d:\d\d:\d\d",
        r"|\b(?:ERROR|WARN|WARNING|INFO|DEBUG|TRACE|FATAL|SEVERE)\b",
        r"|^\s*at\s+\S+[.:(/$]|^\s*File \S+, line \d+|^Traceback|^\s*Caused by:|^thread '.*' panicked",
        r"|^npm ERR!|^\s*\d+:\s+(?:0x|\w+::)|^\s*error(?:\[E\d+\])?:|^\s*-->\s|^\s*\d+ \|",
        r"|^(?:\+\+\+|---|@@)|^[\w.$]+(?:Error|Exception)\b:?|^\s*(?:\$|>>>)\s",
        r"|\berror TS\d+:|^\s*\S+[.:(]\d+[:,]\d+\)?:?\s|^panic: |^goroutine \d+ \[|^E {2,}\S",
        r"|^(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d \d\d:\d\d:\d\d ",
        r"|^\d{1,3}(?:\.\d{1,3}){3} \S+ \S+ \[|^[IWEF]\d{4} \d\d:\d\d|^\[\s*\d+\.\d+\] |^[\w.-]+\s+\| ",
    ))
});

#[cfg(test)]
mod tests {
    use super::super::split_prompt;
    use super::*;

    #[test]
    fn a_log_before_or_behind_a_question_is_none_of_it() {
        let question = "why does the checkout worker restart every hour?";
        let log_line = |n: usize| {
            let minute = n % 10;
            format!("2026-06-01 12:0{minute}:00 ERROR worker-{n} pool exhausted: 0x7f{n}a\n")
        };
        let log = (0..12).map(log_line).collect::<Vec<_>>().concat();
        let trace = "Traceback (most recent call last):\n  File \"/srv/app/worker.py\", line 31, in run\n    \
            pool.take(timeout=30)\nPoolError: exhausted after 30 s of waiting for a connection\n    \
            at /srv/app/pool.py:77 in take(self, timeout)\n";
        for prompt in [
            format!("{log}\n{question}"),
            format!("{question}\n\n{log}"),
            format!("{trace}\n{question}"),
            format!(
                "{question}\n```\n{}\n```",
                "a line of output without any mark\n".repeat(8)
            ),
        ] {
            assert_eq!(split_prompt(&prompt).question, question, "{prompt}");
        }
        // A log that was cut out of a longer one, and the lines of other tools.
        let cut = log.get(9..log.len() - 40).unwrap();
        assert_eq!(
            split_prompt(&[cut, "\n", question].concat()).question,
            question
        );
        assert_eq!(
            split_prompt(&[question, "\n", cut].concat()).question,
            question
        );
        for line in [
            "error TS2345: Argument of type string is not assignable to that parameter",
            "src/main.rs:12:5: this function takes two arguments and was given one",
            "Jun  1 12:00:00 web-1 sshd: accepted the key of the deploy user",
            "203.0.113.7 - - [01/Jun/2026:12:00:00 +0000] GET checkout 502",
            "E0601 12:00:00 the pod sandbox was changed and will be killed",
            "[  12.345] oom reaper has reaped the process of the worker",
            "web_1  | listening on all interfaces",
        ] {
            let prompt = [&format!("{line}\n").repeat(6), "\n", question].concat();
            assert_eq!(split_prompt(&prompt).question, question, "{line}");
        }
        // Above what is read, the beginning and the end are.
        for prompt in [
            format!("{}\n{question}", log.repeat(40)),
            format!("{question}\n{}", log.repeat(40)),
        ] {
            assert!(prompt.len() > QUERY_BYTES_MAX);
            assert_eq!(split_prompt(&prompt).question, question);
        }
        assert!(LOG.is_some());
        // A log alone is what is asked, and so it is where the question says no more.
        assert_eq!(split_prompt(&log).question, log);
        for (question, is_of_log) in [
            ("Where do the backups go?", false),
            ("who signs?", false),
            ("how do I fix this error?", true),
            ("what is wrong here?", true),
            ("was bedeutet dieser Fehler?", true),
            ("please help", true),
        ] {
            for prompt in [format!("{log}\n{question}"), format!("{question}\n{log}")] {
                let asked = split_prompt(&prompt).question;
                assert_eq!(asked != question, is_of_log, "{question}");
            }
        }
    }
}
