//! Lessons: records with a title, where they hold and where not, and how sure their author is.
//!
//! Keeping and correcting them.

use reprise_knowledge::{EVIDENCE_FIELD, Lesson as Kept, normal_contexts};
use reprise_types::limits::METADATA_BYTES_MAX;

use super::{refuse_receipt, refuse_receipts};
use crate::prelude::*;

/// A lesson, or what is to change in one: what is not given stays.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
#[schemars(transform = asks::one_of(&["title", "text"]))]
pub struct Lesson {
    /// A line that names it.
    #[arg(long)]
    pub title: Option<String>,
    /// What was learned: one thing.
    #[serde(alias = "content")]
    #[arg(id = "lesson_text", long = "text", visible_alias = "content")]
    pub text: Option<String>,
    /// What was learned, in a sentence; `-` reads standard input.
    #[serde(skip)]
    #[arg(id = "TEXT", conflicts_with = "lesson_text")]
    pub typed: Vec<String>,
    /// Free words.
    #[arg(long, visible_alias = "tag", value_delimiter = ',')]
    pub tags: Option<Vec<String>>,
    /// Words that it should be found by.
    #[schemars(extend("x-rare" = true))]
    #[arg(long, value_delimiter = ',')]
    pub keywords: Option<Vec<String>>,
    /// Where it holds.
    #[arg(long = "context")]
    pub contexts: Option<Vec<String>>,
    /// Where not.
    #[arg(long = "anti-context")]
    pub anti_contexts: Option<Vec<String>>,
    /// How sure.
    #[arg(long)]
    pub confidence: Option<ConfidenceLevel>,
    /// documented, tested, observed, inferred, hearsay or own.
    #[serde(alias = "source")]
    #[arg(long = "source", visible_alias = "evidence", value_name = "EVIDENCE")]
    pub evidence: Option<String>,
    /// Where that can be looked up.
    #[schemars(extend("x-rare" = true))]
    #[arg(long)]
    pub source_notes: Option<String>,
    /// The session that taught it.
    #[serde(alias = "session_id")]
    #[schemars(extend("x-rare" = true))]
    #[arg(long)]
    pub session: Option<String>,
    /// The experiment that it comes from, as the system that keeps it names it.
    #[schemars(extend("x-rare" = true))]
    #[arg(long, value_name = "EXPERIMENT")]
    pub derived_from_experiment: Option<String>,
    /// When that was: 2026-02-16, 7d, yesterday.
    #[serde(alias = "at")]
    #[schemars(extend("x-rare" = true))]
    #[arg(long = "at", value_name = "TIME")]
    pub when: Option<String>,
    /// Refuse a kind of evidence that is not there yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schemars(extend("x-rare" = true))]
    #[arg(long)]
    pub strict: bool,
}

impl Lesson {
    /// Puts what is new into a lesson that is kept.
    fn change(self, kept: &mut Kept) {
        fn put<T>(part: &mut T, new: Option<T>) {
            if let Some(new) = new {
                *part = new;
            }
        }
        put(&mut kept.title, self.title);
        put(&mut kept.content, self.text);
        put(&mut kept.keywords, self.keywords);
        let normal = |contexts: Option<Vec<String>>| contexts.map(|own| normal_contexts(&own));
        put(&mut kept.contexts, normal(self.contexts));
        put(&mut kept.anti_contexts, normal(self.anti_contexts));
        put(&mut kept.source_notes, self.source_notes.map(Some));
        put(
            &mut kept.derived_from_experiment,
            self.derived_from_experiment.map(Some),
        );
    }
}

/// The title that a lesson was given.
pub(crate) fn own_title(record: &MemoryRecord) -> Option<String> {
    let title = Kept::of(record).map(|lesson| lesson.title);
    title.filter(|title| !title.trim().is_empty())
}

/// The line that names a record: a lesson's title, else the beginning of its text.
pub(crate) fn title_of(record: &MemoryRecord) -> String {
    const COLUMNS: usize = 80;
    let line = own_title(record).unwrap_or_else(|| {
        let words: Vec<&str> = record.text.split_whitespace().take(40).collect();
        words.join(" ")
    });
    if line.chars().count() <= COLUMNS {
        return line;
    }
    line.chars().take(COLUMNS - 3).collect::<String>() + "..."
}

/// A lesson as it is kept, where it is no longer than what is kept of one.
fn fitting(kept: Value) -> Result<Value, Problem> {
    let bytes = kept.to_string().len();
    if bytes <= METADATA_BYTES_MAX {
        return Ok(kept);
    }
    Err(Problem::invalid(format!(
        "the lesson has {bytes} bytes, the limit is {METADATA_BYTES_MAX}; shorten its `text`"
    )))
}

impl Memory {
    /// Keeps a lesson; answers its fate, and a doubt about its evidence.
    pub(crate) async fn learn(&self, lesson: Lesson) -> Result<(Fate, Option<String>), Problem> {
        let source = if self.is_agent {
            MemorySource::WorkerResult
        } else {
            MemorySource::UserInput
        };
        let mut record = NewRecord::new("", source, MemoryKind::Finding);
        record.tags = lesson.tags.clone().unwrap_or_default();
        record.confidence = lesson.confidence.map(ConfidenceLevel::centre);
        record.session_id = lesson.session.clone().unwrap_or_default();
        let when = lesson.when.as_deref();
        let when = when.map(|when| self.calendar().since(when));
        record.timestamp = when.transpose().map_err(Problem::invalid)?;
        let ground = self.ground(lesson.evidence.as_deref(), lesson.strict);
        let (word, doubt) = ground.await?;
        record.evidence = word.as_deref().and_then(|word| word.parse().ok());
        if let Some(word) = word.filter(|_| record.evidence.is_none()) {
            record
                .metadata
                .insert(EVIDENCE_FIELD.to_owned(), json!(word));
        }
        let mut kept = Kept::default();
        lesson.change(&mut kept);
        if kept.title.trim().is_empty() && kept.content.trim().is_empty() {
            return Err(Problem::invalid(
                "the lesson is empty; give it a title and what was learned",
            ));
        }
        record.text = kept.text();
        record.details = Some(fitting(kept.details())?);
        let known = match self.name_of(&record).await? {
            Ok(name) => {
                record.external_ids.push(name);
                self.held(&mut record, &kept).await?
            }
            Err(of) => Some(of),
        };
        if let Some(of) = known {
            self.seen_again(vec![(0, of)]).await?;
            let differs = false;
            return Ok((Fate::Duplicate { of, differs }, doubt));
        }
        Ok((self.keep_one(record).await?, doubt))
    }

    /// The record, learned or not, that says all that this lesson does; else it is given the name
    /// by which its bare text is known.
    async fn held(&self, lesson: &mut NewRecord, kept: &Kept) -> Result<Option<RecordId>, Problem> {
        let is_plain = Kept {
            content: String::new(),
            ..kept.clone()
        } == Kept::default();
        if !is_plain {
            return Ok(None);
        }
        let text = Redactor::new().redact_text(&lesson.text).text;
        let tags = self.all.around.tags.resolve(&lesson.tags);
        let (known, name) = if self.exists() {
            let wanted = text.clone();
            let learned = self
                .with_engine(move |engine| engine.learned(&wanted))
                .await?;
            let find = move |memory: &Snapshot| {
                let known = learned.as_ref().ok().and_then(|id| memory.get(*id)?.ok());
                (known.or_else(|| memory.saying(&text)), learned.err())
            };
            self.read(find).await?
        } else {
            (None, Some(Engine::learned_name(&text, 0)))
        };
        let adds_nothing = |known: &MemoryRecord| {
            let mut metadata = lesson.metadata.iter();
            let session = &lesson.session_id;
            tags.iter().all(|tag| known.tags.contains(tag))
                && lesson
                    .confidence
                    .is_none_or(|new| known.confidence == Some(new))
                && lesson
                    .evidence
                    .is_none_or(|new| known.evidence == Some(new))
                && metadata.all(|(key, new)| known.metadata.get(key) == Some(new))
                && (session.is_empty() || *session == known.session_id)
        };
        if let Some(known) = known.filter(adds_nothing) {
            return Ok(Some(known.id));
        }
        lesson.external_ids.extend(name);
        Ok(None)
    }

    /// A name made of all that a lesson says; or the record that says just that. A lesson that was
    /// forgotten or corrected since may be learned again, under the next name.
    async fn name_of(&self, lesson: &NewRecord) -> Result<Result<ExternalId, RecordId>, Problem> {
        let parts = (&lesson.tags, &lesson.confidence, &lesson.evidence);
        let mut said = json!([lesson.details, parts]);
        if let (Some(own), Some(said)) = (lesson.metadata.get(EVIDENCE_FIELD), said.as_array_mut())
        {
            said.push(own.clone());
        }
        let digest = reprise_types::sha256_hex(said.to_string().as_bytes());
        let name = move |time: u32| {
            let name = format!("{}{digest}/{time}", ExternalId::LESSON);
            ExternalId::new(ExternalId::REQUEST, name)
        };
        if !self.exists() {
            return Ok(Ok(name(0)));
        }
        let find = move |engine: &mut Engine| {
            let mut time = 0;
            loop {
                let Some(held) = engine.duplicate_of(&name(time)) else {
                    return Ok(name(time));
                };
                if engine.snapshot().current(held) == Some(held) {
                    return Err(held);
                }
                time += 1;
            }
        };
        self.with_engine(find).await
    }

    /// Changes a lesson, or a record's text and tags: a new version with the old one's links. Where
    /// only the tags change the record stays as it is and says so in the log. Answers the record as
    /// it was and as it is.
    pub(crate) async fn correct(
        &self,
        name: &str,
        lesson: Lesson,
    ) -> Result<(MemoryRecord, MemoryRecord), Problem> {
        if lesson == Lesson::default() {
            return Err(Problem::invalid(
                "nothing is to be changed; give the parts that are new",
            ));
        }
        if lesson.when.is_some() {
            return Err(Problem::invalid(
                "when something was does not change; learn it anew with its time",
            ));
        }
        let old = self.record(name).await?;
        let only_tags = Lesson {
            tags: lesson.tags.clone(),
            ..Lesson::default()
        };
        if let Some(tags) = lesson.tags.clone()
            && lesson == only_tags
        {
            refuse_receipt(&old)?;
            self.retag(old.id, tags).await?;
            return Ok((old, self.record(name).await?));
        }
        let mut changes = Map::new();
        if let Some(tags) = &lesson.tags {
            changes.insert("tags".to_owned(), json!(tags));
        }
        if let Some(level) = lesson.confidence {
            changes.insert("confidence".to_owned(), json!(level.centre()));
        }
        let (evidence, _) = self
            .ground(lesson.evidence.as_deref(), lesson.strict)
            .await?;
        if let Some(evidence) = evidence {
            changes.insert(EVIDENCE_FIELD.to_owned(), json!(evidence));
        }
        if let Some(mut kept) = Kept::of(&old) {
            lesson.change(&mut kept);
            changes.insert("text".to_owned(), json!(kept.text()));
            changes.insert("details".to_owned(), fitting(kept.details())?);
        } else {
            let plain = Lesson {
                text: lesson.text.clone(),
                confidence: lesson.confidence,
                evidence: lesson.evidence.clone(),
                strict: lesson.strict,
                ..only_tags
            };
            if lesson != plain {
                return Err(Problem::invalid(format!(
                    "`{}` is no lesson: its text, tags, confidence and evidence can be changed, \
                     and nothing else",
                    old.id
                )));
            }
            changes.extend(lesson.text.map(|text| ("text".to_owned(), json!(text))));
        }
        self.revise(name, changes).await
    }

    async fn retag(&self, id: RecordId, tags: Vec<String>) -> Result<(), Problem> {
        let now = self.now();
        let tags = self.all.around.tags.resolve(&tags);
        refuse_receipts(&tags)?;
        let done = self.with_engine(move |engine| engine.tag(id, &tags, now));
        done.await??;
        self.tell("updated", vec![id]);
        Ok(())
    }
}
