//! Exports the log in words: all of its entries, in order, with records named by their ids, so that
//! another memory can be built of them without loss. Vectors are left out, because the model makes
//! them anew. The callers decide on the file format.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use reprise_store::{CommitSeq, StoreEntry, Tombstone};
use reprise_types::{Annotation, ContentHash, LearningEvent, MemoryRecord, RecordId};
use serde::{Deserialize, Serialize};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::snapshot::owner::is_user_name;
use crate::write::prepare;

/// One entry of an exported log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ExportEntry {
    /// A record was stored; its vector is left out.
    Kept(Box<MemoryRecord>),
    /// The tags of a record were replaced by these.
    Tagged {
        record: RecordId,
        at: DateTime<Utc>,
        tags: Vec<String>,
    },
    /// A record was linked to another.
    Linked {
        record: RecordId,
        at: DateTime<Utc>,
        /// The id of the other record.
        to: RecordId,
        relation: String,
    },
    /// A link of a record was removed.
    Unlinked {
        record: RecordId,
        at: DateTime<Utc>,
        /// The id of the other record.
        to: RecordId,
        relation: String,
    },
    /// A record was stated again.
    Seen {
        record: RecordId,
        at: DateTime<Utc>,
        /// How often it had been stated by then, including the first time.
        count: u32,
    },
    /// A record was forgotten.
    Forgotten(ErasedRecord),
    /// A record was replaced by one that is not in this copy.
    Replaced { record: RecordId, at: DateTime<Utc> },
    /// A stream was read up to a number.
    Cursor {
        stream: String,
        /// The last number taken from it.
        seq: u64,
    },
    /// Something was logged about a run, or about learning.
    Learned(Box<LearningEvent>),
}

impl ExportEntry {
    /// Returns what a copy says in place of a correction that it leaves out, so that what was
    /// corrected stays replaced. The copy must have that.
    pub fn from_absent_correction(correction: &MemoryRecord) -> Option<Self> {
        let at = correction.known_at;
        correction
            .supersedes
            .map(|record| Self::Replaced { record, at })
    }
}

/// What is kept of a forgotten record, so that no replay of its source restores it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ErasedRecord {
    pub record: RecordId,
    pub at: DateTime<Utc>,
    /// The reason that was given for forgetting it.
    pub reason: String,
    pub content_hash: ContentHash,
    /// Hashes of its external ids, as 32 hex digits each.
    pub keys: Vec<ContentHash>,
}

impl Engine {
    /// Passes every entry of the log to `emit`, oldest first. A forgotten record is passed as such,
    /// where its text was, and what it had replaced as replaced.
    pub fn export_log(&self, emit: &mut dyn FnMut(ExportEntry)) -> Result<(), EngineError> {
        let mut tombstones = self.collect_tombstones()?;
        let mut ids: Vec<Option<RecordId>> = Vec::new();
        self.log.replay(CommitSeq(0), &mut |ordinal, entry| {
            if let Some(ordinal) = ordinal {
                ids.resize(ordinal as usize, None);
                if let Some(tombstone) = tombstones.remove(&ordinal) {
                    ids.push(None);
                    emit(ExportEntry::Forgotten(ErasedRecord {
                        record: tombstone.id,
                        at: tombstone.at,
                        reason: tombstone.reason,
                        content_hash: tombstone.content_hash,
                        keys: tombstone.keys.into_iter().map(ContentHash).collect(),
                    }));
                    if let StoreEntry::Record(record) = &entry
                        && record
                            .supersedes
                            .is_some_and(|id| self.snapshot.is_stored_id(id))
                    {
                        ExportEntry::from_absent_correction(record).map(&mut *emit);
                    }
                    return;
                }
                ids.push(match &entry {
                    StoreEntry::Record(record) => Some(record.id),
                    _ => None,
                });
            }
            let id_of = |ordinal: u32| ids.get(ordinal as usize).copied().flatten();
            let exported = match entry {
                StoreEntry::Record(mut record) => {
                    record.embedding.clear();
                    record.embedding_space = None;
                    Some(ExportEntry::Kept(record))
                }
                StoreEntry::Cursor { stream, .. } if is_user_name(&stream) => None,
                StoreEntry::Cursor { stream, seq } => Some(ExportEntry::Cursor { stream, seq }),
                StoreEntry::Superseded { id, at } => {
                    let record = Some(id).filter(|id| self.snapshot.is_stored_id(*id));
                    record.map(|record| ExportEntry::Replaced { record, at })
                }
                StoreEntry::Learning(event) => Some(ExportEntry::Learned(event)),
                StoreEntry::Annotated {
                    ordinal,
                    at,
                    annotation,
                } => id_of(ordinal)
                    .and_then(|record| export_annotation(record, at, annotation, &id_of)),
                _ => None,
            };
            if let Some(exported) = exported {
                emit(exported);
            }
        })?;
        Ok(())
    }

    /// Returns what the log keeps of each forgotten record, by its ordinal.
    pub(crate) fn collect_tombstones(&self) -> Result<HashMap<u32, Tombstone>, EngineError> {
        let mut tombstones = HashMap::new();
        self.log.replay(CommitSeq(0), &mut |_, entry| {
            if let StoreEntry::Forgotten { ordinal, tombstone } = entry {
                tombstones.insert(ordinal, tombstone);
            }
        })?;
        Ok(tombstones)
    }

    /// Fills this memory, which must be empty, with an exported log. Returns the number of records
    /// that it then holds. Nothing is written if an entry does not fit.
    pub fn import_log(&mut self, entries: Vec<ExportEntry>) -> Result<u32, EngineError> {
        if self.log.record_count() > 0 {
            return Err(EngineError::NotEmpty);
        }
        let mut importer = Importer::default();
        for exported in entries {
            importer.add(exported)?;
        }
        self.append_and_publish(&importer.entries)?;
        Ok(self.log.record_count())
    }
}

fn export_annotation(
    record: RecordId,
    at: DateTime<Utc>,
    annotation: Annotation,
    id_of: &dyn Fn(u32) -> Option<RecordId>,
) -> Option<ExportEntry> {
    Some(match annotation {
        Annotation::Tagged { tags } => ExportEntry::Tagged { record, at, tags },
        Annotation::Linked { to, relation } => ExportEntry::Linked {
            record,
            at,
            to: id_of(to)?,
            relation,
        },
        Annotation::Unlinked { to, relation } => ExportEntry::Unlinked {
            record,
            at,
            to: id_of(to)?,
            relation,
        },
        Annotation::Seen { count } => ExportEntry::Seen { record, at, count },
        _ => return None,
    })
}

/// Builds the entries of an equivalent log, with its records numbered anew.
#[derive(Default)]
struct Importer {
    entries: Vec<StoreEntry>,
    /// The ordinal of each record that is not forgotten.
    ordinals: HashMap<RecordId, u32>,
    next: u32,
    last: Option<RecordId>,
}

impl Importer {
    /// Adds one exported entry.
    fn add(&mut self, exported: ExportEntry) -> Result<(), EngineError> {
        match exported {
            ExportEntry::Kept(record) => {
                let id = record.id;
                let ordinal = self.assign_ordinal(id)?;
                let record = prepare::prepare_imported(*record)
                    .map_err(|why| unfit_entry_error(id, &why.to_string()))?;
                self.ordinals.insert(id, ordinal);
                self.entries.push(StoreEntry::Record(Box::new(record)));
            }
            ExportEntry::Forgotten(erased) => {
                let (id, ordinal) = (erased.record, self.assign_ordinal(erased.record)?);
                let tombstone = Tombstone {
                    id,
                    at: erased.at,
                    reason: erased.reason,
                    content_hash: erased.content_hash,
                    keys: erased.keys.into_iter().map(|key| key.0).collect(),
                };
                self.entries
                    .extend(prepare::forgotten_entries(ordinal, tombstone));
            }
            ExportEntry::Replaced { record, at } => {
                self.known_ordinal(record)?;
                let entry = StoreEntry::Superseded { id: record, at };
                self.entries.push(entry);
            }
            ExportEntry::Tagged { record, at, tags } => {
                self.add_annotation(record, at, Some(Annotation::Tagged { tags }))?;
            }
            ExportEntry::Seen { record, at, count } => {
                self.add_annotation(record, at, Some(Annotation::Seen { count }))?;
            }
            ExportEntry::Linked {
                record,
                at,
                to,
                relation,
            } => {
                let to = self.ordinal_of(to);
                let linked = to.map(|to| Annotation::Linked { to, relation });
                self.add_annotation(record, at, linked)?;
            }
            ExportEntry::Unlinked {
                record,
                at,
                to,
                relation,
            } => {
                let to = self.ordinal_of(to);
                let unlinked = to.map(|to| Annotation::Unlinked { to, relation });
                self.add_annotation(record, at, unlinked)?;
            }
            ExportEntry::Cursor { stream, .. } if is_user_name(&stream) => {}
            ExportEntry::Cursor { stream, seq } => {
                self.entries.push(StoreEntry::Cursor { stream, seq });
            }
            ExportEntry::Learned(event) => self.entries.push(StoreEntry::Learning(event)),
        }
        Ok(())
    }

    /// Assigns the next ordinal to a record.
    fn assign_ordinal(&mut self, id: RecordId) -> Result<u32, EngineError> {
        if self.last.is_some_and(|last| id <= last) {
            return Err(unfit_entry_error(
                id,
                "its id does not follow the one before it",
            ));
        }
        self.last = Some(id);
        let ordinal = self.next;
        self.next += 1;
        Ok(ordinal)
    }

    fn ordinal_of(&self, id: RecordId) -> Option<u32> {
        self.ordinals.get(&id).copied()
    }

    /// Returns the ordinal of a record that other entries name.
    fn known_ordinal(&self, record: RecordId) -> Result<u32, EngineError> {
        let ordinal = self.ordinal_of(record);
        ordinal.ok_or_else(|| unfit_entry_error(record, "it is named before it was kept"))
    }

    /// Adds an annotation of a record; `None` is a link to a forgotten record, which is left out.
    fn add_annotation(
        &mut self,
        record: RecordId,
        at: DateTime<Utc>,
        annotation: Option<Annotation>,
    ) -> Result<(), EngineError> {
        let ordinal = self.known_ordinal(record)?;
        let entry =
            annotation.map(|annotation| StoreEntry::from_annotation(ordinal, at, annotation));
        self.entries.extend(entry);
        Ok(())
    }
}

fn unfit_entry_error(id: RecordId, why: &str) -> EngineError {
    let why = why.to_owned();
    EngineError::Unfit { id, why }
}
