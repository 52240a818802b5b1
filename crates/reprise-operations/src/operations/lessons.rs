//! Lessons: kept, corrected, taken out of texts.

use reprise_knowledge::{Category, Decision, Failure, Learning, SCOPES, SOURCE_TYPES, one_of};
use reprise_types::Zone;
use reprise_types::limits::TEXT_BYTES_MAX;

use crate::bounds::instants;
use crate::memories::{Extracted, Known, Lesson};
use crate::prelude::*;

/// What became of a lesson.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Learned {
    /// The record that holds it.
    pub id: RecordId,
    /// Whether it is new.
    pub outcome: Novelty,
    /// Tags that may be slips, and files for other programs that cannot be written.
    pub warnings: Vec<String>,
    /// A kind of evidence that may be a slip.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    /// Records that said the same before, or the contrary.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<Known>,
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
    Spec::adds("learn", "Keep one lesson.")
        .tool("learn", Profile::Lean)
        .also(&["remember"]);
    Learn(memory, lesson: Lesson) -> Learned {
        let doubts = memory.tag_doubts(lesson.tags.as_deref().unwrap_or_default());
        let mut warnings = doubts.await?;
        let (fate, evidence) = memory.learn(lesson).await?;
        let (id, outcome) = match fate {
            Fate::Inserted { id, .. } => (id, Novelty::Inserted),
            Fate::Duplicate { of, .. } => (of, Novelty::Duplicate),
            Fate::Rejected { why } => return Err(Problem::invalid(why)),
        };
        let known = match outcome {
            // It is kept by now, whatever becomes of the look.
            Novelty::Inserted => memory.known(id).await.unwrap_or_default(),
            Novelty::Duplicate => Vec::new(),
        };
        warnings.extend(memory.projection_warnings().await);
        Ok(Learned {
            id,
            outcome,
            warnings,
            evidence,
            known,
        })
    }

    fn text(learned: &Learned) -> Cow<'_, str> {
        let outcome = match learned.outcome {
            Novelty::Inserted => "inserted",
            Novelty::Duplicate => "duplicate",
        };
        let mut quoted = QuotedMemory::new(system_entropy());
        for warning in &learned.warnings {
            quoted.line("warning ", warning);
        }
        if let Some(doubt) = &learned.evidence {
            quoted.line("evidence ", doubt);
        }
        for Known { id, contrary, text } in &learned.known {
            let relation = match contrary {
                None => "the same is known".to_owned(),
                Some(why) => ["the contrary is known (", why, ")"].concat(),
            };
            quoted.line(&format!("{id} "), &[&relation, ": ", text].concat());
        }
        let text = format!("{outcome} as {}\n{}", learned.id, quoted.into_text());
        text.trim_end().to_owned().into()
    }
}

/// Of a lesson something, and not just what a lesson needs to be kept.
fn anything_new(schema: &mut Schema) {
    schema.remove("allOf");
    // When something was does not change.
    if let Some(Value::Object(fields)) = schema.get_mut("properties") {
        fields.remove("when");
    }
    asks::any_of([
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
    pub published: Option<Standing>,
}

operation! {
    Spec::adds(
        "update",
        "Correct a record: a new version replaces it. What is not given stays.",
    )
    .tool("update", Profile::Default);
    /// What is to change.
    #[derive(clap::Args)]
    #[schemars(transform = anything_new)]
    Update(memory, arguments: UpdateArguments {
        /// A record's id.
        #[serde(alias = "lesson_id")]
        pub id: String,
        /// What is new.
        #[serde(flatten)]
        #[command(flatten)]
        pub lesson: Lesson,
    }) -> Updated {
        let has_new_text = arguments.lesson.text.is_some();
        let (old, new) = memory.correct(&arguments.id, arguments.lesson).await?;
        let truncated = new.metadata.get(RecordBody::TRUNCATED);
        let published = memory.standing_after(&old, &new).await?;
        Ok(Updated {
            truncated_from_bytes: truncated.filter(|_| has_new_text).and_then(Value::as_u64),
            published,
            is_new: new.id != old.id,
            id: new.id,
            supersedes: new.supersedes,
        })
    }

    fn text(updated: &Updated) -> Cow<'_, str> {
        let standing = Standing::lines(updated.published.as_slice());
        let cut = updated
            .truncated_from_bytes
            .map_or_else(String::new, |bytes| {
                format!("; its text has {bytes} bytes, and the first {TEXT_BYTES_MAX} are kept")
            });
        if updated.is_new {
            format!("updated; its id is {} now{cut}{standing}", updated.id).into()
        } else {
            format!("updated{standing}").into()
        }
    }
}

/// The event that tells of a learning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LearningEvent {
    MemoryLearning,
}

/// Milliseconds after an event's own that are tried for its name.
const NAMES_MAX: usize = 1_000;

/// A learning as an event tells it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Told {
    /// What was learned.
    #[schemars(regex(pattern = r"\S"))]
    fact: String,
    /// The nearest of the seven is taken.
    #[schemars(transform = asks::words(Category::words()))]
    category: String,
    #[serde(flatten)]
    #[schemars(skip)]
    other: Map<String, Value>,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Added {
    /// The record that holds it.
    pub id: RecordId,
    /// Whether it is new: what was learned before is kept once.
    pub is_new: bool,
    /// The learning, with its nine fields.
    pub learning: Value,
}

operation! {
    Spec::adds(
        "add_learning",
        "Sunwell: keep a learning, a decision or a failure, once.",
    );
    /// A learning in its parts, or an event `memory_learning` as it was told.
    #[derive(Default)]
    #[schemars(transform = asks::one_of(&["fact", "learning"]))]
    AddLearning(memory, arguments: AddLearningArguments {
        /// What was learned; of a decision what was decided, of a failure what went wrong.
        #[serde(alias = "decision")]
        #[schemars(regex(pattern = r"\S"))]
        pub fact: Option<String>,
        /// `task_completion`, pattern (the default), type, api, fix, decision or failure.
        #[schemars(transform = asks::words(Category::ALL.iter().map(|one| one.name())))]
        pub category: Option<String>,
        /// 0..1; .8 by default, 1 of a finished task.
        #[schemars(range(min = 0.0, max = 1.0))]
        pub confidence: Option<f64>,
        /// A file, a task, ...
        #[schemars(length(max = IDENTIFIER_BYTES_MAX))]
        pub source: Option<String>,
        /// task (the default), analysis, user or session.
        #[schemars(transform = asks::words(SOURCE_TYPES))]
        pub source_type: Option<String>,
        /// What was being worked on.
        pub goal: Option<String>,
        /// Of a decision: why.
        pub rationale: Option<String>,
        /// Of a decision: project (the default), file or function.
        #[schemars(transform = asks::words(SCOPES))]
        pub scope: Option<String>,
        /// Of a decision: the id of the one that it takes the place of.
        pub supersedes: Option<String>,
        /// Of a failure: what was tried.
        pub approach: Option<String>,
        /// Of a failure: whatever else there is to say.
        pub context: Option<String>,
        /// Whatever else is to be kept.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        pub metadata: Map<String, Value>,
        /// The learning of an event, with all its fields.
        pub learning: Option<Told>,
        /// The event that it came in: one of old says its `fact` alone and gets a name by its time.
        pub event: Option<LearningEvent>,
        /// When it is over; nothing is by itself.
        #[schemars(regex(pattern = instants()))]
        pub expires_at: Option<String>,
        /// The session that it comes from.
        pub session: Option<String>,
        /// Free words.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub tags: Vec<String>,
    }) -> Added {
        let mut arguments = arguments;
        let (session, tags) = (
            arguments.session.take(),
            std::mem::take(&mut arguments.tags),
        );
        let mut now = memory.now();
        for _ in 0..NAMES_MAX {
            let (mut record, learning) = read(arguments.clone(), now).map_err(Problem::invalid)?;
            record.session_id = session.clone().unwrap_or_default();
            record.tags.clone_from(&tags);
            let of = match memory.keep_one(record).await? {
                Fate::Inserted { id, .. } => {
                    let learning = json!(learning);
                    return Ok(Added {
                        id,
                        is_new: true,
                        learning,
                    });
                }
                Fate::Duplicate { of, .. } => of,
                Fate::Rejected { why } => return Err(Problem::invalid(why)),
            };
            // What was kept is what is answered, not what was said again.
            let kept = memory.read(move |memory| Learning::of(&memory.get(of)?.ok()?));
            let kept = kept.await?.unwrap_or_else(|| learning.clone());
            // An event of old is named by its millisecond, which another one may have taken.
            if arguments.event.is_none() || kept.fact == learning.fact {
                return Ok(Added {
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
fn read(given: AddLearningArguments, now: DateTime<Utc>) -> Result<(NewRecord, Learning), String> {
    let expires_at = given.expires_at.clone();
    let (mut record, learning) = told(given, now)?;
    if let Some(at) = expires_at {
        let end = Zone::Utc.read(&at).map_err(|error| error.to_string())?;
        record.metadata.insert("expires_at".to_owned(), json!(end));
    }
    Ok((record, learning))
}

fn told(given: AddLearningArguments, now: DateTime<Utc>) -> Result<(NewRecord, Learning), String> {
    one_of("source type", given.source_type.clone(), &SOURCE_TYPES)?;
    one_of("scope", given.scope.clone(), &SCOPES)?;
    if given.learning.is_some() || given.event.is_some() {
        let learning = Learning::of_event(&json!(given), given.goal.as_deref(), now)?;
        return Ok((learning.record(), learning));
    }
    let fact = given.fact.ok_or("a learning needs its `fact`")?;
    let confidence = given.confidence;
    let category: Category = given.category.as_deref().unwrap_or("pattern").parse()?;
    Ok(match category {
        Category::Decision => {
            let mut decision = Decision::new(fact, &given.rationale.unwrap_or_default(), now);
            decision.scope = given.scope.unwrap_or(decision.scope);
            decision.supersedes = given.supersedes;
            (decision.goal, decision.metadata) = (given.goal, given.metadata);
            (decision.record(), decision.to_learning())
        }
        Category::Failure => {
            let approach = given.approach.unwrap_or_else(|| fact.clone());
            let mut failure = Failure::new(fact, approach, now);
            failure.context = given.context.unwrap_or_default();
            (failure.goal, failure.metadata) = (given.goal, given.metadata);
            (failure.record(), failure.to_learning())
        }
        _ => {
            let mut learning = if category == Category::TaskCompletion {
                let description = fact.trim_start_matches("Completed: ");
                Learning::of_task(
                    given.source.as_deref().unwrap_or_default(),
                    description,
                    given.goal,
                    now,
                )
            } else {
                let mut learning = Learning::new(fact, category, now);
                learning.goal = given.goal;
                learning
            };
            learning.source = given.source;
            learning.confidence = confidence.unwrap_or(learning.confidence);
            learning.source_type = given.source_type.unwrap_or(learning.source_type);
            learning.metadata = given.metadata;
            (learning.record(), learning)
        }
    })
}

operation! {
    Spec::adds(
        "extract_learnings",
        "Sunwell: keep the sentences of a finished session that say what was learned in it.",
    );
    /// Which session.
    #[derive(Default)]
    ExtractLearnings(memory, arguments: ExtractLearningsArguments {
        /// The session, as its records name it.
        #[serde(alias = "session_id")]
        #[schemars(length(min = 1))]
        pub session: String,
        /// Only say what would be kept.
        pub dry_run: bool,
        /// Learn from how its tests went, too, as of a session that came in from a program's
        /// history.
        pub outcomes: bool,
    }) -> Extracted {
        // A session that an agent's program ends does it by itself.
        let mut found = memory
            .extract(&arguments.session, arguments.dry_run)
            .await?;
        if arguments.outcomes && !arguments.dry_run {
            found.outcomes = memory.learn_from_history(&arguments.session).await?;
        }
        Ok(found)
    }

    fn text(found: &Extracted) -> Cow<'_, str> {
        let (all, new) = (found.learnings.len(), found.ids.len());
        format!("{all} learnings, {new} of them new").into()
    }
}

#[cfg(test)]
mod tests;
