//! Words of a rule as they are typed in haste: "alwyas", "dont", "pls".

/// Words that make a rule or end one, without umlauts. Only these are mended: any other word may be
/// a name.
const CUES: &str = "\
    always never every instead without should please anymore longer before forbidden everywhere \
    convention whenever immer niemals niemand jeder jedem nicht bitte kuenftig ueberall verboten \
    grundsaetzlich ausschliesslich";
/// Fewest letters of a word of which one letter may be missing, or be there twice.
const LONG: usize = 6;
/// How words are shortened in a chat.
const SHORT_FORMS: [(&str, &str); 10] = [
    ("pls", "please"),
    ("plz", "please"),
    ("dont", "don't"),
    ("doesnt", "doesn't"),
    ("shouldnt", "shouldn't"),
    ("mustnt", "mustn't"),
    ("cant", "can't"),
    ("wont", "won't"),
    ("isnt", "isn't"),
    ("arent", "aren't"),
];
/// Two letters in the wrong order make another word of "from".
const FROM: [&str; 2] = ["form", "fro"];
/// Words behind "from" with which it says since when a rule holds.
const SINCE: [&str; 3] = ["now on", "here on", "today on"];

/// Returns a text in lower case with the words spelled that make a rule.
pub(in crate::sunwell) fn mend_spelling(lower: &str) -> String {
    let mut mended = String::with_capacity(lower.len());
    let mut rest = lower;
    while let Some(start) = rest.find(char::is_alphanumeric) {
        let (before, word_on) = rest.split_at(start);
        let end = word_on.find(|c: char| !c.is_alphanumeric() && c != '\'');
        let (word, behind) = word_on.split_at(end.unwrap_or(word_on.len()));
        mended.push_str(before);
        mended.push_str(mend_word(word, behind));
        rest = behind;
    }
    mended.push_str(rest);
    mended
}

/// Returns how a word before a text is spelled.
fn mend_word<'a>(word: &'a str, behind: &str) -> &'a str {
    if let Some((_, whole)) = SHORT_FORMS.iter().find(|(short, _)| *short == word) {
        return whole;
    }
    let is_since = SINCE
        .iter()
        .any(|next| behind.trim_start().starts_with(next));
    if FROM.contains(&word) && is_since {
        return "from";
    }
    let mut cues = CUES.split_ascii_whitespace();
    let is_known = CUES.split_ascii_whitespace().any(|cue| cue == word);
    let meant = cues.find(|cue| !is_known && is_mistyped(word, cue));
    meant.unwrap_or(word)
}

/// Whether a word is another one with two letters in the wrong order, or, if it is long, with one
/// letter missing or doubled.
fn is_mistyped(word: &str, meant: &str) -> bool {
    let (typed, meant) = (word.as_bytes(), meant.as_bytes());
    let same = typed.iter().zip(meant).take_while(|(a, b)| a == b).count();
    // The first letter of a word is hardly ever wrong, and makes another word of it.
    if same == 0 {
        return false;
    }
    let (typed_rest, meant_rest) = (&typed[same..], &meant[same..]);
    match (typed_rest, meant_rest) {
        ([a, b, typed @ ..], [c, d, meant @ ..]) if a == d && b == c => typed == meant,
        ([_, typed @ ..], meant_rest) if typed == meant_rest => {
            meant.len() >= LONG && typed_rest[0] == meant[same - 1]
        }
        (typed, [_, meant_rest @ ..]) => meant.len() >= LONG && typed == meant_rest,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_that_make_a_rule_are_mended() {
        for (typed, meant) in [
            ("form now on use bun", "from now on use bun"),
            ("alwyas run it", "always run it"),
            ("pls dont push", "please don't push"),
            ("tabs isntead of spaces", "tabs instead of spaces"),
            ("it is forbiden here", "it is forbidden here"),
            ("we dont need it anymroe", "we don't need it anymore"),
            ("imemr auf deutsch", "immer auf deutsch"),
            ("allways", "always"),
        ] {
            assert_eq!(mend_spelling(typed), meant);
        }
        for plain in [
            "the form now has two fields",
            "a very long word, said never",
            "the nerve of it",
            "ever since",
            "jeder nimmt \u{fc}berall welche (nicht hier).",
        ] {
            assert_eq!(mend_spelling(plain), plain);
        }
    }
}
