//! Lessons: kept, corrected, taken out of texts.

use reprise_knowledge::{
    LearningCategory, SCOPES, SOURCE_TYPES, SunwellDecision, SunwellFailure, SunwellLearning,
    check_word,
};
use reprise_types::Zone;
use reprise_types::limits::TEXT_BYTES_MAX;

use crate::bounds::instant_pattern;
use crate::memories::{Extracted, KnownRecord, Lesson};
use crate::prelude::*;

/// What became of a lesson.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Learned")]
pub struct LessonReport {
    /// The record that holds it.
    pub id: RecordId,
    /// Whether it is new.
    pub outcome: Novelty,
    /// Tags that may be slips, and files for other programs that cannot be written.
    pub warnings: Vec<String>,
    /// A kind of evidence that may be a slip.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    /// Records that said the same before, the contrary, or something similar.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<KnownRecord>,
}

/// Whether a lesson is new.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Novelty {
    /// It was kept.
    Inserted,
    /// It was known, word for word.
    Duplicate,
}

operation! {
    Spec::for_adding("learn", "Remember one lesson, decision or fact.")
        .with_tool("learn", Profile::Lean)
        .with_tool_aliases(&["remember"]);
    Learn(memory, lesson: Lesson) -> LessonReport {
        let doubts = memory.find_tag_doubts(lesson.tags.as_deref().unwrap_or_default());
        let mut warnings = doubts.await?;
        let (fate, evidence) = memory.learn(lesson).await?;
        let (id, outcome) = match fate {
            RecordFate::Inserted { id, .. } => (id, Novelty::Inserted),
            RecordFate::Duplicate { of, .. } => (of, Novelty::Duplicate),
            RecordFate::Rejected { why } => return Err(Problem::invalid(why)),
        };
        let known = match outcome {
            // It is kept by now, whatever becomes of the look.
            Novelty::Inserted => memory.list_known_records(id).await.unwrap_or_default(),
            Novelty::Duplicate => Vec::new(),
        };
        warnings.extend(memory.list_projection_warnings().await);
        Ok(LessonReport {
            id,
            outcome,
            warnings,
            evidence,
            known,
        })
    }

    fn render_text(learned: &LessonReport) -> Cow<'_, str> {
        let outcome = match learned.outcome {
            Novelty::Inserted => "remembered",
            Novelty::Duplicate => "already remembered",
        };
        let mut quoted = QuotedMemory::new(system_entropy());
        for warning in &learned.warnings {
            quoted.add_line("warning ", warning);
        }
        if let Some(doubt) = &learned.evidence {
            quoted.add_line("evidence ", doubt);
        }
        for known in &learned.known {
            let (id, text) = (known.id, &known.text);
            let (what, why) = match (&known.contrary, &known.similar) {
                (Some(why), _) => ("may contradict", why),
                (None, Some(why)) => ("you have a similar memory,", why),
                (None, None) => {
                    quoted.add_line(&format!("already remembered as {id}: "), text);
                    continue;
                }
            };
            quoted.add_line(&format!("{what} {id}: "), &[text, " (", why, ")"].concat());
        }
        let text = format!("{outcome} as {}\n{}", learned.id, quoted.into_text());
        let known = || learned.known.iter();
        let hint = if learned.known.is_empty() {
            ""
        } else if known().any(|known| known.contrary.is_some()) {
            "\nBoth are kept; decide with `reprise doctor review`."
        } else if known().all(|known| known.similar.is_some()) {
            "\nBoth are kept; forget the older one if this replaces it."
        } else {
            "\nBoth are kept; `reprise doctor tidy` merges them."
        };
        [text.trim_end(), hint].concat().into()
    }
}

/// Requires a field that changes a lesson, not only those that a new lesson needs.
fn require_a_change(schema: &mut Schema) {
    schema.remove("allOf");
    // When something was does not change.
    if let Some(Value::Object(fields)) = schema.get_mut("properties") {
        fields.remove("when");
        let says = "All its tags from now on";
        if let Some(tags) = fields.get_mut("tags") {
            tags["description"] = json!(says);
        }
    }
    schema_rules::require_any_not_null([
        "title",
        "text",
        "tags",
        "keywords",
        "contexts",
        "anti_contexts",
        "confidence",
        "evidence",
        "source_notes",
        "session",
        "derived_from_experiment",
    ])(schema);
}

/// The record as it is now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Updated {
    /// Its id.
    pub id: RecordId,
    /// The version that it replaces; the record itself has no new one where only its tags change.
    pub supersedes: Option<RecordId>,
    /// Whether there is a new version.
    pub is_new: bool,
    /// How many bytes the new text had, of which the first 64 KiB are kept; absent where all are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated_from_bytes: Option<u64>,
    /// What was published of it, where that may not leave any more or is not what it says now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<PublishedCopy>,
}

operation! {
    Spec::for_adding(
        "update",
        "Correct a memory; the new version replaces it. Omitted fields stay.",
    )
    .with_tool("update", Profile::Default);
    /// What is to change.
    #[derive(clap::Args)]
    #[schemars(transform = require_a_change)]
    Update(memory, arguments: UpdateArguments {
        /// Its id, as `recall` shows it.
        pub id | "lesson_id": String as RecordKey,
        /// Id of the version that you read: the change is refused if there is a newer one.
        #[arg(long, value_name = "ID")]
        pub expected: Option<RecordId>,
        /// What is new.
        #[serde(flatten)]
        #[command(flatten)]
        pub lesson: Lesson,
    }) -> Updated {
        if let Some(expected) = arguments.expected {
            refuse_stale_change(memory, &arguments.id, expected).await?;
        }
        let has_new_text = arguments.lesson.text.is_some();
        let (old, new) = memory.correct(&arguments.id, arguments.lesson).await?;
        let truncated = new.metadata.get(RecordBody::TRUNCATED_KEY);
        let published = memory.find_outdated_copy(&old, &new).await?;
        Ok(Updated {
            truncated_from_bytes: truncated.filter(|_| has_new_text).and_then(Value::as_u64),
            published,
            is_new: new.id != old.id,
            id: new.id,
            supersedes: new.supersedes,
        })
    }

    fn render_text(updated: &Updated) -> Cow<'_, str> {
        let standing = PublishedCopy::render_lines(updated.published.as_slice());
        let cut = updated
            .truncated_from_bytes
            .map_or_else(String::new, |bytes| {
                format!("; its text has {bytes} bytes, and the first {TEXT_BYTES_MAX} are kept")
            });
        if updated.is_new {
            format!("saved as new version {}{cut}{standing}", updated.id).into()
        } else {
            format!("updated{standing}").into()
        }
    }
}

/// Refuses a change of a record whose current version is not the one that the caller read.
async fn refuse_stale_change(
    memory: &Memory,
    name: &str,
    expected: RecordId,
) -> Result<(), Problem> {
    let current = memory.get_record(name).await?;
    if current.id == expected {
        return Ok(());
    }
    Err(Problem::conflict(format!(
        "`{name}` was changed since you read it: its version is `{}` now, not `{expected}`; read it \
         again and repeat your change with that id as `expected` (`--expected`)",
        current.id
    )))
}

/// The event that tells of a learning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "LearningEvent")]
pub enum LearningEventName {
    MemoryLearning,
}

/// Milliseconds after an event's own that are tried for its name.
const NAMES_MAX: usize = 1_000;

arguments! {
    /// A learning as an event tells it.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[schemars(rename = "Told")]
    pub struct LearningEventPayload {
        /// What was learned.
        #[schemars(regex(pattern = r"\S"))]
        fact: String as LongText,
        /// The nearest of the seven is taken.
        #[schemars(transform = schema_rules::restrict_to_words(LearningCategory::list_words()))]
        category: String as FixedWord,
        #[serde(flatten)]
        #[schemars(skip)]
        other: Map<String, Value> as DescribedElsewhere,
    }
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Added")]
pub struct AddedLearning {
    /// The record that holds it.
    pub id: RecordId,
    /// Whether it is new: what was learned before is kept once.
    pub is_new: bool,
    /// The learning, with its nine fields.
    pub learning: Value,
}

operation! {
    Spec::for_adding(
        "add_learning",
        "Sunwell: keep a learning, a decision or a failure, once.",
    );
    /// A learning in its parts, or an event `memory_learning` as it was told.
    #[derive(Default)]
    #[schemars(transform = schema_rules::require_any_non_blank(&["fact", "learning"]))]
    AddLearning(memory, arguments: AddLearningArguments {
        /// What was learned; of a decision what was decided, of a failure what went wrong.
        #[schemars(regex(pattern = r"\S"))]
        pub fact | "decision": Option<String> as LongText,
        /// `task_completion`, pattern (the default), type, api, fix, decision or failure.
        #[schemars(transform = schema_rules::restrict_to_words(LearningCategory::ALL.iter().map(|one| one.name())))]
        pub category: Option<String> as FixedWord,
        /// 0..1; .8 by default, 1 of a finished task.
        #[schemars(range(min = 0.0, max = 1.0))]
        pub confidence: Option<f64>,
        /// A file, a task, ...
        #[schemars(length(max = IDENTIFIER_BYTES_MAX))]
        pub source: Option<String> as LineText,
        /// One of task (the default), analysis, user and session.
        #[schemars(transform = schema_rules::restrict_to_words(SOURCE_TYPES))]
        pub source_type: Option<String> as FixedWord,
        /// What was being worked on.
        pub goal: Option<String> as LineText,
        /// Of a decision: why.
        pub rationale: Option<String> as LineText,
        /// Of a decision: project (the default), file or function.
        #[schemars(transform = schema_rules::restrict_to_words(SCOPES))]
        pub scope: Option<String> as FixedWord,
        /// Of a decision: the id of the one that it takes the place of.
        pub supersedes: Option<String> as LineText,
        /// Of a failure: what was tried.
        pub approach: Option<String> as LineText,
        /// Of a failure: whatever else there is to say.
        pub context: Option<String> as LineText,
        /// Whatever else is to be kept.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        pub metadata: Map<String, Value> as FreeObject,
        /// The learning of an event, with all its fields.
        pub learning: Option<LearningEventPayload>,
        /// The event that it came in: one of old says its `fact` alone and gets a name by its time.
        pub event: Option<LearningEventName>,
        /// When it is over; nothing is by itself.
        #[schemars(regex(pattern = instant_pattern()))]
        pub expires_at: Option<String> as LineText,
        /// The session that it comes from.
        pub session: Option<String> as SessionName,
        /// Free words.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub tags: Vec<String> as NameText,
    }) -> AddedLearning {
        let mut arguments = arguments;
        let (session, tags) = (
            arguments.session.take(),
            std::mem::take(&mut arguments.tags),
        );
        let mut now = memory.now();
        for _ in 0..NAMES_MAX {
            let (mut record, learning) = parse_learning_with_expiry(arguments.clone(), now).map_err(Problem::invalid)?;
            record.session_id = session.clone().unwrap_or_default();
            record.tags.clone_from(&tags);
            let of = match memory.store_one(record).await? {
                RecordFate::Inserted { id, .. } => {
                    let learning = json!(learning);
                    return Ok(AddedLearning {
                        id,
                        is_new: true,
                        learning,
                    });
                }
                RecordFate::Duplicate { of, .. } => of,
                RecordFate::Rejected { why } => return Err(Problem::invalid(why)),
            };
            // What was kept is what is answered, not what was said again.
            let kept = memory.run_on_snapshot(move |memory| SunwellLearning::of(&memory.get(of)?.ok()?));
            let kept = kept.await?.unwrap_or_else(|| learning.clone());
            // An event of old is named by its millisecond, which another one may have taken.
            if arguments.event.is_none() || kept.fact == learning.fact {
                return Ok(AddedLearning {
                    id: of,
                    is_new: false,
                    learning: json!(kept),
                });
            }
            now += TimeDelta::milliseconds(1);
        }
        Err(Problem::invalid(
            "too many events came in one millisecond; send it again",
        ))
    }
}

/// The record and the learning of what was sent; the error is a sentence about it.
fn parse_learning_with_expiry(
    given: AddLearningArguments,
    now: DateTime<Utc>,
) -> Result<(NewRecord, SunwellLearning), String> {
    let expires_at = given.expires_at.clone();
    let (mut record, learning) = parse_learning(given, now)?;
    if let Some(at) = expires_at {
        let end = Zone::Utc
            .parse_timestamp(&at)
            .map_err(|error| error.to_string())?;
        record.metadata.insert("expires_at".to_owned(), json!(end));
    }
    Ok((record, learning))
}

fn parse_learning(
    given: AddLearningArguments,
    now: DateTime<Utc>,
) -> Result<(NewRecord, SunwellLearning), String> {
    check_word("source type", given.source_type.clone(), &SOURCE_TYPES)?;
    check_word("scope", given.scope.clone(), &SCOPES)?;
    if given.learning.is_some() || given.event.is_some() {
        let learning = SunwellLearning::from_event(&json!(given), given.goal.as_deref(), now)?;
        return Ok((learning.to_record(), learning));
    }
    let fact = given.fact.ok_or("a learning needs its `fact`")?;
    let confidence = given.confidence;
    let category: LearningCategory = given.category.as_deref().unwrap_or("pattern").parse()?;
    Ok(match category {
        LearningCategory::Decision => {
            let mut decision =
                SunwellDecision::new(fact, &given.rationale.unwrap_or_default(), now);
            decision.scope = given.scope.unwrap_or(decision.scope);
            decision.supersedes = given.supersedes;
            (decision.goal, decision.metadata) = (given.goal, given.metadata);
            (decision.to_record(), decision.to_learning())
        }
        LearningCategory::Failure => {
            let approach = given.approach.unwrap_or_else(|| fact.clone());
            let mut failure = SunwellFailure::new(fact, approach, now);
            failure.context = given.context.unwrap_or_default();
            (failure.goal, failure.metadata) = (given.goal, given.metadata);
            (failure.to_record(), failure.to_learning())
        }
        _ => {
            let mut learning = if category == LearningCategory::TaskCompletion {
                let description = fact.trim_start_matches("Completed: ");
                SunwellLearning::from_task(
                    given.source.as_deref().unwrap_or_default(),
                    description,
                    given.goal,
                    now,
                )
            } else {
                let mut learning = SunwellLearning::new(fact, category, now);
                learning.goal = given.goal;
                learning
            };
            learning.source = given.source;
            learning.confidence = confidence.unwrap_or(learning.confidence);
            learning.source_type = given.source_type.unwrap_or(learning.source_type);
            learning.metadata = given.metadata;
            (learning.to_record(), learning)
        }
    })
}

operation! {
    Spec::for_adding(
        "extract_learnings",
        "Sunwell: keep the sentences of a finished session that say what was learned in it.",
    );
    /// Which session.
    #[derive(Default)]
    ExtractLearnings(memory, arguments: ExtractLearningsArguments {
        /// The session, as its records name it.
        #[schemars(length(min = 1))]
        pub session | "session_id": String as SessionName,
        /// Only say what would be kept.
        pub dry_run: bool,
        /// Learn from how its tests went, too, as of a session that came in from a program's
        /// history.
        pub outcomes: bool,
    }) -> Extracted {
        // A session that an agent's program ends does it by itself.
        let mut named = Some(arguments.session);
        memory.resolve_session(&mut named).await?;
        let session = named.unwrap_or_default();
        let mut found = memory
            .extract_and_store_learnings(&session, arguments.dry_run)
            .await?;
        if arguments.outcomes && !arguments.dry_run {
            found.outcomes = memory.learn_from_history(&session).await?;
        }
        Ok(found)
    }

    fn render_text(found: &Extracted) -> Cow<'_, str> {
        let (all, new) = (found.learnings.len(), found.ids.len());
        format!("{all} learnings, {new} of them new").into()
    }
}

#[cfg(test)]
mod tests;
