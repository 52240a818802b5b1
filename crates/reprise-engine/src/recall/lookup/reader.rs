//! Reading a question for what it names: each word, run of words and phrase held against what the
//! records of this memory are looked up by.

use reprise_index::View;
use reprise_types::{RecallRequest, RecordBody, RecordId};

use super::{Lookup, Sought, asks, folded, says_nothing};
use crate::identifiers::{HASHES_MAX, SHORT_HASH, Shape, is_hex, is_number, of_word, words};
use crate::names::{self, name};
use crate::recall::plan::Plan;
use crate::recall::when::{DATE_TOLD, When, blank};
use crate::snapshot::Snapshot;

/// A longer question is a document, and names nothing that is looked up.
const QUESTION_BYTES_MAX: usize = 1024;
/// Identifiers, names and phrases of one question.
const SOUGHT_MAX: usize = 32;
/// A question of no more words may be a look-up as a whole: each word is held against names, which
/// costs more than reading a longer question may.
const SHORT_WORDS: usize = 6;
/// A question with no more words of its own beside what it names is after that; of a longer one the
/// name is a detail, which is as often worded otherwise in the answer.
const OTHERS_MAX: usize = 2;
/// Words of a title at least, and records with all of them, the shortest, that are read for one.
const TITLE_WORDS_MIN: usize = 2;
const TITLE_READS: usize = 16;
/// Records with a word that is the whole question are that at most, or it names none of them ...
const WORD_RECORDS_MAX: usize = 16;
/// ... unless it is written in capitals.
const CAPITALS_MIN: usize = 2;
/// Words of a question in which full names of authors are looked for.
const NAMED_WORDS_MAX: usize = 24;
/// Records with all words of a phrase that are read to find it, the newest first.
const PHRASE_READS: usize = 256;
/// Where something else is asked beside, what more than one record in so many has says little ...
const COMMON_SHARE: usize = 4;
/// ... unless it is no more than so many.
const RARE: usize = 2;

struct Reader<'a> {
    snapshot: &'a Snapshot,
    view: &'a View,
}

impl Lookup {
    pub(in crate::recall) fn read(
        snapshot: &Snapshot,
        plan: &Plan<'_>,
        request: &RecallRequest,
    ) -> Self {
        let view = &plan.view;
        let question = request.query.as_str();
        let mut lookup = Self::default();
        if question.len() > QUESTION_BYTES_MAX || question.trim().is_empty() {
            return lookup;
        }
        let reader = Reader { snapshot, view };
        if let Some(title) = reader.title(question) {
            lookup.sought.push(title);
            (lookup.whole, lookup.first) = (true, true);
            return lookup;
        }
        let (phrases, mut rest) = quoted(question, &mut lookup.notes);
        for phrase in phrases.into_iter().take(SOUGHT_MAX) {
            match reader.phrase(phrase) {
                Some(sought) => lookup.sought.push(sought),
                None => lookup.notes.push(format!(
                    "no record has the phrase \"{phrase}\" word by word"
                )),
            }
        }
        let when = &plan.when;
        rest = when.without(&rest);
        lookup.sought.extend(told(when));
        let rest_words: Vec<&str> = words(&rest).collect();
        let mut taken = vec![false; rest_words.len()];
        let unknown = reader.identifiers(&rest_words, &mut taken, &mut lookup.sought);
        let certain = lookup.sought.iter().any(|sought| sought.is_certain);
        let by_whom = reader.names(&rest_words, &mut taken, &mut lookup.sought);
        let left = rest_words.iter().zip(&taken).filter(|(_, taken)| !**taken);
        let mut others: Vec<&str> = left.map(|(word, _)| *word).collect();
        others.retain(|word| !says_nothing(word));
        if let ([word], true) = (others.as_slice(), lookup.sought.is_empty())
            && !rest_words.iter().any(|word| asks(word))
            && let Some(sought) = reader.word(word)
        {
            lookup.sought.push(sought);
            others.clear();
        }
        let nothing_else = others.is_empty();
        let few = |sought: &Sought| sought.is_certain && sought.holders.len() <= RARE;
        lookup.first = others.len() <= OTHERS_MAX || by_whom || lookup.sought.iter().any(few);
        lookup.strong = certain && lookup.first && unknown.is_empty();
        lookup.whole = nothing_else && unknown.is_empty() && !lookup.sought.is_empty();
        lookup.in_vain = nothing_else && !unknown.is_empty() && lookup.sought.is_empty();
        lookup.notes.extend(
            unknown
                .into_iter()
                .map(|word| format!("no record has `{word}`")),
        );
        let times = lookup.sought.iter().all(|sought| sought.soft > 0.0);
        lookup.of_a_time = lookup.whole && times && !when.holders.is_empty();
        let live = view.live() as usize;
        let whole = lookup.whole;
        lookup.sought.retain(|sought| {
            let count = sought.holders.len();
            let common = count > RARE && count * COMMON_SHARE > live && !sought.is_certain;
            whole || sought.soft > 0.0 || !(sought.loose || common)
        });
        lookup.sought.truncate(SOUGHT_MAX);
        lookup
    }
}

impl Reader<'_> {
    fn holding(&self, term: &str) -> Vec<u32> {
        let mut found = self.snapshot.index.holding(term);
        found.retain(|ordinal| self.view.admits(*ordinal));
        found
    }

    /// What the words name, one by one. Returns those that name something for certain, and nothing
    /// that is there.
    fn identifiers<'w>(
        &self,
        words: &[&'w str],
        taken: &mut [bool],
        sought: &mut Vec<Sought>,
    ) -> Vec<&'w str> {
        let is_short = words.len() <= SHORT_WORDS;
        let mut unknown = Vec::new();
        let mut before = "";
        for (word, taken) in words.iter().zip(taken) {
            let plain = word.chars().all(char::is_alphabetic) && word.to_uppercase() != *word;
            let read = (is_short || !plain).then(|| self.identifier(word, before));
            let is_certain = is_certain(word, before);
            if let Some(found) = read.flatten() {
                *taken = true;
                sought.push(Sought {
                    is_certain: is_certain && !found.loose,
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

    /// What a word names, if a record has it. The first of its terms that is known counts.
    fn identifier(&self, word: &str, before: &str) -> Option<Sought> {
        if let Ok(id) = word.parse::<RecordId>() {
            let ordinal = self.snapshot.index.find(id)?;
            let ordinals = vec![ordinal];
            return self.view.admits(ordinal).then(|| Sought {
                owners: ordinals.clone(),
                ..Sought::of(word, vec![id.to_string()], ordinals)
            });
        }
        let mut terms: Vec<(Shape, String)> = Vec::new();
        of_word(word, before, &mut |shape, term| terms.push((shape, term)));
        let whole_word = word.to_lowercase();
        let odd = word.contains(|c: char| !c.is_alphabetic());
        let mut found: Option<Sought> = None;
        let full = terms.first().map(|(_, term)| term.clone());
        for (shape, term) in terms {
            // A path may stand deeper where the question's author sees it: its end is enough.
            let is_end = full.as_ref().is_some_and(|full| {
                let stem = full
                    .rsplit_once('.')
                    .map_or(full.as_str(), |(stem, _)| stem);
                full.ends_with(&term) || stem.ends_with(&term)
            });
            let sought = match shape {
                Shape::Hash => self.hash(word, &term),
                _ => Sought::of(word, vec![term.clone()], self.holding(&term)),
            };
            if is_end && !sought.holders.is_empty() {
                found = Some(Sought {
                    loose: shape == Shape::Loose,
                    ..sought
                });
                break;
            }
        }
        // Whatever it looks like, a record may be called so.
        let id = names::id(&whole_word);
        let owners = self.holding(&id);
        if !owners.is_empty() {
            let loose = !odd || is_number(word);
            let sought = found.get_or_insert_with(|| Sought {
                loose,
                ..Sought::of(word, Vec::new(), Vec::new())
            });
            sought.add(id, &owners, true);
        }
        found.or_else(|| self.short_hash(&whole_word)).or_else(|| {
            let holders = self.holding(&whole_word);
            (!holders.is_empty()).then(|| Sought {
                loose: !odd || is_number(word),
                ..Sought::of(word, vec![whole_word], holders)
            })
        })
    }

    /// Hashes that begin so, are so, or are what this one begins with; ids of records too.
    fn hash(&self, word: &str, hash: &str) -> Sought {
        let mut sought = Sought::of(word, Vec::new(), Vec::new());
        let mut take = |term: String, mut found: Vec<u32>, is_id: bool| {
            found.retain(|ordinal| self.view.admits(*ordinal));
            if !found.is_empty() {
                sought.add(term, &found, is_id);
            }
        };
        let index = &self.snapshot.index;
        let id = names::id(hash);
        for (prefix, is_id) in [(hash, false), (id.as_str(), true)] {
            for (term, found) in index.holding_from(prefix, HASHES_MAX) {
                take(term, found, is_id);
            }
        }
        for shorter in (7..hash.len()).filter_map(|end| hash.get(..end)) {
            let id = names::id(shorter);
            take(shorter.to_owned(), index.holding(shorter), false);
            take(id.clone(), index.holding(&id), true);
        }
        sought
    }

    /// A beginning that only one hash, or one record's id, has. A number is loose.
    fn short_hash(&self, beginning: &str) -> Option<Sought> {
        let least = SHORT_HASH + usize::from(is_number(beginning));
        if !is_hex(beginning) || beginning.len() < least {
            return None;
        }
        let is_one = |term: &str| is_hex(term.trim_start_matches(names::ID)) && term.len() >= 7;
        let id = names::id(beginning);
        let mut found = Vec::new();
        for prefix in [beginning, &id] {
            let from = self.snapshot.index.holding_from(prefix, HASHES_MAX);
            found.extend(from.into_iter().filter(|(term, _)| is_one(term)));
        }
        let bare = |term: &str| term.trim_start_matches(names::ID).to_owned();
        let (first, _) = found.first()?;
        if found.iter().any(|(term, _)| bare(term) != bare(first)) {
            return None;
        }
        let found = Sought {
            loose: is_number(beginning),
            ..self.hash(beginning, &bare(first))
        };
        (!found.holders.is_empty()).then_some(found)
    }

    /// Names of the metadata among the words: up to three words, the longest first. One that other
    /// words could be, small letters or a word alone, is loose. Returns whether the question says
    /// by whom.
    fn names(&self, words: &[&str], taken: &mut [bool], sought: &mut Vec<Sought>) -> bool {
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
                    keys.flat_map(|key| self.holding(&names::pair(key, &lower)))
                        .next()
                        .is_some()
                };
                let is_author = full && authored();
                if full && !(is_short || named || written || is_author) {
                    continue;
                }
                let term = if is_pair { lower } else { name(&lower) };
                let holders = self.holding(&term);
                if holders.is_empty() {
                    continue;
                }
                by_whom |= by;
                taken[at..at + count].fill(true);
                sought.push(Sought {
                    loose: !(named || written || is_pair || is_author),
                    is_certain: by,
                    ..Sought::of(&surface, vec![term], holders)
                });
            }
        }
        by_whom
    }

    /// The records that have a word as it is written, where they are few or it is written in
    /// capitals.
    fn word(&self, word: &str) -> Option<Sought> {
        let shouted = word.chars().filter(|c| c.is_uppercase()).count() >= CAPITALS_MIN
            && word.to_uppercase() == word;
        let query = self.snapshot.index.analyse_query(word);
        let [_] = query.terms.as_slice() else {
            return None;
        };
        let mut holders = self.snapshot.index.holding_words(&query, 0)?;
        holders.retain(|ordinal| self.view.admits(*ordinal));
        if holders.len() > WORD_RECORDS_MAX && !shouted {
            return None;
        }
        let lower = word.to_lowercase();
        let is_it = |own: &str| own == word || (!shouted && own.to_lowercase() == lower);
        let found = self.reading(holders, |text| {
            let mut own = text.split(|c: char| !c.is_alphanumeric());
            own.any(is_it) || words(text).any(is_it)
        });
        let sought = Sought {
            field: Some("text"),
            ..Sought::of(word, Vec::new(), found)
        };
        (!sought.holders.is_empty()).then_some(sought)
    }

    /// Those of these records, of many the newest, whose text is it; ascending.
    fn reading(&self, holders: Vec<u32>, is_it: impl Fn(&str) -> bool) -> Vec<u32> {
        let newest = holders.into_iter().rev().take(PHRASE_READS);
        let read = newest.filter(|ordinal| {
            let record = self.snapshot.record(*ordinal, None);
            record.is_ok_and(|record| is_it(&record.text))
        });
        let mut found: Vec<u32> = read.collect();
        found.reverse();
        found
    }

    /// The records whose first line is the question, word for word; `None` where few words are it,
    /// or many records have them.
    fn title(&self, question: &str) -> Option<Sought> {
        let query = self.snapshot.index.analyse_query(question);
        if query.terms.len() < TITLE_WORDS_MIN {
            return None;
        }
        let mut holders = self.snapshot.index.holding_words(&query, TITLE_READS)?;
        holders.retain(|ordinal| self.view.admits(*ordinal));
        let bare = |line: &str| {
            let line = line.trim_start_matches(['#', '*', '-', '>', ' ']);
            folded(line.trim_end_matches(['.', '!', '?', ' ']))
        };
        let wanted = bare(question);
        let traits = |ordinal: &u32| self.snapshot.index.traits(*ordinal, self.view);
        if holders.len() > TITLE_READS {
            // A title is most of the shorter ones.
            let terms = |ordinal: &u32| traits(ordinal).map_or(u32::MAX, |traits| traits.terms);
            let mut short: Vec<(u32, u32)> = holders.iter().map(|at| (terms(at), *at)).collect();
            short.select_nth_unstable(TITLE_READS);
            short.truncate(TITLE_READS);
            holders = short.into_iter().map(|(_, ordinal)| ordinal).collect();
            holders.sort_unstable();
        }
        holders.retain(|ordinal| {
            let asks = traits(ordinal).is_some_and(|one| one.asks || one.prompt || one.lead);
            let record = self.snapshot.record(*ordinal, None);
            let first = |text: &str| text.trim_start().lines().next().map(bare);
            !asks && record.is_ok_and(|record| first(&record.text).as_ref() == Some(&wanted))
        });
        let mut sought = Sought::of(question.trim(), Vec::new(), holders.clone());
        sought.owners = holders;
        sought.field = Some("text");
        (!sought.holders.is_empty()).then_some(sought)
    }

    /// A phrase: the records that have all its words are read for it.
    fn phrase(&self, phrase: &str) -> Option<Sought> {
        let query = self.snapshot.index.analyse_query(phrase);
        // All of them are asked for: the words of `race auth` begin in `race authority`, too.
        let mut holders = self.snapshot.index.holding_words(&query, 0)?;
        holders.retain(|ordinal| self.view.admits(*ordinal));
        let wanted = folded(phrase);
        let found = self.reading(holders, |text| folded(text).contains(&wanted));
        let mut sought = Sought::of(&format!("\"{phrase}\""), Vec::new(), found);
        sought.phrase = Some(wanted);
        (!sought.holders.is_empty()).then_some(sought)
    }
}

/// The records of a time, and those that tell of it.
fn told(when: &When) -> impl Iterator<Item = Sought> {
    let of = |soft, field, surface: &str, holders: &Vec<u32>| Sought {
        soft,
        field: Some(field),
        ..Sought::of(surface, Vec::new(), holders.clone())
    };
    let phrases = when.phrases.join(", ");
    let told = [
        of(when.lift, "timestamp", &phrases, &when.holders),
        of(DATE_TOLD, "text", "the date", &when.tellings),
    ];
    told.into_iter().filter(|sought| !sought.holders.is_empty())
}

/// Whether a word names something that is there or is not: no word of a language looks so.
fn is_certain(word: &str, before: &str) -> bool {
    let mut certain = false;
    of_word(word, before, &mut |shape, _| {
        certain |= matches!(shape, Shape::Hash | Shape::Issue | Shape::Code);
    });
    certain
}

/// What stands in double quotes, and the question without it. A quote that is not closed is a note
/// and quotes nothing.
fn quoted<'q>(question: &'q str, notes: &mut Vec<String>) -> (Vec<&'q str>, String) {
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
            // `author="Ada Byron"`: the value of a pair.
            blank(&mut rest, open..open + quote.len_utf8());
            blank(&mut rest, close..close + last.len_utf8());
            continue;
        }
        let inside = question
            .get(open + quote.len_utf8()..close)
            .unwrap_or_default();
        if !inside.trim().is_empty() {
            phrases.push(inside.trim());
        }
        blank(&mut rest, open..close + last.len_utf8());
    }
    (phrases, rest)
}
