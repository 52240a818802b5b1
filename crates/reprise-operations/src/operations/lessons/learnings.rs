//! Learnings, as Sunwell has them: kept one by one, extracted from a finished session, and sent to
//! listeners as its events.

use reprise_engine::{DISTILLED, LinkEnd, NewLink};
use reprise_knowledge::{
    LearningCategory, SCOPES, SOURCE_TYPES, SunwellDecision, SunwellFailure, SunwellLearning,
    SunwellMemory, SunwellStats, check_word, extract_learnings, extract_withdrawals, hex_id,
    settles_known,
};
use reprise_types::Zone;

use super::belonging::without_project_tags;
use super::told_again::{ToldSentence, place_sentence};

use crate::bounds::instant_pattern;
use crate::prelude::*;

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
        pub session | "session_id": String as StoredSession,
        /// Only say what would be kept.
        pub dry_run: bool,
        /// Learn from how its tests went, too, as of a session that came in from a program's
        /// history.
        pub outcomes: bool,
    }) -> Extracted {
        // A session that an agent's program ends does it by itself.
        let session = arguments.session;
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
        format!("{}, {new} of them new", format_count(all, "lesson")).into()
    }
}

/// Learnings that are told one by one; of more at once listeners hear what there is.
const TOLD_MAX: usize = 64;

/// What a session taught.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Extracted {
    /// The learnings, in the order of the session, each with its nine fields.
    pub learnings: Vec<Value>,
    /// The records that were made for those that are new.
    pub ids: Vec<RecordId>,
    /// Outcomes of its tests that were learned from.
    #[serde(default)]
    pub outcomes: u64,
}

/// Returns the filter of a project's records; of all records if no project is named.
pub(crate) fn project_filter(project: Option<&str>) -> MemoryFilter {
    MemoryFilter {
        project: project.map(str::to_owned),
        ..MemoryFilter::default()
    }
}

/// Lists what was learned and planned in a memory, or in one project of it, oldest first, without
/// what has expired.
pub(crate) fn list_learnings(
    memory: &Snapshot,
    project: Option<&str>,
    now: DateTime<Utc>,
) -> SunwellMemory {
    let mut own = memory.list_matching_records(&project_filter(project));
    own.retain(|record| SunwellMemory::is_in(record) && !record.is_expired(now));
    own.sort_by_key(|record| (record.timestamp, record.id));
    SunwellMemory::of(&own)
}

/// Returns whether a lesson has a record among its sources.
fn is_source(memory: &Snapshot, lesson: RecordId, source: RecordId) -> bool {
    let mut links = memory.links(lesson).into_iter();
    links.any(|link| link.outgoing && link.record == source && link.relation == DISTILLED)
}

/// Returns a sentence that ends a rule or corrects a fact for each place where there is one: the
/// project in which it is told, and all of them. A rule without a project ends everywhere.
fn list_settling<'a>(
    memory: &Snapshot,
    from: &'a MemoryRecord,
    new: &NewRecord,
) -> Vec<(&'a MemoryRecord, NewRecord)> {
    let mut general = new.clone();
    general.tags = without_project_tags(&new.tags);
    let names = general.external_ids.iter();
    let names = names.map(|one| ExternalId::new(&one.namespace, hex_id(&[&one.id, "everywhere"])));
    general.external_ids = names.collect();
    let mut places = vec![new.clone()];
    if general.tags != new.tags {
        places.push(general);
    }
    places.retain(|one| settles_known(memory, &to_unsaved_record(one)));
    places.into_iter().map(|one| (from, one)).collect()
}

/// Returns a new record as it will be stored, without an id.
fn to_unsaved_record(new: &NewRecord) -> MemoryRecord {
    let body = new.body.clone();
    body.into_record(RecordId::from_u128(0), DateTime::UNIX_EPOCH)
}

impl Memory {
    /// Keeps the sentences of a session that say what was learned in it, each once. Each is linked
    /// to the record that contains it, so that forgetting that record forgets it too.
    pub(crate) async fn extract_and_store_learnings(
        &self,
        session: &str,
        dry_run: bool,
    ) -> Result<Extracted, Problem> {
        if session.is_empty() {
            return Err(Problem::invalid(
                "name the session that is to be learned from",
            ));
        }
        if !self.exists() {
            return Ok(Extracted::default());
        }
        let of_session = MemoryFilter {
            session_id: Some(session.to_owned()),
            ..MemoryFilter::default()
        };
        let found = self.run_on_snapshot(move |memory| {
            let mut said = memory.list_matching_records(&of_session);
            said.sort_by_key(|record| (record.timestamp, record.id));
            let found = extract_learnings(&said).into_iter();
            let ended = extract_withdrawals(&said).into_iter();
            let ended = ended.flat_map(|(from, new)| list_settling(memory, from, &new));
            let found = found.chain(ended);
            let over = memory.list_contradicted();
            let found = found.filter_map(|(from, new)| {
                let learning = SunwellLearning::of(&to_unsaved_record(&new));
                let told = place_sentence(memory, &over, from, new)?;
                Some((from.id, learning, told))
            });
            found.collect::<Vec<_>>()
        });
        let found = found.await?;
        let learnings = found.iter().map(|(_, learning, _)| json!(learning));
        let learnings = learnings.collect();
        if dry_run || found.is_empty() {
            return Ok(Extracted {
                learnings,
                ..Extracted::default()
            });
        }
        let now = self.now();
        let keep = move |engine: &mut Engine| -> Result<Vec<RecordId>, Problem> {
            let mut batch = WriteBatch::default();
            for (from, _, told) in found {
                let made = match told {
                    ToldSentence::New(new) => {
                        batch.records.push(*new);
                        LinkEnd::New(batch.records.len() - 1)
                    }
                    // Told again, it has one source more.
                    ToldSentence::Known(known) if !is_source(&engine.snapshot(), known, from) => {
                        LinkEnd::Stored(known)
                    }
                    ToldSentence::Known(_) => continue,
                };
                let link = NewLink::distilled_from(made, LinkEnd::Stored(from));
                batch.links.push(link);
            }
            let outcomes = engine.write(batch, now)?.outcomes;
            let ids = outcomes.iter().filter_map(WriteOutcome::inserted_id);
            Ok(ids.collect())
        };
        let ids = self.run_on_engine(keep).await??;
        if !ids.is_empty() {
            self.announce_change("inserted", ids.clone());
            self.notify_learnings(&ids).await;
            for id in &ids {
                self.note_contradictions(*id).await;
            }
        }
        Ok(Extracted {
            learnings,
            ids,
            outcomes: 0,
        })
    }

    /// Notifies listeners of the learnings in some new records, or only of the totals if there are
    /// too many. Sensitive records are left out.
    pub(crate) async fn notify_learnings(&self, ids: &[RecordId]) {
        if !self.all.has_listeners() {
            return;
        }
        if ids.len() > TOLD_MAX {
            return self.notify_loaded(None).await;
        }
        let wanted = ids.to_vec();
        let read = self.run_on_snapshot(move |memory| {
            let records = wanted.iter().filter_map(|id| memory.get(*id)?.ok());
            let told = records.filter(|record| record.check_release(ReleaseTarget::Export).is_ok());
            let told = told.filter_map(|record| Some((record.id, SunwellLearning::of(&record)?)));
            told.collect::<Vec<_>>()
        });
        // A listener that hears nothing of it reads it with its next question.
        for (id, learning) in read.await.unwrap_or_default() {
            self.send_change("memory_learning", vec![id], learning.to_event());
        }
    }

    /// Notifies listeners of what is known, in one project or in all, when an agent loads it.
    pub(crate) async fn notify_loaded(&self, project: Option<String>) {
        if !self.all.has_listeners() || !self.exists() {
            return;
        }
        let now = self.now();
        let read = self.run_on_snapshot(move |memory| {
            list_learnings(memory, project.as_deref(), now).count_learnings()
        });
        if let Ok(stats) = read.await {
            self.notify_stats(&stats);
        }
    }

    /// Notifies listeners of totals that were just read.
    pub(crate) fn notify_stats(&self, stats: &SunwellStats) {
        if let Some(event) = stats.to_loaded_event() {
            self.send_change("memory_loaded", Vec::new(), event);
        }
    }
}
