//! Workloads and the model that a log is compared with.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use reprise_types::{
    Annotation, ContentHash, Embedding, EmbeddingSpace, ExternalId, LearningEvent, MemoryKind,
    MemoryRecord, MemorySource, RecordBody, RecordId, SectionPages, VectorStore, next_splitmix64,
    normalize,
};

use reprise_store::{
    CommitSeq, Disk, Log, OpenOptions, OpenedLog, StoreEntry, StoreError, Tombstone, Verify,
};

type Result<T, E = StoreError> = std::result::Result<T, E>;

/// Dimensions of every vector here: small, so that whole files are.
pub const DIMENSIONS: u16 = 4;
/// Dimensions of vectors of another model, which are in the same file.
pub const WIDER_DIMENSIONS: u16 = 6;
/// The kind of the sections that [`apply_step`] writes.
pub const SECTION_TAG: u8 = 16;

pub fn log_path() -> PathBuf {
    PathBuf::from("data/memory.rvf")
}

/// Options that create the file where it is missing.
pub fn open_options(verify: Verify) -> OpenOptions {
    OpenOptions {
        dimensions: DIMENSIONS,
        file_id: 0x0123_4567_89ab_cdef_1122_3344_5566_7788,
        created_at: instant_at(0),
        create: true,
        read_only: false,
        verify,
    }
}

/// Opens the workload's file on a disk.
pub fn open_log(disk: &(impl Disk + Clone + 'static), verify: Verify) -> Result<OpenedLog> {
    Log::open(Arc::new(disk.clone()), &log_path(), &open_options(verify))
}

/// The space of every vector here; `version` tells spaces apart.
pub fn embedding_space(dimensions: u16, version: &str) -> EmbeddingSpace {
    EmbeddingSpace {
        model: "test-model".to_owned(),
        version: version.to_owned(),
        dimensions,
    }
}

fn instant_at(seconds: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_771_234_567 + seconds, 123_456_789).unwrap_or_default()
}

/// A deterministic hash of a number (`SplitMix64`).
pub fn mix_hash(mut seed: u64) -> u64 {
    next_splitmix64(&mut seed)
}

pub fn unit_vector(seed: u64, dimensions: u16) -> Vec<f32> {
    let number =
        |i: u64| (mix_hash(seed.wrapping_mul(4096).wrapping_add(i)) >> 40) as f32 - 8_388_607.5;
    let mut vector: Vec<f32> = (0..u64::from(dimensions)).map(number).collect();
    normalize(&mut vector);
    vector
}

pub fn make_record(seed: u64, text: &str, dimensions: u16, embedded: bool) -> MemoryRecord {
    let random = mix_hash(seed);
    let mut body = RecordBody::new(text, MemorySource::WorkerResult, MemoryKind::Episode);
    if random.is_multiple_of(3) {
        body.metadata
            .insert("tool".to_owned(), (random % 100).into());
    }
    body.quality_score = random.is_multiple_of(5).then_some(0.8);
    body.session_id = format!("session-{}", seed % 7);
    body.external_ids = vec![ExternalId::new(ExternalId::EVENT, format!("event-{seed}"))];
    MemoryRecord {
        id: RecordId::from_parts(1_771_234_567_000 + seed, u128::from(random)),
        timestamp: instant_at(seed.cast_signed()),
        known_at: instant_at(seed.cast_signed() + 1),
        embedding: if embedded {
            unit_vector(seed, dimensions)
        } else {
            Vec::new()
        },
        embedding_space: embedded.then(|| embedding_space(dimensions, "1")),
        content_hash: ContentHash(xxhash_rust::xxh3::xxh3_128(text.as_bytes())),
        body,
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum WorkloadStep {
    Commit(Vec<StoreEntry>),
    Checkpoint,
    /// A checkpoint with this commit between its pages and its manifest.
    SteppedCheckpoint(Vec<StoreEntry>),
    /// The manifest alone, as a close writes it that has little to save.
    ClosingIndex,
    /// Compacts, with one commit between run and finish.
    Compact(Vec<StoreEntry>),
    Reopen,
}

/// A seeded workload that uses every kind of entry and step.
pub fn generate_workload(seed: u64, steps: u32) -> Vec<WorkloadStep> {
    let mut model = LogModel::default();
    let mut all = Vec::new();
    for number in 0..u64::from(steps) {
        let random = mix_hash(seed.wrapping_mul(1000).wrapping_add(number));
        let step = match random % 10 {
            0 => WorkloadStep::Checkpoint,
            1 => WorkloadStep::Compact(generate_commit(&mut model, random >> 8)),
            2 => WorkloadStep::Reopen,
            3 => WorkloadStep::ClosingIndex,
            _ => WorkloadStep::Commit(generate_commit(&mut model, random >> 8)),
        };
        all.push(step);
    }
    all
}

/// A valid random commit for the model's state, applied to the model.
fn generate_commit(model: &mut LogModel, random: u64) -> Vec<StoreEntry> {
    let mut entries = Vec::new();
    for turn in 0..=random % 3 {
        let dice = mix_hash(random.wrapping_add(turn));
        let live: Vec<u32> = model.live_ordinals().collect();
        let pick = live.get(dice as usize / 16 % live.len().max(1)).copied();
        let entry = match (dice % 8, pick) {
            (0, Some(ordinal)) => {
                let width = pick_dimensions(dice);
                StoreEntry::Embedded {
                    ordinal,
                    space: embedding_space(width, "2"),
                    vector: unit_vector(dice, width),
                }
            }
            (1, Some(ordinal)) => model.forget_entry(ordinal),
            (2, _) => StoreEntry::Cursor {
                stream: format!("stream-{}", dice / 16 % 2),
                seq: dice % 1000,
            },
            (3, _) => learning_entry(dice),
            (4, Some(ordinal)) => StoreEntry::Annotated {
                ordinal,
                at: instant_at(7_000),
                annotation: annotation(dice, live.last().copied()),
            },
            _ => {
                let text = format!("a memory of {} things in the garden", dice % 10_000);
                let record =
                    make_record(dice % 10_000, &text, pick_dimensions(dice), dice & 64 != 0);
                StoreEntry::Record(Box::new(record))
            }
        };
        model.apply_entry(&entry);
        entries.push(entry);
    }
    entries
}

fn pick_dimensions(dice: u64) -> u16 {
    if dice & 512 == 0 {
        DIMENSIONS
    } else {
        WIDER_DIMENSIONS
    }
}

/// A learning event with a vector of its own.
fn learning_entry(dice: u64) -> StoreEntry {
    let run_id = format!("run-{}", dice / 16 % 100);
    let at = instant_at(8_000);
    let event = if dice & 128 == 0 {
        LearningEvent::Abandoned { run_id, at }
    } else {
        LearningEvent::Begun {
            run_id,
            at,
            query: Some(Embedding {
                space: embedding_space(DIMENSIONS, "1"),
                vector: unit_vector(dice, DIMENSIONS),
            }),
            recall_id: None,
            use_is_inferred: dice.is_multiple_of(2),
        }
    };
    StoreEntry::Learning(Box::new(event))
}

fn annotation(dice: u64, other: Option<u32>) -> Annotation {
    let relation = format!("relation-{}", dice / 16 % 5);
    match (dice / 64 % 3, other) {
        (0, Some(to)) => Annotation::Linked { to, relation },
        (1, Some(to)) => Annotation::Unlinked { to, relation },
        _ => Annotation::Tagged {
            tags: vec![relation],
        },
    }
}

/// Applies a step, except a reopen, which the caller does because it owns the log.
pub fn apply_step(log: &mut Log, step: &WorkloadStep) -> Result<()> {
    match step {
        WorkloadStep::Commit(entries) => log.append(entries).map(drop),
        WorkloadStep::Checkpoint => write_checkpoint(log),
        WorkloadStep::SteppedCheckpoint(entries) => {
            log.write_pages(&section_pages(log.seq()), 64)?;
            log.append(entries)?;
            write_checkpoint(log)
        }
        WorkloadStep::ClosingIndex => log.write_closing_index(),
        WorkloadStep::Compact(entries) => {
            log.complete_checkpoint(&section_pages(log.seq()))?;
            let done = log.start_compaction()?()?;
            log.append(entries)?;
            log.finish_compaction(done).map(drop)
        }
        WorkloadStep::Reopen => Ok(()),
    }
}

/// Seals the sections of the last commit, and makes the file readable for rvf-runtime.
pub fn write_checkpoint(log: &mut Log) -> Result<()> {
    log.complete_checkpoint(&section_pages(log.seq()))?;
    log.write_closing_index()
}

/// The sections that [`apply_step`] writes as of a commit: one that changes as a whole, and one
/// that grows and keeps its first pages.
pub fn section_pages(seq: CommitSeq) -> Vec<SectionPages> {
    let growing: Vec<u8> = (0..=seq.0.min(1_000))
        .flat_map(|seq| [seq as u8; 90])
        .collect();
    vec![
        SectionPages::from_bytes((SECTION_TAG, 0), &seq.0.to_le_bytes().repeat(20)),
        SectionPages::from_bytes((SECTION_TAG, 7), &growing),
    ]
}

/// Compares the sections of an open log with those of the commit that they cover.
pub fn check_sections(log: &Log) -> Result<Option<CommitSeq>, String> {
    let Some((seq, sections)) = log.open_sections() else {
        return Ok(None);
    };
    for (key, section) in &sections {
        let expected = section_pages(seq)
            .into_iter()
            .find(|pages| pages.key == *key);
        let expected: Vec<u8> = expected
            .map(|pages| pages.pages.into_iter().flat_map(|page| page.1).collect())
            .unwrap_or_default();
        if section.read_all() != Some(expected) {
            return Err(format!("section {key:?} is not as of {seq}"));
        }
    }
    Ok(Some(seq))
}

/// The state that a log must serve.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LogModel {
    pub seq: u64,
    /// By ordinal: the record, and whether it is forgotten.
    pub records: Vec<(MemoryRecord, bool)>,
    pub cursors: BTreeMap<String, u64>,
    /// Learning events, in order.
    pub learning: Vec<LearningEvent>,
    /// Annotations with the ordinal of their record, in order.
    pub annotations: Vec<(u32, Annotation)>,
}

impl LogModel {
    /// Returns the ordinals of records that are not forgotten.
    pub fn live_ordinals(&self) -> impl Iterator<Item = u32> {
        let records = self.records.iter().enumerate();
        records
            .filter(|(_, (_, gone))| !gone)
            .map(|(ordinal, _)| ordinal as u32)
    }

    /// Returns the entry that forgets a record.
    pub fn forget_entry(&self, ordinal: u32) -> StoreEntry {
        let (record, _) = &self.records[ordinal as usize];
        StoreEntry::Forgotten {
            ordinal,
            tombstone: Tombstone {
                id: record.id,
                at: instant_at(9_000),
                reason: "asked to".to_owned(),
                content_hash: record.content_hash,
                keys: vec![u128::from(ordinal)],
            },
        }
    }

    pub fn apply_entry(&mut self, entry: &StoreEntry) {
        match entry {
            StoreEntry::Record(record) => self.records.push(((**record).clone(), false)),
            StoreEntry::Embedded {
                ordinal,
                space,
                vector,
            } => {
                let (record, _) = &mut self.records[*ordinal as usize];
                record.embedding.clone_from(vector);
                record.embedding_space = Some(space.clone());
            }
            StoreEntry::Forgotten { ordinal, .. } => self.records[*ordinal as usize].1 = true,
            StoreEntry::Cursor { stream, seq } => {
                self.cursors.insert(stream.clone(), *seq);
            }
            StoreEntry::Annotated {
                ordinal,
                annotation,
                ..
            } => self.annotations.push((*ordinal, annotation.clone())),
            StoreEntry::Learning(event) => self.learning.push((**event).clone()),
            _ => {}
        }
    }

    /// Applies an acknowledged step.
    pub fn apply(&mut self, step: &WorkloadStep) {
        if let WorkloadStep::Commit(entries)
        | WorkloadStep::SteppedCheckpoint(entries)
        | WorkloadStep::Compact(entries) = step
        {
            for entry in entries {
                self.apply_entry(entry);
            }
            self.seq += 1;
        }
    }

    /// Compares everything that a log serves, by ordinal and by replay, with the model.
    pub fn compare(&self, log: &Log) -> Result<(), String> {
        if (log.seq().0, log.record_count() as usize) != (self.seq, self.records.len()) {
            let found = (log.seq(), log.record_count());
            return Err(format!(
                "{found:?}, not {:?}",
                (self.seq, self.records.len())
            ));
        }
        for stream in ["stream-0", "stream-1", "never"] {
            if log.cursor(stream) != self.cursors.get(stream).copied() {
                return Err(format!("cursor of {stream}: {:?}", log.cursor(stream)));
            }
        }
        let reader = log.reader();
        for (ordinal, (expected, gone)) in self.records.iter().enumerate() {
            let space = expected.embedding_space.as_ref();
            let width = space.map_or(DIMENSIONS, |space| space.dimensions);
            let mut vector = vec![0.0; usize::from(width)];
            let has_vector = reader.copy_vector(ordinal as u32, &mut vector);
            match reader.read_record(ordinal as u32) {
                Ok(mut record) if !gone => {
                    record.embedding = if has_vector { vector } else { Vec::new() };
                    if record != *expected {
                        return Err(format!("record {ordinal}: {record:?}, not {expected:?}"));
                    }
                }
                Err(StoreError::Forgotten { .. }) if *gone && !has_vector => {}
                other => return Err(format!("record {ordinal} (gone: {gone}): {other:?}")),
            }
        }
        self.check_replay(log)
    }

    /// Returns the annotations of live records. Compaction drops those of forgotten records, which
    /// may still exist before it.
    fn live_annotations(&self) -> Vec<&(u32, Annotation)> {
        let live = |ordinal: u32| self.records.get(ordinal as usize).is_some_and(|r| !r.1);
        let annotations = self.annotations.iter();
        annotations
            .filter(|(ordinal, annotation)| {
                live(*ordinal) && annotation.linked_ordinal().is_none_or(live)
            })
            .collect()
    }

    fn check_replay(&self, log: &Log) -> Result<(), String> {
        let mut replayed = Self::default();
        let mut next = 0;
        let mut dense = true;
        let report = log.replay(CommitSeq(0), &mut |ordinal, entry| {
            if let Some(ordinal) = ordinal {
                dense &= ordinal == next;
                next += 1;
            }
            match (ordinal, &entry) {
                // A stub: the record itself was compacted away.
                (Some(ordinal), StoreEntry::Forgotten { .. }) => {
                    let known = self.records.get(ordinal as usize);
                    replayed.records.extend(known.cloned());
                }
                _ => replayed.apply_entry(&entry),
            }
        });
        let report = report.map_err(|error| error.to_string())?;
        let same =
            |a: &(MemoryRecord, bool), b: &(MemoryRecord, bool)| a.1 == b.1 && (a.1 || a.0 == b.0);
        let equal = replayed.records.len() == self.records.len()
            && replayed
                .records
                .iter()
                .zip(&self.records)
                .all(|(a, b)| same(a, b))
            && replayed.cursors == self.cursors
            && replayed.learning == self.learning
            && replayed.live_annotations() == self.live_annotations();
        if dense && equal && report.damage.is_empty() && report.damaged_vectors == 0 {
            Ok(())
        } else {
            Err(format!("replay differs (dense: {dense}): {report:?}"))
        }
    }
}
