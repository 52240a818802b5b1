//! Correcting records, and taking a correction back.

use reprise_knowledge::restate_details;

use crate::memories::ChangeKind;
use crate::operations::tags::refuse_receipt_change;
use crate::prelude::*;
use crate::wire::{UndoneReport, parse_record};

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

impl Memory {
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
        self.note_change(ChangeKind::Corrected, &[id]);
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
