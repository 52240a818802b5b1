//! One prompt with all that followed, and what is known of the use of the memories that it
//! received.

use std::collections::{BTreeMap, HashMap, HashSet};

use reprise_engine::extract_terms;
use reprise_operations::operations::sessions::{Replay, ReplayArguments};
use reprise_operations::{Prompt, PromptRecall, PromptReplay, ReplayedRecord};

use crate::pages::ask::ratings::Ratings;
use crate::pages::why_not::describe_parts;
use crate::prelude::*;

/// Most prompts of a list whose answers are read.
const READ_MAX: usize = 40;

/// What is known of the use of memories by work that has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::pages) enum OpenUse {
    /// The work may go on.
    NotKnownYet,
    /// The work is over, and no answer is stored.
    NotKnown,
    NotUsed,
    /// An answer has words that could come from a memory alone.
    Maybe,
    /// What followed has a memory's words or its id.
    Quoted,
    /// A person said that a memory helped, or that none did.
    Rated(bool),
}

impl OpenUse {
    /// Returns the words of the chip, its class, and what they mean.
    pub(super) fn describe(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::NotKnownYet => ("use not known yet", "chip faint", NOT_KNOWN_YET),
            Self::NotKnown => ("use not known", "chip faint", NOT_KNOWN),
            Self::NotUsed => ("not used", "chip faint", OWN_WORDS),
            Self::Maybe => ("maybe used, not counted", "chip faint", CAME_BACK),
            Self::Quoted => ("quoted, not counted", "chip faint", NOT_COUNTED),
            Self::Rated(true) => ("helpful, by your rating", "chip good", RATED),
            Self::Rated(false) => ("not helpful, by your rating", "chip faint", RATED),
        }
    }
}

/// Finds what is known of the use of memories by prompts whose work has no result.
pub(in crate::pages) async fn find_open_uses(
    visit: &PageRequest,
    prompts: &[Prompt],
) -> PageResult<HashMap<RecordId, OpenUse>> {
    let is_open = |prompt: &&Prompt| prompt.outcome.is_none() && prompt.count_received() > 0;
    let (mut uses, ratings) = (HashMap::new(), Ratings::load(visit).await?);
    for prompt in prompts.iter().filter(is_open).take(READ_MAX) {
        let turn = Turn::load(visit, prompt.id).await?;
        uses.insert(prompt.id, turn.open_use(&ratings, visit.page.now()));
    }
    Ok(uses)
}

/// Most words that an answer has of a memory which are named.
const REPEATED_MAX: usize = 5;

/// A prompt with all that followed.
pub(in crate::pages) struct Turn {
    pub(in crate::pages) replayed: PromptReplay,
    /// What its session stored before the next prompt, each with the title that it had then.
    pub(in crate::pages) followed: Vec<(String, MemoryRecord)>,
    /// Words of each memory that it received which it lacks itself and an answer has.
    repeated: BTreeMap<RecordId, Vec<String>>,
    /// By whom what followed was corrected.
    corrected: HashMap<RecordId, &'static str>,
}

impl Turn {
    pub(in crate::pages) async fn load(visit: &PageRequest, prompt: RecordId) -> PageResult<Self> {
        let id = prompt.to_string();
        let replayed = visit.run::<Replay>(ReplayArguments { id }).await?;
        let mut turn = Self {
            replayed,
            followed: Vec::new(),
            repeated: BTreeMap::new(),
            corrected: HashMap::new(),
        };
        for one in &turn.replayed.followed {
            let record = load_version(visit, one.id).await?;
            turn.followed.extend(record.map(|record| {
                // A title that was cut is read whole from its memory.
                let title = if one.title.ends_with("...") {
                    rows::title(&record).to_owned()
                } else {
                    one.title.clone()
                };
                (title, record)
            }));
        }
        let records: Vec<MemoryRecord> = turn.followed.iter().map(|it| it.1.clone()).collect();
        turn.corrected = rows::load_correction_marks(visit, &records).await?;
        // What was edited is stored at the end of a turn, and happened before its answer.
        turn.followed
            .sort_by_key(|(_, record)| !rows::is_edit(record));
        let answers: Vec<String> = turn.answers().map(str::to_owned).collect();
        let found = turn.replayed.found.iter();
        let mut received = Vec::new();
        for one in found.filter(|one| one.noted.left_out.is_none()) {
            received.extend(load_version(visit, one.noted.id).await?);
        }
        let prompt = &turn.replayed.prompt.text;
        for record in &received {
            let others = received.iter().filter(|other| other.id != record.id);
            let others: Vec<&str> = others.map(|other| other.text.as_str()).collect();
            let words = list_repeated_words(&record.text, prompt, &others, &answers);
            turn.repeated.insert(record.id, words);
        }
        Ok(turn)
    }

    /// Says by whom something that followed was corrected.
    pub(in crate::pages) fn correction_of(&self, record: &MemoryRecord) -> Option<&'static str> {
        self.corrected.get(&record.id).copied()
    }

    /// Returns whether answers are stored and have nothing of any memory that the prompt received,
    /// so that each of these counts as not used.
    pub(in crate::pages) fn shows_no_use(&self) -> bool {
        let found = self.replayed.found.iter();
        let mut received = found.filter(|one| one.noted.left_out.is_none());
        self.answers().next().is_some()
            && received.all(|one| {
                let repeated = self.repeated.get(&one.noted.id);
                !one.is_quoted && repeated.is_none_or(Vec::is_empty)
            })
    }

    /// Returns what is known of the use of memories if the work has no result: what a person said
    /// of them counts first.
    pub(in crate::pages) fn open_use(&self, ratings: &Ratings, now: DateTime<Utc>) -> OpenUse {
        let prompt = &self.replayed.prompt;
        let question = first_characters(&prompt.text);
        let received = || {
            let found = self.replayed.found.iter();
            found.filter(|one| one.noted.left_out.is_none())
        };
        let rated: Vec<bool> = received()
            .filter_map(|one| ratings.find(&question, one.noted.id))
            .collect();
        if rated.contains(&true) || !rated.is_empty() && rated.len() == received().count() {
            OpenUse::Rated(rated.contains(&true))
        } else if self.answers().next().is_none() {
            // An agent answers at the end of a turn.
            if now - prompt.at < TimeDelta::hours(TURN_HOURS) {
                OpenUse::NotKnownYet
            } else {
                OpenUse::NotKnown
            }
        } else if self.shows_no_use() {
            OpenUse::NotUsed
        } else if received().any(|one| one.is_quoted) {
            OpenUse::Quoted
        } else {
            OpenUse::Maybe
        }
    }

    /// Iterates over the answers that are stored; short ones are not.
    fn answers(&self) -> impl Iterator<Item = &str> {
        let records = self.followed.iter().map(|(_, record)| record);
        let answers = records.filter(|record| record.record_type() == RecordType::Answer);
        answers.map(|record| record.text.as_str())
    }
}

/// Loads one version of a memory; `None` if it was forgotten.
async fn load_version(visit: &PageRequest, id: RecordId) -> PageResult<Option<MemoryRecord>> {
    let arguments = HistoryArguments { id: id.to_string() };
    let Some(versions) = visit.run_optional::<History>(arguments).await? else {
        return Ok(None);
    };
    let mut all = [versions.present].into_iter().chain(versions.earlier);
    Ok(all.find(|version| version.id == id))
}

/// Lists the words of a memory that an answer has and that could come from it alone: the prompt
/// lacks them, and so does each of the other memories that does not say the same. Those with digits
/// come first.
fn list_repeated_words(
    memory: &str,
    prompt: &str,
    others: &[&str],
    answers: &[String],
) -> Vec<String> {
    let stems = |text: &str| -> Vec<i64> {
        let terms = extract_terms(text).terms.into_iter();
        terms.map(|term| term.hash).collect()
    };
    let said: HashSet<i64> = answers.iter().flat_map(|answer| stems(answer)).collect();
    let others = others.iter().filter(|other| !says_the_same(other, memory));
    let known: Vec<&str> = others.copied().chain([prompt]).collect();
    let known_stems: HashSet<i64> = known.iter().flat_map(|text| stems(text)).collect();
    let own_numbers = list_numbers(memory);
    let own = extract_terms(memory).terms.into_iter();
    let repeated =
        own.filter(|term| said.contains(&term.hash) && !known_stems.contains(&term.hash));
    // A number counts as a whole: the 2 of 2.8 is another one.
    let words = repeated.map(|term| term.surface).filter(|word| {
        let is_part = word.bytes().all(|byte| byte.is_ascii_digit());
        !is_part && !own_numbers.contains(word)
    });
    let [said, known] = [
        answers
            .iter()
            .flat_map(|it| list_numbers(it))
            .collect::<HashSet<_>>(),
        known.iter().flat_map(|it| list_numbers(it)).collect(),
    ];
    let mut numbers = own_numbers.clone();
    numbers.retain(|number| said.contains(number) && !known.contains(number));
    numbers.dedup();
    let mut words: Vec<String> = numbers.into_iter().chain(words).collect();
    words.truncate(REPEATED_MAX);
    words
}

/// Says why a memory was found for a prompt, as it was noted then; a prompt that is older than
/// these notes says nothing.
pub(in crate::pages) fn describe_match(one: &ReplayedRecord) -> Option<String> {
    let reason = &one.noted.reason;
    (!reason.is_empty()).then(|| describe_parts(reason, None))
}

/// Says which words of a prompt were read as times, outside of which no memory was searched.
pub(in crate::pages) fn describe_asked_times(given: &PromptRecall) -> Option<String> {
    let times = given.only_times.as_deref().unwrap_or_default();
    let quoted = times.iter();
    let quoted = quoted.map(|time| format!("\u{201c}{}\u{201d}", text::plain_line(time, 80)));
    let quoted: Vec<String> = quoted.collect();
    (!quoted.is_empty()).then(|| {
        let times = quoted.join(", ");
        format!("Only memories of these times were searched, as the prompt says: {times}.")
    })
}

/// Returns whether two texts have the same words in the same order.
fn says_the_same(one: &str, other: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|c: char| !c.is_alphanumeric());
        let words = words.filter(|word| !word.is_empty());
        words.map(str::to_lowercase).collect()
    };
    words(one) == words(other)
}

/// Lists the numbers of a text, each with all that belongs to it, such as `2.8` or `2026-11-30`.
fn list_numbers(text: &str) -> Vec<String> {
    let runs = text.split(|c: char| !c.is_ascii_digit() && !".,:-/".contains(c));
    let numbers = runs.map(|run| run.trim_matches(|c: char| !c.is_ascii_digit()));
    numbers
        .filter(|run| !run.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Why a memory counts as not used.
const OWN_WORDS: &str = "The answer repeats nothing of this memory that the prompt did not have";
pub(super) const NO_CREDIT: &str =
    "The work of this prompt ended, and it used no memory that it received";
/// Why it is not known whether a memory was used.
const NOT_KNOWN_YET: &str = "The work of this prompt has not ended yet";
const NOT_KNOWN: &str = "No answer and no result of this prompt is stored";
/// Why what was quoted does not count as help.
const NOT_COUNTED: &str = "What followed has words of a memory that this prompt received, but no \
    result of this work was counted for it. Press Helpful if it helped";
/// What a rating settles.
const RATED: &str = "You rated a memory that this prompt received";
/// Hours after which a prompt without an answer is over.
const TURN_HOURS: i64 = 6;
/// Characters of a prompt by which it is asked again and rated.
const ASKED: usize = 2_000;
const NO_ANSWER: &str = "Not known: no answer to this prompt is stored";
/// Why a memory counts as maybe used.
const CAME_BACK: &str =
    "These words of this memory, which the prompt did not have, are in the answer";

/// Returns the part of a prompt that is asked again, and by which its memories are rated.
pub(in crate::pages) fn first_characters(prompt_text: &str) -> String {
    prompt_text.chars().take(ASKED).collect()
}

/// Renders what is known of the use of a memory that a prompt received; `rating` is what a person
/// said of it.
pub(in crate::pages) fn render_use_chip(
    turn: &Turn,
    one: &ReplayedRecord,
    rating: Option<bool>,
) -> Markup {
    let outcome = turn.replayed.prompt.outcome.as_ref();
    let is_used = outcome.is_some_and(|outcome| outcome.used.contains(&one.noted.id));
    let repeated = turn.repeated.get(&one.noted.id).map(Vec::as_slice);
    let repeated = repeated.unwrap_or_default();
    html! {
        @if is_used { span class="chip good" { "used" } }
        @else if let Some(helped) = rating {
            @let (words, class, meaning) = OpenUse::Rated(helped).describe();
            span class=(class) title=(meaning) { (words) }
        }
        @else if one.is_quoted { span class="chip" title=(NOT_COUNTED) { "quoted, not counted" } }
        @else if !repeated.is_empty() {
            span class="chip" title=(CAME_BACK) {
                (text::shorten(&format!("maybe used ({})", repeated.join(", ")), 80))
            }
        }
        @else if turn.answers().next().is_none() {
            span class="faint" title=(NO_ANSWER) {
                (if outcome.is_some() { "not known: no answer stored" } else { "not known yet: no answer stored" })
            }
        }
        @else { span class="faint" title=(OWN_WORDS) { "not used" } }
    }
}

#[cfg(test)]
mod tests {
    use reprise_types::{MemoryKind, MemorySource, RecordBody};

    use super::*;

    /// A prompt of 1970 that received one memory; its work has no result.
    fn open_turn(is_quoted: bool, answer: Option<&str>) -> Turn {
        let id = RecordId::from_parts(1, 1);
        let found = json!({ "id": id, "score": 0.5 });
        let mut replayed_one = found.clone();
        replayed_one["title"] = json!("The proxy speaks HTTP/1.1");
        replayed_one["is_quoted"] = json!(is_quoted);
        let replayed = json!({
            "prompt": {
                "id": RecordId::from_parts(2, 2), "at": DateTime::UNIX_EPOCH, "text": "why",
                "session": "s", "tags": [], "outcome": null,
                "given": { "recall_id": RecordId::from_parts(3, 3), "verdict": "weak", "found": [found] },
            },
            "found": [replayed_one], "followed": [],
        });
        let followed = answer.map(|answer| {
            let kind = MemoryKind::Episode;
            let mut body = RecordBody::new(answer, MemorySource::WorkerResult, kind);
            body.metadata.insert("type".to_owned(), json!("answer"));
            let record = body.into_record(RecordId::from_parts(4, 4), DateTime::UNIX_EPOCH);
            (answer.to_owned(), record)
        });
        Turn {
            replayed: serde_json::from_value(replayed).unwrap(),
            followed: followed.into_iter().collect(),
            repeated: BTreeMap::new(),
            corrected: HashMap::new(),
        }
    }

    #[test]
    fn use_is_not_known_yet_only_while_work_may_go_on() {
        let (ratings, began) = (Ratings::default(), DateTime::UNIX_EPOCH);
        let later = began + TimeDelta::hours(TURN_HOURS);
        let open_use = |turn: &Turn, now| turn.open_use(&ratings, now);
        let unanswered = open_turn(false, None);
        assert_eq!(open_use(&unanswered, began), OpenUse::NotKnownYet);
        assert_eq!(open_use(&unanswered, later), OpenUse::NotKnown);
        let quoted = open_turn(true, Some("It speaks HTTP/1.1."));
        assert_eq!(open_use(&quoted, began), OpenUse::Quoted, "it was answered");
        let other = open_turn(false, Some("Nobody knows."));
        assert_eq!(open_use(&other, began), OpenUse::NotUsed);
        let mut maybe = open_turn(false, Some("1.1"));
        let own = RecordId::from_parts(1, 1);
        maybe.repeated.insert(own, vec!["1.1".to_owned()]);
        assert_eq!(open_use(&maybe, began), OpenUse::Maybe);
        let chip = render_use_chip(&quoted, &quoted.replayed.found[0], None);
        let chip = chip.into_string();
        assert!(
            chip.contains("quoted, not counted") && !chip.contains("good"),
            "{chip}"
        );
        let rated = render_use_chip(&quoted, &quoted.replayed.found[0], Some(true));
        assert!(rated.into_string().contains("helpful, by your rating"));
    }

    #[test]
    fn an_answer_repeats_what_the_prompt_does_not_have() {
        let memory = "The API rate limit is 250 requests per second";
        let prompt = "what is the API rate limit?";
        let repeated =
            |answer: &str| list_repeated_words(memory, prompt, &[], &[answer.to_owned()]);
        assert_eq!(repeated("The documents say 250."), ["250"]);
        assert_eq!(
            repeated("It is 250 requests, then 429."),
            ["250", "requests"]
        );
        assert!(repeated("The rate limit of that API is not known.").is_empty());
        assert!(list_repeated_words(memory, prompt, &[], &[]).is_empty());
    }

    #[test]
    fn an_answer_repeats_only_what_one_memory_alone_could_have_said() {
        let [old, new] = ["The upload limit is 20 MB", "The upload limit is 50 MB"];
        let repeated = |memory: &str, other: &str, answer: &str| {
            let prompt = "what is the upload limit?";
            list_repeated_words(memory, prompt, &[other], &[answer.to_owned()])
        };
        assert_eq!(repeated(old, new, "It is 20 MB."), ["20"]);
        assert!(repeated(new, old, "It is 20 MB.").is_empty());
        let denied = "The upload limit is not 20 MB";
        assert!(repeated(old, denied, "It is 20 MB.").is_empty());
        assert!(repeated(denied, old, "It is 20 MB.").is_empty());
        assert_eq!(
            repeated(old, "the upload limit is 20 MB.", "20 MB"),
            ["20", "MB"]
        );
        assert!(repeated("Release 2.8 is due", new, "It resets at 2 am").is_empty());
        assert_eq!(repeated("Release 2.8 is due", new, "It was 2.8."), ["2.8"]);
    }
}
