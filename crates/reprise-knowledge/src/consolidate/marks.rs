//! Extracts the symbols of a text that are no punctuation: `<`, `&&`, `!` before a word, an emoji.
//! Two texts of the same words may contradict each other by them. Pure.
//!
//! Every character counts that is neither a letter, a digit nor plain punctuation, so that unknown
//! symbols count, too.

use super::tokens::normalize_quotes;

/// Returns every token that begins or ends with a symbol, in lower case, ascending. A token that is
/// only a symbol is returned with the tokens next to it.
pub(super) fn extract_marks(text: &str) -> Vec<String> {
    // The variant of an emoji has no meaning.
    let text = normalize_quotes(text).replace(['\u{fe0e}', '\u{fe0f}'], "");
    let tokens: Vec<String> = text.lines().flat_map(split_line).collect();
    let is_odd = |quote: char| !text.matches(quote).count().is_multiple_of(2);
    let odd: Vec<char> = ['\'', '"'].into_iter().filter(|c| is_odd(*c)).collect();
    let bare = |at: usize, parentheses: bool| {
        let token = tokens.get(at).map_or("", String::as_str);
        let next = tokens.get(at + 1);
        let ends = next.is_none_or(|next| !next.starts_with(char::is_lowercase));
        strip_punctuation(token, parentheses, ends, &odd).to_lowercase()
    };
    let mut marks = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let word = bare(at, true);
        let is_plain = |c: Option<char>| c.is_none_or(char::is_alphanumeric);
        if word.contains(char::is_alphanumeric) {
            if !is_plain(word.chars().next()) || !is_plain(word.chars().next_back()) {
                marks.push(word);
            }
            continue;
        }
        let before = at
            .checked_sub(1)
            .map_or(String::new(), |at| bare(at, false));
        let after = bare(at + 1, false);
        let is_amount = |word: &String| word.contains(|c: char| c.is_ascii_digit());
        // A dash is punctuation between words, and a range between numbers.
        let is_dash =
            word.chars().all(|c| matches!(c, '\u{2013}' | '\u{2014}')) && !word.is_empty();
        let says = match () {
            () if is_dash => is_amount(&before) || is_amount(&after),
            () => !word.is_empty() || token.contains("()"),
        };
        if says {
            let mark = if word.is_empty() { token } else { &word };
            marks.push(format!("{before} {mark} {after}"));
        }
    }
    marks.sort_unstable();
    marks
}

/// Returns the tokens of a line without list markers, heading markers and emphasis.
fn split_line(line: &str) -> Vec<String> {
    let line = line.trim();
    let item = ["- ", "* ", "+ ", "\u{2022} "];
    let item = item.iter().find_map(|sign| line.strip_prefix(sign));
    // One `#` alone may be a command that is commented out.
    let title = line
        .strip_prefix("##")
        .map(|rest| rest.trim_start_matches('#'));
    let item = item.or(title.filter(|title| title.starts_with(' ')));
    // `- 5 degrees` is a number.
    let item = item.filter(|item| !item.trim_start().starts_with(|c: char| c.is_ascii_digit()));
    let words = item.unwrap_or(line).split_whitespace();
    let mut tokens: Vec<String> = words.map(str::to_owned).collect();
    // For each number of stars, the token before which no emphasis closes any more.
    let mut searched = [0; 4];
    for at in 0..tokens.len() {
        let token = tokens[at].as_str();
        let word = token.trim_start_matches('*');
        let stars = token.len() - word.len();
        if !(1..=3).contains(&stars) || !word.starts_with(char::is_alphanumeric) {
            continue;
        }
        let closes = |token: &String| {
            let word = token.trim_end_matches(|c: char| c != '*' && !c.is_alphanumeric());
            let end = word.len().checked_sub(stars)?;
            let stressed = word.get(..end)?;
            (stressed.ends_with(|c| c != '*') && word.ends_with('*')).then_some(end)
        };
        let mut rest = tokens.iter().enumerate().skip(at.max(searched[stars]));
        let closed = rest.find_map(|(last, token)| Some((last, closes(token)?)));
        searched[stars] = closed.map_or(tokens.len(), |(last, _)| last);
        if let Some((last, end)) = closed {
            tokens[last].replace_range(end..end + stars, "");
            tokens[at].replace_range(..stars, "");
        }
    }
    tokens
}

/// Returns a token without quotes and trailing punctuation, without `!` if it `ends` a sentence,
/// and without parentheses if `parentheses` is set. An `odd` quote after a number is a unit and
/// stays.
fn strip_punctuation<'a>(token: &'a str, parentheses: bool, ends: bool, odd: &[char]) -> &'a str {
    let quotes: &[char] = &['\'', '"', '`'];
    let mut word = token;
    loop {
        let mut less = word.trim_start_matches(quotes);
        if parentheses {
            less = less.trim_start_matches('(');
        }
        let mut reversed = less.chars().rev();
        let (last, before) = (reversed.next(), reversed.next());
        let sets_off = match last {
            Some(quote) if quotes.contains(&quote) => {
                !(odd.contains(&quote) && before.is_some_and(|c| c.is_ascii_digit()))
            }
            Some('.') => before.is_some_and(|c| c != '.') || less.ends_with("..."),
            Some(mark @ (',' | ';' | ':')) => before.is_some_and(|c| c != mark),
            Some('\u{2026}') => true,
            Some('!') => ends && before.is_some(),
            Some(')') => parentheses,
            _ => false,
        };
        if let Some(last) = last.filter(|_| sets_off) {
            less = match last {
                '.' if less.ends_with("...") => less.trim_end_matches('.'),
                last => less.strip_suffix(last).unwrap_or(less),
            };
        }
        if less.len() == word.len() {
            return word;
        }
        word = less;
    }
}
