//! Lessons: records with a title, where they hold and where not, and how sure their author is.
//!
//! The one form of a lesson in a record.

use reprise_engine::Engine;
use reprise_types::{
    ConfidenceLevel, Evidence, ExternalId, MemoryKind, MemoryRecord, MemorySource, NewRecord,
    RecordId,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::Memory;
use crate::problem::Problem;
use crate::wire::{Fate, REQUEST_NAMESPACE};

/// A lesson, or what is to change in one: what is not given stays.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lesson {
    /// A line that names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What was learned: one thing.
    #[serde(default, alias = "content", skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Free words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
    /// Words that it should be found by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub keywords: Option<Vec<String>>,
    /// Where it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contexts: Option<Vec<String>>,
    /// Where not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anti_contexts: Option<Vec<String>>,
    /// How sure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<ConfidenceLevel>,
    /// Its ground.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// Where that can be looked up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub source_notes: Option<String>,
    /// The session that taught it.
    #[serde(default, alias = "session_id", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub session: Option<String>,
}

/// What stands in a record's `details`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Details {
    title: String,
    content: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    keywords: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    contexts: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    anti_contexts: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source_notes: Option<String>,
}

impl Details {
    /// The lesson of a record; `None` where it holds none.
    fn of(record: &MemoryRecord) -> Option<Self> {
        let details = record.details.as_ref()?;
        if details.get("type")? != "lesson" {
            return None;
        }
        serde_json::from_value(details.clone()).ok()
    }

    fn value(&self) -> Option<Value> {
        let mut value = serde_json::to_value(self).ok()?;
        value["type"] = json!("lesson");
        Some(value)
    }

    /// What is searched: title and content, and the words that say where it holds.
    fn text(&self) -> String {
        let parts = [self.title.trim_end(), self.content.trim_end()];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let mut text = parts.join("\n\n");
        for (head, words) in [
            ("Applies to", &self.contexts),
            ("Does not apply to", &self.anti_contexts),
            ("Keywords", &self.keywords),
        ] {
            if !words.is_empty() {
                text.push_str(&["\n", head, ": ", &words.join("; ")].concat());
            }
        }
        text
    }

    fn change(&mut self, lesson: Lesson) {
        let Lesson {
            title,
            text,
            keywords,
            contexts,
            anti_contexts,
            source_notes,
            ..
        } = lesson;
        self.title = title.unwrap_or(std::mem::take(&mut self.title));
        self.content = text.unwrap_or(std::mem::take(&mut self.content));
        self.keywords = keywords.unwrap_or(std::mem::take(&mut self.keywords));
        self.contexts = contexts.unwrap_or(std::mem::take(&mut self.contexts));
        self.anti_contexts = anti_contexts.unwrap_or(std::mem::take(&mut self.anti_contexts));
        self.source_notes = source_notes.or(self.source_notes.take());
    }
}

/// The line that names a record: a lesson's title, else the beginning of its text.
pub(crate) fn title_of(record: &MemoryRecord) -> String {
    const COLUMNS: usize = 80;
    let title = Details::of(record).map(|lesson| lesson.title);
    let title = title.filter(|title| !title.trim().is_empty());
    let line = title.unwrap_or_else(|| {
        let words: Vec<&str> = record.text.split_whitespace().take(40).collect();
        words.join(" ")
    });
    if line.chars().count() <= COLUMNS {
        return line;
    }
    line.chars().take(COLUMNS - 3).collect::<String>() + "..."
}

impl Memory {
    /// Keeps a lesson; answers its fate.
    pub(crate) async fn learn(&self, lesson: Lesson) -> Result<Fate, Problem> {
        let mut record = NewRecord::new("", MemorySource::WorkerResult, MemoryKind::Finding);
        record.tags = lesson.tags.clone().unwrap_or_default();
        record.confidence = lesson.confidence.map(ConfidenceLevel::centre);
        record.evidence = lesson.evidence;
        record.session_id = lesson.session.clone().unwrap_or_default();
        let mut details = Details::default();
        details.change(lesson);
        if details.title.trim().is_empty() && details.content.trim().is_empty() {
            return Err(Problem::invalid(
                "the lesson is empty; give it a title and what was learned",
            ));
        }
        record.text = details.text();
        record.details = details.value();
        match self.name_of(&record).await? {
            Ok(name) => record.external_ids.push(name),
            Err(of) => return Ok(Fate::Duplicate { of }),
        }
        self.keep_one(record).await
    }

    /// A name made of all that a lesson says; or the record that says just that. A lesson that was
    /// forgotten or corrected since may be learned again, under the next name.
    async fn name_of(&self, lesson: &NewRecord) -> Result<Result<ExternalId, RecordId>, Problem> {
        let parts = (&lesson.tags, &lesson.confidence, &lesson.evidence);
        let said = json!([lesson.details, parts]);
        let digest = crate::digest::sha256_hex(said.to_string().as_bytes());
        let name = move |time: u32| {
            let name = format!("lesson {digest}/{time}");
            ExternalId::new(REQUEST_NAMESPACE, name)
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
    /// only the tags change the record stays as it is and says so in the log. Answers the record.
    pub(crate) async fn correct(
        &self,
        name: &str,
        lesson: Lesson,
    ) -> Result<MemoryRecord, Problem> {
        if lesson == Lesson::default() {
            return Err(Problem::invalid(
                "nothing is to be changed; give the parts that are new",
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
            self.retag(old.id, tags).await?;
            return self.record(name).await;
        }
        let mut changes = Map::new();
        if let Some(tags) = &lesson.tags {
            changes.insert("tags".to_owned(), json!(tags));
        }
        if let Some(level) = lesson.confidence {
            changes.insert("confidence".to_owned(), json!(level.centre()));
        }
        if let Some(evidence) = lesson.evidence {
            changes.insert("evidence".to_owned(), json!(evidence));
        }
        if let Some(mut details) = Details::of(&old) {
            details.change(lesson);
            changes.insert("text".to_owned(), json!(details.text()));
            changes.insert("details".to_owned(), json!(details.value()));
        } else if let Some(content) = lesson.text {
            changes.insert("text".to_owned(), json!(content));
        }
        self.revise(name, changes).await
    }

    async fn retag(&self, id: RecordId, tags: Vec<String>) -> Result<(), Problem> {
        let now = self.now();
        let tags = self.all.tag_rules.resolve(&tags);
        let done = self.with_engine(move |engine| engine.tag(id, &tags, now));
        done.await??;
        self.tell("updated", vec![id]);
        Ok(())
    }
}
