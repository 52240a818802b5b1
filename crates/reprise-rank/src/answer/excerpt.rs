//! Cuts a text where a reader would: between sentences, around the words that matched.

use std::collections::BTreeSet;
use std::ops::Range;

/// Cuts the longest run of whole sentences of `text` that `fits`, grown from the one that holds
/// most of `words`. If that sentence alone does not fit, cuts its first words. Returns `None` if
/// not even one word fits.
pub fn excerpt(text: &str, words: &[String], fits: &dyn Fn(&str) -> bool) -> Option<String> {
    let text = text.trim();
    if fits(text) {
        return Some(text.to_owned());
    }
    let sentences = sentence_ranges(text);
    let start = sentence_with_most_words(text, &sentences, words);
    let mut run = start..start + 1;
    let mut best = format_sentences(text, &sentences, &run).filter(|t| fits(t));
    if best.is_none() {
        let sentence = text.get(sentences.get(start)?.clone())?;
        return first_words(sentence, fits).or_else(|| words_after_blob(sentence, fits));
    }
    // Later sentences first: what follows explains more often than what precedes.
    let onwards = largest_accepted(sentences.len() - run.end, |more| {
        format_sentences(text, &sentences, &(run.start..run.end + more)).filter(|text| fits(text))
    });
    if let Some((more, longer)) = onwards {
        run.end += more;
        best = Some(longer);
    }
    let backwards = largest_accepted(run.start, |more| {
        format_sentences(text, &sentences, &(run.start - more..run.end)).filter(|text| fits(text))
    });
    backwards.map(|(_, longer)| longer).or(best)
}

/// Returns the largest number of steps, up to `most`, that `at` accepts, with its result. If `at`
/// accepts a number, it accepts all smaller ones; but it may accept `most` alone, because the last
/// step removes the mark of a gap.
fn largest_accepted<T>(most: usize, at: impl Fn(usize) -> Option<T>) -> Option<(usize, T)> {
    let all = (most > 0).then(|| at(most)).flatten();
    if let Some(all) = all {
        return Some((most, all));
    }
    let (mut low, mut high, mut found) = (0, most.saturating_sub(1), None);
    while low < high {
        let middle = (low + high).div_ceil(2);
        match at(middle) {
            Some(answer) => {
                found = Some((middle, answer));
                low = middle;
            }
            None => high = middle - 1,
        }
    }
    found
}

/// Returns the position of the first sentence with most of the words.
fn sentence_with_most_words(text: &str, sentences: &[Range<usize>], words: &[String]) -> usize {
    let found = reprise_index::find_ranges_of_words(text, words);
    let mut found = found.iter().peekable();
    let mut best = (0, 0);
    for (place, range) in sentences.iter().enumerate() {
        let mut words_in_it: BTreeSet<String> = BTreeSet::new();
        while let Some(one) = found.next_if(|one| one.start < range.end) {
            let word = text.get(one.clone()).filter(|_| range.contains(&one.start));
            words_in_it.extend(word.map(str::to_lowercase));
        }
        if words_in_it.len() > best.1 {
            best = (place, words_in_it.len());
        }
    }
    best.0
}

/// Formats a run of sentences, with marks of gaps.
fn format_sentences(text: &str, sentences: &[Range<usize>], run: &Range<usize>) -> Option<String> {
    let last = run.end.checked_sub(1)?;
    let (from, to) = (sentences.get(run.start)?.start, sentences.get(last)?.end);
    let middle = text.get(from..to)?.trim();
    let before = if run.start > 0 { "... " } else { "" };
    let after = if run.end < sentences.len() {
        " ..."
    } else {
        ""
    };
    Some(format!("{before}{middle}{after}"))
}

/// Returns as many words from the start as fit, with the mark of a gap.
fn first_words(sentence: &str, fits: &dyn Fn(&str) -> bool) -> Option<String> {
    let after = sentence.chars().skip(1).map(Some).chain([None]);
    let ends: Vec<usize> = sentence
        .char_indices()
        .zip(after)
        .filter(|((_, c), after)| !c.is_whitespace() && after.is_none_or(char::is_whitespace))
        .map(|((at, c), _)| at + c.len_utf8())
        .collect();
    let until = |count: usize| {
        let end = ends.get(count.checked_sub(1)?)?;
        let text = format!("{} ...", sentence.get(..*end)?.trim());
        fits(&text).then_some(text)
    };
    largest_accepted(ends.len(), until).map(|(_, text)| text)
}

/// Returns as many words as fit from after a long address or another blob at the start.
fn words_after_blob(sentence: &str, fits: &dyn Fn(&str) -> bool) -> Option<String> {
    const BLOB_CHARS: usize = 40;
    let mut rest = sentence.trim();
    while let Some((word, after)) = rest.split_once(char::is_whitespace)
        && word.chars().nth(BLOB_CHARS).is_some()
    {
        rest = after.trim();
        let marked = |words: &str| ["... ", words].concat();
        let whole = marked(rest);
        if fits(&whole) {
            return Some(whole);
        }
        if let Some(words) = first_words(rest, &|words| fits(&marked(words))) {
            return Some(marked(&words));
        }
    }
    None
}

/// Returns the byte ranges of the sentences: up to a full stop, question or exclamation mark before
/// white space, to an ideographic one, or to the end of a line.
pub fn sentence_ranges(text: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let (mut start, mut is_blank) = (0, true);
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        is_blank &= c.is_whitespace();
        let next = chars.peek().map(|(_, next)| *next);
        let ends = match c {
            '.' | '!' | '?' => next.is_none_or(char::is_whitespace),
            '\u{3002}' | '\u{ff01}' | '\u{ff1f}' | '\n' => true,
            _ => false,
        };
        let end = at + c.len_utf8();
        if ends && !is_blank {
            ranges.push(start..end);
            (start, is_blank) = (end, true);
        }
    }
    if !is_blank {
        ranges.push(start..text.len());
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    fn fits_in(bytes: usize) -> impl Fn(&str) -> bool {
        move |text| text.len() <= bytes
    }

    const TEXT: &str = "The first begins. Version 2.5 is out! Did the auth race end?\nIt did.";

    #[test]
    fn sentences_end_where_readers_think() {
        let found: Vec<&str> = sentence_ranges(TEXT)
            .into_iter()
            .map(|r| TEXT[r].trim())
            .collect();
        let expected = [
            "The first begins.",
            "Version 2.5 is out!",
            "Did the auth race end?",
            "It did.",
        ];
        assert_eq!(found, expected);
        assert_eq!(sentence_ranges(" \n\n ").len(), 0);
    }

    #[test]
    fn the_run_grows_from_the_words_that_matched() {
        let matched = words(&["race", "AUTH"]);
        let cut = |bytes| excerpt(TEXT, &matched, &fits_in(bytes));
        assert_eq!(cut(1000).unwrap(), TEXT);
        assert_eq!(cut(30).unwrap(), "... Did the auth race end? ...");
        assert_eq!(cut(34).unwrap(), "... Did the auth race end?\nIt did.");
        assert_eq!(
            cut(60).unwrap(),
            "... Version 2.5 is out! Did the auth race end?\nIt did."
        );
    }

    #[test]
    fn many_sentences_are_tried_few_times_and_looked_at_once() {
        let tried = std::cell::Cell::new(0);
        let text = "auth a. ".repeat(8_000) + &"\n".repeat(60_000) + "b.";
        let cut = excerpt(&text, &words(&["auth"]), &|text| {
            tried.set(tried.get() + 1);
            text.len() <= 40_000
        });
        assert!(cut.unwrap().len() > 39_900);
        assert!(tried.get() < 50, "{}", tried.get());
    }

    #[test]
    fn a_sentence_too_long_gives_its_first_words() {
        assert_eq!(
            excerpt("one two three four", &[], &fits_in(12)).unwrap(),
            "one two ..."
        );
        assert_eq!(excerpt("one two", &[], &fits_in(3)), None);
        let address = format!("https://example.org/{}", "a/".repeat(200));
        let said = |after: &str| excerpt(&format!("{address} {after}"), &[], &fits_in(30));
        assert_eq!(
            said("the zebra crossing").unwrap(),
            "... the zebra crossing"
        );
        assert_eq!(
            said(&format!("{address} the zebra crossing near the depot")).unwrap(),
            "... the zebra crossing ..."
        );
        assert_eq!(said(""), None);
        let long = "word ".repeat(10_000);
        assert!(excerpt(&long, &[], &fits_in(100)).unwrap().len() > 90);
    }
}
