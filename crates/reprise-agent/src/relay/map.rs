//! The mapping of one event to records: a pure function of the event and the topic table.

use reprise_types::limits::{LIST_ITEMS_MAX, METADATA_BYTES_MAX};
use reprise_types::{ExternalId, NewRecord, Provenance, normalize_tags};
use serde_json::{Map, Value};

use super::decode::HostEvent;
use super::report;
use super::table::{DocumentedKind, RuleMatch, Split, TopicRule, TopicTable, TopicTableError};
use super::template::{is_identifier, shorten, texts_at, value_at};
use crate::admission::IntakeOptions;

#[derive(Debug, Clone)]
pub struct EventMapper {
    table: TopicTable,
}

#[derive(Debug, Clone, PartialEq)]
pub enum MapOutcome {
    Mapped(MappedEvent),
    /// The table ignores its topic.
    Ignored {
        topic: String,
    },
    /// The table does not know its topic.
    Unknown {
        topic: String,
    },
    /// It should become a record but has no usable content.
    Malformed {
        topic: String,
        why: String,
    },
}

/// An event with the records that it became.
#[derive(Debug, Clone, PartialEq)]
pub struct MappedEvent {
    pub topic: String,
    /// The documented topic that it maps to.
    pub documented: String,
    /// At least one record, redacted, each with its external id in the namespace `event`.
    pub records: Vec<NewRecord>,
    /// Findings and learnings below the gate's thresholds.
    pub gated: u32,
    pub redacted: u32,
}

impl EventMapper {
    /// Creates a mapper with the given table.
    pub fn new(table: TopicTable) -> Self {
        Self { table }
    }

    pub fn load_builtin() -> Result<Self, TopicTableError> {
        TopicTable::load_builtin().map(Self::new)
    }

    /// Maps one event to its records. The same event always gives the same records.
    pub fn map_event(&self, event: &HostEvent) -> MapOutcome {
        let topic = event.event_type.clone();
        let (rule, name, documented) = match self.table.match_rule(&topic, &event.payload) {
            RuleMatch::Keep(rule, name, documented) => (rule, name, documented),
            RuleMatch::Ignore => return MapOutcome::Ignored { topic },
            RuleMatch::Unknown => return MapOutcome::Unknown { topic },
        };
        let (mut records, gated) = self.build_records(event, rule, documented);
        if records.is_empty() {
            if rule.optional || gated > 0 {
                return MapOutcome::Ignored { topic };
            }
            let why = format!(
                "event {} of `{topic}` holds no text to remember",
                event.event_id
            );
            return MapOutcome::Malformed { topic, why };
        }
        let (mut redacted, mut refused) = (0, String::new());
        records.retain_mut(|record| {
            match IntakeOptions::default().prepare_record(record, normalize_tags) {
                Ok(taken) => {
                    redacted += taken.redacted.len() as u32;
                    true
                }
                Err(why) => {
                    refused = format!("event {} of `{topic}`: {why}", event.event_id);
                    false
                }
            }
        });
        if records.is_empty() {
            return MapOutcome::Malformed {
                topic,
                why: refused,
            };
        }
        MapOutcome::Mapped(MappedEvent {
            topic,
            documented: name.to_owned(),
            records,
            gated,
            redacted,
        })
    }

    pub(super) fn find_approved_run(&self, event: &HostEvent) -> Option<String> {
        self.table
            .find_approved_run(&event.event_type, &event.payload)
    }

    fn build_records(
        &self,
        event: &HostEvent,
        rule: &TopicRule,
        documented: DocumentedKind,
    ) -> (Vec<NewRecord>, u32) {
        let base = self.build_base_record(event, documented);
        let build_single = |name, make: report::PartBuilder| {
            let part = value_at(&event.payload, &rule.part).unwrap_or(&Value::Null);
            report::build_single(part, (name, make), &base, &self.table.report)
        };
        match rule.split {
            None => (
                self.fill_text_from_templates(event, rule, base)
                    .into_iter()
                    .collect(),
                0,
            ),
            Some(Split::Report) => {
                let summary = self.fill_text_from_templates(event, rule, base.clone());
                report::build_report_records(&event.payload, summary, &base, &self.table.report)
            }
            Some(Split::Finding) => build_single("claim", report::build_finding),
            Some(Split::Learning) => build_single("insight", report::build_learning),
        }
    }

    fn fill_text_from_templates(
        &self,
        event: &HostEvent,
        rule: &TopicRule,
        mut record: NewRecord,
    ) -> Option<NewRecord> {
        let templates = rule.text.as_ref().unwrap_or(&self.table.text);
        let text = templates
            .iter()
            .find_map(|template| template.render(&event.payload))?;
        let text = match &rule.after {
            Some(marker) => match text.rsplit_once(marker.as_str()) {
                Some((_, kept)) if !kept.trim().is_empty() => kept.trim().to_owned(),
                _ => text,
            },
            None => text,
        };
        let (text, full_bytes) = shorten(text, self.table.text_bytes_max);
        if let Some(bytes) = full_bytes {
            record
                .metadata
                .insert("shortened_from_bytes".to_owned(), bytes.into());
        }
        record.text = text;
        Some(record)
    }

    /// Builds a record with everything but its text.
    fn build_base_record(&self, event: &HostEvent, documented: DocumentedKind) -> NewRecord {
        let run_id = self.find_run_id(event);
        let mut record = NewRecord::new("", documented.source, documented.kind);
        record.session_id = self.find_session_id(event, run_id.as_deref());
        record.timestamp = event.timestamp;
        record.metadata = self.collect_metadata(event);
        record.external_ids = vec![ExternalId::new(ExternalId::EVENT, &event.event_id)];
        record.provenance = Provenance {
            run_id,
            actor_id: (!event.actor_id.is_empty()).then(|| event.actor_id.clone()),
            source_refs: self.collect_source_refs(&event.payload),
        };
        record
    }

    fn find_run_id(&self, event: &HostEvent) -> Option<String> {
        let rules = &self.table.run;
        find_identifier(&event.payload, &rules.paths).or_else(|| {
            rules
                .actor_prefixes
                .iter()
                .find_map(|prefix| event.actor_id.strip_prefix(prefix.as_str()))
                .filter(|run| !run.is_empty())
                .map(str::to_owned)
        })
    }

    fn find_session_id(&self, event: &HostEvent, run_id: Option<&str>) -> String {
        let rules = &self.table.session;
        find_identifier(&event.payload, &rules.paths)
            .or_else(|| event.session_id.clone().filter(|s| is_identifier(s)))
            .or_else(|| run_id.map(|run| format!("{}{run}", rules.run_prefix)))
            .filter(|session| is_identifier(session))
            .unwrap_or_default()
    }

    fn collect_metadata(&self, event: &HostEvent) -> Map<String, Value> {
        let mut metadata = Map::new();
        metadata.insert("event_type".to_owned(), event.event_type.clone().into());
        if !event.user_id.is_empty() && is_identifier(&event.user_id) {
            metadata.insert("event_user_id".to_owned(), event.user_id.clone().into());
        }
        let mut bytes_left = METADATA_BYTES_MAX / 2;
        for path in &self.table.metadata {
            let Some(value) = value_at(&event.payload, path) else {
                continue;
            };
            let size = value.to_string().len();
            let empty = value.is_null() || value.as_str().is_some_and(str::is_empty);
            if empty || size > bytes_left {
                continue;
            }
            bytes_left -= size;
            let name = path.rsplit('.').next().unwrap_or(path);
            metadata
                .entry(name.to_owned())
                .or_insert_with(|| value.clone());
        }
        metadata
    }

    fn collect_source_refs(&self, payload: &Value) -> Vec<String> {
        let mut refs: Vec<String> = Vec::new();
        for path in &self.table.source_refs {
            for text in texts_at(payload, path) {
                if refs.len() < LIST_ITEMS_MAX && is_identifier(&text) && !refs.contains(&text) {
                    refs.push(text);
                }
            }
        }
        refs
    }
}

fn find_identifier(payload: &Value, paths: &[String]) -> Option<String> {
    paths
        .iter()
        .filter_map(|path| value_at(payload, path)?.as_str())
        .find(|text| is_identifier(text))
        .map(str::to_owned)
}
