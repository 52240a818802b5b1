//! How prompts went, in words; and the last seven days in numbers: how many prompts there were, how
//! many received memory, and how the work of those went that used it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use reprise_engine::extract_terms;
use reprise_operations::operations::sessions::{
    Prompts, PromptsArguments, Replay, ReplayArguments,
};
use reprise_operations::{
    LeftOutReason, NothingAddedReason, Prompt, PromptOutcome, PromptRecall, PromptReplay,
    PromptResult, ReplayedRecord, UnansweredReason,
};

use reprise_types::Cursor;

use super::why_not::describe_parts;
use crate::prelude::*;

pub(super) const DAYS: i64 = 7;
/// Programs that say no name; no switch can name them.
pub(super) const UNNAMED: &str = "unnamed program";
/// Prompts that are loaded at once, and most that are counted.
const PAGE: usize = 200;
const COUNTED_MAX: usize = 1_000;
/// Most prompts of a list whose answers are read.
const READ_MAX: usize = 40;

/// Which prompts of a week are meant; its name is a value of `show` in an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PromptGroup {
    All,
    Received,
    Helped,
    Failed,
}

impl PromptGroup {
    /// Each group with its value of `show`, its name after a number, and its name alone.
    pub(super) const ALL: [(Self, &'static str, &'static str, &'static str); 4] = [
        (Self::All, "week", "prompts", "All prompts"),
        (
            Self::Received,
            "received",
            "received memories",
            "Received memories",
        ),
        (Self::Helped, "helped", "helped (confirmed)", "Helped"),
        (Self::Failed, "failed", "failed anyway", "Failed anyway"),
    ];

    /// Says what the prompts of this group have in common, where its name does not.
    pub(super) fn describe(self) -> Option<&'static str> {
        match self {
            Self::All | Self::Received => None,
            Self::Helped => Some(HELPED),
            Self::Failed => Some(
                "The agent used a memory that it received, and its work failed. This alone does \
                 not show that the memory was wrong.",
            ),
        }
    }

    /// Says that no prompt of the last seven days is in this group.
    pub(super) fn describe_none(self) -> &'static str {
        match self {
            Self::All => "No prompt was sent in the last 7 days.",
            Self::Received => "No prompt of the last 7 days received a memory.",
            Self::Helped => {
                "In the last 7 days, no test and no report confirms work that used a memory."
            }
            Self::Failed => "In the last 7 days, no agent used a memory and failed.",
        }
    }

    pub(super) fn from_name(name: &str) -> Option<Self> {
        let found = Self::ALL.iter().find(|(_, own, ..)| *own == name);
        found.map(|(group, ..)| *group)
    }

    pub(super) fn contains(self, prompt: &Prompt) -> bool {
        match self {
            Self::All => true,
            Self::Received => prompt.received_memories(),
            Self::Helped => prompt.result_with_memory() == Some(PromptResult::Helped),
            Self::Failed => prompt.result_with_memory() == Some(PromptResult::Failed),
        }
    }
}

/// Finds prompts whose work has no result, and whose stored answers have nothing of what they
/// received.
pub(super) async fn find_unused(
    visit: &PageRequest,
    prompts: &[Prompt],
) -> PageResult<HashSet<RecordId>> {
    let is_open = |prompt: &&Prompt| prompt.outcome.is_none() && prompt.count_received() > 0;
    let mut unused = HashSet::new();
    for prompt in prompts.iter().filter(is_open).take(READ_MAX) {
        let turn = Turn::load(visit, prompt.id).await?;
        unused.extend(turn.shows_no_use().then_some(prompt.id));
    }
    Ok(unused)
}

/// Renders what a prompt received and how it went, as chips; `is_unused` if its answers show that
/// it used nothing.
pub(super) fn render_outcome_chips(prompt: &Prompt, is_unused: bool) -> Markup {
    let (received, used) = (prompt.count_received(), prompt.count_used());
    html! {
        @if has_conflict(prompt) { span class="chip warn" { "conflicts" } }
        @if prompt.given.is_none() {
            span class="faint" { (describe_unanswered(prompt)[0]) }
        } @else if received > 0 {
            span class="chip" {
                (text::pluralize(received, "memory added", "memories added"))
                @if used > 0 { ", " (used) " used" }
            }
            @if used == 0 {
                @if prompt.outcome.is_some() { span class="chip faint" title=(NO_CREDIT) { "not used" } }
                @else if is_unused { span class="chip faint" title=(OWN_WORDS) { "not used" } }
                @else { span class="chip faint" title=(NOT_KNOWN_YET) { "use not known yet" } }
            }
        } @else if prompt.received_memories() {
            span class="chip" { "published memories added" }
        } @else {
            span class="faint" {
                "nothing added"
                @if let Some(why) = main_reason(prompt) { ": " (describe_left_out(why)[0]) }
            }
        }
        @match prompt.result_with_memory() {
            Some(PromptResult::Unconfirmed) => {
                span class="chip" title=(UNCONFIRMED) { "done without a test" }
            }
            Some(PromptResult::Helped) => {
                span class="chip good" title=[PromptGroup::Helped.describe()] { "helped" }
            }
            Some(PromptResult::Failed) => {
                span class="chip warn" title=[PromptGroup::Failed.describe()] { "failed anyway" }
            }
            None => {}
        }
    }
}

/// What is known of a prompt that counts as helped.
pub(super) const HELPED: &str = "Helped: the agent used a memory that it received, and a passed \
     test or a report confirms its work.";
/// What is known of work that ended without a test and without a report.
const UNCONFIRMED: &str = "The agent used a memory that it received and came to an end; no test says \
     that the work is right.";

/// Returns the reason for which a prompt received nothing, if something was found for it.
fn main_reason(prompt: &Prompt) -> Option<LeftOutReason> {
    match prompt.find_nothing_added_reason()? {
        NothingAddedReason::LeftOut(why) => Some(why),
        _ => None,
    }
}

/// What is said of each reason: after a number of memories, and of all that were found.
pub(super) fn describe_left_out(why: LeftOutReason) -> [&'static str; 2] {
    match why {
        LeftOutReason::Weak => ["too weak", "every match was too weak"],
        LeftOutReason::OtherProject => [
            "from another project",
            "what was found belongs to another project",
        ],
        LeftOutReason::SameSession => [
            "said in this session",
            "what was found was said in this session",
        ],
        LeftOutReason::Seen => [
            "already received in this session",
            "this session had already received what was found",
        ],
        LeftOutReason::NoRoom => ["with no room left", "there was no room left"],
    }
}

/// Says why a prompt receives nothing, by the reasons for which each memory was left out; `lead` is
/// how the sentence begins.
pub(super) fn describe_nothing_added(lead: &str, given: &PromptRecall) -> String {
    let mut reasons: Vec<(LeftOutReason, usize)> = Vec::new();
    for why in given.found.iter().filter_map(|one| one.left_out) {
        match reasons.iter_mut().find(|(own, _)| *own == why) {
            Some((_, count)) => *count += 1,
            None => reasons.push((why, 1)),
        }
    }
    let why = match reasons.as_slice() {
        [] => "no memory matches this prompt".to_owned(),
        [(only, _)] => describe_left_out(*only)[1].to_owned(),
        several => {
            let each = several.iter();
            let each = each.map(|(why, count)| format!("{count} {}", describe_left_out(*why)[0]));
            return format!("{lead}. Left out: {}.", each.collect::<Vec<_>>().join(", "));
        }
    };
    format!("{lead}: {why}.")
}

/// Says in a chip and in a sentence why a prompt got nothing.
pub(super) fn describe_unanswered(prompt: &Prompt) -> [&'static str; 2] {
    match prompt.unanswered {
        Some(UnansweredReason::Late) => [
            "memory answered too late",
            "Memory answered too late: the agent went on without it.",
        ],
        Some(UnansweredReason::NoTokensLeft) => [
            "daily limit reached",
            "Nothing: the tokens for that day were used up.",
        ],
        None => ["imported", "Imported session: no memory was added."],
    }
}

/// Returns whether a memory in a prompt was contradicted by a newer one.
fn has_conflict(prompt: &Prompt) -> bool {
    let given = prompt.given.iter().flat_map(|given| &given.found);
    let mut put_in = given.filter(|one| one.left_out.is_none());
    put_in.any(|one| one.contradicted_by.is_some())
}

/// Says how the work of a prompt went, and what was expected of it.
pub(super) fn describe_result(outcome: &PromptOutcome) -> String {
    let quality = outcome.quality;
    let how = match (outcome.went_well(), outcome.confirmed) {
        (true, true) => "Done, and confirmed by a test or a report",
        (true, false) => "Done without a test",
        (false, _) => "Failed",
    };
    if let Some(expected) = outcome.known_expectation() {
        return format!("{how} ({quality:.2}; similar prompts: {expected:.2}).");
    }
    let similar = text::pluralize(outcome.similar, "similar prompt", "similar prompts");
    format!("{how} ({quality:.2}; {similar} before it: too few to compare).")
}

/// Most words that an answer has of a memory which are named.
const REPEATED_MAX: usize = 5;

/// A prompt with all that followed.
pub(super) struct Turn {
    pub(super) replayed: PromptReplay,
    /// What its session stored before the next prompt, each with the title that it had then.
    pub(super) followed: Vec<(String, MemoryRecord)>,
    /// Words of each memory that it received which it lacks itself and an answer has.
    repeated: BTreeMap<RecordId, Vec<String>>,
    /// By whom what followed was corrected.
    corrected: HashMap<RecordId, &'static str>,
}

impl Turn {
    pub(super) async fn load(visit: &PageRequest, prompt: RecordId) -> PageResult<Self> {
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
            turn.followed
                .extend(record.map(|record| (one.title.clone(), record)));
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
    pub(super) fn correction_of(&self, record: &MemoryRecord) -> Option<&'static str> {
        self.corrected.get(&record.id).copied()
    }

    /// Returns whether answers are stored and have nothing of any memory that the prompt received,
    /// so that each of these counts as not used.
    pub(super) fn shows_no_use(&self) -> bool {
        let found = self.replayed.found.iter();
        let mut received = found.filter(|one| one.noted.left_out.is_none());
        self.answers().next().is_some()
            && received.all(|one| {
                let repeated = self.repeated.get(&one.noted.id);
                !one.is_quoted && repeated.is_none_or(Vec::is_empty)
            })
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
pub(super) fn describe_match(one: &ReplayedRecord) -> Option<String> {
    let reason = &one.noted.reason;
    (!reason.is_empty()).then(|| describe_parts(reason, None))
}

/// Says which words of a prompt were read as times, outside of which no memory was searched.
pub(super) fn describe_asked_times(given: &PromptRecall) -> Option<String> {
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
const NO_CREDIT: &str = "The work of this prompt ended, and it used no memory that it received";
/// Why it is not known whether a memory was used.
const NOT_KNOWN_YET: &str = "The work of this prompt has not ended yet, or reported no result";
const NO_ANSWER: &str = "Not known: no answer to this prompt is stored";
/// Why a memory counts as maybe used.
const CAME_BACK: &str =
    "These words of this memory, which the prompt did not have, are in the answer";

/// Renders what is known of the use of a memory that a prompt received.
pub(super) fn render_use_chip(turn: &Turn, one: &ReplayedRecord) -> Markup {
    let outcome = turn.replayed.prompt.outcome.as_ref();
    let is_used = outcome.is_some_and(|outcome| outcome.used.contains(&one.noted.id));
    let repeated = turn.repeated.get(&one.noted.id).map(Vec::as_slice);
    let repeated = repeated.unwrap_or_default();
    html! {
        @if is_used { span class="chip good" { "used" } }
        @else if one.is_quoted { span class="chip good" { "quoted" } }
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

/// The prompts of the last seven or more days, the newest first.
#[derive(Debug, Default)]
pub(super) struct Week {
    pub(super) prompts: Vec<Prompt>,
    /// Whether there are more than are counted.
    pub(super) is_cut: bool,
}

impl Week {
    pub(super) async fn load(visit: &PageRequest) -> PageResult<Self> {
        Self::load_days(visit, DAYS).await
    }

    /// Loads the prompts of so many days.
    pub(super) async fn load_days(visit: &PageRequest, days: i64) -> PageResult<Self> {
        let since = visit.page.now() - TimeDelta::days(days);
        Self::load_between(visit, since, None).await
    }

    /// Loads the prompts between two times, or since one.
    pub(super) async fn load_between(
        visit: &PageRequest,
        since: DateTime<Utc>,
        until: Option<DateTime<Utc>>,
    ) -> PageResult<Self> {
        let mut week = Self::default();
        // The next older prompt than the first one after the end.
        let mut cursor = until.map(|until| Cursor {
            timestamp_micros: until.timestamp_micros() + 1,
            id: RecordId::from_u128(0),
        });
        loop {
            let arguments = PromptsArguments {
                session: None,
                limit: Some(PAGE),
                cursor,
            };
            let Some(page) = visit.run_optional::<Prompts>(arguments).await? else {
                return Ok(week);
            };
            let loaded = page.prompts.len();
            let of_week = page.prompts.into_iter().filter(|one| one.at >= since);
            let before = week.prompts.len();
            week.prompts.extend(of_week);
            // The first page with an older prompt is the last one of the week.
            if week.prompts.len() - before < loaded || page.next.is_none() {
                return Ok(week);
            }
            if week.prompts.len() >= COUNTED_MAX {
                week.is_cut = true;
                return Ok(week);
            }
            cursor = page.next;
        }
    }

    /// Keeps the prompts since a time.
    pub(super) fn keep_since(self, since: DateTime<Utc>) -> Self {
        let oldest = self.prompts.last().map(|prompt| prompt.at);
        let is_cut = self.is_cut && oldest.is_some_and(|oldest| oldest >= since);
        let mut prompts = self.prompts;
        prompts.retain(|prompt| prompt.at >= since);
        Self { prompts, is_cut }
    }

    /// Counts the prompts of each of the last seven times 24 hours, the latest last: together they
    /// are all prompts of the week.
    pub(super) fn count_by_day(&self, now: DateTime<Utc>) -> Vec<usize> {
        let mut counts = vec![0; usize::try_from(DAYS).unwrap_or(1)];
        for prompt in &self.prompts {
            let back = usize::try_from((now - prompt.at).num_days()).unwrap_or_default();
            let last = counts.len() - 1;
            counts[last.saturating_sub(back)] += 1;
        }
        counts
    }

    /// Counts the prompts of yesterday.
    pub(super) fn count_yesterday(&self, calendar: &Calendar) -> usize {
        let yesterday = calendar.today() - TimeDelta::days(1);
        let prompts = self.prompts.iter();
        prompts
            .filter(|one| calendar.day_of(one.at) == yesterday)
            .count()
    }

    /// Formats the number of prompts in a group, with a plus if there are more.
    pub(super) fn count(&self, group: PromptGroup) -> String {
        let counted = self
            .prompts
            .iter()
            .filter(|one| group.contains(one))
            .count();
        let more = if self.is_cut { "+" } else { "" };
        format!("{}{more}", text::format_count(counted as u64))
    }

    /// Counts the tokens that memory added.
    pub(super) fn count_tokens(&self) -> u64 {
        let tokens = self.prompts.iter();
        let tokens = tokens.map(|one| (one.tokens + one.opening_tokens) as u64);
        tokens.sum()
    }

    /// Returns the mean number of tokens that memory added to a session in which it was asked.
    pub(super) fn tokens_per_session(&self) -> Option<u64> {
        let is_asked = |one: &&Prompt| one.given.is_some() || one.unanswered.is_some();
        let asked = self.prompts.iter().filter(is_asked);
        let (mut sessions, mut tokens) = (BTreeSet::new(), 0_usize);
        for prompt in asked {
            sessions.insert(prompt.session.as_str());
            tokens += prompt.tokens + prompt.opening_tokens;
        }
        text::find_mean(tokens, sessions.len()).map(|mean| mean as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
