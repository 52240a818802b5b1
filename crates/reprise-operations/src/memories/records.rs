//! Keeping, showing, correcting and forgetting records.

use reprise_engine::{LinkEnd, NewLink};
use reprise_knowledge::{SunwellLearning, restate_details};
use reprise_types::Zone;

use super::{note_records_in_span, operation_span, refuse_receipt_change};
use crate::prelude::*;
use crate::wire::UndoneReport;
use crate::wire::{RecordRedaction, WriteReport, parse_record, read_value};

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

/// Whether somebody says it, and does not only read a source anew: by a name of the sender's, by
/// what it is, or without any.
fn is_said_by_sender(record: &NewRecord) -> bool {
    let said = [ExternalId::BATCH, ExternalId::SUNWELL, ExternalId::REQUEST];
    let mut names = record.external_ids.iter();
    names.all(|name| said.contains(&name.namespace.as_str()))
}

/// The records that somebody said again, each with its place among the outcomes.
fn list_repeated(outcomes: &[WriteOutcome], is_said: &[bool]) -> Vec<(usize, RecordId)> {
    let outcomes = outcomes.iter().zip(is_said).enumerate();
    let again = outcomes.filter_map(|(place, (outcome, is_said))| match outcome {
        WriteOutcome::Duplicate { of, .. } if *is_said => Some((place, *of)),
        _ => None,
    });
    again.collect()
}

impl Memory {
    /// Keeps records in their ingest form; a bad one spoils only itself.
    pub(crate) async fn ingest(&self, records: Vec<Value>) -> Result<WriteReport, Problem> {
        let mut unknown = BTreeSet::new();
        let read = records.into_iter().map(|value| {
            let (record, fields) = read_value(value, Zone::Machine)?;
            unknown.extend(fields);
            Ok(record)
        });
        let read = read.collect();
        let mut report = self.store_parsed_records(read).await?;
        report.unknown_fields = unknown.into_iter().collect();
        Ok(report)
    }

    pub(super) async fn store_parsed_records(
        &self,
        records: Vec<Result<NewRecord, String>>,
    ) -> Result<WriteReport, Problem> {
        let (mut good, mut redacted) = (Vec::with_capacity(records.len()), Vec::new());
        let mut names = Vec::new();
        let mut fates: Vec<Result<Option<usize>, RecordFate>> = Vec::with_capacity(records.len());
        for (place, record) in records.into_iter().enumerate() {
            match record {
                Ok(mut record) => {
                    let resolve = |tags: &[String]| self.all.around.tags.resolve_tags(tags);
                    let taken = match self.options.intake.prepare_record(&mut record, resolve) {
                        Ok(taken) => taken,
                        Err(why) => {
                            let why = why.to_string();
                            fates.push(Err(RecordFate::Rejected { why }));
                            continue;
                        }
                    };
                    let told = taken.redacted.into_iter();
                    redacted.extend(told.map(|redaction| RecordRedaction {
                        redaction,
                        record: place as u64 + 1,
                    }));
                    record.replaces_known_id |= self.options.updates;
                    names.extend(self.name_within_request(&place.to_string()));
                    fates.push(Ok(taken.truncated_from_bytes));
                    good.push(record);
                }
                Err(why) => fates.push(Err(RecordFate::Rejected { why })),
            }
        }
        let teaches = good.iter().any(|record| SunwellLearning::is_in(record));
        let said_again: Vec<bool> = good.iter().map(is_said_by_sender).collect();
        let says = self.hash_contents(&good);
        let texts = good.iter().map(|record| record.text.clone());
        let named: Vec<_> = names.iter().cloned().zip(texts).collect();
        for (record, name) in good.iter_mut().zip(names) {
            record.external_ids.push(name);
        }
        if let Some(says) = &says {
            self.note_contents(&mut good, says);
        }
        // Of several none is kept where one is refused; one alone is looked at if it is known.
        if named.len() > 1 {
            self.refuse_other_contents(named.clone(), says.clone())
                .await?;
        }
        let outcomes = self.write_records(good).await?;
        if let [WriteOutcome::Duplicate { .. }] = outcomes[..] {
            self.refuse_other_contents(named, says).await?;
        }
        self.count_seen_again(list_repeated(&outcomes, &said_again))
            .await?;
        let mut outcomes = outcomes.into_iter();
        let mut report = WriteReport {
            redacted,
            ..WriteReport::default()
        };
        for fate in fates {
            report.add_fate(fate.map_or_else(
                |refused| refused,
                |truncated| match outcomes.next() {
                    Some(outcome) => RecordFate::new(outcome, truncated),
                    None => RecordFate::Rejected {
                        why: "memory gave no answer for it; send it again".to_owned(),
                    },
                },
            ));
        }
        let ids = report.list_inserted();
        self.note_contradictions(&ids).await;
        if !ids.is_empty() {
            self.announce_change("inserted", ids.clone());
        }
        if teaches && !ids.is_empty() {
            self.notify_learnings(&ids).await;
        }
        Ok(report)
    }

    async fn write_records(&self, records: Vec<NewRecord>) -> Result<Vec<WriteOutcome>, Problem> {
        if records.is_empty() {
            return Ok(Vec::new());
        }
        let count = records.len();
        let batch = WriteBatch {
            links: self.build_merge_links(),
            records,
            ..WriteBatch::default()
        };
        let written = self.all.service.write(&self.user, batch);
        let span = operation_span("create_memory", &self.user);
        let outcomes = written.instrument(span.clone()).await?.outcomes;
        let first = match outcomes.first() {
            Some(WriteOutcome::Inserted { id } | WriteOutcome::Duplicate { of: id, .. }) => {
                Some(*id)
            }
            _ => None,
        };
        note_records_in_span(&span, count, first);
        Ok(outcomes)
    }

    /// Builds the links of a record that replaces others: it was made of them, and they are retired
    /// into it.
    fn build_merge_links(&self) -> Vec<NewLink> {
        let sources = self.options.stands_for.iter();
        let links = sources.flat_map(|source| {
            let (made, source) = (LinkEnd::New(0), LinkEnd::Stored(*source));
            [
                NewLink::distilled_from(made, source),
                NewLink::retired_into(source, made),
            ]
        });
        links.collect()
    }

    /// Counts records, each with its place in the request, as said again; a repeated request counts
    /// nothing twice.
    pub(crate) async fn count_seen_again(
        &self,
        again: Vec<(usize, RecordId)>,
    ) -> Result<(), Problem> {
        if again.is_empty() {
            return Ok(());
        }
        let (now, memory) = (self.now(), self.clone());
        let count = move |engine: &mut Engine| {
            let snapshot = engine.snapshot();
            let is_sent_again = |(place, of): &(usize, RecordId)| {
                let name = memory.name_within_request(&place.to_string());
                name.is_some_and(|name| snapshot.find_by_external_id(&name) == Some(*of))
            };
            let again = again.iter().filter(|one| !is_sent_again(one));
            let again: Vec<RecordId> = again.map(|(_, of)| *of).collect();
            engine.mark_seen_again(&again, now)
        };
        Ok(self.run_on_engine(count).await??)
    }

    /// The live record with this id or external id: where it has been corrected since, its present
    /// version.
    pub(crate) async fn get_record(&self, name: &str) -> Result<MemoryRecord, Problem> {
        let wanted = name.to_owned();
        let find = move |memory: &Snapshot| {
            let id = wanted.parse().ok();
            if let Some(found) = id.and_then(|id| memory.get(id)) {
                return Ok(Some(found));
            }
            let called = match find_current_version(memory, &wanted) {
                Some(id) => vec![id],
                None => find_by_beginning(memory, &wanted),
            };
            match called.as_slice() {
                [id] => Ok(memory.get(*id)),
                many => Err(many.len()),
            }
        };
        let found = self.run_on_snapshot(find).await?;
        let found = found.map_err(|count| match count {
            0 => no_such_memory_problem(name),
            _ => Problem::invalid(format!(
                "{count} memories have names that begin with `{name}`; write more of the name"
            )),
        })?;
        let found = found.ok_or_else(|| no_such_memory_problem(name))?;
        found.map_err(|error| Problem::from_failure(ProblemKind::Internal, &error))
    }

    /// Reads the record of this name as it was at an instant, even if it was corrected or retired
    /// since.
    pub(crate) async fn get_record_at(
        &self,
        name: &str,
        at: DateTime<Utc>,
    ) -> Result<MemoryRecord, Problem> {
        let wanted = name.to_owned();
        let find = move |memory: &Snapshot| {
            let id = wanted.parse().ok();
            let found = id.and_then(|id| memory.version_at(id, at));
            found.or_else(|| memory.version_at(find_record_id(memory, &wanted)?, at))
        };
        let found = self.run_on_snapshot(find).await?;
        let found = found.ok_or_else(|| {
            let name: String = name.chars().take(64).collect();
            let at = format_instant(at);
            Problem::not_found(format!(
                "no memory with id `{name}` at {at}; choose a later time, or none"
            ))
        })?;
        found.map_err(|error| Problem::from_failure(ProblemKind::Internal, &error))
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
                "nothing to change; give the parts that are new",
            ));
        }
        if let Some(other) = changes.keys().find(|k| !MAY_CHANGE.contains(&k.as_str())) {
            return Err(Problem::invalid(format!(
                "`{other}` cannot be changed; these can: {}",
                MAY_CHANGE.join(", ")
            )));
        }
        let old = self.get_record(name).await?;
        let has_new_text = |text: &Value| text.as_str() != Some(old.text.as_str());
        if changes.get("text").is_some_and(has_new_text) {
            self.refuse_former_version(name, &old).await?;
        }
        let record = build_revision(&old, changes)?;
        let span = operation_span("update_memory", &self.user);
        let id = self.store_new(record).instrument(span.clone()).await?;
        note_records_in_span(&span, 1, Some(id));
        Ok((old, self.get_record(&id.to_string()).await?))
    }

    /// Corrects records in the same way, in as few commits as they fit in; answers how many.
    pub(crate) async fn revise_all(
        &self,
        records: &[MemoryRecord],
        changes: &Map<String, Value>,
    ) -> Result<usize, Problem> {
        if records.is_empty() {
            return Ok(0);
        }
        let revised = records
            .iter()
            .map(|record| Ok(Ok(build_revision(record, changes.clone())?)));
        let revised = revised.collect::<Result<Vec<_>, Problem>>()?;
        let mut fates = self
            .store_parsed_records(revised)
            .await?
            .outcomes
            .into_iter();
        let refused = fates.find_map(|fate| match fate {
            RecordFate::Rejected { why } => Some(why),
            RecordFate::Inserted { .. } | RecordFate::Duplicate { .. } => None,
        });
        match refused {
            Some(why) => Err(Problem::invalid(why)),
            None => Ok(records.len()),
        }
    }

    /// Refuses the id of a version whose place another has taken: who corrects it has not read that
    /// one. This request may have made it, when it was sent before.
    async fn refuse_former_version(
        &self,
        name: &str,
        present: &MemoryRecord,
    ) -> Result<(), Problem> {
        let Some(id) = name.parse().ok().filter(|id: &RecordId| *id != present.id) else {
            return Ok(());
        };
        // An external id may look like an id: that of an export does.
        let now = self
            .run_on_snapshot(move |memory| memory.current_version(id))
            .await?;
        if now != Some(present.id) {
            return Ok(());
        }
        if let Some(request) = self.name_within_request("0") {
            let made = self.run_on_snapshot(move |memory| memory.find_by_external_id(&request));
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
    pub(crate) async fn revert_last_change(
        &self,
        name: &str,
    ) -> Result<Option<MemoryRecord>, Problem> {
        let present = self.get_record(name).await?;
        refuse_receipt_change(&present)?;
        let (of, now) = (present.id, self.now());
        let (memory, tagged) = (self.clone(), UndoneReport::reverted(&present));
        let tag = move |engine: &mut Engine| {
            let name = memory.name_within_request("0");
            let kept = name.and_then(|name| engine.snapshot().find_by_external_id(&name));
            if kept == Some(of) || memory.find_earlier_undo().is_some() {
                return Ok(true);
            }
            let is_tagged = engine.undo_tag_change(of, now)?;
            if is_tagged {
                memory.note_undo(tagged);
            }
            Ok::<_, EngineError>(is_tagged)
        };
        if self.run_on_engine(tag).await?? {
            self.announce_change("updated", vec![of]);
            return self.get_record(name).await.map(Some);
        }
        let versions = self
            .run_on_snapshot(move |memory| memory.version_history(of))
            .await?;
        let Some(before) = versions.into_iter().find(|version| version.id != of) else {
            return Ok(None);
        };
        let mut record = before.into_new_record();
        record.external_ids.clear();
        record.supersedes = Some(of);
        record.visibility = present.visibility;
        record.embedding = None;
        let id = self.store_new(record).await?;
        self.get_record(&id.to_string()).await.map(Some)
    }

    /// Keeps a record that is to be a new one; answers its id, also where this request was sent
    /// before. That another record is known by its name is an error: nothing was done.
    pub(crate) async fn store_new(&self, record: NewRecord) -> Result<RecordId, Problem> {
        let of = match self.store_one(record).await? {
            RecordFate::Inserted { id, .. } => return Ok(id),
            RecordFate::Duplicate { of, .. } => of,
            RecordFate::Rejected { why } => return Err(Problem::invalid(why)),
        };
        if let Some(name) = self.name_within_request("0") {
            let kept = self.run_on_snapshot(move |memory| memory.find_by_external_id(&name));
            if kept.await? == Some(of) {
                return Ok(of);
            }
        }
        Err(Problem::conflict(format!(
            "nothing was changed: `{of}` is known by the same name; correct that one"
        )))
    }

    pub(crate) async fn store_one(&self, record: NewRecord) -> Result<RecordFate, Problem> {
        let report = self.store_parsed_records(vec![Ok(record)]).await?;
        let fate = report.outcomes.into_iter().next();
        fate.ok_or_else(|| Problem::new(ProblemKind::Internal, "memory gave no answer; try again"))
    }
}

/// Builds the corrected version of a record; `changes` names fields of the ingest form.
fn build_revision(old: &MemoryRecord, changes: Map<String, Value>) -> Result<NewRecord, Problem> {
    refuse_receipt_change(old)?;
    let line = serde_json::to_value(ExportLine::new(old)).and_then(serde_json::from_value);
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
        restate_details(details, text);
    }
    let is_seen_anew = changes.contains_key("visibility");
    for (field, mark) in [
        // The author's own word is stored among the marks.
        ("visibility", "visibility"),
        ("evidence", "evidence"),
        // That the old text was cut says nothing of the new one.
        ("text", RecordBody::TRUNCATED_KEY),
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
    let mut record = parse_record(Value::Object(line)).map_err(Problem::invalid)?;
    record.supersedes = Some(old.id);
    if !is_seen_anew {
        record.visibility = old.visibility;
    }
    record.provenance = old.provenance.clone();
    Ok(record)
}

/// Finds the live records whose external id, or else whose own id, begins so.
pub(crate) fn find_by_beginning(snapshot: &Snapshot, beginning: &str) -> Vec<RecordId> {
    let named = snapshot.find_by_external_hash_prefix(beginning);
    if named.is_empty() {
        return snapshot.find_by_id_prefix(beginning);
    }
    named
}

/// Says that there is no such memory, or which one's id begins so: what is to be forgotten is named
/// whole.
pub(crate) fn no_whole_name_problem(memory: &Snapshot, name: &str) -> Problem {
    match find_by_beginning(memory, name).as_slice() {
        [id] => Problem::invalid(format!(
            "`{name}` is the beginning of a name; to forget that memory, write its whole id, `{id}`"
        )),
        _ => no_such_memory_problem(name),
    }
}

pub(crate) fn no_such_memory_problem(name: &str) -> Problem {
    let name: String = name.chars().take(64).collect();
    Problem::not_found(format!(
        "no memory with id `{name}`; `recall` and `list` show ids"
    ))
}
