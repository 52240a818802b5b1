//! Prompts as they were kept: what each was given, what of it was used, and what came of it.

use reprise_types::Verdict;

use crate::prelude::*;

/// Records looked at for one page of prompts: of a memory without sessions no more.
const LOOKED_AT: usize = 5_000;
/// What is shown of what followed a prompt.
const FOLLOWED_MAX: usize = 20;
/// Characters at a record's beginning that are its own: who writes them has read it.
const QUOTED_CHARS: usize = 60;
const QUOTED_CHARS_MIN: usize = 24;

/// Found records that are noted, beside those that were put into the prompt.
pub(super) const NOTED: usize = 12;

/// Why a found record was not put into a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LeftOut {
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
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Noted {
    /// Which.
    pub id: RecordId,
    /// How likely it was to answer, 0..1.
    pub score: f32,
    /// Why it was not put into the prompt; nothing where it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<LeftOut>,
}

/// What one recall gave to a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Given {
    /// The recall: an outcome names it.
    pub recall_id: RecallId,
    /// What was made of its best result.
    pub verdict: Verdict,
    /// Best first.
    pub found: Vec<Noted>,
}

impl Given {
    /// The `details` of a prompt that was given this, or nothing in time.
    pub(super) fn details(given: Option<&Self>) -> Value {
        let mut details = json!({ "type": MemoryRecord::PROMPT });
        if let Some(given) = given {
            details["given"] = json!(given);
        }
        details
    }

    /// What stands in a prompt's record; `None` where it was given nothing, or before this was
    /// noted.
    pub(crate) fn of(record: &MemoryRecord) -> Option<Self> {
        let details = record.details.as_ref().filter(|_| record.is_prompt())?;
        serde_json::from_value(details.get("given")?.clone()).ok()
    }
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
    /// What memory gave to it; nothing where it was not asked, or that was not noted yet.
    pub given: Option<Given>,
    /// How the work went that it began, where that is known.
    pub outcome: Option<Credited>,
}

/// How the run of a prompt went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Credited {
    /// When it ended.
    pub at: DateTime<Utc>,
    /// 0..1.
    pub quality: f32,
    /// What was expected, 0..1.
    pub expected: f32,
    /// What it gave credit to.
    pub used: Vec<RecordId>,
}

/// A record that came up for a prompt, as it is now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Quoted {
    /// As it was noted.
    #[serde(flatten)]
    pub noted: Noted,
    /// The line that names it; nothing where it was forgotten since.
    pub title: Option<String>,
    /// Its id or its words stand in what followed.
    pub is_quoted: bool,
}

/// One prompt with all that is known of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Replayed {
    /// The prompt.
    pub prompt: Prompt,
    /// What was found for it, best first.
    pub found: Vec<Quoted>,
    /// What its session kept before the next prompt, oldest first.
    pub followed: Vec<Followed>,
}

/// Something that was kept after a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Followed {
    /// Its record.
    pub id: RecordId,
    /// When.
    pub at: DateTime<Utc>,
    /// The line that names it.
    pub title: String,
}

fn filter(session: Option<&str>) -> MemoryFilter {
    MemoryFilter {
        kinds: Some(vec![MemoryKind::Episode]),
        sources: Some(vec![MemorySource::UserInput]),
        session_id: session.map(str::to_owned),
        ..MemoryFilter::default()
    }
}

/// A page of prompts, the newest first, and where the next one goes on.
pub(crate) fn prompts(
    memory: &Snapshot,
    session: Option<&str>,
    limit: usize,
    mut after: Option<Cursor>,
) -> (Vec<Prompt>, Option<Cursor>) {
    let mut prompts = Vec::new();
    'pages: for _ in 0..LOOKED_AT.div_ceil(PAGE_MAX) {
        let asked = ListRequest {
            filter: filter(session),
            limit: PAGE_MAX,
            after,
        };
        let page = memory.list(&asked);
        for record in &page.records {
            after = Some(Cursor::of(record));
            if !record.session_id.is_empty() && is_to_an_agent(record) {
                prompts.push(prompt(record));
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
    credit(memory, &mut prompts);
    (prompts, after)
}

/// What a person kept without an agent is no prompt.
fn is_to_an_agent(record: &MemoryRecord) -> bool {
    record.record_type() == RecordType::Prompt
}

fn prompt(record: &MemoryRecord) -> Prompt {
    Prompt {
        id: record.id,
        at: record.timestamp,
        text: record.text.clone(),
        session: record.session_id.clone(),
        tags: record.tags.clone(),
        given: Given::of(record),
        outcome: None,
    }
}

/// Gives each prompt the run that its recall began.
fn credit(memory: &Snapshot, prompts: &mut [Prompt]) {
    let run = |prompt: &Prompt| Some(format!("recall {}", prompt.given.as_ref()?.recall_id));
    let mut wanted: HashMap<String, usize> = prompts
        .iter()
        .enumerate()
        .filter_map(|(place, prompt)| Some((run(prompt)?, place)))
        .collect();
    for ended in memory.learner().ended_runs() {
        if wanted.is_empty() {
            break;
        }
        let place = wanted.remove(ended.run_id);
        // What was taken back says nothing of the prompt.
        let place = place.filter(|_| ended.revised != Some(Revision::Withdrawn));
        if let Some(prompt) = place.and_then(|place| prompts.get_mut(place)) {
            prompt.outcome = Some(Credited {
                at: ended.at,
                quality: ended.quality,
                expected: ended.expected,
                used: ended.used.to_vec(),
            });
        }
    }
}

/// One prompt with what was found for it and what followed.
pub(crate) fn replay(memory: &Snapshot, record: &MemoryRecord) -> Replayed {
    let mut prompts = [prompt(record)];
    credit(memory, &mut prompts);
    let [prompt] = prompts;
    let followed = followed(memory, record);
    let said: Vec<String> = followed.iter().map(|one| folded(&one.text)).collect();
    let found = prompt.given.iter().flat_map(|given| &given.found);
    let found = found.map(|noted| {
        let held = memory.get(noted.id).and_then(Result::ok);
        // What was corrected since is named by what it says now.
        let current = || memory.current(noted.id).and_then(|id| memory.get(id)?.ok());
        let title = held.as_ref().map(title_of);
        let title = title.or_else(|| current().as_ref().map(title_of));
        let text = held.map(|record| record.body.text).unwrap_or_default();
        Quoted {
            noted: *noted,
            title,
            is_quoted: said.iter().any(|said| quotes(said, noted.id, &text)),
        }
    });
    Replayed {
        found: found.collect(),
        followed: followed
            .iter()
            .map(|one| Followed {
                id: one.id,
                at: one.timestamp,
                title: title_of(one),
            })
            .collect(),
        prompt,
    }
}

/// What a prompt's session kept before its next prompt, oldest first.
fn followed(memory: &Snapshot, record: &MemoryRecord) -> Vec<MemoryRecord> {
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
    let next = later(filter(None)).into_iter().find(is_to_an_agent);
    let mut all = later(MemoryFilter {
        until: next.as_ref().map(|next| next.timestamp),
        ..MemoryFilter::default()
    });
    all.retain(|one| next.as_ref().is_none_or(|next| one.id != next.id));
    all.truncate(FOLLOWED_MAX);
    all
}

/// Whether what was said names a record, or repeats how it begins.
fn quotes(said: &str, id: RecordId, text: &str) -> bool {
    let beginning: String = folded(text).chars().take(QUOTED_CHARS).collect();
    let repeats = beginning.chars().count() >= QUOTED_CHARS_MIN && said.contains(&beginning);
    repeats || said.contains(&id.to_string().to_lowercase())
}

/// Case and line breaks are nobody's signature.
fn folded(text: &str) -> String {
    one_line(text).to_lowercase()
}
