//! The log in words: everything that it says, in its order, with records named by their ids, so
//! that another memory can be made of it without loss. Vectors are left out: the model makes them
//! anew. In what form it is written down is told elsewhere.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use reprise_store::{CommitSeq, Entry, Tombstone};
use reprise_types::{Annotation, ContentHash, LearningEvent, MemoryRecord, RecordId};
use serde::{Deserialize, Serialize};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::prepare;

/// One thing that the log says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Said {
    /// A record was kept; its vector is left out.
    Kept(Box<MemoryRecord>),
    /// From then on these were all its tags.
    Tagged {
        record: RecordId,
        at: DateTime<Utc>,
        tags: Vec<String>,
    },
    /// It pointed at another one from then on.
    Linked {
        record: RecordId,
        at: DateTime<Utc>,
        /// The other one.
        to: RecordId,
        relation: String,
    },
    /// It no longer did.
    Unlinked {
        record: RecordId,
        at: DateTime<Utc>,
        /// The other one.
        to: RecordId,
        relation: String,
    },
    /// The same was said again.
    Seen {
        record: RecordId,
        at: DateTime<Utc>,
        /// How often by then, the first time included.
        count: u32,
    },
    /// It was forgotten.
    Forgotten(Gone),
    /// A stream was read so far.
    Cursor {
        stream: String,
        /// The last number taken from it.
        seq: u64,
    },
    /// Something was said of a run, or of learning.
    Learned(Box<LearningEvent>),
}

/// What is left of a forgotten record, so that no replay of its source brings it back.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Gone {
    pub record: RecordId,
    pub at: DateTime<Utc>,
    /// Why.
    pub reason: String,
    pub content_hash: ContentHash,
    /// Hashes of its names, as 32 hex digits each.
    pub keys: Vec<ContentHash>,
}

impl Engine {
    /// Tells everything that the log says, oldest first. What was forgotten is told as such, where
    /// it stood.
    pub fn tell(&self, tell: &mut dyn FnMut(Said)) -> Result<(), EngineError> {
        let mut gone: HashMap<u32, Gone> = HashMap::new();
        self.log.replay(CommitSeq(0), &mut |_, entry| {
            if let Entry::Forgotten { ordinal, tombstone } = entry {
                let left = Gone {
                    record: tombstone.id,
                    at: tombstone.at,
                    reason: tombstone.reason,
                    content_hash: tombstone.content_hash,
                    keys: tombstone.keys.into_iter().map(ContentHash).collect(),
                };
                gone.insert(ordinal, left);
            }
        })?;
        let mut ids: Vec<Option<RecordId>> = Vec::new();
        self.log.replay(CommitSeq(0), &mut |ordinal, entry| {
            if let Some(ordinal) = ordinal {
                ids.resize(ordinal as usize, None);
                if let Some(forgotten) = gone.remove(&ordinal) {
                    ids.push(None);
                    return tell(Said::Forgotten(forgotten));
                }
                ids.push(match &entry {
                    Entry::Record(record) => Some(record.id),
                    _ => None,
                });
            }
            let named = |ordinal: u32| ids.get(ordinal as usize).copied().flatten();
            let said = match entry {
                Entry::Record(mut record) => {
                    record.embedding.clear();
                    record.embedding_space = None;
                    Some(Said::Kept(record))
                }
                Entry::Cursor { stream, seq } => Some(Said::Cursor { stream, seq }),
                Entry::Learning(event) => Some(Said::Learned(event)),
                Entry::Annotated {
                    ordinal,
                    at,
                    annotation,
                } => named(ordinal).and_then(|record| annotated(record, at, annotation, &named)),
                _ => None,
            };
            if let Some(said) = said {
                tell(said);
            }
        })?;
        Ok(())
    }

    /// The hash under which a text is kept.
    pub fn hash(text: &str) -> ContentHash {
        prepare::hash(text)
    }

    /// Makes this memory, which must be empty, of what another one told. Answers the number of
    /// records that it holds. Nothing is written where something does not fit.
    pub fn retell(&mut self, told: Vec<Said>) -> Result<u32, EngineError> {
        if self.log.records() > 0 {
            return Err(EngineError::NotEmpty);
        }
        let mut making = Making::default();
        for said in told {
            making.take(said)?;
        }
        self.keep(&making.entries)?;
        Ok(self.log.records())
    }
}

fn annotated(
    record: RecordId,
    at: DateTime<Utc>,
    annotation: Annotation,
    named: &dyn Fn(u32) -> Option<RecordId>,
) -> Option<Said> {
    Some(match annotation {
        Annotation::Tagged { tags } => Said::Tagged { record, at, tags },
        Annotation::Linked { to, relation } => Said::Linked {
            record,
            at,
            to: named(to)?,
            relation,
        },
        Annotation::Unlinked { to, relation } => Said::Unlinked {
            record,
            at,
            to: named(to)?,
            relation,
        },
        Annotation::Seen { count } => Said::Seen { record, at, count },
        _ => return None,
    })
}

/// The entries of a log that says the same, its records numbered anew.
#[derive(Default)]
struct Making {
    entries: Vec<Entry>,
    /// The place of each record that is not forgotten.
    places: HashMap<RecordId, u32>,
    next: u32,
    last: Option<RecordId>,
}

impl Making {
    fn take(&mut self, said: Said) -> Result<(), EngineError> {
        match said {
            Said::Kept(record) => {
                let id = record.id;
                let ordinal = self.number(id)?;
                let record =
                    prepare::as_kept(*record).map_err(|why| unfit(id, &why.to_string()))?;
                self.places.insert(id, ordinal);
                self.entries.push(Entry::Record(Box::new(record)));
            }
            Said::Forgotten(gone) => {
                let (id, ordinal) = (gone.record, self.number(gone.record)?);
                // It needs a place, so that its names are known and its id means nothing else.
                self.entries
                    .push(Entry::Record(Box::new(prepare::placeholder(id))));
                let tombstone = Tombstone {
                    id,
                    at: gone.at,
                    reason: gone.reason,
                    content_hash: gone.content_hash,
                    keys: gone.keys.into_iter().map(|key| key.0).collect(),
                };
                self.entries.push(Entry::Forgotten { ordinal, tombstone });
            }
            Said::Tagged { record, at, tags } => {
                self.annotate(record, at, Some(Annotation::Tagged { tags }))?;
            }
            Said::Seen { record, at, count } => {
                self.annotate(record, at, Some(Annotation::Seen { count }))?;
            }
            Said::Linked {
                record,
                at,
                to,
                relation,
            } => {
                let to = self.place(to);
                let linked = to.map(|to| Annotation::Linked { to, relation });
                self.annotate(record, at, linked)?;
            }
            Said::Unlinked {
                record,
                at,
                to,
                relation,
            } => {
                let to = self.place(to);
                let unlinked = to.map(|to| Annotation::Unlinked { to, relation });
                self.annotate(record, at, unlinked)?;
            }
            Said::Cursor { stream, seq } => self.entries.push(Entry::Cursor { stream, seq }),
            Said::Learned(event) => self.entries.push(Entry::Learning(event)),
        }
        Ok(())
    }

    /// The place of a new record.
    fn number(&mut self, id: RecordId) -> Result<u32, EngineError> {
        if self.last.is_some_and(|last| id <= last) {
            return Err(unfit(id, "its id does not follow the one before it"));
        }
        self.last = Some(id);
        let ordinal = self.next;
        self.next += 1;
        Ok(ordinal)
    }

    fn place(&self, id: RecordId) -> Option<u32> {
        self.places.get(&id).copied()
    }

    /// Notes what was said of a record. A link to what was forgotten is none.
    fn annotate(
        &mut self,
        record: RecordId,
        at: DateTime<Utc>,
        annotation: Option<Annotation>,
    ) -> Result<(), EngineError> {
        let ordinal = self.place(record);
        let ordinal = ordinal.ok_or_else(|| unfit(record, "it is named before it was kept"))?;
        let entry = annotation.map(|annotation| Entry::annotated(ordinal, at, annotation));
        self.entries.extend(entry);
        Ok(())
    }
}

fn unfit(id: RecordId, why: &str) -> EngineError {
    let why = why.to_owned();
    EngineError::Unfit { id, why }
}
