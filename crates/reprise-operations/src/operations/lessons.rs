//! Lessons: kept and corrected; learned from a session, read as Sunwell's programs read them, and
//! those that come with a checkout.

mod belonging;
pub mod knowledge;
pub mod learnings;
mod lesson;
mod repositories;
mod told_again;

use reprise_knowledge::LessonDetails;
use reprise_types::limits::TEXT_BYTES_MAX;

use crate::operations::records::KnownRecord;
use crate::prelude::*;

pub(in crate::operations) use belonging::project_of_tags;
use belonging::without_project_tags;
pub use learnings::{
    AddLearning, AddLearningArguments, ExtractLearnings, ExtractLearningsArguments, Extracted,
};
pub use lesson::Lesson;
pub(crate) use lesson::{own_title, title_or_beginning};
pub use repositories::{Repositories, read_redacted_lessons, redact_and_list_rules};

/// What became of a lesson.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Learned")]
pub struct LessonReport {
    /// The record that holds it.
    pub id: RecordId,
    /// Whether it is new.
    pub outcome: Novelty,
    /// The project that it is for; absent where it is for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
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
    Spec::for_adding("learn", "Remember one lesson, decision or fact. Returns its id, and what is known that says the same or the contrary.")
        .with_tool("learn", Profile::Lean)
        .with_tool_aliases(&["remember"]);
    Learn(memory, lesson: Lesson) -> LessonReport {
        // A project is named after its folder, and not by hand.
        let typed = without_project_tags(lesson.tags.as_deref().unwrap_or_default());
        let mut warnings = memory.find_tag_doubts(&typed).await?;
        let (fate, evidence) = memory.learn(lesson).await?;
        let (id, outcome) = match fate {
            RecordFate::Inserted { id, .. } => match memory.merge_into_twin(id).await? {
                Some(twin) => (twin, Novelty::Duplicate),
                None => (id, Novelty::Inserted),
            },
            RecordFate::Duplicate { of, .. } => (of, Novelty::Duplicate),
            RecordFate::Rejected { why } => return Err(Problem::invalid(why)),
        };
        let known = match outcome {
            // It is kept by now, whatever becomes of the look.
            Novelty::Inserted => memory.list_known_records(id).await.unwrap_or_default(),
            Novelty::Duplicate => Vec::new(),
        };
        warnings.extend(memory.list_projection_warnings().await);
        let kept = memory.get_record(&id.to_string()).await?;
        Ok(LessonReport {
            id,
            outcome,
            project: project_of_tags(&kept.tags).map(str::to_owned),
            warnings,
            evidence,
            known,
        })
    }

    fn render_text(learned: &LessonReport) -> Cow<'_, str> {
        let (outcome, then) = match learned.outcome {
            Novelty::Inserted => ("remembered", ""),
            Novelty::Duplicate => (
                "already remembered",
                ": no second memory is stored, only that it was said again",
            ),
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
                    quoted.add_line(&format!("you have one that says the same, {id}: "), text);
                    continue;
                }
            };
            quoted.add_line(&format!("{what} {id}: "), &[text, " (", why, ")"].concat());
        }
        let id = learned.id;
        let project = learned.project.as_ref().map_or_else(
            || "all projects".to_owned(),
            |name| format!("project `{}`", to_one_line(name)),
        );
        let text = format!("{outcome} as {id} for {project}{then}\n{}", quoted.into_text());
        let known = || learned.known.iter();
        let hint = if learned.known.is_empty() {
            ""
        } else if known().any(|known| known.contrary.is_some()) {
            "\nBoth are kept; decide with `reprise doctor review`."
        } else if known().all(|known| known.similar.is_some()) {
            "\nBoth are kept; forget the one that the other replaces."
        } else {
            "\nBoth are kept; `reprise doctor tidy` merges them."
        };
        [text.trim_end(), hint].concat().into()
    }
}

impl Memory {
    /// Puts an agent's new lesson away if a known one says the same in other words, as tidying up
    /// would: an agent has no command for that. Returns the one that stays.
    async fn merge_into_twin(&self, id: RecordId) -> Result<Option<RecordId>, Problem> {
        if !self.is_agent {
            return Ok(None);
        }
        let known = self.list_known_records(id).await.unwrap_or_default();
        let mut twins = known.iter();
        let twin = twins.find(|one| one.contrary.is_none() && one.similar.is_none());
        let Some(twin) = twin.map(|one| one.id) else {
            return Ok(None);
        };
        let same = self.run_on_snapshot(move |memory| {
            let of = |id| memory.get(id).and_then(Result::ok);
            let two = of(id).zip(of(twin));
            two.is_some_and(|(new, old)| {
                let adds_nothing = |own: LessonDetails| {
                    let words = [own.keywords, own.contexts, own.anti_contexts];
                    own.title.is_empty() && words.iter().all(Vec::is_empty)
                };
                new.tags == old.tags
                    && (new.confidence.is_none() || new.confidence == old.confidence)
                    && (new.evidence.is_none() || new.evidence == old.evidence)
                    && LessonDetails::of(&new).is_some_and(adds_nothing)
            })
        });
        if !same.await? {
            return Ok(None);
        }
        let now = self.now();
        let retire = move |engine: &mut Engine| engine.retire(&[(id, twin)], now);
        self.run_on_engine(retire).await??;
        self.announce_change("consolidated", vec![id]);
        Ok(Some(twin))
    }
}

/// Requires a field that changes a lesson, not only those that a new lesson needs.
fn require_a_change(schema: &mut Schema) {
    schema.remove("allOf");
    // When something was does not change.
    if let Some(Value::Object(fields)) = schema.get_mut("properties") {
        fields.remove("when");
        for (name, says) in [
            ("tags", "All its tags from now on"),
            ("project", "Move it to this project; `none` for all"),
            ("evidence", "How you know it"),
            ("contexts", "Where it applies"),
            ("title", "Its new title"),
            ("text", "Its whole new text"),
        ] {
            if let Some(field) = fields.get_mut(name) {
                field["description"] = json!(says);
            }
        }
        if let Some(project) = fields.get_mut("project") {
            project["x-rare"] = json!(true);
        }
    }
    schema_rules::require_any_not_null([
        "title",
        "text",
        "tags",
        "project",
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
    /// Whether it is as it was: it had all of that already.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_unchanged: bool,
    /// How many bytes the new text had, of which the first 64 KiB are kept; absent where all are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated_from_bytes: Option<u64>,
    /// What was published of it, where that may not leave any more or is not what it says now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<PublishedCopy>,
    /// The project that it is kept for; absent where it is for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
}

operation! {
    Spec::for_adding(
        "update",
        "Correct a memory; the new version replaces it and has a new id. Omitted fields stay.",
    )
    .with_tool("update", Profile::Default);
    /// What is to change.
    #[derive(clap::Args)]
    #[schemars(transform = require_a_change)]
    Update(memory, arguments: UpdateArguments {
        /// Its id, as `recall` shows it.
        pub id | "lesson_id": String as RecordKey,
        /// Id of the version that you read; a newer one refuses the change.
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
            project: project_of_tags(&new.tags).map(str::to_owned),
            is_new: new.id != old.id,
            is_unchanged: new.id == old.id && new.tags == old.tags,
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
        let project = updated.project.as_ref();
        let project = project.map_or_else(String::new, |name| {
            format!(", kept for project `{}`", to_one_line(name))
        });
        if updated.is_new {
            format!("saved as new version {}{project}{cut}{standing}", updated.id).into()
        } else if updated.is_unchanged {
            format!("nothing changed: it says that already{project}{standing}").into()
        } else {
            format!("updated{project}{standing}").into()
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
         again and repeat your change with that id as `expected`",
        current.id
    )))
}

#[cfg(test)]
mod tests;
