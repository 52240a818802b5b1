//! Splits a text into tokens with one spelling for quotes, hyphens, times and units. Pure.

/// Units that are written directly after a number.
const GLUED: [&str; 10] = ["ms", "s", "min", "h", "KB", "MB", "GB", "TB", "km", "kg"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TextToken {
    /// The token without punctuation around it.
    pub(super) written: String,
    pub(super) ends_clause: bool,
    pub(super) ends_sentence: bool,
}

pub(super) fn tokenize(text: &str) -> Vec<TextToken> {
    let text = normalize_quotes(text);
    let mut tokens: Vec<TextToken> = Vec::new();
    for raw in text.split_whitespace() {
        let ends_clause = raw.ends_with([',', ';', '.', ':', '!', '?']);
        let ends_sentence = raw.ends_with(['.', '!', '?', ':']);
        let written = strip_marks(raw);
        // `9:30 am` is one thing.
        let half = match written.to_lowercase().as_str() {
            "am" | "a.m" => Some(0),
            "pm" | "p.m" => Some(12),
            _ => None,
        };
        if let (Some(half), Some(last)) = (half, tokens.last_mut())
            && let Some(time) = parse_time_of_day(&last.written, Some(half))
        {
            (last.written, last.ends_clause, last.ends_sentence) =
                (time, ends_clause, ends_sentence);
            continue;
        }
        let parts = split_token(written);
        let count = parts.len();
        for (at, part) in parts.into_iter().enumerate() {
            let last = at + 1 == count;
            tokens.push(TextToken {
                written: part,
                ends_clause: ends_clause && last,
                ends_sentence: ends_sentence && last,
            });
        }
    }
    tokens
}

/// Marks between the thousands of a number.
const THOUSANDS_MARKS: [char; 7] = [' ', ',', '.', '\'', '\u{2019}', '\u{a0}', '\u{202f}'];
/// Digits of a group.
const GROUP: usize = 3;

/// Writes the numbers of a text without marks between their thousands: `50 000`, `50,000`, `50'000`
/// and `50k` are `50000`. A point may be that of a decimal: `1.250` stays as it is.
pub(super) fn join_thousands(text: &str) -> String {
    let mut joined = String::with_capacity(text.len());
    let (mut rest, mut before) = (text, [' ', ' ']);
    while let Some(next) = rest.chars().next() {
        let is_within = before[1].is_alphanumeric()
            || (THOUSANDS_MARKS[1..].contains(&before[1]) && before[0].is_ascii_digit());
        let number = (!is_within && next.is_ascii_digit()).then(|| read_number(rest));
        let (written, length) = number
            .flatten()
            .unwrap_or_else(|| (next.to_string(), next.len_utf8()));
        joined.push_str(&written);
        let (read, after) = rest.split_at(length);
        for c in read.chars() {
            before = [before[1], c];
        }
        rest = after;
    }
    joined
}

/// Reads a number with thousands from the beginning of a text: its digits, and how many bytes of
/// the text are it; `None` for another.
fn read_number(text: &str) -> Option<(String, usize)> {
    let digits_of =
        |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let first = digits_of(text);
    if text.starts_with('0') {
        return None;
    }
    let (mut digits, mut length) = (text[..first].to_owned(), first);
    let ends = |rest: &str| !rest.starts_with(char::is_alphanumeric);
    if let Some(rest) = text[first..].strip_prefix(['k', 'K']) {
        return ends(rest).then(|| (digits + "000", first + 1));
    }
    let mark = text[first..].chars().next()?;
    if first > GROUP || !THOUSANDS_MARKS.contains(&mark) {
        return None;
    }
    while let Some(rest) = text[length..].strip_prefix(mark) {
        if digits_of(rest) != GROUP || !ends(&rest[GROUP..]) {
            break;
        }
        digits.push_str(&rest[..GROUP]);
        length += mark.len_utf8() + GROUP;
    }
    let goes_on = text[length..].strip_prefix(THOUSANDS_MARKS);
    let is_longer =
        goes_on.is_some_and(|rest| mark != ' ' && rest.starts_with(|c: char| c.is_ascii_digit()));
    let may_be_decimal = mark == '.' && !digits.ends_with("000");
    (length > first && !is_longer && !may_be_decimal).then_some((digits, length))
}

/// Replaces typographic quotes by plain ones.
pub(super) fn normalize_quotes(text: &str) -> String {
    let plain = text.chars().map(|c| match c {
        '\u{2018}' | '\u{2019}' | '\u{201a}' => '\'',
        '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{ab}' | '\u{bb}' => '"',
        c => c,
    });
    plain.collect()
}

/// Returns a token without punctuation around it.
fn strip_marks(token: &str) -> &str {
    const AROUND: &[char] = &[
        '.', ',', ';', ':', '!', '?', '"', '\'', '`', '(', ')', '[', ']', '{', '}', '<', '>', '*',
        '\u{2026}',
    ];
    token.trim_matches(AROUND)
}

fn split_token(written: &str) -> Vec<String> {
    let lower = written.to_lowercase();
    let glued = ["am", "pm"].iter().find_map(|half| {
        let hour = lower.strip_suffix(half)?;
        parse_time_of_day(hour, Some(if *half == "pm" { 12 } else { 0 }))
    });
    if let Some(time) = glued.or_else(|| parse_time_of_day(written, None)) {
        return vec![time];
    }
    // `can't` and `cannot` are `can not`.
    let denied = match lower.as_str() {
        "won't" => Some("will"),
        "can't" | "cannot" => Some("can"),
        "shan't" => Some("shall"),
        _ => lower.strip_suffix("n't"),
    };
    if let Some(verb) = denied {
        return vec![verb.to_owned(), "not".to_owned()];
    }
    // `read-only` is `read only`; a flag and a name are what they are.
    let is_word = |part: &str| part.len() > 1 && part.bytes().all(|b| b.is_ascii_lowercase());
    if written.contains('-') && written.split('-').all(is_word) {
        return written.split('-').map(str::to_owned).collect();
    }
    // `30s` is `30 s`.
    let digits = written.len()
        - written
            .trim_start_matches(|c: char| c.is_ascii_digit())
            .len();
    let (number, unit) = written.split_at(digits);
    if digits > 0 && GLUED.contains(&unit) {
        return vec![number.to_owned(), unit.to_owned()];
    }
    vec![written.to_owned()]
}

/// Returns a time of day as `HH:MM`; `half` is 0 for `am` and 12 for `pm`. Without either, only a
/// text with a colon is a time.
fn parse_time_of_day(written: &str, half: Option<u32>) -> Option<String> {
    let (hour, minute) = match written.split_once(':') {
        Some((hour, minute)) if minute.len() == 2 => (hour, minute.parse::<u32>().ok()?),
        None if half.is_some() => (written, 0),
        _ => return None,
    };
    let hour = hour.parse::<u32>().ok().filter(|hour| *hour < 24)?;
    let hour = match half {
        Some(_) if hour > 12 || hour == 0 => return None,
        Some(half) => hour % 12 + half,
        None => hour,
    };
    (minute < 60).then(|| format!("{hour:02}:{minute:02}"))
}

/// Returns the first clause of a text that goes on behind it.
pub(super) fn first_clause(text: &str) -> Option<&str> {
    let ends = [
        ", ",
        "; ",
        ". ",
        " until ",
        " because ",
        " since ",
        " but ",
        " as long ",
    ];
    let end = ends.iter().filter_map(|end| text.find(end)).min()?;
    text.get(..end)
}

/// Splits a text into its words in lower case, without the marks around them.
pub(super) fn split_lower_words(text: &str) -> Vec<String> {
    let tokens = text.split_whitespace().map(|token| {
        let around: &[char] = &['.', ',', ';', ':', '!', '?', '"', '\'', '`', '(', ')'];
        token.trim_matches(around).to_lowercase()
    });
    tokens.filter(|token| !token.is_empty()).collect()
}

/// Returns a plain stem, so that `tests`, `tested` and `testing` are equal and different words are
/// not.
pub(super) fn stem_word(lower: &str) -> String {
    for (ending, instead) in [
        ("ies", "y"),
        ("sses", "ss"),
        ("ing", ""),
        ("ed", ""),
        ("es", ""),
        ("s", ""),
    ] {
        if let Some(base) = lower.strip_suffix(ending)
            && base.len() >= 3
            && !(ending == "s" && base.ends_with(['s', 'u', 'i']))
        {
            let mut base = base.to_owned() + instead;
            // `running`, `stopped`: the doubled letter goes.
            let mut last = base.chars().rev();
            if let (Some(a), Some(b)) = (last.next(), last.next())
                && a == b
                && matches!(ending, "ing" | "ed")
                && !matches!(a, 'l' | 's' | 'z')
            {
                base.pop();
            }
            return base.trim_end_matches('e').to_owned();
        }
    }
    lower.trim_end_matches('e').to_owned()
}
