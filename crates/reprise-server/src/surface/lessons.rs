//! Lessons: records with a title, where they hold and where not, and how sure their author is.
//!
//! Lives here: the one form of a lesson in a record. Must never live here: ranking, or a tag's
//! spelling (the engine's).

use reprise_engine::Engine;
use reprise_types::{
    ConfidenceLevel, Evidence, ExternalId, Link, MemoryKind, MemoryRecord, MemorySource, NewRecord,
    RecordId, Related, UserId,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{Change, Kept, Surface, current};
use crate::problem::Problem;
use crate::wire::{Fate, REQUEST_NAMESPACE};

/// Longest walk over links where the caller does not say.
const DEPTH_DEFAULT: usize = 2;
/// Records of one walk where the caller does not say.
const RELATED_DEFAULT: usize = 20;
/// The relation of a link where the caller does not say.
const RELATION_DEFAULT: &str = "related_to";

/// A lesson, or what is to change in one: what is not given stays.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lesson {
    /// One line that names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What was learned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Free words; each is kept in one spelling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
    /// Words that it should be found by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keywords: Option<Vec<String>>,
    /// Where it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contexts: Option<Vec<String>>,
    /// Where it does not hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anti_contexts: Option<Vec<String>>,
    /// How sure its author is, in a word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<ConfidenceLevel>,
    /// What it rests on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// Where that can be looked up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_notes: Option<String>,
    /// The session that taught it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
            content,
            keywords,
            contexts,
            anti_contexts,
            source_notes,
            ..
        } = lesson;
        self.title = title.unwrap_or(std::mem::take(&mut self.title));
        self.content = content.unwrap_or(std::mem::take(&mut self.content));
        self.keywords = keywords.unwrap_or(std::mem::take(&mut self.keywords));
        self.contexts = contexts.unwrap_or(std::mem::take(&mut self.contexts));
        self.anti_contexts = anti_contexts.unwrap_or(std::mem::take(&mut self.anti_contexts));
        self.source_notes = source_notes.or(self.source_notes.take());
    }
}

/// The line that names a record: a lesson's title, else the beginning of its text.
pub(super) fn title_of(record: &MemoryRecord) -> String {
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

impl Surface {
    /// Keeps a lesson; answers its fate.
    pub async fn learn(&self, user: &UserId, lesson: Lesson, kept: &Kept) -> Result<Fate, Problem> {
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
        match self.name_of(user, &record).await? {
            Ok(name) => record.external_ids.push(name),
            Err(of) => return Ok(Fate::Duplicate { of }),
        }
        self.keep_one(user, record, kept).await
    }

    /// A name made of all that a lesson says; or the record that says just that. A lesson that was
    /// forgotten or corrected since may be learned again, under the next name.
    async fn name_of(
        &self,
        user: &UserId,
        lesson: &NewRecord,
    ) -> Result<Result<ExternalId, RecordId>, Problem> {
        let parts = (&lesson.tags, &lesson.confidence, &lesson.evidence);
        let said = json!([lesson.details, parts]);
        let digest = crate::tokens::sha256_hex(said.to_string().as_bytes());
        let name = move |time: u32| {
            let name = format!("lesson {digest}/{time}");
            ExternalId::new(REQUEST_NAMESPACE, name)
        };
        if !self.service.has_memory(user) {
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
        self.with_engine(user, find).await
    }

    /// Changes a lesson, or a record's text and tags: a new version with the old one's links. Where
    /// only the tags change the record stays as it is and says so in the log. Answers the record.
    pub async fn correct(
        &self,
        user: &UserId,
        name: &str,
        lesson: Lesson,
        kept: &Kept,
    ) -> Result<MemoryRecord, Problem> {
        if lesson == Lesson::default() {
            return Err(Problem::invalid(
                "nothing is to be changed; give the parts that are new",
            ));
        }
        let old = self.record(user, name).await?;
        let only_tags = Lesson {
            tags: lesson.tags.clone(),
            ..Lesson::default()
        };
        if let Some(tags) = lesson.tags.clone()
            && lesson == only_tags
        {
            self.retag(user, old.id, tags).await?;
            return self.record(user, name).await;
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
        } else if let Some(content) = lesson.content {
            changes.insert("text".to_owned(), json!(content));
        }
        self.update(user, name, changes, kept).await
    }

    async fn retag(&self, user: &UserId, id: RecordId, tags: Vec<String>) -> Result<(), Problem> {
        let now = self.clock.now();
        let tags = self.tag_rules.resolve(&tags);
        let done = self.with_engine(user, move |engine| engine.tag(id, &tags, now));
        done.await??;
        self.tell(Change {
            user: user.clone(),
            what: "updated",
            ids: vec![id],
        });
        Ok(())
    }

    /// Links two records; answers whether the link is new.
    pub async fn link(
        &self,
        user: &UserId,
        from: &str,
        to: &str,
        relation: Option<&str>,
    ) -> Result<bool, Problem> {
        let now = self.clock.now();
        let relation = relation.unwrap_or(RELATION_DEFAULT).to_owned();
        let names = [from.to_owned(), to.to_owned()];
        let linked = move |engine: &mut Engine| -> Result<_, Problem> {
            let [from, to] = names.map(|name| {
                let id = current(engine, &name);
                id.ok_or_else(|| super::records::missing(&name))
            });
            let (from, to) = (from?, to?);
            if from == to {
                return Err(Problem::invalid(
                    "both names lead to one record; link it to another one",
                ));
            }
            Ok((from, to, engine.link(from, to, &relation, now)?))
        };
        let (from, to, new) = self.with_engine(user, linked).await??;
        if new {
            self.tell(Change {
                user: user.clone(),
                what: "linked",
                ids: vec![from, to],
            });
        }
        Ok(new)
    }

    /// The records that can be reached from one over links, either way, nearest first, each with
    /// the line that names it.
    pub async fn related(
        &self,
        user: &UserId,
        name: &str,
        depth: Option<usize>,
        limit: Option<usize>,
    ) -> Result<Vec<(Related, String)>, Problem> {
        let id = self.record(user, name).await?.id;
        let depth = depth.unwrap_or(DEPTH_DEFAULT);
        let limit = limit.unwrap_or(RELATED_DEFAULT);
        self.read(user, move |memory| {
            let related = memory.related(id, depth, limit).into_iter();
            let named = related.filter_map(|related| {
                let record = memory.get(related.link.record)?.ok()?;
                Some((related, title_of(&record)))
            });
            named.collect()
        })
        .await
    }

    /// The links of a record.
    pub(crate) async fn links(&self, user: &UserId, id: RecordId) -> Result<Vec<Link>, Problem> {
        self.read(user, move |memory| memory.links(id)).await
    }
}
