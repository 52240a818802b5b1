//! One line or document of Sunwell's to one record, whatever era wrote it. Pure.

use crate::prelude::*;
use crate::sunwell::{
    Category, Decision, Failure, LEGACY, Learning, SCOPES, SOURCE_TYPES, category_of, one_of,
};

/// Which of Sunwell's stores a line stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// `memory/`: RFC-065 or the later journal.
    Unified,
    /// `intelligence/`: what came before.
    Intelligence,
    /// `team/`: with authors.
    Team,
}

/// How the lines of one file are read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lines {
    pub(super) place: Place,
    /// It is a file of decisions: what a line calls its `fact` is what was decided (C22).
    pub(super) decides: bool,
    pub(super) zone: Zone,
    /// When the file was changed: the time of what names none (C23).
    pub(super) changed: Option<DateTime<Utc>>,
    /// Its tree has a store that took the place of this one (S49).
    pub(super) is_replaced: bool,
}

/// A record, and the legacy id of the decision that it takes the place of.
pub(super) struct Made {
    pub(super) record: NewRecord,
    pub(super) supersedes: Option<String>,
    /// It is a learning or decision as RFC-065 writes them: the unified store is in use.
    pub(super) is_unified: bool,
}

type Object = Map<String, Value>;

/// What no time stands in for: replaced by the source's own, or by the moment of keeping.
const NEVER: DateTime<Utc> = DateTime::UNIX_EPOCH;

/// Takes what an export of ours put into a line out of it, and whether the line still says that.
pub(super) fn carried(object: &mut Object) -> Option<(Carried, bool)> {
    let carried = Carried::take(object)?;
    let said = |form: Value| {
        let mut form = form.as_object().cloned().unwrap_or_default();
        form.retain(|name, value| name != "metadata" || *value != json!({}));
        form
    };
    let record = &carried.record;
    let learning = Learning::of(record).unwrap_or_else(|| Learning::foreign(record));
    let forms = [
        json!(Decision::of(record)),
        json!(Failure::of(record)),
        json!(learning),
    ];
    let seen = said(Value::Object(object.clone()));
    let is_unchanged = forms.into_iter().any(|form| said(form) == seen);
    Some((carried, is_unchanged))
}

/// Reads a line of any of the stores.
pub(super) fn line(object: &Object, how: &Lines) -> Result<Made, String> {
    let has = |name: &str| text(object, name).is_some();
    let is_rfc = how.place == Place::Unified && !has("timestamp");
    if how.place == Place::Unified && !has("id") {
        return Err("it has no `id`".to_owned());
    }
    let mut supersedes = None;
    let is_decision = has("decision") || has("choice") || how.decides && has("fact");
    let is_failure = !is_decision && (has("approach") || has("description"));
    let mut record = if is_decision {
        supersedes = text(object, "supersedes").map(str::to_owned);
        decision(object)?
    } else if is_failure {
        failure(object)
    } else if has("fact") {
        learning(object, how.place)?
    } else {
        return Err("it has no `fact`, `decision`, `choice`, `approach` or `description`".into());
    };
    let written = ["created_at", "timestamp", "createdAt"];
    let written = written
        .iter()
        .find_map(|name| object.get(*name).filter(|at| !at.is_null()));
    dated(&mut record, written, how)?;
    ends(&mut record, object)?;
    if let Some(id) = text(object, "id")
        && record.external_ids.first().is_none_or(|own| own.id != id)
        && let Some(metadata) = own_metadata(&mut record)
    {
        metadata.insert("legacy_id".to_owned(), json!(id));
    }
    if how.place == Place::Team {
        record.provenance.actor_id = text(object, "author").map(str::to_owned);
        record.tags = texts(object.get("tags")).map(str::to_owned).collect();
    }
    if let Some(session) = text(object, "session_id") {
        session.clone_into(&mut record.session_id);
    }
    Ok(Made {
        record,
        supersedes,
        is_unified: is_rfc && !is_failure,
    })
}

/// The time of a record, and in its details the words for it; where its source names none, that of
/// its file (C23).
fn dated(record: &mut NewRecord, written: Option<&Value>, how: &Lines) -> Result<(), String> {
    record.timestamp = None;
    if let Some(written) = written {
        date(record, written, how.zone);
        if record.timestamp.is_none() {
            return Err(format!(
                "its time is {written}, which is none; write ISO 8601"
            ));
        }
    } else {
        record.timestamp = how.changed;
        let mark = how.changed.map(|_| ("ts_of_file".to_owned(), json!(true)));
        record.metadata.extend(mark);
    }
    let words = match (written.and_then(Value::as_str), record.timestamp) {
        (Some(words), _) => json!(words),
        (None, at) => json!(at.map(|at| at.to_rfc3339())),
    };
    if let Some(details) = record.details.as_mut().and_then(Value::as_object_mut) {
        details.insert("created_at".to_owned(), words);
        if how.is_replaced {
            details.insert(LEGACY.to_owned(), json!(true));
        }
    }
    Ok(())
}

/// The end of what was learned for a while (S65).
fn ends(record: &mut NewRecord, object: &Object) -> Result<(), String> {
    let inside = object
        .get("metadata")
        .and_then(|inside| inside.get("expires_at"));
    let Some(end) = object
        .get("expires_at")
        .or(inside)
        .filter(|end| !end.is_null())
    else {
        return Ok(());
    };
    if Zone::Utc.moment(end).is_none() {
        return Err(format!(
            "its `expires_at` is {end}, which is no time; write ISO 8601"
        ));
    }
    record.metadata.insert("expires_at".to_owned(), end.clone());
    Ok(())
}

fn own_metadata(record: &mut NewRecord) -> Option<&mut Object> {
    let details = record.details.as_mut()?.as_object_mut()?;
    details
        .entry("metadata")
        .or_insert_with(|| json!({}))
        .as_object_mut()
}

/// All that a form has no place for.
fn beside(object: &Object, taken: &[&str]) -> Object {
    const TAKEN: [&str; 6] = [
        "id",
        "created_at",
        "createdAt",
        "timestamp",
        "goal",
        "metadata",
    ];
    let mut rest = object
        .get("metadata")
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    rest.extend(unplaced(object, &[taken, &TAKEN].concat()));
    rest
}

fn words(object: &Object, name: &str) -> String {
    text(object, name).unwrap_or_default().to_owned()
}

fn learning(object: &Object, place: Place) -> Result<NewRecord, String> {
    let word = match text(object, "category") {
        None if place == Place::Unified => return Err("it has no `category`".to_owned()),
        word => word.unwrap_or(Category::Pattern.name()),
    };
    let category = match place {
        Place::Unified => category_of(word)?,
        // What read the files of old took any word (S52).
        _ => Category::nearest(word).unwrap_or(Category::Pattern),
    };
    let mut learning = Learning::new(words(object, "fact"), category, NEVER);
    learning.metadata = beside(
        object,
        &[
            "fact",
            "category",
            "confidence",
            "source",
            "source_type",
            "source_file",
            "source_line",
        ],
    );
    if category.name() != word {
        learning
            .metadata
            .insert("legacy_category".to_owned(), json!(word));
    }
    let default = if place == Place::Unified { 0.8 } else { 0.7 };
    let sure = object
        .get("confidence")
        .and_then(Value::as_f64)
        .unwrap_or(default);
    learning.confidence = sure.clamp(0.0, 1.0);
    if learning.confidence.to_bits() != sure.to_bits() {
        learning
            .metadata
            .insert("legacy_confidence".to_owned(), json!(sure));
    }
    let line = object.get("source_line").and_then(Value::as_u64);
    let file = text(object, "source_file").map(|file| match line {
        Some(line) => format!("{file}:{line}"),
        None => file.to_owned(),
    });
    learning.source = text(object, "source").map(str::to_owned).or(file);
    let rfc = text(object, "source_type").map(str::to_owned);
    let rfc = one_of("source type", rfc, &SOURCE_TYPES)?;
    let journal = object.contains_key("source_file") || place != Place::Unified;
    learning.source_type = rfc.unwrap_or_else(|| if journal { "analysis" } else { "task" }.into());
    learning.goal = text(object, "goal").map(str::to_owned);
    // A learning that stands for a decision or failure has its parent's id (C22).
    let parent = learning.source.as_deref().and_then(|source| {
        let (kind, id) = source.split_once(':')?;
        (kind == category.name() && id.len() == learning.id.len()).then(|| id.to_owned())
    });
    learning.id = parent.unwrap_or(learning.id);
    Ok(learning.record())
}

fn decision(object: &Object) -> Result<NewRecord, String> {
    let said = match (
        text(object, "decision").or_else(|| text(object, "fact")),
        text(object, "question"),
        text(object, "choice"),
    ) {
        (Some(decision), _, _) => decision.to_owned(),
        (None, Some(question), Some(choice)) => format!("{question} \u{2192} {choice}"),
        (None, _, choice) => choice.unwrap_or_default().to_owned(),
    };
    let mut decision = Decision::new(said, text(object, "rationale").unwrap_or_default(), NEVER);
    let scope = text(object, "scope").map(str::to_owned);
    if let Some(scope) = one_of("scope", scope, &SCOPES)? {
        decision.scope = scope;
    }
    decision.goal = text(object, "goal").map(str::to_owned);
    let mut taken = vec!["decision", "rationale", "scope", "supersedes"];
    if text(object, "decision").is_none() {
        taken.extend(["fact", "category"]);
    }
    decision.metadata = beside(object, &taken);
    decision.supersedes = text(object, "supersedes").map(str::to_owned);
    Ok(decision.record())
}

fn failure(object: &Object) -> NewRecord {
    let approach = text(object, "approach").or_else(|| text(object, "description"));
    let approach = approach.unwrap_or_default();
    let fact = [
        "fact",
        "reason",
        "error_message",
        "root_cause",
        "prevention",
    ];
    let fact = fact
        .iter()
        .find_map(|name| text(object, name))
        .unwrap_or(approach);
    let mut failure = Failure::new(fact, approach, NEVER);
    failure.context = words(object, "context");
    failure.goal = text(object, "goal").map(str::to_owned);
    failure.metadata = beside(object, &["approach", "fact", "reason", "context"]);
    failure.record()
}

/// A task that Naaru finished (S34).
pub(super) fn task(task: &Value, how: &Lines) -> Result<NewRecord, String> {
    let object = task.as_object().ok_or("it is no object")?;
    let id = text(object, "task_id").ok_or("the task has no `task_id`")?;
    let description = text(object, "task_description").ok_or("it has no `task_description`")?;
    let goal = text(object, "goal").map(str::to_owned);
    let mut learning = Learning::of_task(id, description, goal, NEVER);
    learning.metadata = beside(object, &["type", "task_id", "task_description"]);
    let mut record = learning.record();
    dated(
        &mut record,
        object.get("timestamp").filter(|at| !at.is_null()),
        how,
    )?;
    Ok(record)
}

/// A plan with its tasks.
pub(super) fn plan(mut plan: Object, how: &Lines) -> Result<NewRecord, String> {
    let goal = text(&plan, "goal")
        .ok_or("the plan has no `goal`")?
        .to_owned();
    let hash = text(&plan, "goal_hash").map_or_else(|| hex_id(&[&goal]), str::to_owned);
    let mut said = format!("Plan: {goal}");
    for task in items(plan.get("tasks")) {
        let part = |name: &str| task.get(name).and_then(Value::as_str);
        let named = task
            .as_str()
            .or_else(|| part("description"))
            .or_else(|| part("id"));
        if let Some(named) = named {
            said.push_str(&["\n- ", named].concat());
        }
    }
    let mut record = NewRecord::new(said, MemorySource::ConductorPlan, MemoryKind::Strategy);
    record.external_ids = vec![ExternalId::new(ExternalId::SUNWELL, format!("plan:{hash}"))];
    let written = plan.remove("created_at").filter(|at| !at.is_null());
    record.details = Some(json!({ "type": "plan", "plan": plan }));
    let how = Lines {
        is_replaced: false,
        ..*how
    };
    dated(&mut record, written.as_ref(), &how)?;
    Ok(record)
}
