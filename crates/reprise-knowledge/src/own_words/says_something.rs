//! Whether what was said in a session says something: "yes please go on with that" does not.

/// Words that ask for more of the same, agree, or are there for grammar alone.
const FILLERS: &[&str] = &[
    "a", "again", "agree", "agreed", "ahead", "all", "alright", "also", "an", "and", "any",
    "anyway", "are", "as", "at", "awesome", "be", "but", "by", "can", "carry", "come", "continue",
    "cool", "correct", "could", "course", "did", "do", "does", "doing", "done", "else", "exactly",
    "fine", "first", "for", "from", "gern", "get", "give", "glad", "go", "going", "good", "got",
    "great", "happy", "have", "help", "hello", "hey", "hi", "how", "i", "if", "in", "is", "it",
    "its", "just", "keep", "kindly", "let", "lets", "lgtm", "like", "look", "looks", "make",
    "maybe", "me", "mhm", "more", "my", "next", "nice", "no", "nope", "not", "now", "of", "ok",
    "okay", "on", "one", "or", "perfect", "perhaps", "please", "plan", "proceed", "really",
    "resume", "right", "same", "see", "should", "so", "sounds", "step", "sure", "thank", "thanks",
    "that", "the", "them", "then", "there", "these", "they", "thing", "think", "this", "those",
    "to", "too", "try", "up", "us", "very", "wait", "want", "was", "way", "we", "welcome", "well",
    "what", "will", "with", "work", "works", "would", "yeah", "yep", "yes", "you", "youre",
];
/// Other words that it takes to say something.
const WORDS_MIN: usize = 2;
/// Letters that it takes where no spaces part the words.
const UNSPACED_MIN: usize = 12;

/// Whether `text` holds words of its own, or what only a file, a number or code has.
pub fn says_something(text: &str) -> bool {
    let named = |word: &str| {
        let inner = word.trim_matches(|c: char| !c.is_alphanumeric());
        inner.len() > 2
            && inner
                .contains(|c: char| matches!(c, '_' | '/' | '.' | ':' | '#') || c.is_ascii_digit())
    };
    let mut words = 0;
    for word in text.split_whitespace() {
        let plain: String = word.chars().filter(|c| c.is_alphanumeric()).collect();
        if named(word) {
            return true;
        }
        if !plain.is_empty() && !FILLERS.contains(&plain.to_lowercase().as_str()) {
            words += 1;
        }
    }
    // A language without spaces says much in one word: an ideograph as much as three letters.
    let unspaced = text.chars().map(|c| match c {
        '\u{e00}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' => 1,
        c if c > '\u{2e7f}' => 3,
        _ => 0,
    });
    words >= WORDS_MIN || words > 0 && unspaced.sum::<usize>() >= UNSPACED_MIN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_asks_for_more_of_the_same_says_nothing() {
        for text in [
            "yes please go on with that",
            "OK, that looks good. Continue!",
            "sounds good, let's do it that way please",
            "thanks, now try it again please",
            "You're welcome.",
            "You\u{2019}re very welcome, glad I could help!",
            "Happy to help!",
            "Gern geschehen!",
            "",
        ] {
            assert!(!says_something(text), "{text}");
        }
        for text in [
            "fix the login test",
            "yes, but keep the old parser",
            "go on with src/login.rs",
            "now do the same for #412",
            "\u{4fee}\u{6b63}\u{767b}\u{5f55}\u{6d4b}\u{8bd5}",
            // "Do not change the database", in Thai.
            "\u{e2b}\u{e49}\u{e32}\u{e21}\u{e41}\u{e01}\u{e49}\u{e10}\u{e32}\u{e19}\u{e02}\u{e49}\u{e2d}\u{e21}\u{e39}\u{e25}",
        ] {
            assert!(says_something(text), "{text}");
        }
        assert!(FILLERS.iter().all(|word| word.to_lowercase() == **word));
    }
}
