//! Stored texts made safe to show: nothing in them acts on the page, and invisible characters are
//! shown by their code. Also numbers for people.

use maud::{Markup, html};
use reprise_engine::{excerpt, matches};
pub(crate) use reprise_operations::format_size;
use reprise_types::is_unsafe_to_display;
use similar::{ChangeTag, TextDiff};

/// Most characters of an excerpt.
const EXCERPT_CHARS: usize = 320;

/// Renders a whole text with its line breaks and its own writing direction.
pub(crate) fn render(text: &str) -> Markup {
    html! { bdi class="text" dir="auto" { (render_revealed(text)) } }
}

/// Renders the sentences of a text around some words, with the words marked.
pub(crate) fn highlight(text: &str, words: &[String]) -> Markup {
    let fits = |part: &str| part.chars().count() <= EXCERPT_CHARS;
    let shown = excerpt(text, words, &fits).unwrap_or_else(|| one_line(text, EXCERPT_CHARS));
    let mut marked = Vec::new();
    let mut at = 0;
    for range in matches(&shown, words) {
        if let (Some(before), Some(word)) = (shown.get(at..range.start), shown.get(range.clone())) {
            marked.push((before, word));
            at = range.end;
        }
    }
    let rest = shown.get(at..).unwrap_or_default();
    let parts = marked
        .into_iter()
        .flat_map(|(before, word)| [(before, false), (word, true)]);
    let parts: Vec<(&str, bool)> = parts.chain([(rest, false)]).collect();
    html! {
        bdi class="text" dir="auto" {
            @for (part, is_marked, is_code) in split_code(&parts) {
                @let part = render_revealed(part);
                @let part = if is_marked { html! { mark { (part) } } } else { part };
                @if is_code { code { (part) } } @else { (part) }
            }
        }
    }
}

/// Splits the parts of a line, of which some are marked, at its backticks. Returns each piece,
/// whether it is marked, and whether it is code.
fn split_code<'a>(parts: &[(&'a str, bool)]) -> Vec<(&'a str, bool, bool)> {
    let ticks = parts.iter().map(|(part, _)| part.matches('`').count());
    // An odd number of backticks means that one has no partner.
    if !ticks.sum::<usize>().is_multiple_of(2) {
        return parts
            .iter()
            .map(|(part, marked)| (*part, *marked, false))
            .collect();
    }
    let (mut pieces, mut is_code) = (Vec::new(), false);
    for (part, is_marked) in parts {
        for (index, piece) in part.split('`').enumerate() {
            is_code ^= index > 0;
            if !piece.is_empty() {
                pieces.push((piece, *is_marked, is_code));
            }
        }
    }
    pieces
}

/// Renders the first words of a text in one line of at most `chars` characters.
pub(crate) fn shorten(text: &str, chars: usize) -> Markup {
    html! { bdi dir="auto" { (render_revealed(&one_line(text, chars))) } }
}

/// Renders the first words of a title, with what is between backticks set as code.
pub(crate) fn shorten_title(text: &str, chars: usize) -> Markup {
    let line = one_line(text, chars);
    let parts: Vec<&str> = line.split('`').collect();
    // An odd number of backticks means that the last one has no partner.
    if parts.len() < 3 || parts.len().is_multiple_of(2) {
        return html! { bdi dir="auto" { (render_revealed(&line)) } };
    }
    html! {
        bdi dir="auto" {
            @for (index, part) in parts.into_iter().enumerate() {
                @if index.is_multiple_of(2) { (render_revealed(part)) } @else { code { (render_revealed(part)) } }
            }
        }
    }
}

/// Splits what one text has more than another into parts that are kept, removed or added. Where
/// most words differ, the whole texts are the parts, since a change at each word says nothing.
pub(crate) fn diff_words(before: &str, after: &str) -> Vec<(ChangeTag, String)> {
    let parts = diff_each_word(before, after);
    let count = |is_counted: &dyn Fn(ChangeTag) -> bool| {
        let counted = parts.iter().filter(|(tag, _)| is_counted(*tag));
        let words = counted.map(|(_, part)| part.split_whitespace().count());
        words.sum::<usize>()
    };
    let changes = parts.iter().filter(|(tag, _)| *tag != ChangeTag::Equal);
    let equal = count(&|tag| tag == ChangeTag::Equal);
    let longer = [ChangeTag::Delete, ChangeTag::Insert].map(|own| count(&|tag| tag == own));
    let is_other_text = longer.iter().all(|own| *own > equal);
    if changes.count() > PAIR_OF_CHANGES && is_other_text {
        return vec![
            (ChangeTag::Delete, before.to_owned()),
            (ChangeTag::Insert, after.to_owned()),
        ];
    }
    parts
}

/// Changes of a text of which one part was replaced.
const PAIR_OF_CHANGES: usize = 2;

fn diff_each_word(before: &str, after: &str) -> Vec<(ChangeTag, String)> {
    let diff = TextDiff::from_words(before, after);
    let mut parts: Vec<(ChangeTag, String)> = Vec::new();
    for change in diff.iter_all_changes() {
        match parts.last_mut() {
            Some((tag, part)) if *tag == change.tag() => part.push_str(change.value()),
            _ => parts.push((change.tag(), change.value().to_owned())),
        }
    }
    parts
}

/// Returns the first words of a text in one line without invisible characters, for a place that
/// takes no markup.
pub(crate) fn plain_line(text: &str, chars: usize) -> String {
    let visible: String = text.chars().filter(|c| !is_unseen(*c)).collect();
    one_line(&visible, chars)
}

/// Returns a remark as a sentence: with a capital letter and a full stop.
pub(crate) fn to_sentence(remark: &str) -> String {
    let mut letters = remark.trim().chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    let sentence: String = first.chain(letters).collect();
    if sentence.is_empty() || sentence.ends_with(['.', '!', '?']) {
        sentence
    } else {
        sentence + "."
    }
}

/// Formats a difference with its sign and two digits; one that rounds to zero has no sign.
pub(crate) fn format_signed(value: f32) -> String {
    if value.abs() < 0.005 {
        "0.00".to_owned()
    } else {
        format!("{value:+.2}")
    }
}

/// Returns the first sentence of a text.
pub(crate) fn first_sentence(text: &str) -> &str {
    let line = text.trim().lines().next().unwrap_or_default();
    let end = line.match_indices(['.', '!', '?']).find(|(at, mark)| {
        let rest = line.get(at + mark.len()..).unwrap_or_default();
        rest.is_empty() || rest.starts_with(' ')
    });
    end.map_or(line, |(at, mark)| {
        line.get(..at + mark.len()).unwrap_or(line)
    })
}

/// Joins the words of a text, with a dash after a line that ended without a stop, as titles do.
fn one_line(text: &str, chars: usize) -> String {
    let mut line = String::new();
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let words = lines.enumerate().flat_map(|(index, line)| {
        let words = line.split_whitespace().enumerate();
        words.map(move |(at, word)| (index > 0 && at == 0, word))
    });
    for (is_next_line, word) in words {
        if !line.is_empty() {
            let is_open = line.ends_with(|c: char| c.is_alphanumeric() || "`)\"'".contains(c));
            let is_text = word.starts_with(|c: char| c.is_alphanumeric() || "`(\"'".contains(c));
            line.push_str(if is_next_line && is_open && is_text {
                " \u{2013} "
            } else {
                " "
            });
        }
        line.push_str(word);
        if line.chars().count() > chars {
            return line.chars().take(chars - 1).collect::<String>() + "\u{2026}";
        }
    }
    line
}

/// Formats a value for people: a text without quotes, anything else as JSON.
pub(crate) fn format_value(value: &impl serde::Serialize) -> String {
    match serde_json::json!(value) {
        serde_json::Value::String(word) => word,
        other => other.to_string(),
    }
}

/// Renders a text in which invisible and direction-changing characters are shown by their code.
pub(crate) fn render_revealed(text: &str) -> Markup {
    let mut parts: Vec<(&str, Option<char>)> = Vec::new();
    let mut from = 0;
    let mut before = ' ';
    let unseen = text.char_indices().filter(|(at, c)| {
        let last = std::mem::replace(&mut before, *c);
        let after = text
            .get(at + c.len_utf8()..)
            .and_then(|rest| rest.chars().next());
        is_unseen(*c) && !is_needed_joiner(last, *c, after.unwrap_or(' '))
    });
    for (at, c) in unseen {
        parts.push((text.get(from..at).unwrap_or_default(), Some(c)));
        from = at + c.len_utf8();
    }
    parts.push((text.get(from..).unwrap_or_default(), None));
    html! {
        @for (part, unseen) in parts {
            (part)
            @if let Some(c) = unseen {
                span class="unseen" { (format!("U+{:04X}", u32::from(c))) }
            }
        }
    }
}

/// Returns whether a joiner does what it is for: it joins emoji, or shapes letters that need it.
fn is_needed_joiner(before: char, joiner: char, after: char) -> bool {
    let is_emoji =
        |c: char| matches!(c, '\u{2190}'..='\u{2bff}' | '\u{fe0f}' | '\u{1f000}'..='\u{1faff}');
    let is_shaped = |c: char| matches!(c, '\u{600}'..='\u{109f}');
    match joiner {
        '\u{200d}' => is_emoji(before) && is_emoji(after) || is_shaped(before) && is_shaped(after),
        '\u{200c}' => is_shaped(before) && is_shaped(after),
        _ => false,
    }
}

/// Returns whether a character is invisible, unsafe to display, or changes the direction.
fn is_unseen(c: char) -> bool {
    is_unsafe_to_display(c) || matches!(c, '\u{61c}' | '\u{200c}'..='\u{200f}')
}

/// Formats a whole number with commas between thousands.
pub(crate) fn format_count(number: u64) -> String {
    let digits = number.to_string();
    let mut apart = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            apart.push(',');
        }
        apart.push(digit);
    }
    apart
}

/// Divides a sum among so many, rounded to the nearest; `None` among nobody.
pub(crate) fn find_mean(sum: usize, count: usize) -> Option<usize> {
    (sum + count / 2).checked_div(count)
}

/// Formats a share of 0 to 1 in percent, rounded; only what is exactly all is 100 %.
pub(crate) fn format_share(share: f64) -> String {
    let most = if share < 1.0 { 99.0 } else { 100.0 };
    format!("{:.0} %", (100.0 * share).round().min(most))
}

/// Formats a number with its noun in the singular or plural.
pub(crate) fn pluralize(number: usize, one: &str, many: &str) -> String {
    let noun = if number == 1 { one } else { many };
    format!("{} {noun}", format_count(number as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_between_backticks_is_code_in_a_marked_text_too() {
        let words = ["conf".to_owned()];
        let shown = highlight("Set it in `nginx conf`, not here", &words).into_string();
        assert!(shown.contains("<code>nginx </code>"), "{shown}");
        assert!(
            shown.contains("<code><mark>conf</mark></code>, not here"),
            "{shown}"
        );
        let odd = highlight("a lone ` and conf", &words).into_string();
        assert!(!odd.contains("<code>") && odd.contains('`'), "{odd}");
    }

    #[test]
    fn what_acts_or_hides_is_text() {
        let shown = render("<script>alert(1)</script>\u{202e}evil\u{0}\r\n").into_string();
        assert!(!shown.contains("<script"), "{shown}");
        for named in ["U+202E", "U+0000", "U+000D"] {
            assert!(shown.contains(named), "{named}: {shown}");
        }
        assert!(!shown.contains('\u{202e}'));
        assert!(shown.contains('\n'));
    }

    #[test]
    fn the_words_that_matched_are_marked_and_nothing_is_lost() {
        let words = ["race".to_owned()];
        let shown = highlight("The auth race <b> ended. It did.", &words).into_string();
        assert!(
            shown.contains("<mark>race</mark> &lt;b&gt; ended."),
            "{shown}"
        );
    }

    #[test]
    fn emoji_families_stay_whole_and_code_in_a_title_is_code() {
        let family = "\u{1f469}\u{200d}\u{1f469}\u{200d}\u{1f467}";
        assert!(render_revealed(family).into_string().contains(family));
        assert!(
            render_revealed("a\u{200d}b")
                .into_string()
                .contains("U+200D")
        );
        let title = shorten_title("`npm test` passed", 80).into_string();
        assert!(title.contains("<code>npm test</code> passed"), "{title}");
        let alone = shorten_title("a ` alone", 80).into_string();
        assert!(alone.contains("a ` alone"), "{alone}");
        assert_eq!(first_sentence("Use 2.5 now. Later 3."), "Use 2.5 now.");
    }

    #[test]
    fn a_text_without_a_break_is_cut() {
        let long = "x".repeat(60_000);
        assert!(highlight(&long, &[]).into_string().chars().count() < 500);
        assert!(shorten(&long, 80).into_string().chars().count() < 200);
    }

    #[test]
    fn texts_that_share_few_words_are_compared_as_a_whole() {
        let [before, after] = [
            "Run the migration by hand before a deploy, on the replica",
            "Deploys wait for the green build, then the bot ships it",
        ];
        let whole = vec![
            (ChangeTag::Delete, before.to_owned()),
            (ChangeTag::Insert, after.to_owned()),
        ];
        assert_eq!(diff_words(before, after), whole);
        let added = diff_words("one two", "one and more words that are new two");
        assert_eq!(added.len(), 3, "nothing was removed: {added:?}");
    }

    #[test]
    fn what_changed_comes_in_whole_parts() {
        let parts = diff_words("has 2 cores", "has 4 fast cores");
        let named: Vec<(ChangeTag, &str)> =
            parts.iter().map(|(tag, part)| (*tag, &**part)).collect();
        assert_eq!(
            named,
            [
                (ChangeTag::Equal, "has "),
                (ChangeTag::Delete, "2"),
                (ChangeTag::Insert, "4 fast"),
                (ChangeTag::Equal, " cores"),
            ]
        );
        assert_eq!(plain_line("a\u{202e}b\nc", 80), "ab \u{2013} c");
        assert_eq!(
            plain_line("cents\n\nAmounts are\n- whole.\nAlways", 80),
            "cents \u{2013} Amounts are - whole. Always"
        );
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(format_count(0), "0");
        assert_eq!(format_count(1_234_567), "1,234,567");
        assert_eq!(format_size(900), "900 B");
        assert_eq!(format_size(114_049), "114.0 KB");
        assert_eq!(format_size(21_500_000), "21.5 MB");
        assert_eq!(format_signed(-0.001), "0.00");
        assert_eq!(format_signed(0.05), "+0.05");
        assert_eq!(format_signed(-0.05), "-0.05");
        assert_eq!(
            to_sentence("they disagree about `night`"),
            "They disagree about `night`."
        );
        assert_eq!(find_mean(4_567, 10), Some(457));
        assert_eq!(find_mean(4_564, 10), Some(456));
        assert_eq!(find_mean(7, 0), None);
        let shares = [0.0, 0.984, 0.989, 0.999, 1.0].map(format_share);
        assert_eq!(shares, ["0 %", "98 %", "99 %", "99 %", "100 %"]);
        assert_eq!(pluralize(1, "record", "records"), "1 record");
        assert_eq!(pluralize(2_000, "record", "records"), "2,000 records");
    }
}
