//! A lesson: a record with a title, where it holds and where not, and how sure its author is. How
//! one is kept and corrected.

use reprise_knowledge::{EVIDENCE_FIELD, LessonDetails as Kept, normalize_contexts};
use reprise_types::limits::METADATA_BYTES_MAX;

use super::belonging::{project_of_tags, without_project_tags};
use crate::operations::tags::{PROJECT_TAG, refuse_receipt_change, refuse_receipt_tag};
use crate::prelude::*;

arguments! {
    /// A lesson, or the changes to one: fields that are left out stay.
    #[skip_serializing_none]
    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema, clap::Args)]
    #[serde(deny_unknown_fields)]
    #[schemars(transform = schema_rules::require_any_non_blank(&["title", "text"]))]
    pub struct Lesson {
        /// What it is about, in one line.
        #[arg(long)]
        pub title: Option<String> as LineText,
        /// What was learned: one thing, in whole sentences.
        #[arg(
            id = "lesson_text",
            long = "text",
            visible_alias = "content",
            value_name = "TEXT"
        )]
        pub text | "content": Option<String> as LongText,
        /// Text to remember; `-` reads standard input.
        #[serde(skip)]
        #[arg(id = "TEXT", conflicts_with = "lesson_text")]
        pub typed: Vec<String> as DescribedElsewhere,
        /// Words that group it with others.
        #[arg(
            long,
            visible_alias = "tag",
            value_delimiter = ',',
            help = "Tags, separated by commas"
        )]
        pub tags: Option<Vec<String>> as NameText,
        /// Other words to find it by, separated by commas.
        #[schemars(extend("x-rare" = true))]
        #[arg(long, value_delimiter = ',')]
        pub keywords: Option<Vec<String>> as LineText,
        /// Where it applies: language, tool, project.
        #[arg(long = "context")]
        pub contexts: Option<Vec<String>> as LineText,
        /// Where it does not apply.
        #[arg(long = "anti-context")]
        pub anti_contexts: Option<Vec<String>> as LineText,
        /// How sure you are.
        #[arg(
            long,
            help = "How sure it is: very-low, low, medium, high or very-high"
        )]
        pub confidence: Option<ConfidenceLevel>,
        /// How you know it: documented, tested, observed, inferred, hearsay, or your word.
        #[arg(
            long = "evidence",
            alias = "source",
            value_name = "KIND",
            help = "How it is known: documented, tested, observed, inferred, hearsay, or a word of \
                    your own"
        )]
        pub evidence | "source": Option<String> as LineText,
        /// Where the evidence can be found.
        #[schemars(extend("x-rare" = true))]
        #[arg(long)]
        pub source_notes: Option<String> as LineText,
        /// Session that it comes from.
        #[schemars(extend("x-rare" = true))]
        #[arg(long)]
        pub session | "session_id": Option<String> as SessionName,
        /// Name of the experiment that it comes from.
        #[schemars(extend("x-rare" = true))]
        #[arg(long, value_name = "EXPERIMENT")]
        pub derived_from_experiment: Option<String> as LineText,
        /// Its project; yours by default, `none` for all.
        #[arg(
            long,
            value_name = "PROJECT",
            help = "Project that it is for, or a folder of it; `none` for all [default: the \
                    repository around this folder]"
        )]
        pub project: Option<String> as NameText,
        /// When it was learned: 2026-02-16, 7d, yesterday.
        #[schemars(extend("x-rare" = true))]
        #[arg(long = "at", value_name = "TIME")]
        pub when | "at": Option<String> as TimeText,
        /// Refuse an unknown kind of evidence.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[schemars(extend("x-rare" = true))]
        #[arg(long)]
        pub strict: bool,
    }
}

impl Lesson {
    /// Puts what is new into a lesson that is kept.
    fn apply_to(self, kept: &mut Kept) {
        fn replace_if_given<T>(part: &mut T, new: Option<T>) {
            if let Some(new) = new {
                *part = new;
            }
        }
        replace_if_given(&mut kept.title, self.title);
        replace_if_given(&mut kept.content, self.text);
        replace_if_given(&mut kept.keywords, self.keywords);
        let normal = |contexts: Option<Vec<String>>| contexts.map(|own| normalize_contexts(&own));
        replace_if_given(&mut kept.contexts, normal(self.contexts));
        replace_if_given(&mut kept.anti_contexts, normal(self.anti_contexts));
        replace_if_given(&mut kept.source_notes, self.source_notes.map(Some));
        replace_if_given(
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
pub(crate) fn title_or_beginning(record: &MemoryRecord) -> String {
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

/// Returns whether a record has all that a change would give it.
fn changes_nothing(record: &MemoryRecord, changes: &Map<String, Value>) -> bool {
    let line = serde_json::to_value(ExportLine::new(record)).unwrap_or_default();
    changes.iter().all(|(field, value)| {
        let (had, gets) = (&line[field], value);
        let texts = had.as_str().zip(gets.as_str());
        texts.map_or(had == gets, |(had, gets)| had.trim() == gets.trim())
    })
}

/// A lesson as it is kept, where it is no longer than what is kept of one.
fn check_lesson_size(kept: Value) -> Result<Value, Problem> {
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
    pub(crate) async fn learn(
        &self,
        lesson: Lesson,
    ) -> Result<(RecordFate, Option<String>), Problem> {
        let source = if self.is_agent {
            MemorySource::WorkerResult
        } else {
            MemorySource::UserInput
        };
        let mut record = NewRecord::new("", source, MemoryKind::Finding);
        let project = lesson.project.as_deref();
        let tags = lesson.tags.clone().unwrap_or_default();
        record.tags = self.tag_with_project(tags, project).await?;
        record.confidence = lesson.confidence.map(ConfidenceLevel::centre);
        record.session_id = lesson.session.clone().unwrap_or_default();
        let when = lesson.when.as_deref();
        let when = when.map(|when| self.calendar().parse_since(when));
        record.timestamp = when.transpose().map_err(Problem::invalid)?;
        let ground = self.resolve_evidence(lesson.evidence.as_deref(), lesson.strict);
        let (word, doubt) = ground.await?;
        record.evidence = word.as_deref().and_then(|word| word.parse().ok());
        if let Some(word) = word.filter(|_| record.evidence.is_none()) {
            record
                .metadata
                .insert(EVIDENCE_FIELD.to_owned(), json!(word));
        }
        let mut kept = Kept::default();
        lesson.apply_to(&mut kept);
        if kept.title.trim().is_empty() && kept.content.trim().is_empty() {
            return Err(Problem::invalid(
                "there is nothing to remember; give what was learned as the text",
            ));
        }
        record.text = kept.to_text();
        record.details = Some(check_lesson_size(kept.to_details())?);
        let known = match self.free_name_or_holder(&record).await? {
            Ok(name) => {
                record.external_ids.push(name);
                self.find_same_or_assign_name(&mut record, &kept).await?
            }
            Err(of) => Some(of),
        };
        if let Some(of) = known {
            self.count_seen_again(vec![(0, of)]).await?;
            let differs = false;
            return Ok((RecordFate::Duplicate { of, differs }, doubt));
        }
        if self.is_agent && self.exists() {
            self.refuse_forgotten_text(&record.text).await?;
        }
        Ok((self.store_one(record).await?, doubt))
    }

    /// Refuses an agent's lesson with a text that was forgotten: only a person brings it back.
    async fn refuse_forgotten_text(&self, text: &str) -> Result<(), Problem> {
        let text = Redactor::new().redact_text(text).text;
        let find = move |memory: &Snapshot| {
            let at = memory.text_forgotten_at(&text)?;
            memory.find_same_text(&text).is_none().then_some(at)
        };
        let Some(at) = self.run_on_snapshot(find).await? else {
            return Ok(());
        };
        let day = self.calendar().day_of(at);
        Err(Problem::conflict(format!(
            "the user's memory was told to forget this on {day}, so it is not kept again; if it is \
             to be, the user adds it with `reprise learn` or on the page"
        )))
    }

    /// The record, learned or not, that says all that this lesson does; else it is given the name
    /// by which its bare text is known.
    async fn find_same_or_assign_name(
        &self,
        lesson: &mut NewRecord,
        kept: &Kept,
    ) -> Result<Option<RecordId>, Problem> {
        let is_plain = Kept {
            content: String::new(),
            ..kept.clone()
        } == Kept::default();
        if !is_plain {
            return Ok(None);
        }
        let text = Redactor::new().redact_text(&lesson.text).text;
        let tags = self.all.around.tags.resolve_tags(&lesson.tags);
        let (known, name) = if self.exists() {
            let find = move |memory: &Snapshot| {
                let learned = memory.find_learned_text(&text);
                let known = learned.as_ref().ok().and_then(|id| memory.get(*id)?.ok());
                (
                    known.or_else(|| memory.find_same_text(&text)),
                    learned.err(),
                )
            };
            self.run_on_snapshot(find).await?
        } else {
            (None, Some(Snapshot::learned_external_id(&text, 0)))
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
    async fn free_name_or_holder(
        &self,
        lesson: &NewRecord,
    ) -> Result<Result<ExternalId, RecordId>, Problem> {
        let parts = (&lesson.tags, &lesson.confidence, &lesson.evidence);
        let mut said = json!([lesson.details, parts]);
        if let (Some(own), Some(said)) = (lesson.metadata.get(EVIDENCE_FIELD), said.as_array_mut())
        {
            said.push(own.clone());
        }
        let digest = reprise_types::sha256_hex(said.to_string().as_bytes());
        let name = move |time: u32| {
            let name = format!("{}{digest}/{time}", ExternalId::LESSON_PREFIX);
            ExternalId::new(ExternalId::REQUEST, name)
        };
        if !self.exists() {
            return Ok(Ok(name(0)));
        }
        let find = move |memory: &Snapshot| {
            let mut time = 0;
            loop {
                let Some(held) = memory.find_by_external_id(&name(time)) else {
                    return Ok(name(time));
                };
                if memory.current_version(held) == Some(held) {
                    return Err(held);
                }
                time += 1;
            }
        };
        self.run_on_snapshot(find).await
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
                "nothing to change; give the parts that are new",
            ));
        }
        if lesson.when.is_some() {
            return Err(Problem::invalid(
                "when something was does not change; learn it anew with its time",
            ));
        }
        let old = self.get_record(name).await?;
        let lesson = self.keep_project(lesson, &old).await?;
        let only_tags = Lesson {
            tags: lesson.tags.clone(),
            ..Lesson::default()
        };
        if let Some(tags) = lesson.tags.clone()
            && lesson == only_tags
        {
            refuse_receipt_change(&old)?;
            self.replace_tags(old.id, tags).await?;
            return Ok((old, self.get_record(name).await?));
        }
        let mut changes = Map::new();
        if let Some(tags) = &lesson.tags {
            changes.insert("tags".to_owned(), json!(tags));
        }
        if let Some(level) = lesson.confidence {
            changes.insert("confidence".to_owned(), json!(level.centre()));
        }
        let (evidence, _) = self
            .resolve_evidence(lesson.evidence.as_deref(), lesson.strict)
            .await?;
        if let Some(evidence) = evidence {
            changes.insert(EVIDENCE_FIELD.to_owned(), json!(evidence));
        }
        if let Some(mut kept) = Kept::of(&old) {
            lesson.apply_to(&mut kept);
            changes.insert("text".to_owned(), json!(kept.to_text()));
            changes.insert("details".to_owned(), check_lesson_size(kept.to_details())?);
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
        if !changes.is_empty() && changes_nothing(&old, &changes) {
            return Ok((old.clone(), old));
        }
        self.revise(name, changes).await
    }

    /// Puts the project of a change into its tags. Other tags that name no project leave the record
    /// in its own: who lists them was never asked for it.
    async fn keep_project(
        &self,
        mut lesson: Lesson,
        old: &MemoryRecord,
    ) -> Result<Lesson, Problem> {
        let project = lesson.project.take();
        let mut tags = match (&project, lesson.tags.take()) {
            (None, None) => return Ok(lesson),
            (_, Some(tags)) => tags,
            (Some(_), None) => old.tags.clone(),
        };
        if project.is_none() && without_project_tags(&tags) == tags {
            let own = project_of_tags(&old.tags);
            tags.extend(own.map(|name| [PROJECT_TAG, name].concat()));
        }
        lesson.tags = Some(self.tag_with_project(tags, project.as_deref()).await?);
        Ok(lesson)
    }

    async fn replace_tags(&self, id: RecordId, tags: Vec<String>) -> Result<(), Problem> {
        let now = self.now();
        let tags = self.all.around.tags.resolve_tags(&tags);
        refuse_receipt_tag(&tags)?;
        let done = self.run_on_engine(move |engine| engine.set_tags(id, &tags, now));
        done.await??;
        self.announce_change("updated", vec![id]);
        Ok(())
    }
}
