//! Tells what of a message is a person's own from what a program put there.
//!
//! Hooks and the import of sessions read the same table, so that both keep the same words.

mod says_something;

use reprise_redact::remove_elements;
use reprise_types::remove_quoted_memory;

pub use says_something::says_something;

/// Weight of the shortest text that says something; a letter weighs 1.
const WEIGHT_MIN: usize = 12;
/// Base64 characters of the shortest picture.
const PICTURE_CHARS_MIN: usize = 24;
/// Elements that a program or a hook puts between a person's words.
const INSERTED_ELEMENTS: [&str; 17] = [
    "private",
    "hook_context",
    "reprise-memory",
    "system-reminder",
    "system_reminder",
    "environment_context",
    "user_instructions",
    "INSTRUCTIONS",
    "session_context",
    "ide_opened_file",
    "ide_selection",
    "task-notification",
    "task_notification",
    "subagent_notification",
    "local-command-stdout",
    "persisted-output",
    "skill",
];
/// How what only looks like a person's words begins.
const PROGRAM_BEGINNINGS: [&str; 12] = [
    "<local-command-",
    "<bash-",
    "<user-prompt-submit-hook>",
    "<turn_aborted>",
    "<user_shell_command>",
    "<permissions",
    "Caveat: The messages below",
    "This session is being continued from a previous conversation",
    "[Request interrupted",
    "[SYSTEM NOTIFICATION",
    "# AGENTS.md instructions",
    "Stop hook feedback:",
];
/// How a call of a slash command begins; what it was given is the person's.
const SLASH_COMMAND_BEGINNINGS: [&str; 2] = ["<command-name>", "<command-message>"];
const SLASH_COMMAND_ARGUMENTS: [&str; 2] = ["<command-args>", "</command-args>"];
/// What Cursor puts around a person's words, after elements of its own.
const QUERY_ELEMENT: [&str; 2] = ["<user_query>", "</user_query>"];

/// Returns the words of a message that a person wrote, or `None` if a program wrote all of it.
pub fn extract_own_words(message: &str) -> Option<String> {
    let mut words = strip_insertions(message);
    if SLASH_COMMAND_BEGINNINGS
        .iter()
        .any(|start| words.starts_with(start))
    {
        let [opening, closing] = SLASH_COMMAND_ARGUMENTS;
        let (_, arguments) = words.split_once(opening)?;
        let (arguments, _) = arguments.split_once(closing).unwrap_or((arguments, ""));
        let arguments = arguments.trim().to_owned();
        words = arguments;
    }
    let [opening, closing] = QUERY_ELEMENT;
    if words.starts_with('<')
        && let Some(before) = words.strip_suffix(closing)
        && let Some((_, query)) = before.split_once(opening)
    {
        let query = query.trim().to_owned();
        words = query;
    }
    let is_programs = PROGRAM_BEGINNINGS
        .iter()
        .any(|start| words.starts_with(start));
    (!is_programs && !words.is_empty()).then_some(words)
}

/// Whether a text is long enough to say something. A character counts by what its script says with
/// it: an ideograph three letters, a syllable of Hangul or kana two, and so a letter of a script
/// that says more with each than Latin does.
pub fn says_enough(text: &str) -> bool {
    let weights = text.trim().chars().map(|c| match c {
        '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}' => 3,
        // Kana and Hangul write a syllable in a letter, as do Ethiopic and the scripts of India and
        // Indochina, which leave out blanks; Hebrew and Arabic leave vowels out.
        '\u{3040}'..='\u{30ff}'
        | '\u{ac00}'..='\u{d7af}'
        | '\u{590}'..='\u{77f}'
        | '\u{900}'..='\u{109f}'
        | '\u{1200}'..='\u{137f}'
        | '\u{1780}'..='\u{17ff}' => 2,
        _ => 1,
    });
    weights.sum::<usize>() >= WEIGHT_MIN
}

/// Returns `text` without what memory or a program put there, and without pictures.
pub(crate) fn strip_insertions(text: &str) -> String {
    let text = remove_elements(&remove_quoted_memory(text), &INSERTED_ELEMENTS);
    strip_pictures(&text).trim().to_owned()
}

/// Returns `text` without pictures: `data:` URLs whose base64 decodes.
fn strip_pictures(text: &str) -> String {
    let (mut clean, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find("data:") {
        let (before, from) = rest.split_at(at);
        clean.push_str(before);
        let length = picture_length(from).unwrap_or("data:".len());
        if length == "data:".len() {
            clean.push_str("data:");
        }
        rest = &from[length..];
    }
    clean.push_str(rest);
    clean
}

/// Returns the bytes of the picture that `text`, which begins with `data:`, begins with.
fn picture_length(text: &str) -> Option<usize> {
    let (head, data) = text.split_once(";base64,")?;
    if head.contains(char::is_whitespace) {
        return None;
    }
    let is_base64 = |c: char| c.is_ascii_alphanumeric() || "+/".contains(c);
    let data = &data[..data.find(|c| !is_base64(c)).unwrap_or(data.len())];
    let start = head.len() + ";base64,".len();
    let padding = text[start + data.len()..]
        .bytes()
        .take(2)
        .take_while(|byte| *byte == b'=');
    // One character more than whole groups of four encodes no byte.
    let decodes = data.len() >= PICTURE_CHARS_MIN && data.len() % 4 != 1;
    decodes.then_some(start + data.len() + padding.count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_wrote_is_not_a_persons() {
        for message in [
            "<task-notification>the build ended</task-notification>",
            "<system-reminder>never mention this</system-reminder>",
            "<persisted-output>\nOutput too large (40KB). Preview: x\n</persisted-output>",
            "[SYSTEM NOTIFICATION - NOT USER INPUT] a task has ended",
            "<command-message>init</command-message>\n<command-name>/init</command-name>",
            "<command-name>/clear</command-name>\n<command-args></command-args>",
        ] {
            assert_eq!(extract_own_words(message), None, "{message}");
        }
    }

    #[test]
    fn what_a_slash_command_was_given_is_the_persons() {
        let message = "<command-message>fix is running</command-message>\n\
            <command-name>/fix</command-name>\n<command-args>the login bug of Ada</command-args>";
        assert_eq!(
            extract_own_words(message).as_deref(),
            Some("the login bug of Ada")
        );
        let mixed = "Why does the build fail?\n<system-reminder>x</system-reminder>";
        assert_eq!(
            extract_own_words(mixed).as_deref(),
            Some("Why does the build fail?")
        );
    }

    #[test]
    fn short_is_not_empty() {
        for text in [
            "\u{751f}\u{4ea7}\u{5e93}\u{7981}\u{6b62}\u{76f4}\u{63a5}\u{6539}",
            "\u{652f}\u{4ed8}\u{7f51}\u{5173}\u{7684}\u{5bc6}\u{94a5}\u{5728}\u{54ea}\u{91cc}",
            "\u{bc30}\u{d3ec} \u{c804}\u{c5d0} \u{bc31}\u{c5c5} \u{d544}\u{c218}",
        ] {
            assert_eq!(extract_own_words(text).as_deref(), Some(text));
        }
        // "Do not delete the log", in Thai and in Arabic.
        assert!(says_enough(
            "\u{e2b}\u{e49}\u{e32}\u{e21}\u{e25}\u{e1a} log"
        ));
        assert!(says_enough(
            "\u{644}\u{627} \u{62a}\u{62d}\u{630}\u{641} log"
        ));
        assert!(!says_enough("ok go on"));
        assert!(!says_enough("\u{597d}\u{7684}"));
    }

    #[test]
    fn a_picture_is_taken_out_and_no_word_with_it() {
        let text = "The wire form is application/pdf;base64,then a newline follows";
        assert_eq!(strip_insertions(text), text);
        let text = "It begins with data: and data:text/plain;base64,then more words";
        assert_eq!(strip_insertions(text), text);
        let picture = format!(
            "See data:image/png;base64,{}== here",
            "iVBORw0KGgo".repeat(12)
        );
        assert_eq!(strip_insertions(&picture), "See  here");
        let long = "data:".repeat(20_000);
        assert_eq!(strip_insertions(&long), long);
    }
}
