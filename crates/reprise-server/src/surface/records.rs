//! Keeping, showing, correcting and forgetting records.

use reprise_engine::{Engine, EngineError, ForgetSelector};
use reprise_redact::Redactor;
use reprise_types::{ExternalId, MemoryRecord, NewRecord, RecordId, UserId, WriteOutcome};
use serde_json::{Map, Value};
use tracing::Instrument;

use super::{Change, Surface, current, resolve, spans};
use crate::problem::{Problem, ProblemKind};
use crate::wire::{Fate, ForgetBody, REQUEST_NAMESPACE, WriteReport, record_of_value};

/// How a request wants its records kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kept {
    /// The request's own name: sent again with the same name, it changes nothing more.
    pub key: Option<String>,
    /// Keep texts as they are, secrets and all: for a caller that has redacted them itself.
    pub verbatim: bool,
}

/// A request's name for one record, and the record's text.
type Named = (ExternalId, String);

fn named(record: &NewRecord, kept: &Kept) -> Option<Named> {
    kept.key.as_ref()?;
    let mut names = record.external_ids.iter();
    let name = names.find(|name| name.namespace == REQUEST_NAMESPACE)?;
    Some((name.clone(), record.text.clone()))
}

/// Most records of one request.
pub(crate) const RECORDS_MAX: usize = 10_000;

impl Surface {
    /// Keeps records in their ingest form; a bad one spoils only itself.
    pub async fn observe(
        &self,
        user: &UserId,
        records: Vec<Value>,
        kept: &Kept,
    ) -> Result<WriteReport, Problem> {
        if records.len() > RECORDS_MAX {
            return Err(Problem::invalid(format!(
                "{} records are too many for one request; send at most {RECORDS_MAX}",
                records.len()
            )));
        }
        let read = records.into_iter().map(record_of_value).collect();
        self.observe_read(user, read, kept).await
    }

    pub(super) async fn observe_read(
        &self,
        user: &UserId,
        records: Vec<Result<NewRecord, String>>,
        kept: &Kept,
    ) -> Result<WriteReport, Problem> {
        let mut good = Vec::with_capacity(records.len());
        let mut fates: Vec<Option<Fate>> = Vec::with_capacity(records.len());
        for (place, record) in records.into_iter().enumerate() {
            match record {
                Ok(mut record) => {
                    if !kept.verbatim {
                        Redactor::new().redact_record(&mut record);
                    }
                    record.tags = self.tag_rules.resolve(&record.tags);
                    if let Some(key) = &kept.key {
                        let name = format!("{key}/{place}");
                        let name = ExternalId::new(REQUEST_NAMESPACE, name);
                        record.external_ids.push(name);
                    }
                    good.push(record);
                    fates.push(None);
                }
                Err(why) => fates.push(Some(Fate::Rejected { why })),
            }
        }
        let named: Vec<Named> = good
            .iter()
            .filter_map(|record| named(record, kept))
            .collect();
        // Of several none is kept where one is refused; one alone is looked at if it is known.
        if named.len() > 1 {
            self.refuse_others(user, named.clone()).await?;
        }
        let outcomes = if good.is_empty() {
            Vec::new()
        } else {
            let span = spans::memory("create_memory", user);
            self.service.observe(user, good).instrument(span).await?
        };
        if let [WriteOutcome::Duplicate { .. }] = outcomes[..] {
            self.refuse_others(user, named).await?;
        }
        let mut outcomes = outcomes.into_iter();
        let mut report = WriteReport::default();
        for fate in fates {
            let fate = fate.or_else(|| outcomes.next().map(Fate::from));
            report.push(fate.unwrap_or(Fate::Rejected {
                why: "memory gave no answer for it; send it again".to_owned(),
            }));
        }
        let inserted = report.outcomes.iter().filter_map(|fate| match fate {
            Fate::Inserted { id } => Some(*id),
            _ => None,
        });
        let ids: Vec<RecordId> = inserted.collect();
        if !ids.is_empty() {
            self.tell(Change {
                user: user.clone(),
                what: "inserted",
                ids,
            });
        }
        Ok(report)
    }

    /// A request's name stands for what it first brought: with something else it is refused.
    async fn refuse_others(&self, user: &UserId, named: Vec<Named>) -> Result<(), Problem> {
        if named.is_empty() || !self.service.has_memory(user) {
            return Ok(());
        }
        let differs = move |engine: &mut Engine| {
            let snapshot = engine.snapshot();
            named.iter().any(|(name, text)| {
                let known = engine.duplicate_of(name).and_then(|id| snapshot.get(id));
                known.is_some_and(|known| known.is_ok_and(|known| known.text != *text))
            })
        };
        if self.with_engine(user, differs).await? {
            return Err(Problem::new(
                ProblemKind::Conflict,
                "this Idempotency-Key was used for another body; send this one with a key of its \
                 own",
            ));
        }
        Ok(())
    }

    /// The live record with this id or external id: where it has been corrected since, its present
    /// version.
    pub async fn record(&self, user: &UserId, name: &str) -> Result<MemoryRecord, Problem> {
        let by_id = match name.parse::<RecordId>() {
            Ok(id) => self.read(user, move |memory| memory.get(id)).await?,
            Err(_) => None,
        };
        if let Some(found) = by_id {
            return found.map_err(|error| Problem::failed(ProblemKind::Internal, &error));
        }
        // A name is looked up and read in one and the same moment: by the next there may be another
        // version.
        let wanted = name.to_owned();
        let find = move |engine: &mut Engine| {
            let id = current(engine, &wanted)?;
            engine.snapshot().get(id)
        };
        let found = self.with_engine(user, find).await?;
        let found = found.ok_or_else(|| missing(name))?;
        found.map_err(|error| Problem::failed(ProblemKind::Internal, &error))
    }

    /// Writes a corrected version, which supersedes the old one; `changes` names fields of the
    /// ingest form. Answers the new record.
    pub async fn update(
        &self,
        user: &UserId,
        name: &str,
        changes: Map<String, Value>,
        kept: &Kept,
    ) -> Result<MemoryRecord, Problem> {
        const MAY_CHANGE: [&str; 10] = [
            "text",
            "source",
            "kind",
            "session_id",
            "metadata",
            "quality_score",
            "tags",
            "confidence",
            "evidence",
            "details",
        ];
        if changes.is_empty() {
            return Err(Problem::invalid(
                "nothing is to be changed; give the parts that are new",
            ));
        }
        if let Some(other) = changes.keys().find(|k| !MAY_CHANGE.contains(&k.as_str())) {
            return Err(Problem::invalid(format!(
                "`{other}` cannot be changed; these can: {}",
                MAY_CHANGE.join(", ")
            )));
        }
        let old = self.record(user, name).await?;
        let line = serde_json::to_value(crate::wire::ExportLine::new(&old));
        let mut line = match line {
            Ok(Value::Object(line)) => line,
            _ => Map::new(),
        };
        // The old version keeps its names: the new one answers to its own id.
        for field in ["id", "external_id", "known_at", "supersedes"] {
            line.remove(field);
        }
        line.extend(changes);
        let mut record = record_of_value(Value::Object(line)).map_err(Problem::invalid)?;
        record.supersedes = Some(old.id);
        record.visibility = old.visibility;
        record.retention = old.retention;
        record.provenance = old.provenance.clone();
        let span = spans::memory("update_memory", user);
        let id = match self.keep_one(user, record, kept).instrument(span).await? {
            Fate::Inserted { id } | Fate::Duplicate { of: id } => id,
            Fate::Rejected { why } => return Err(Problem::invalid(why)),
        };
        self.record(user, &id.to_string()).await
    }

    pub(super) async fn keep_one(
        &self,
        user: &UserId,
        record: NewRecord,
        kept: &Kept,
    ) -> Result<Fate, Problem> {
        let report = self.observe_read(user, vec![Ok(record)], kept).await?;
        let fate = report.outcomes.into_iter().next();
        fate.ok_or_else(|| Problem::new(ProblemKind::Internal, "memory gave no answer; try again"))
    }

    /// Forgets what a selector names; answers what was forgotten, which may be nothing.
    pub async fn forget_many(
        &self,
        user: &UserId,
        what: &ForgetBody,
    ) -> Result<Vec<RecordId>, Problem> {
        let selectors = what.selectors(&self.calendar());
        let selectors = selectors.map_err(Problem::invalid)?;
        let (now, reason) = (self.clock.now(), what.reason().to_owned());
        let forget = move |engine: &mut Engine| {
            for selector in &selectors {
                let forgotten = engine.forget(selector, &reason, now)?;
                if !forgotten.is_empty() {
                    return Ok(forgotten);
                }
            }
            Ok(Vec::new())
        };
        let span = spans::memory("delete_memory", user);
        let forgotten: Result<_, EngineError> =
            self.with_engine(user, forget).instrument(span).await?;
        let ids: Vec<RecordId> = forgotten?.iter().map(|gone| gone.id).collect();
        if !ids.is_empty() {
            self.tell(Change {
                user: user.clone(),
                what: "forgotten",
                ids: ids.clone(),
            });
        }
        Ok(ids)
    }

    /// Forgets the record with this id or external id, and the versions that it corrected: else
    /// the one before would come back. Answers what was forgotten, newest first.
    pub async fn forget(
        &self,
        user: &UserId,
        name: &str,
        reason: &str,
    ) -> Result<Vec<RecordId>, Problem> {
        let (now, wanted) = (self.clock.now(), name.to_owned());
        let reason = reason.to_owned();
        let forget = move |engine: &mut Engine| {
            let Some(id) = resolve(engine, &wanted) else {
                return Ok(Vec::new());
            };
            let gone = engine.forget(&ForgetSelector::Record(id), &reason, now)?;
            Ok(gone.iter().map(|gone| gone.id).collect())
        };
        let span = spans::memory("delete_memory", user);
        let forgotten: Result<Vec<RecordId>, EngineError> =
            self.with_engine(user, forget).instrument(span).await?;
        let ids = forgotten?;
        if ids.is_empty() {
            return Err(missing(name));
        }
        self.tell(Change {
            user: user.clone(),
            what: "forgotten",
            ids: ids.clone(),
        });
        Ok(ids)
    }
}

pub(super) fn missing(name: &str) -> Problem {
    let name: String = name.chars().take(64).collect();
    Problem::not_found(format!(
        "there is no record `{name}` in this memory; pass an id that a recall returned"
    ))
}
