//! Prompts as they were kept: what each was given, what of it was used, and what came of it.

use reprise_knowledge::says_something;
use reprise_types::RelevanceVerdict;

use super::implied_quality::is_quality_without_test;
use super::quoting::{fold_text, quotes_record};
use crate::prelude::*;

/// Prompts of a page where the caller does not say, and at most.
const LIMIT_DEFAULT: usize = 20;
const LIMIT_MAX: usize = 200;

/// A page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Page")]
pub struct PromptPage {
    /// Newest first.
    pub prompts: Vec<Prompt>,
    /// The cursor of the next page; null on the last.
    pub next: Option<Cursor>,
}

operation! {
    Spec::for_reading(
        "prompts",
        "The prompts of sessions: what memory gave to each, and how the work went.",
    );
    /// Which.
    #[derive(Default)]
    Prompts(memory, arguments: PromptsArguments {
        /// Only this session's.
        pub session: Option<String> as StoredSession,
        /// Maximum number of prompts [default: 20; at most 200].
        pub limit: Option<usize> as LimitCount,
        /// Go on after this one.
        pub cursor: Option<Cursor> as RecordKey,
    }) -> PromptPage {
        let limit = arguments.limit.unwrap_or(LIMIT_DEFAULT).clamp(1, LIMIT_MAX);
        let page = memory.run_on_snapshot(move |snapshot| {
            let session = arguments.session.as_deref();
            list_prompts(snapshot, session, limit, arguments.cursor)
        });
        let (prompts, next) = page.await?;
        Ok(PromptPage { prompts, next })
    }
}

operation! {
    Spec::for_reading(
        "replay",
        "A prompt once more: what was found for it, put into it, used, and what came of it.",
    );
    /// Which prompt.
    Replay(memory, asked: ReplayArguments {
        /// The id of its record.
        pub id: String as RecordKey,
    }) -> PromptReplay {
        let record = memory.get_record(&asked.id).await?;
        memory.run_on_snapshot(move |snapshot| replay_prompt(snapshot, &record)).await
    }
}

/// Records looked at for one page of prompts: of a memory without sessions no more.
const LOOKED_AT: usize = 5_000;
/// What is shown of what followed a prompt.
const FOLLOWED_MAX: usize = 20;
/// Characters of one memory in a prompt.
const INJECTED_CHARS: usize = 400;

/// Returns the part of a memory's text that a prompt receives.
pub(super) fn cut_injected(text: &str) -> String {
    to_one_line(text).chars().take(INJECTED_CHARS).collect()
}

/// Most found records that are noted in addition to those that were put into the prompt.
pub(super) const NOTED: usize = 12;

/// Why a found record was not put into a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "LeftOut")]
pub enum LeftOutReason {
    /// It is not likely enough to help, or does not hold where the prompt was written.
    Weak,
    /// It belongs to another project.
    OtherProject,
    /// The session's own words.
    SameSession,
    /// An earlier prompt of the session has it.
    Seen,
    /// Better ones took the room there is.
    NoRoom,
}

/// A record that came up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Noted")]
pub struct NotedRecord {
    /// Which.
    pub id: RecordId,
    /// How likely it was to answer, 0..1.
    pub score: f32,
    /// Why it was found, in the words of that time; empty in a prompt that is older than this note.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Why it was not put into the prompt; nothing where it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<LeftOutReason>,
    /// The newer record that contradicted it then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contradicted_by: Option<RecordId>,
}

/// Why memory gave nothing to a prompt that a program told it of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Unanswered")]
pub enum UnansweredReason {
    /// The answer was not ready when the program went on.
    Late,
    /// The tokens of that day were used up.
    NoTokensLeft,
}

/// What one recall gave to a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Given")]
pub struct PromptRecall {
    /// The recall: an outcome names it.
    pub recall_id: RecallId,
    /// What was made of its best result.
    pub verdict: RelevanceVerdict,
    /// That words and times alone were compared, if they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub half_answer: Option<String>,
    /// Milliseconds that the recall took.
    #[serde(default)]
    pub elapsed_ms: u32,
    /// The words of the prompt that were read as times: only memories of these times were searched.
    /// `None` in a prompt that is older than this note.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only_times: Option<Vec<String>>,
    /// Best first.
    pub found: Vec<NotedRecord>,
}

impl PromptRecall {
    /// The `details` of a prompt that was given this, or nothing for a reason.
    pub(super) fn prompt_details(
        given: Result<&Self, UnansweredReason>,
        block: Option<&InjectedBlock>,
        opening: Option<&InjectedBlock>,
        shortened: Option<DateTime<Utc>>,
    ) -> Value {
        let mut details = json!({ "type": MemoryRecord::PROMPT_TYPE });
        for (name, block) in BLOCKS.into_iter().zip([block, opening]) {
            if let Some(block) = block {
                details[name] = json!(block);
            }
        }
        if let Some(at) = shortened {
            details[SHORTENED] = json!(at);
        }
        match given {
            Ok(given) => details["given"] = json!(given),
            Err(reason) => details[UNANSWERED] = json!(reason),
        }
        details
    }

    /// Reads the recall in a prompt's record; `None` if it was given nothing, or if the record is
    /// older than this note.
    pub(crate) fn of(record: &MemoryRecord) -> Option<Self> {
        read_detail(record, "given")
    }
}

/// A text that an agent received, without the texts of the memories in it: those are read again
/// when it is shown, so that nothing that was forgotten stays here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InjectedBlock {
    /// When it was received.
    pub at: DateTime<Utc>,
    /// Estimated tokens of the whole text.
    pub tokens: usize,
    /// Names the frame around the text.
    pub nonce: String,
    pub parts: Vec<InjectedPart>,
}

/// Lines below one head.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InjectedPart {
    pub head: String,
    pub lines: Vec<InjectedLine>,
}

/// A memory in a text: what precedes its own words there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InjectedLine {
    pub id: RecordId,
    pub label: String,
    /// The part of its text that was received, where that is not its beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<TextExcerpt>,
}

/// A part of a memory's text, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TextExcerpt {
    pub start_bytes: usize,
    pub size_bytes: usize,
}

impl TextExcerpt {
    /// Finds a part in the text that it was taken from; `None` where it is all of it.
    pub(super) fn find_part(text: &str, part: &str) -> Option<Self> {
        let start_bytes = text.find(part)?;
        (part.len() < text.len()).then_some(Self {
            start_bytes,
            size_bytes: part.len(),
        })
    }

    /// Returns the text before the part, the part, and the text behind it.
    fn split_text(self, text: &str) -> Option<(&str, &str, &str)> {
        let (before, rest) = text.split_at_checked(self.start_bytes)?;
        let (part, behind) = rest.split_at_checked(self.size_bytes)?;
        Some((before, part, behind))
    }

    /// Returns whether the part alone has all that the text says.
    pub(super) fn says_it_all(self, text: &str) -> bool {
        self.split_text(text)
            .is_none_or(|(before, _, behind)| !says_something(before) && !says_something(behind))
    }
}

impl InjectedLine {
    /// Returns the part of the memory's text that this line has.
    fn received_part(&self, text: &str) -> String {
        let part = self.excerpt.and_then(|part| part.split_text(text));
        cut_injected(part.map_or(text, |(_, part, _)| part))
    }
}

/// Fields of a prompt's details: what it received, and what its session had before it.
pub(super) const BLOCKS: [&str; 2] = ["block", "opening"];
/// Field of a prompt's details: why it received nothing.
pub(super) const UNANSWERED: &str = "unanswered";
/// Field of a prompt's details: when its conversation was shortened last, before it.
pub(super) const SHORTENED: &str = "shortened";

/// Reads a field of a prompt's details.
pub(super) fn read_detail<T: DeserializeOwned>(record: &MemoryRecord, name: &str) -> Option<T> {
    let details = record.details.as_ref().filter(|_| record.is_prompt())?;
    serde_json::from_value(details.get(name)?.clone()).ok()
}

/// Reads a text that a prompt's agent received: what was ready too late, it did not.
pub(super) fn received_block(
    memory: &Snapshot,
    record: &MemoryRecord,
    name: &str,
) -> Option<InjectedBlock> {
    let is_late = name == BLOCKS[0] && memory.is_undelivered(record.id);
    read_detail(record, name).filter(|_| !is_late)
}

/// What is shown in place of a memory that was forgotten, or was never in this memory.
const GONE: &str = "(this memory is not here any more)";

impl UnansweredReason {
    /// Reads the reason in a prompt's record. A record of a hook without a reason is older than the
    /// reasons; an imported one has an external id and no reason.
    fn of(record: &MemoryRecord) -> Option<Self> {
        let details = record.details.as_ref().filter(|_| record.is_prompt())?;
        if details.get("given").is_some() {
            return None;
        }
        match details.get(UNANSWERED) {
            Some(reason) => serde_json::from_value(reason.clone()).ok(),
            None => record.external_ids.is_empty().then_some(Self::Late),
        }
    }
}

impl InjectedBlock {
    /// Returns its lines.
    pub(super) fn list_lines(&self) -> impl Iterator<Item = &InjectedLine> {
        self.parts.iter().flat_map(|part| &part.lines)
    }

    /// Writes the text as the agent received it.
    fn render(&self, memory: &Snapshot) -> ReceivedText {
        let nonce = u128::from_str_radix(&self.nonce, 16).unwrap_or_default();
        let mut quoted = QuotedMemory::new(nonce);
        for part in &self.parts {
            quoted.add_line(&part.head, "");
            for line in &part.lines {
                let found = memory.get(line.id).and_then(Result::ok);
                let text = found.map_or(GONE.to_owned(), |found| {
                    line.received_part(&found.body.text)
                });
                quoted.add_line(&line.label, &text);
            }
        }
        ReceivedText {
            at: self.at,
            tokens: self.tokens,
            text: quoted.into_text(),
        }
    }
}

/// A text that an agent received from memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReceivedText {
    pub at: DateTime<Utc>,
    /// Estimated tokens.
    pub tokens: usize,
    /// The whole text; a memory that was forgotten since is missing.
    pub text: String,
}

/// A prompt of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Prompt {
    /// Its record.
    pub id: RecordId,
    /// When it was said.
    pub at: DateTime<Utc>,
    /// What was said.
    pub text: String,
    /// Where.
    pub session: String,
    /// Its tags, the project's among them.
    pub tags: Vec<String>,
    /// The program that sent it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Estimated tokens that memory added to it.
    #[serde(default)]
    pub tokens: usize,
    /// Estimated tokens that its session began with, for the first prompt after that.
    #[serde(default)]
    pub opening_tokens: usize,
    /// What memory gave to it; nothing where it was not asked, or that was not noted yet.
    pub given: Option<PromptRecall>,
    /// Why it got nothing, if its program asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unanswered: Option<UnansweredReason>,
    /// How the work went that it began, where that is known.
    pub outcome: Option<PromptOutcome>,
}

/// How the run of a prompt went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Credited")]
pub struct PromptOutcome {
    /// When it ended.
    pub at: DateTime<Utc>,
    /// 0..1.
    pub quality: f32,
    /// Whether a test or a report says so; else nobody did, and the work came to an end.
    #[serde(default)]
    pub confirmed: bool,
    /// What was expected, 0..1.
    pub expected: f32,
    /// How many runs of similar prompts, before it, that rests on.
    #[serde(default)]
    pub similar: usize,
    /// What it gave credit to.
    pub used: Vec<RecordId>,
}

/// A record that came up for a prompt, as it is now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Quoted")]
pub struct ReplayedRecord {
    /// As it was noted.
    #[serde(flatten)]
    pub noted: NotedRecord,
    /// The line that names it; nothing where it was forgotten since.
    pub title: Option<String>,
    /// Its id or its words stand in what followed.
    pub is_quoted: bool,
}

/// One prompt with all that is known of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Replayed")]
pub struct PromptReplay {
    /// The prompt.
    pub prompt: Prompt,
    /// The text that the session began with, for the first prompt after that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opening: Option<ReceivedText>,
    /// The text that was added to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<ReceivedText>,
    /// What was found for it, best first.
    pub found: Vec<ReplayedRecord>,
    /// What its session kept before the next prompt, oldest first.
    pub followed: Vec<FollowingRecord>,
}

/// Something that was kept after a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Followed")]
pub struct FollowingRecord {
    /// Its record.
    pub id: RecordId,
    /// When.
    pub at: DateTime<Utc>,
    /// The line that names it.
    pub title: String,
}

pub(super) fn prompt_filter(session: Option<&str>) -> MemoryFilter {
    MemoryFilter {
        kinds: Some(vec![MemoryKind::Episode]),
        sources: Some(vec![MemorySource::UserInput]),
        session_id: session.map(str::to_owned),
        ..MemoryFilter::default()
    }
}

/// A page of prompts, the newest first, and where the next one goes on.
pub(crate) fn list_prompts(
    memory: &Snapshot,
    session: Option<&str>,
    limit: usize,
    mut after: Option<Cursor>,
) -> (Vec<Prompt>, Option<Cursor>) {
    let mut prompts = Vec::new();
    'pages: for _ in 0..LOOKED_AT.div_ceil(PAGE_MAX) {
        let asked = ListRequest {
            filter: prompt_filter(session),
            limit: PAGE_MAX,
            after,
        };
        let page = memory.list(&asked);
        for record in &page.records {
            after = Some(Cursor::of(record));
            if !record.session_id.is_empty() && is_to_an_agent(record) {
                prompts.push(prompt_from_record(memory, record));
            }
            if prompts.len() == limit {
                break 'pages;
            }
        }
        if page.next.is_none() {
            after = None;
            break;
        }
    }
    attach_outcomes(memory, &mut prompts);
    (prompts, after)
}

/// What a person kept without an agent is no prompt.
fn is_to_an_agent(record: &MemoryRecord) -> bool {
    record.record_type() == RecordType::Prompt
}

fn prompt_from_record(memory: &Snapshot, record: &MemoryRecord) -> Prompt {
    let tokens = |name| received_block(memory, record, name).map_or(0, |block| block.tokens);
    let is_late = memory.is_undelivered(record.id);
    let given = PromptRecall::of(record).filter(|_| !is_late);
    let unanswered = UnansweredReason::of(record);
    Prompt {
        agent: record.provenance.actor_id.clone(),
        tokens: tokens("block"),
        opening_tokens: tokens("opening"),
        id: record.id,
        at: record.timestamp,
        text: record.text.clone(),
        session: record.session_id.clone(),
        tags: record.tags.clone(),
        given,
        unanswered: unanswered.or(is_late.then_some(UnansweredReason::Late)),
        outcome: None,
    }
}

/// Gives each prompt the run that its recall began.
fn attach_outcomes(memory: &Snapshot, prompts: &mut [Prompt]) {
    let run = |prompt: &Prompt| Some(format!("recall {}", prompt.given.as_ref()?.recall_id));
    let mut wanted: HashMap<String, usize> = prompts
        .iter()
        .enumerate()
        .filter_map(|(place, prompt)| Some((run(prompt)?, place)))
        .collect();
    let learner = memory.learner();
    for ended in learner.runs_newest_first() {
        if wanted.is_empty() {
            break;
        }
        let place = wanted.remove(ended.run_id);
        // What was taken back says nothing of the prompt.
        let place = place.filter(|_| ended.revision != Some(Revision::Withdrawn));
        if let Some(prompt) = place.and_then(|place| prompts.get_mut(place)) {
            prompt.outcome = Some(PromptOutcome {
                at: ended.at,
                quality: ended.quality,
                confirmed: !ended.is_implied || !is_quality_without_test(ended.quality),
                expected: ended.expected,
                similar: learner.count_similar_before(ended.run_id),
                used: ended.used.to_vec(),
            });
        }
    }
}

/// One prompt with what was found for it and what followed.
pub(crate) fn replay_prompt(memory: &Snapshot, record: &MemoryRecord) -> PromptReplay {
    let mut prompts = [prompt_from_record(memory, record)];
    attach_outcomes(memory, &mut prompts);
    let [prompt] = prompts;
    let followed = list_following_records(memory, record);
    let said: Vec<String> = followed.iter().map(|one| fold_text(&one.text)).collect();
    let found = prompt.given.iter().flat_map(|given| &given.found);
    let found = found.map(|noted| {
        let held = memory.get(noted.id).and_then(Result::ok);
        // What was corrected since is named by what it says now.
        let current = || {
            memory
                .current_version(noted.id)
                .and_then(|id| memory.get(id)?.ok())
        };
        let title = held.as_ref().map(title_or_beginning);
        let title = title.or_else(|| current().as_ref().map(title_or_beginning));
        let text = held.map(|record| record.body.text).unwrap_or_default();
        ReplayedRecord {
            noted: noted.clone(),
            title,
            is_quoted: said.iter().any(|said| quotes_record(said, noted.id, &text)),
        }
    });
    let block = |name| received_block(memory, record, name).map(|block| block.render(memory));
    PromptReplay {
        opening: block("opening"),
        block: block("block"),
        found: found.collect(),
        followed: followed
            .iter()
            .map(|one| FollowingRecord {
                id: one.id,
                at: one.timestamp,
                title: title_or_beginning(one),
            })
            .collect(),
        prompt,
    }
}

/// What a prompt's session kept before its next prompt, oldest first.
fn list_following_records(memory: &Snapshot, record: &MemoryRecord) -> Vec<MemoryRecord> {
    if record.session_id.is_empty() {
        return Vec::new();
    }
    let later = |filter: MemoryFilter| {
        let mut page = memory.list(&ListRequest {
            filter: MemoryFilter {
                session_id: Some(record.session_id.clone()),
                since: Some(record.timestamp),
                ..filter
            },
            limit: PAGE_MAX,
            after: None,
        });
        page.records.retain(|one| one.id != record.id);
        page.records.reverse();
        page.records
    };
    let next = later(prompt_filter(None)).into_iter().find(is_to_an_agent);
    let mut all = later(MemoryFilter {
        until: next.as_ref().map(|next| next.timestamp),
        ..MemoryFilter::default()
    });
    // A lesson of the next prompt has its time.
    let is_of = |one: &MemoryRecord, next: &MemoryRecord| {
        let from = one
            .details
            .as_ref()
            .map(|it| &it["metadata"]["extracted_from"]);
        one.id == next.id || from.is_some_and(|from| *from == next.id.to_string())
    };
    all.retain(|one| next.as_ref().is_none_or(|next| !is_of(one, next)));
    all.truncate(FOLLOWED_MAX);
    all
}
