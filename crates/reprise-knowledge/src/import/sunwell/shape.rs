//! Converts one line or document of Sunwell to one record, for every version of the format. Pure.

use crate::prelude::*;
use crate::sunwell::{
    LEGACY, LearningCategory, SCOPES, SOURCE_TYPES, SunwellDecision, SunwellFailure,
    SunwellLearning, check_word, parse_category,
};

/// Longest own id of a line that is kept as its name.
const OWN_ID_BYTES_MAX: usize = 128;

/// The store of Sunwell that a line belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SunwellStore {
    /// Folder `memory/`: RFC-065 or the later journal.
    Unified,
    /// Folder `intelligence/`: the older store.
    Intelligence,
    /// Folder `team/`: lines with authors.
    Team,
}

/// Context in which the lines of one file are read.
#[derive(Debug, Clone, Copy)]
pub(super) struct LineContext {
    pub(super) place: SunwellStore,
    /// Whether it is a file of decisions, in which `fact` names the decision.
    pub(super) decides: bool,
    pub(super) zone: Zone,
    /// When the file was changed: the time of lines without one.
    pub(super) changed: Option<DateTime<Utc>>,
    /// Whether its tree has a store that replaces this one.
    pub(super) is_replaced: bool,
}

/// A record, and the legacy id of the decision that it replaces.
pub(super) struct ShapedLine {
    pub(super) record: NewRecord,
    pub(super) supersedes: Option<String>,
    /// Whether it is a learning or decision of RFC-065, so that the unified store is in use.
    pub(super) is_unified: bool,
}

type Object = Map<String, Value>;

/// Placeholder that is replaced by the time of the source, or else of the import.
const PLACEHOLDER_TIME: DateTime<Utc> = DateTime::UNIX_EPOCH;

/// Removes the record that our own export put into a line, and returns it with whether the line is
/// unchanged.
pub(super) fn take_embedded_export(object: &mut Object) -> Option<(CarriedRecord, bool)> {
    let carried = CarriedRecord::take_carrier(object)?;
    let normalize = |form: Value| {
        let mut form = form.as_object().cloned().unwrap_or_default();
        form.retain(|name, value| name != "metadata" || *value != json!({}));
        form
    };
    let record = &carried.record;
    let learning =
        SunwellLearning::of(record).unwrap_or_else(|| SunwellLearning::from_foreign(record));
    let forms = [
        json!(SunwellDecision::of(record)),
        json!(SunwellFailure::of(record)),
        json!(learning),
    ];
    let seen = normalize(Value::Object(object.clone()));
    let is_unchanged = forms.into_iter().any(|form| normalize(form) == seen);
    Some((carried, is_unchanged))
}

/// Converts a line of any of the stores.
pub(super) fn shape_line(object: &Object, how: &LineContext) -> Result<ShapedLine, String> {
    let has = |name: &str| non_blank_text(object, name).is_some();
    let is_rfc = how.place == SunwellStore::Unified && !has("timestamp");
    if how.place == SunwellStore::Unified && !has("id") {
        return Err("it has no `id`".to_owned());
    }
    let mut supersedes = None;
    let is_decision = has("decision") || has("choice") || how.decides && has("fact");
    let is_failure = !is_decision && (has("approach") || has("description"));
    let mut record = if is_decision {
        supersedes = non_blank_text(object, "supersedes").map(str::to_owned);
        decision_record(object)?
    } else if is_failure {
        failure_record(object)
    } else if has("fact") {
        learning_record(object, how.place)?
    } else {
        return Err("it has no `fact`, `decision`, `choice`, `approach` or `description`".into());
    };
    let written = ["created_at", "timestamp", "createdAt"];
    let written = written
        .iter()
        .find_map(|name| object.get(*name).filter(|at| !at.is_null()));
    set_source_time(&mut record, written, how)?;
    set_expiry(&mut record, object)?;
    if let Some(id) = non_blank_text(object, "id")
        && record.external_ids.first().is_none_or(|own| own.id != id)
    {
        if keeps_its_id(object, id, how.place) {
            let own = ExternalId::new(ExternalId::SUNWELL, id);
            record.external_ids.insert(0, own);
        } else if let Some(metadata) = details_metadata_mut(&mut record) {
            metadata.insert("legacy_id".to_owned(), json!(id));
        }
    }
    if how.place == SunwellStore::Team {
        record.provenance.actor_id = non_blank_text(object, "author").map(str::to_owned);
        record.tags = list_texts(object.get("tags")).map(str::to_owned).collect();
    }
    if let Some(session) = non_blank_text(object, "session_id") {
        session.clone_into(&mut record.session_id);
    }
    Ok(ShapedLine {
        record,
        supersedes,
        is_unified: is_rfc && !is_failure,
    })
}

/// Whether a line's own id is the one by which it is found and written: in the unified store,
/// unless it is the learning of a decision or failure, which has its parent's.
fn keeps_its_id(object: &Object, id: &str, place: SunwellStore) -> bool {
    let source = non_blank_text(object, "source").unwrap_or_default();
    let has_parent = ["decision:", "failure:"]
        .iter()
        .any(|kind| source.starts_with(kind));
    place == SunwellStore::Unified && !has_parent && id.len() <= OWN_ID_BYTES_MAX
}

/// Sets the time of a record, and its spelling in the details. Without a time in the source, it is
/// that of the file.
fn set_source_time(
    record: &mut NewRecord,
    written: Option<&Value>,
    how: &LineContext,
) -> Result<(), String> {
    record.timestamp = None;
    if let Some(written) = written {
        set_time(record, written, how.zone);
        if record.timestamp.is_none() {
            return Err(format!(
                "its time is {written}, which is not valid; write ISO 8601"
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

/// Sets the expiry of a record, if its source names one.
fn set_expiry(record: &mut NewRecord, object: &Object) -> Result<(), String> {
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
    if Zone::Utc.parse_json_time(end).is_none() {
        return Err(format!(
            "its `expires_at` is {end}, which is not a time; write ISO 8601"
        ));
    }
    record.metadata.insert("expires_at".to_owned(), end.clone());
    Ok(())
}

fn details_metadata_mut(record: &mut NewRecord) -> Option<&mut Object> {
    let details = record.details.as_mut()?.as_object_mut()?;
    details
        .entry("metadata")
        .or_insert_with(|| json!({}))
        .as_object_mut()
}

/// Collects the fields that the format has no field for.
fn collect_other_fields(object: &Object, placed: &[&str]) -> Object {
    const PLACED_FIELDS: [&str; 6] = [
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
    rest.extend(fields_without_place(
        object,
        &[placed, &PLACED_FIELDS].concat(),
    ));
    rest
}

fn owned_text(object: &Object, name: &str) -> String {
    non_blank_text(object, name).unwrap_or_default().to_owned()
}

fn learning_record(object: &Object, place: SunwellStore) -> Result<NewRecord, String> {
    let word = match non_blank_text(object, "category") {
        None if place == SunwellStore::Unified => return Err("it has no `category`".to_owned()),
        word => word.unwrap_or(LearningCategory::Pattern.name()),
    };
    let category = match place {
        SunwellStore::Unified => parse_category(word)?,
        // Old versions accepted any word.
        _ => LearningCategory::parse_nearest(word).unwrap_or(LearningCategory::Pattern),
    };
    let mut learning = SunwellLearning::new(owned_text(object, "fact"), category, PLACEHOLDER_TIME);
    learning.metadata = collect_other_fields(
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
    let default = if place == SunwellStore::Unified {
        0.8
    } else {
        0.7
    };
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
    let file = non_blank_text(object, "source_file").map(|file| match line {
        Some(line) => format!("{file}:{line}"),
        None => file.to_owned(),
    });
    learning.source = non_blank_text(object, "source").map(str::to_owned).or(file);
    let rfc = non_blank_text(object, "source_type").map(str::to_owned);
    let rfc = check_word("source type", rfc, &SOURCE_TYPES)?;
    let journal = object.contains_key("source_file") || place != SunwellStore::Unified;
    learning.source_type = rfc.unwrap_or_else(|| if journal { "analysis" } else { "task" }.into());
    learning.goal = non_blank_text(object, "goal").map(str::to_owned);
    // The learning of a decision or failure has its parent's id.
    let parent = learning.source.as_deref().and_then(|source| {
        let (kind, id) = source.split_once(':')?;
        let is_id = !id.is_empty() && id.len() <= OWN_ID_BYTES_MAX;
        (kind == category.name() && is_id).then(|| id.to_owned())
    });
    learning.id = parent.unwrap_or(learning.id);
    Ok(learning.to_record())
}

fn decision_record(object: &Object) -> Result<NewRecord, String> {
    let wording = match (
        non_blank_text(object, "decision").or_else(|| non_blank_text(object, "fact")),
        non_blank_text(object, "question"),
        non_blank_text(object, "choice"),
    ) {
        (Some(decision), _, _) => decision.to_owned(),
        (None, Some(question), Some(choice)) => format!("{question} \u{2192} {choice}"),
        (None, _, choice) => choice.unwrap_or_default().to_owned(),
    };
    let mut decision = SunwellDecision::new(
        wording,
        non_blank_text(object, "rationale").unwrap_or_default(),
        PLACEHOLDER_TIME,
    );
    let scope = non_blank_text(object, "scope").map(str::to_owned);
    if let Some(scope) = check_word("scope", scope, &SCOPES)? {
        decision.scope = scope;
    }
    decision.goal = non_blank_text(object, "goal").map(str::to_owned);
    let mut placed = vec!["decision", "rationale", "scope", "supersedes"];
    if non_blank_text(object, "decision").is_none() {
        placed.extend(["fact", "category"]);
    }
    decision.metadata = collect_other_fields(object, &placed);
    decision.supersedes = non_blank_text(object, "supersedes").map(str::to_owned);
    Ok(decision.to_record())
}

fn failure_record(object: &Object) -> NewRecord {
    let approach =
        non_blank_text(object, "approach").or_else(|| non_blank_text(object, "description"));
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
        .find_map(|name| non_blank_text(object, name))
        .unwrap_or(approach);
    let mut failure = SunwellFailure::new(fact, approach, PLACEHOLDER_TIME);
    failure.context = owned_text(object, "context");
    failure.goal = non_blank_text(object, "goal").map(str::to_owned);
    failure.metadata = collect_other_fields(object, &["approach", "fact", "reason", "context"]);
    failure.to_record()
}

/// Converts a task that Naaru finished.
pub(super) fn shape_task(task: &Value, how: &LineContext) -> Result<NewRecord, String> {
    let object = task.as_object().ok_or("it is not an object")?;
    let id = non_blank_text(object, "task_id").ok_or("the task has no `task_id`")?;
    let description =
        non_blank_text(object, "task_description").ok_or("it has no `task_description`")?;
    let goal = non_blank_text(object, "goal").map(str::to_owned);
    let mut learning = SunwellLearning::from_task(id, description, goal, PLACEHOLDER_TIME);
    learning.metadata = collect_other_fields(object, &["type", "task_id", "task_description"]);
    let mut record = learning.to_record();
    set_source_time(
        &mut record,
        object.get("timestamp").filter(|at| !at.is_null()),
        how,
    )?;
    Ok(record)
}

/// Converts a plan with its tasks.
pub(super) fn shape_plan(mut plan: Object, how: &LineContext) -> Result<NewRecord, String> {
    let goal = non_blank_text(&plan, "goal")
        .ok_or("the plan has no `goal`")?
        .to_owned();
    let hash = non_blank_text(&plan, "goal_hash").map_or_else(|| hex_id(&[&goal]), str::to_owned);
    let mut plan_text = format!("Plan: {goal}");
    for task in list_items(plan.get("tasks")) {
        let part = |name: &str| task.get(name).and_then(Value::as_str);
        let task_name = task
            .as_str()
            .or_else(|| part("description"))
            .or_else(|| part("id"));
        if let Some(task_name) = task_name {
            plan_text.push_str(&["\n- ", task_name].concat());
        }
    }
    let mut record = NewRecord::new(plan_text, MemorySource::ConductorPlan, MemoryKind::Strategy);
    record.external_ids = vec![ExternalId::new(ExternalId::SUNWELL, format!("plan:{hash}"))];
    let written = plan.remove("created_at").filter(|at| !at.is_null());
    record.details = Some(json!({ "type": "plan", "plan": plan }));
    let how = LineContext {
        is_replaced: false,
        ..*how
    };
    set_source_time(&mut record, written.as_ref(), &how)?;
    Ok(record)
}
