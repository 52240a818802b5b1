//! Finds the things that a question names: compares each word, run of words and phrase with the
//! terms of this memory's records.

use reprise_index::IndexView;
use reprise_rank::{
    EXTERNAL_ID_PREFIX, HASH_PREFIX_MIN, HASH_TERMS_MAX, IdentifierShape, NamedThing,
    NamesInQuestion, asks_about_named_thing, bare_words, blank_out, external_id_term, fold_case,
    is_filler_word, is_hex, is_number, normalize_name, pair_term, value_term, visit_word,
};
use reprise_types::{RecallRequest, RecordBody, RecordId};

use super::plan::RecallPlan;
use crate::snapshot::Snapshot;

/// Longest question in bytes that is read; a longer one is a document and names nothing.
const QUESTION_BYTES_MAX: usize = 1024;
/// Most identifiers, names and phrases of one question.
const NAMED_THINGS_MAX: usize = 32;
/// Most words of a question that may be a look-up as a whole: each word is then compared with
/// names, which costs more than reading a longer question may.
const SHORT_WORDS: usize = 6;
/// Most further words of a question that asks for what it names; in a longer one the name is a
/// detail, which the answer often words differently.
const OTHERS_MAX: usize = 2;
/// Fewest words of a title.
const TITLE_WORDS_MIN: usize = 2;
/// Most records that are read for a title, the shortest of those with all of its words.
const TITLE_READS: usize = 16;
/// Most records with a word that is the whole question; if more have it, it names none of them.
const WORD_RECORDS_MAX: usize = 16;
/// Fewest capitals of a word that is looked up however many records have it.
const CAPITALS_MIN: usize = 2;
/// Most words of a question in which full names of authors are looked for.
const NAMED_WORDS_MAX: usize = 24;
/// Most records with all words of a phrase that are read for it, the newest first.
const PHRASE_READS: usize = 256;
/// A named thing that more than one record in so many has is dropped if something else is asked.
const COMMON_SHARE: usize = 4;
/// Most records that have something rare, which is never dropped.
const RARE: usize = 2;

/// Reads a question against the records that may answer it.
struct QuestionReader<'a> {
    snapshot: &'a Snapshot,
    view: &'a IndexView,
}

/// Reads what a question names.
pub(super) fn read_names(
    snapshot: &Snapshot,
    plan: &RecallPlan<'_>,
    request: &RecallRequest,
) -> NamesInQuestion {
    let view = &plan.view;
    let question = request.query.as_str();
    let mut lookup = NamesInQuestion::default();
    if question.len() > QUESTION_BYTES_MAX || question.trim().is_empty() {
        return lookup;
    }
    let reader = QuestionReader { snapshot, view };
    let whole = reader.find_whole_name(question);
    if let Some(title) = whole.or_else(|| reader.find_title(question)) {
        lookup.named_things.push(title);
        (lookup.asks_nothing_else, lookup.holders_come_first) = (true, true);
        return lookup;
    }
    let (phrases, mut rest) = extract_quotes(question, &mut lookup.notes);
    for phrase in phrases.into_iter().take(NAMED_THINGS_MAX) {
        match reader.find_phrase(phrase) {
            Some(thing) => lookup.named_things.push(thing),
            None => lookup.notes.push(format!(
                "no record has the phrase \"{phrase}\" word by word"
            )),
        }
    }
    let when = &plan.when;
    rest = when.without_times(&rest);
    lookup.named_things.extend(when.as_named_things());
    let rest_words: Vec<&str> = bare_words(&rest).collect();
    let mut taken = vec![false; rest_words.len()];
    let unknown = reader.read_identifiers(&rest_words, &mut taken, &mut lookup.named_things);
    let certain = lookup.named_things.iter().any(|thing| thing.is_certain);
    let by_whom = reader.read_names(&rest_words, &mut taken, &mut lookup.named_things);
    let left = rest_words.iter().zip(&taken).filter(|(_, taken)| !**taken);
    let mut others: Vec<&str> = left.map(|(word, _)| *word).collect();
    others.retain(|word| !is_filler_word(word));
    if let ([word], true) = (others.as_slice(), lookup.named_things.is_empty())
        && !rest_words.iter().any(|word| asks_about_named_thing(word))
        && let Some(thing) = reader.find_word(word)
    {
        lookup.named_things.push(thing);
        others.clear();
    }
    let nothing_else = others.is_empty();
    let few = |thing: &NamedThing| thing.is_certain && thing.holders.len() <= RARE;
    lookup.holders_come_first =
        others.len() <= OTHERS_MAX || by_whom || lookup.named_things.iter().any(few);
    lookup.names_certainly = certain && lookup.holders_come_first && unknown.is_empty();
    lookup.asks_nothing_else =
        nothing_else && unknown.is_empty() && !lookup.named_things.is_empty();
    lookup.names_only_unknown =
        nothing_else && !unknown.is_empty() && lookup.named_things.is_empty();
    lookup.notes.extend(
        unknown
            .into_iter()
            .map(|word| format!("no record has `{word}`")),
    );
    let times = lookup.named_things.iter().all(|thing| thing.bonus > 0.0);
    lookup.is_timeline = lookup.asks_nothing_else && times && !when.holders.is_empty();
    let live = view.live_count() as usize;
    let whole = lookup.asks_nothing_else;
    lookup.named_things.retain(|thing| {
        let count = thing.holders.len();
        let common = count > RARE && count * COMMON_SHARE > live && !thing.is_certain;
        whole || thing.bonus > 0.0 || !(thing.is_ambiguous || common)
    });
    lookup.named_things.truncate(NAMED_THINGS_MAX);
    lookup
}

impl QuestionReader<'_> {
    fn list_admitted_with_term(&self, term: &str) -> Vec<u32> {
        let mut found = self.snapshot.index.find_exact_term(term);
        found.retain(|ordinal| self.view.contains(*ordinal));
        found
    }

    /// Reads what single words name. Returns the words that certainly name something, which no
    /// record has.
    fn read_identifiers<'w>(
        &self,
        words: &[&'w str],
        taken: &mut [bool],
        things: &mut Vec<NamedThing>,
    ) -> Vec<&'w str> {
        let is_short = words.len() <= SHORT_WORDS;
        let mut unknown = Vec::new();
        let mut before = "";
        for (word, taken) in words.iter().zip(taken) {
            let plain = word.chars().all(char::is_alphabetic) && word.to_uppercase() != *word;
            let read = (is_short || !plain).then(|| self.find_identifier(word, before));
            let is_certain = is_certainly_identifier(word, before);
            if let Some(found) = read.flatten() {
                *taken = true;
                things.push(NamedThing {
                    is_certain: is_certain && !found.is_ambiguous,
                    ..found
                });
            } else if is_certain {
                *taken = true;
                unknown.push(*word);
            }
            before = word;
        }
        unknown
    }

    /// Finds what a word names, if a record has it. The first of its terms that is known counts.
    fn find_identifier(&self, word: &str, before: &str) -> Option<NamedThing> {
        if let Ok(id) = word.parse::<RecordId>() {
            let ordinal = self.snapshot.index.find(id)?;
            let ordinals = vec![ordinal];
            return self.view.contains(ordinal).then(|| NamedThing {
                owners: ordinals.clone(),
                ..NamedThing::new(word, vec![id.to_string()], ordinals)
            });
        }
        let mut terms: Vec<(IdentifierShape, String)> = Vec::new();
        visit_word(word, before, &mut |shape, term| terms.push((shape, term)));
        let whole_word = word.to_lowercase();
        let odd = word.contains(|c: char| !c.is_alphabetic());
        let mut found: Option<NamedThing> = None;
        let full = terms.first().map(|(_, term)| term.clone());
        for (shape, term) in terms {
            // The author of the question may see a path from a deeper folder: a match of its end is
            // enough.
            let is_end = full.as_ref().is_some_and(|full| {
                let stem = full
                    .rsplit_once('.')
                    .map_or(full.as_str(), |(stem, _)| stem);
                full.ends_with(&term) || stem.ends_with(&term)
            });
            let thing = match shape {
                IdentifierShape::Hash => self.find_hash(word, &term),
                _ => NamedThing::new(
                    word,
                    vec![term.clone()],
                    self.list_admitted_with_term(&term),
                ),
            };
            if is_end && !thing.holders.is_empty() {
                found = Some(NamedThing {
                    is_ambiguous: shape == IdentifierShape::Loose,
                    ..thing
                });
                break;
            }
        }
        // Whatever the word looks like, a record may be called so.
        let id = external_id_term(&whole_word);
        let owners = self.list_admitted_with_term(&id);
        if !owners.is_empty() {
            let is_ambiguous = !odd || is_number(word);
            let thing = found.get_or_insert_with(|| NamedThing {
                is_ambiguous,
                ..NamedThing::new(word, Vec::new(), Vec::new())
            });
            thing.add_records(id, &owners, true);
        }
        found
            .or_else(|| self.find_short_hash(&whole_word))
            .or_else(|| {
                let holders = self.list_admitted_with_term(&whole_word);
                (!holders.is_empty()).then(|| NamedThing {
                    is_ambiguous: !odd || is_number(word),
                    ..NamedThing::new(word, vec![whole_word], holders)
                })
            })
    }

    /// Finds hashes that begin with this one, equal it, or are a beginning of it; ids of records
    /// too.
    fn find_hash(&self, word: &str, hash: &str) -> NamedThing {
        let mut thing = NamedThing::new(word, Vec::new(), Vec::new());
        let mut take = |term: String, mut found: Vec<u32>, is_id: bool| {
            found.retain(|ordinal| self.view.contains(*ordinal));
            if !found.is_empty() {
                thing.add_records(term, &found, is_id);
            }
        };
        let index = &self.snapshot.index;
        let id = external_id_term(hash);
        for (prefix, is_id) in [(hash, false), (id.as_str(), true)] {
            for (term, found) in index.find_exact_prefix(prefix, HASH_TERMS_MAX) {
                take(term, found, is_id);
            }
        }
        for shorter in (7..hash.len()).filter_map(|end| hash.get(..end)) {
            let id = external_id_term(shorter);
            take(shorter.to_owned(), index.find_exact_term(shorter), false);
            take(id.clone(), index.find_exact_term(&id), true);
        }
        thing
    }

    /// Finds a beginning that only one hash, or one record's id, has. A number is ambiguous.
    fn find_short_hash(&self, beginning: &str) -> Option<NamedThing> {
        let least = HASH_PREFIX_MIN + usize::from(is_number(beginning));
        if !is_hex(beginning) || beginning.len() < least {
            return None;
        }
        let is_one =
            |term: &str| is_hex(term.trim_start_matches(EXTERNAL_ID_PREFIX)) && term.len() >= 7;
        let id = external_id_term(beginning);
        let mut found = Vec::new();
        for prefix in [beginning, &id] {
            let from = self
                .snapshot
                .index
                .find_exact_prefix(prefix, HASH_TERMS_MAX);
            found.extend(from.into_iter().filter(|(term, _)| is_one(term)));
        }
        let bare = |term: &str| term.trim_start_matches(EXTERNAL_ID_PREFIX).to_owned();
        let (first, _) = found.first()?;
        if found.iter().any(|(term, _)| bare(term) != bare(first)) {
            return None;
        }
        let found = NamedThing {
            is_ambiguous: is_number(beginning),
            ..self.find_hash(beginning, &bare(first))
        };
        (!found.holders.is_empty()).then_some(found)
    }

    /// Reads names of the metadata among the words: up to three words, the longest first. A name
    /// that other words could be, in small letters or of one word, is ambiguous. Returns whether
    /// the question names an author by "by".
    fn read_names(&self, words: &[&str], taken: &mut [bool], things: &mut Vec<NamedThing>) -> bool {
        const LONGEST: usize = 3;
        let is_short = words.len() <= SHORT_WORDS;
        let capital = |word: &str| word.starts_with(char::is_uppercase);
        let mut by_whom = false;
        for count in (1..=LONGEST).rev() {
            for at in 0..(words.len() + 1).saturating_sub(count) {
                let run = &words[at..at + count];
                let before = at.checked_sub(1).map_or("", |at| words[at]);
                let named = matches!(before, "by" | "author" | "user" | "tool");
                let written = run.iter().all(|word| capital(word)) && count > 1;
                let full = count > 1 && words.len() <= NAMED_WORDS_MAX;
                let free = taken[at..at + count].iter().all(|taken| !taken);
                if !free || !(is_short || named || written || full) {
                    continue;
                }
                let run: Vec<&str> = run.iter().map(|word| word.trim_end_matches("'s")).collect();
                let surface = run.join(" ");
                let is_pair = run.first().is_some_and(|word| word.contains('='));
                let lower = surface.to_lowercase();
                let by = named && before == "by" && !is_pair;
                let authored = || {
                    let keys = RecordBody::AUTHOR_KEYS.iter();
                    keys.flat_map(|key| self.list_admitted_with_term(&pair_term(key, &lower)))
                        .next()
                        .is_some()
                };
                let is_author = full && authored();
                if full && !(is_short || named || written || is_author) {
                    continue;
                }
                let term = if is_pair { lower } else { value_term(&lower) };
                let holders = self.list_admitted_with_term(&term);
                if holders.is_empty() {
                    continue;
                }
                by_whom |= by;
                taken[at..at + count].fill(true);
                things.push(NamedThing {
                    is_ambiguous: !(named || written || is_pair || is_author),
                    is_certain: by,
                    ..NamedThing::new(&surface, vec![term], holders)
                });
            }
        }
        by_whom
    }

    /// Finds the records that have a word as it is written, if they are few or it is written in
    /// capitals.
    fn find_word(&self, word: &str) -> Option<NamedThing> {
        let is_in_capitals = word.chars().filter(|c| c.is_uppercase()).count() >= CAPITALS_MIN
            && word.to_uppercase() == word;
        let query = self.snapshot.index.analyse_query(word);
        let [_] = query.terms.as_slice() else {
            return None;
        };
        let mut holders = self.snapshot.index.find_all_words(&query, 0)?;
        holders.retain(|ordinal| self.view.contains(*ordinal));
        if holders.len() > WORD_RECORDS_MAX && !is_in_capitals {
            return None;
        }
        let lower = word.to_lowercase();
        let is_it = |own: &str| own == word || (!is_in_capitals && own.to_lowercase() == lower);
        let found = self.retain_with_matching_text(holders, |text| {
            let mut own = text.split(|c: char| !c.is_alphanumeric());
            own.any(is_it) || bare_words(text).any(is_it)
        });
        let thing = NamedThing {
            field: Some("text"),
            ..NamedThing::new(word, Vec::new(), found)
        };
        (!thing.holders.is_empty()).then_some(thing)
    }

    /// Returns those of these records, of many the newest, whose text `is_it` accepts; ascending.
    fn retain_with_matching_text(
        &self,
        holders: Vec<u32>,
        is_it: impl Fn(&str) -> bool,
    ) -> Vec<u32> {
        let newest = holders.into_iter().rev().take(PHRASE_READS);
        let read = newest.filter(|ordinal| {
            let record = self.snapshot.record(*ordinal, None);
            record.is_ok_and(|record| is_it(&record.text))
        });
        let mut found: Vec<u32> = read.collect();
        found.reverse();
        found
    }

    /// Finds the records with an external id of several words that is the question, as the name of
    /// a file may be.
    fn find_whole_name(&self, question: &str) -> Option<NamedThing> {
        let name = normalize_name(question).filter(|name| name.contains(' '))?;
        let id = external_id_term(&name);
        let owners = self.list_admitted_with_term(&id);
        let mut thing = NamedThing::new(question.trim(), Vec::new(), Vec::new());
        thing.add_records(id, &owners, true);
        (!owners.is_empty()).then_some(thing)
    }

    /// Finds the records whose first line is the question, word for word; `None` if it has few
    /// words or many records have them.
    fn find_title(&self, question: &str) -> Option<NamedThing> {
        let query = self.snapshot.index.analyse_query(question);
        if query.terms.len() < TITLE_WORDS_MIN {
            return None;
        }
        let mut holders = self.snapshot.index.find_all_words(&query, TITLE_READS)?;
        holders.retain(|ordinal| self.view.contains(*ordinal));
        let bare = |line: &str| {
            let line = line.trim_start_matches(['#', '*', '-', '>', ' ']);
            fold_case(line.trim_end_matches(['.', '!', '?', ' ']))
        };
        let wanted = bare(question);
        let traits = |ordinal: &u32| self.snapshot.index.doc_traits(*ordinal, self.view);
        if holders.len() > TITLE_READS {
            // The words of a title are most of a short record.
            let terms = |ordinal: &u32| traits(ordinal).map_or(u32::MAX, |traits| traits.terms);
            let mut short: Vec<(u32, u32)> = holders.iter().map(|at| (terms(at), *at)).collect();
            short.select_nth_unstable(TITLE_READS);
            short.truncate(TITLE_READS);
            holders = short.into_iter().map(|(_, ordinal)| ordinal).collect();
            holders.sort_unstable();
        }
        holders.retain(|ordinal| {
            let asks = traits(ordinal)
                .is_some_and(|one| one.only_asks || one.informative_prompt || one.bare_prompt);
            let record = self.snapshot.record(*ordinal, None);
            let first = |text: &str| text.trim_start().lines().next().map(bare);
            !asks && record.is_ok_and(|record| first(&record.text).as_ref() == Some(&wanted))
        });
        let mut thing = NamedThing::new(question.trim(), Vec::new(), holders.clone());
        thing.owners = holders;
        thing.field = Some("text");
        (!thing.holders.is_empty()).then_some(thing)
    }

    /// Finds the records that have a phrase; those that have all its words are read.
    fn find_phrase(&self, phrase: &str) -> Option<NamedThing> {
        let query = self.snapshot.index.analyse_query(phrase);
        // All of them are fetched: the words of `race auth` also begin those of `race authority`.
        let mut holders = self.snapshot.index.find_all_words(&query, 0)?;
        holders.retain(|ordinal| self.view.contains(*ordinal));
        let wanted = fold_case(phrase);
        let found =
            self.retain_with_matching_text(holders, |text| fold_case(text).contains(&wanted));
        let mut thing = NamedThing::new(&format!("\"{phrase}\""), Vec::new(), found);
        thing.phrase = Some(wanted);
        (!thing.holders.is_empty()).then_some(thing)
    }
}

/// Whether a word is certainly an identifier: no word of a language looks like it.
fn is_certainly_identifier(word: &str, before: &str) -> bool {
    let mut certain = false;
    visit_word(word, before, &mut |shape, _| {
        certain |= matches!(
            shape,
            IdentifierShape::Hash | IdentifierShape::Issue | IdentifierShape::Code
        );
    });
    certain
}

/// Extracts the phrases in double quotes, and returns them with the rest of the question. A quote
/// that is not closed leads to a note and quotes nothing.
fn extract_quotes<'q>(question: &'q str, notes: &mut Vec<String>) -> (Vec<&'q str>, String) {
    let (mut phrases, mut rest) = (Vec::new(), question.to_owned());
    let is_quote = |c: char| matches!(c, '"' | '\u{201c}' | '\u{201d}');
    let mut marks = question.char_indices().filter(|(_, c)| is_quote(*c));
    while let Some((open, quote)) = marks.next() {
        let Some((close, last)) = marks.next() else {
            notes.push(
                "a quote is not closed: its words were looked up one by one; close it for the \
                 exact phrase"
                    .to_owned(),
            );
            break;
        };
        if question
            .get(..open)
            .is_some_and(|before| before.ends_with('='))
        {
            // In `author="Ada Byron"` the quotes hold the value of a pair.
            blank_out(&mut rest, open..open + quote.len_utf8());
            blank_out(&mut rest, close..close + last.len_utf8());
            continue;
        }
        let inside = question
            .get(open + quote.len_utf8()..close)
            .unwrap_or_default();
        if !inside.trim().is_empty() {
            phrases.push(inside.trim());
        }
        blank_out(&mut rest, open..close + last.len_utf8());
    }
    (phrases, rest)
}
