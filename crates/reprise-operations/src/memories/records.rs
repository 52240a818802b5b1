//! Keeping, showing, correcting and forgetting records.

use reprise_engine::{LinkEnd, NewLink};
use reprise_knowledge::{Learning, restate};
use reprise_types::Zone;

use super::{refuse_receipt, span, span_records};
use crate::operations::tending::TakenBack;
use crate::prelude::*;
use crate::wire::{RecordRedaction, WriteReport, read_value, record_of_value};

/// Fields of the ingest form that a correction may change.
pub(crate) const MAY_CHANGE: [&str; 12] = [
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
    "visibility",
    "retention",
];

/// A request's name for one record, and the record's text.
type Named = (ExternalId, String);

fn named(record: &NewRecord) -> Option<Named> {
    let mut names = record.external_ids.iter();
    let name = names.find(|name| name.namespace == ExternalId::REQUEST)?;
    Some((name.clone(), record.text.clone()))
}

/// Whether somebody says it, and does not only read a source anew: by a name of the sender's, by
/// what it is, or without any.
fn is_said(record: &NewRecord) -> bool {
    let said = [ExternalId::BATCH, ExternalId::SUNWELL, ExternalId::REQUEST];
    let mut names = record.external_ids.iter();
    names.all(|name| said.contains(&name.namespace.as_str()))
}

/// The records that somebody said again, each with its place among the outcomes.
fn duplicates(outcomes: &[WriteOutcome], is_said: &[bool]) -> Vec<(usize, RecordId)> {
    let outcomes = outcomes.iter().zip(is_said).enumerate();
    let again = outcomes.filter_map(|(place, (outcome, is_said))| match outcome {
        WriteOutcome::Duplicate { of, .. } if *is_said => Some((place, *of)),
        _ => None,
    });
    again.collect()
}

impl Memory {
    /// Keeps records in their ingest form; a bad one spoils only itself.
    pub(crate) async fn observe(&self, records: Vec<Value>) -> Result<WriteReport, Problem> {
        let mut unknown = BTreeSet::new();
        let read = records.into_iter().map(|value| {
            let (record, fields) = read_value(value, Zone::Machine)?;
            unknown.extend(fields);
            Ok(record)
        });
        let read = read.collect();
        let mut report = self.observe_read(read).await?;
        report.unknown_fields = unknown.into_iter().collect();
        Ok(report)
    }

    pub(super) async fn observe_read(
        &self,
        records: Vec<Result<NewRecord, String>>,
    ) -> Result<WriteReport, Problem> {
        let (mut good, mut redacted) = (Vec::with_capacity(records.len()), Vec::new());
        let mut fates: Vec<Result<Option<usize>, Fate>> = Vec::with_capacity(records.len());
        for (place, record) in records.into_iter().enumerate() {
            match record {
                Ok(mut record) => {
                    let resolve = |tags: &[String]| self.all.around.tags.resolve(tags);
                    let taken = match self.options.intake.take(&mut record, resolve) {
                        Ok(taken) => taken,
                        Err(why) => {
                            let why = why.to_string();
                            fates.push(Err(Fate::Rejected { why }));
                            continue;
                        }
                    };
                    let told = taken.redacted.into_iter();
                    redacted.extend(told.map(|redaction| RecordRedaction {
                        redaction,
                        record: place as u64 + 1,
                    }));
                    record.updates |= self.options.updates;
                    let name = self.request_name(&place.to_string());
                    record.external_ids.extend(name);
                    fates.push(Ok(taken.truncated_from_bytes));
                    good.push(record);
                }
                Err(why) => fates.push(Err(Fate::Rejected { why })),
            }
        }
        let teaches = good.iter().any(|record| Learning::is_in(record));
        let said_again: Vec<bool> = good.iter().map(is_said).collect();
        let has_key = self.key().is_some();
        let named = good.iter().filter(|_| has_key).filter_map(named);
        let named: Vec<Named> = named.collect();
        // Of several none is kept where one is refused; one alone is looked at if it is known.
        if named.len() > 1 {
            self.refuse_others(named.clone()).await?;
        }
        let outcomes = self.write_good(good).await?;
        if let [WriteOutcome::Duplicate { .. }] = outcomes[..] {
            self.refuse_others(named).await?;
        }
        self.seen_again(duplicates(&outcomes, &said_again)).await?;
        let mut outcomes = outcomes.into_iter();
        let mut report = WriteReport {
            redacted,
            ..WriteReport::default()
        };
        for fate in fates {
            report.push(fate.map_or_else(
                |refused| refused,
                |truncated| match outcomes.next() {
                    Some(outcome) => Fate::new(outcome, truncated),
                    None => Fate::Rejected {
                        why: "memory gave no answer for it; send it again".to_owned(),
                    },
                },
            ));
        }
        let ids = report.inserted();
        if !ids.is_empty() {
            self.tell("inserted", ids.clone());
        }
        if teaches && !ids.is_empty() {
            self.tell_learnings(&ids).await;
        }
        Ok(report)
    }

    async fn write_good(&self, records: Vec<NewRecord>) -> Result<Vec<WriteOutcome>, Problem> {
        if records.is_empty() {
            return Ok(Vec::new());
        }
        let count = records.len();
        let batch = WriteBatch {
            links: self.links_behind(),
            records,
            ..WriteBatch::default()
        };
        let written = self.all.service.write(&self.user, batch);
        let span = span("create_memory", &self.user);
        let outcomes = written.instrument(span.clone()).await?.outcomes;
        let first = match outcomes.first() {
            Some(WriteOutcome::Inserted { id } | WriteOutcome::Duplicate { of: id, .. }) => {
                Some(*id)
            }
            _ => None,
        };
        span_records(&span, count, first);
        Ok(outcomes)
    }

    /// Of a record that stands for others: that it was made of them, and that they are behind it.
    fn links_behind(&self) -> Vec<NewLink> {
        let sources = self.options.stands_for.iter();
        let links = sources.flat_map(|source| {
            let (made, source) = (LinkEnd::New(0), LinkEnd::Kept(*source));
            [
                NewLink::distilled(made, source),
                NewLink::retired(source, made),
            ]
        });
        links.collect()
    }

    /// Counts records, each by its place in the request, as said again (C5); a request that is sent
    /// again says nothing again.
    pub(crate) async fn seen_again(&self, again: Vec<(usize, RecordId)>) -> Result<(), Problem> {
        if again.is_empty() {
            return Ok(());
        }
        let (now, memory) = (self.now(), self.clone());
        let count = move |engine: &mut Engine| {
            let is_sent_again = |(place, of): &(usize, RecordId)| {
                let name = memory.request_name(&place.to_string());
                name.is_some_and(|name| engine.duplicate_of(&name) == Some(*of))
            };
            let again = again.iter().filter(|one| !is_sent_again(one));
            let again: Vec<RecordId> = again.map(|(_, of)| *of).collect();
            engine.seen_again(&again, now)
        };
        Ok(self.with_engine(count).await??)
    }

    /// A request's name stands for what it first brought: with something else it is refused.
    async fn refuse_others(&self, named: Vec<Named>) -> Result<(), Problem> {
        if named.is_empty() || !self.exists() {
            return Ok(());
        }
        let differs = move |engine: &mut Engine| {
            let snapshot = engine.snapshot();
            named.iter().any(|(name, text)| {
                let known = engine.duplicate_of(name).and_then(|id| snapshot.get(id));
                known.is_some_and(|known| known.is_ok_and(|known| known.text != *text))
            })
        };
        if self.with_engine(differs).await? {
            return Err(Problem::conflict(
                "this Idempotency-Key was used for another body; send this one with a key of its \
                 own",
            ));
        }
        Ok(())
    }

    /// The live record with this id or external id: where it has been corrected since, its present
    /// version.
    pub(crate) async fn record(&self, name: &str) -> Result<MemoryRecord, Problem> {
        let by_id = match name.parse::<RecordId>() {
            Ok(id) => self.read(move |memory| memory.get(id)).await?,
            Err(_) => None,
        };
        if let Some(found) = by_id {
            return found.map_err(|error| Problem::failed(ProblemKind::Internal, &error));
        }
        // A name is looked up and read in one and the same moment: by the next there may be another
        // version.
        let wanted = name.to_owned();
        let find = move |engine: &mut Engine| {
            let snapshot = engine.snapshot();
            let called = match current(engine, &wanted) {
                Some(id) => vec![id],
                None => snapshot.called_from(&wanted),
            };
            match called.as_slice() {
                [id] => Ok(snapshot.get(*id)),
                many => Err(many.len()),
            }
        };
        let found = self.with_engine(find).await?;
        let found = found.map_err(|count| match count {
            0 => missing(name),
            _ => Problem::invalid(format!(
                "the names of {count} records begin with `{name}`; write more of the one that is \
                 meant"
            )),
        })?;
        let found = found.ok_or_else(|| missing(name))?;
        found.map_err(|error| Problem::failed(ProblemKind::Internal, &error))
    }

    /// The same as it stood at an instant: what was corrected or put behind another one since is
    /// read there.
    pub(crate) async fn record_at(
        &self,
        name: &str,
        at: DateTime<Utc>,
    ) -> Result<MemoryRecord, Problem> {
        let wanted = name.to_owned();
        let find = move |engine: &mut Engine| {
            let snapshot = engine.snapshot();
            let id = wanted.parse().ok().or_else(|| resolve(engine, &wanted))?;
            snapshot.version_at(id, at)
        };
        let found = self.with_engine(find).await?.ok_or_else(|| {
            let name: String = name.chars().take(64).collect();
            let at = instant(at);
            Problem::not_found(format!(
                "there was no record `{name}` in this memory at {at}; ask for a later time, or \
                 without one"
            ))
        })?;
        found.map_err(|error| Problem::failed(ProblemKind::Internal, &error))
    }

    /// Writes a corrected version, which supersedes the old one; `changes` names fields of the
    /// ingest form. Answers the record as it was and as it is.
    pub(crate) async fn revise(
        &self,
        name: &str,
        changes: Map<String, Value>,
    ) -> Result<(MemoryRecord, MemoryRecord), Problem> {
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
        let old = self.record(name).await?;
        refuse_receipt(&old)?;
        let has_new_text = |text: &Value| text.as_str() != Some(old.text.as_str());
        if changes.get("text").is_some_and(has_new_text) {
            self.refuse_former(name, &old).await?;
        }
        let line = serde_json::to_value(ExportLine::new(&old)).and_then(serde_json::from_value);
        let mut line: Map<String, Value> = line.map_err(Problem::invalid)?;
        // Its names are handed on to the new version by the engine.
        for field in [
            "id",
            "external_id",
            "external_ids",
            "known_at",
            "supersedes",
            "visibility",
        ] {
            line.remove(field);
        }
        if let (Some(Value::String(text)), false) =
            (changes.get("text"), changes.contains_key("details"))
            && let Some(details) = line.get_mut("details")
        {
            restate(details, text);
        }
        let is_seen_anew = changes.contains_key("visibility");
        for (field, mark) in [
            // A word of its author's stands among the marks.
            ("visibility", "visibility"),
            ("evidence", "evidence"),
            // That the old text was cut says nothing of the new one.
            ("text", RecordBody::TRUNCATED),
        ] {
            if changes.contains_key(field)
                && let Some(Value::Object(marks)) = line.get_mut("metadata")
            {
                marks.remove(mark);
            }
        }
        line.extend(changes);
        // Nothing takes a mark away.
        line.retain(|field, value| field != "visibility" || !value.is_null());
        let mut record = record_of_value(Value::Object(line)).map_err(Problem::invalid)?;
        record.supersedes = Some(old.id);
        if !is_seen_anew {
            record.visibility = old.visibility;
        }
        record.provenance = old.provenance.clone();
        let span = span("update_memory", &self.user);
        let id = self.keep_new(record).instrument(span.clone()).await?;
        span_records(&span, 1, Some(id));
        Ok((old, self.record(&id.to_string()).await?))
    }

    /// Refuses the id of a version whose place another has taken: who corrects it has not read that
    /// one. This request may have made it, when it was sent before.
    async fn refuse_former(&self, name: &str, present: &MemoryRecord) -> Result<(), Problem> {
        let Some(id) = name.parse().ok().filter(|id: &RecordId| *id != present.id) else {
            return Ok(());
        };
        // An external id may look like an id: that of an export does.
        let now = self.read(move |memory| memory.current(id)).await?;
        if now != Some(present.id) {
            return Ok(());
        }
        if let Some(request) = self.request_name("0") {
            let made = self.with_engine(move |engine| engine.duplicate_of(&request));
            if made.await?.is_some() {
                return Ok(());
            }
        }
        Err(Problem::conflict(format!(
            "nothing was changed: `{}` has taken the place of `{name}`; read it and correct that \
             one",
            present.id
        )))
    }

    /// Gives a record back the tags that it had, where these changed since it was kept, else keeps
    /// the version before the present one anew, in its place; `None` where there is neither. What
    /// this request did when it was sent before is not done again.
    pub(crate) async fn revert(&self, name: &str) -> Result<Option<MemoryRecord>, Problem> {
        let present = self.record(name).await?;
        refuse_receipt(&present)?;
        let (of, now) = (present.id, self.now());
        let (memory, tagged) = (self.clone(), TakenBack::reverted(&present));
        let tag = move |engine: &mut Engine| {
            let name = memory.request_name("0");
            let kept = name.and_then(|name| engine.duplicate_of(&name));
            if kept == Some(of) || memory.undone_before().is_some() {
                return Ok(true);
            }
            let is_tagged = engine.tag_as_before(of, now)?;
            if is_tagged {
                memory.note_taken_back(tagged);
            }
            Ok::<_, EngineError>(is_tagged)
        };
        if self.with_engine(tag).await?? {
            self.tell("updated", vec![of]);
            return self.record(name).await.map(Some);
        }
        let versions = self.read(move |memory| memory.versions(of)).await?;
        let Some(before) = versions.into_iter().find(|version| version.id != of) else {
            return Ok(None);
        };
        let mut record = before.into_new();
        record.external_ids.clear();
        record.supersedes = Some(of);
        record.visibility = present.visibility;
        record.embedding = None;
        let id = self.keep_new(record).await?;
        self.record(&id.to_string()).await.map(Some)
    }

    /// Keeps a record that is to be a new one; answers its id, also where this request was sent
    /// before. That another record is known by its name is an error: nothing was done.
    pub(crate) async fn keep_new(&self, record: NewRecord) -> Result<RecordId, Problem> {
        let of = match self.keep_one(record).await? {
            Fate::Inserted { id, .. } => return Ok(id),
            Fate::Duplicate { of, .. } => of,
            Fate::Rejected { why } => return Err(Problem::invalid(why)),
        };
        if let Some(name) = self.request_name("0") {
            let kept = self.with_engine(move |engine| engine.duplicate_of(&name));
            if kept.await? == Some(of) {
                return Ok(of);
            }
        }
        Err(Problem::conflict(format!(
            "nothing was changed: `{of}` is known by the same name; correct that one"
        )))
    }

    pub(crate) async fn keep_one(&self, record: NewRecord) -> Result<Fate, Problem> {
        let report = self.observe_read(vec![Ok(record)]).await?;
        let fate = report.outcomes.into_iter().next();
        fate.ok_or_else(|| Problem::new(ProblemKind::Internal, "memory gave no answer; try again"))
    }
}

pub(crate) fn missing(name: &str) -> Problem {
    let name: String = name.chars().take(64).collect();
    Problem::not_found(format!(
        "there is no record `{name}` in this memory; pass an id that a recall returned"
    ))
}
