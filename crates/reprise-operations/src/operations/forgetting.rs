//! What goes, and what of it comes back.

mod erasure;

use std::num::NonZeroUsize;

use reprise_engine::ForgetSelector;
use serde::Deserializer;
use serde::de::Error as _;

use crate::operations::records::no_whole_name_problem;
use crate::operations::sharing::ReceiptLog;
use crate::prelude::*;

/// Records of a dry run that are shown with their texts.
const SHOWN_MAX: usize = 100;

const WHATS: [&str; 7] = [
    "id",
    "ids",
    "external_id",
    "session",
    "before",
    "tag",
    "project",
];

/// The id of `--id`; another system's has an option of its own.
fn parse_own_id(text: &str) -> Result<RecordId, String> {
    let id = text.parse::<RecordId>();
    id.map_err(|_| {
        format!(
            "that is not an id that Reprise made (26 letters and digits); an external id is given \
             as `--external-id {text}`"
        )
    })
}

impl ForgetArguments {
    /// The selectors to try, in order: an external id may have come from the batch contract or from
    /// an event log.
    pub fn list_selectors(&self, calendar: &Calendar) -> Result<Vec<ForgetSelector>, String> {
        let named = [
            self.id.is_some(),
            !self.ids.is_empty(),
            self.external_id.is_some(),
            self.session.is_some(),
            self.before.is_some(),
            self.tag.is_some(),
            self.project.is_some(),
        ];
        if named.iter().filter(|is_named| **is_named).count() != 1 {
            return Err(
                "name one of id, ids, external_id, session, before, tag and project".to_owned(),
            );
        }
        Ok(if let Some(id) = self.id {
            vec![ForgetSelector::Id(id)]
        } else if !self.ids.is_empty() {
            vec![ForgetSelector::All(self.ids.clone())]
        } else if let Some(external) = &self.external_id {
            let all = ExternalId::CALLER_NAMESPACES.iter().flat_map(|space| {
                verbatim_and_redacted_names(external)
                    .map(|name| ForgetSelector::External(ExternalId::new(*space, name)))
            });
            all.collect()
        } else if let Some(session) = &self.session {
            verbatim_and_redacted_names(session)
                .map(ForgetSelector::Session)
                .into()
        } else if let Some(before) = &self.before {
            let before = calendar
                .parse_since(before)
                .map_err(|error| error.to_string())?;
            vec![ForgetSelector::Before(before)]
        } else if let Some(tag) = &self.tag {
            vec![ForgetSelector::Tag(vec![tag.clone()])]
        } else {
            let name = self.project.iter().cloned();
            name.map(ForgetSelector::Project).collect()
        })
    }
}

/// A name as it is, for what was kept verbatim, and as it is kept.
fn verbatim_and_redacted_names(name: &str) -> [String; 2] {
    [
        name.to_owned(),
        Redactor::new().redacted_name(name).into_owned(),
    ]
}

/// What was forgotten.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Forgotten {
    /// It was only asked: nothing was forgotten.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// With what was put behind them and distilled from them; may be nothing.
    pub forgotten: Vec<RecordId>,
    /// How many of them are earlier versions, which other counts of records leave out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub versions: Option<NonZeroUsize>,
    /// How the texts of the first hundred begin, where nothing was forgotten.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub texts: Vec<String>,
    /// What was published of them, which others still find.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<PublishedCopy>,
}

operation! {
    Spec::for_destroying(
        "forget",
        "Forget by id, by external id, a whole session, or everything before a time.",
    )
    .with_tool("forget", Profile::Full);
    /// What is to be forgotten: exactly one of the seven.
    #[derive(Default, clap::Args)]
    #[schemars(transform = schema_rules::require_exactly_one_non_blank(&WHATS))]
    #[group(skip)]
    #[command(group = clap::ArgGroup::new("what").required(true))]
    Forget(memory, arguments: ForgetArguments {
        /// Forget the memory with this id.
        #[arg(long, group = "what", value_parser = parse_own_id)]
        pub id: Option<RecordId> as RecordKey,
        /// Forget the memories with these ids.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[schemars(length(max = super::records::RECORDS_MAX))]
        #[arg(skip)]
        pub ids: Vec<RecordId> as RecordKey,
        /// Forget the memory with this external id.
        #[arg(long, group = "what")]
        pub external_id: Option<String> as RecordKey,
        /// Forget all memories of this session.
        #[arg(long, group = "what")]
        pub session | "session_id": Option<String> as SelectorKey,
        /// Forget everything before this time.
        #[arg(long, group = "what", value_name = "TIME")]
        pub before: Option<String> as TimeText,
        /// Forget all memories with this tag.
        #[arg(long, group = "what")]
        pub tag: Option<String> as SelectorName,
        /// Forget this project: tag `project:NAME`, or `project` in the metadata.
        #[arg(long, group = "what", value_name = "NAME")]
        pub project: Option<String> as SelectorName,
        /// Show what would be forgotten; change nothing.
        #[arg(long)]
        pub dry_run: bool,
        /// Reason, for the audit log.
        #[arg(long)]
        pub reason: Option<String> as LineText,
    }) -> Forgotten {
        let mut arguments = arguments;
        if let Some(session) = &mut arguments.session {
            // The beginning of a session's name is enough if no other session begins so.
            memory.resolve_session(session).await?;
        }
        let selectors = arguments.list_selectors(&memory.calendar());
        let mut selectors = selectors.map_err(Problem::invalid)?;
        for selector in &mut selectors {
            if let ForgetSelector::Tag(tags) = selector {
                *tags = memory.list_tag_spellings(tags);
            }
        }
        let now = memory.now();
        let reason = arguments.reason;
        if arguments.dry_run {
            let preview = move |memory: &Snapshot| {
                let mut would = selectors.iter().map(|one| memory.preview_forget(one));
                would.find(|would| !would.is_empty()).unwrap_or_default()
            };
            let would = memory.run_on_snapshot(preview).await?;
            return describe_preview(memory, would).await;
        }
        let reason = reason.unwrap_or_else(|| "asked for by a client".to_owned());
        let forget = move |engine: &mut Engine, request: Option<&ExternalId>| {
            for selector in &selectors {
                let gone = engine.forget_for_request(request, selector, &reason, now)?;
                if !gone.is_empty() {
                    return Ok(gone.iter().map(|gone| gone.id).collect());
                }
            }
            Ok(Vec::new())
        };
        forget_and_announce(memory, forget).await
    }

    fn effect(arguments: &ForgetArguments) -> Effect {
        if arguments.dry_run {
            return Effect::Reads;
        }
        Self::SPEC.effect
    }

    fn render_text(gone: &Forgotten) -> Cow<'_, str> {
        render_forgotten(gone).into()
    }
}

/// Renders how many memories are forgotten, and how many versions they have together.
fn render_forgotten(gone: &Forgotten) -> String {
    let all = gone.forgotten.len();
    let versions = gone.versions.map_or(0, NonZeroUsize::get);
    // Where nothing else goes, an earlier version is what was asked for.
    let records = if versions < all { all - versions } else { all };
    let count = format_count(records, "memory");
    let with = if records < all {
        [" (", &format_count(all, "version"), ")"].concat()
    } else {
        String::new()
    };
    let done = if gone.dry_run {
        "would be forgotten"
    } else {
        "forgotten"
    };
    let standing = PublishedCopy::render_lines(&gone.published);
    format!("{count}{with} {done}{standing}")
}

/// Describes what would be forgotten; texts are read without blocking the writer.
async fn describe_preview(memory: &Memory, would: Vec<RecordId>) -> Result<Forgotten, Problem> {
    let for_agent = memory.is_for_agent();
    let describe = move |memory: &Snapshot| {
        let names = RecordNames { memory, for_agent };
        let first = would.iter().take(SHOWN_MAX);
        Forgotten {
            dry_run: true,
            texts: first.map(|id| names.text_beginning(*id)).collect(),
            versions: count_earlier_versions(memory, &would),
            forgotten: would,
            published: Vec::new(),
        }
    };
    memory.run_on_snapshot(describe).await
}

/// How many of these are no record any more but an earlier version of one.
fn count_earlier_versions(memory: &Snapshot, ids: &[RecordId]) -> Option<NonZeroUsize> {
    let versions = ids.iter().filter(|id| !memory.is_live(**id));
    NonZeroUsize::new(versions.count())
}

/// Forgets by `forget`, which answers what is gone, and tells of it. To a request that comes again,
/// because its answer was lost, what it forgot the first time is told.
async fn forget_and_announce<F>(memory: &Memory, forget: F) -> Result<Forgotten, Problem>
where
    F: FnOnce(&mut Engine, Option<&ExternalId>) -> Result<Vec<RecordId>, EngineError>,
    F: Send + 'static,
{
    let span = operation_span("delete_memory", memory.user());
    let request = memory.name_within_request("forget");
    let forget = move |engine: &mut Engine| {
        // Its receipts may be among what goes.
        let before = engine.snapshot();
        let receipts = ReceiptLog::read(&before);
        let mut gone = forget(engine, request.as_ref())?;
        let versions = count_earlier_versions(&before, &gone);
        if let Some(request) = request.filter(|_| gone.is_empty()) {
            gone = engine.forgotten_by_request(&request)?;
        }
        Ok::<_, EngineError>((gone, versions, receipts))
    };
    let forgetting = memory.run_on_engine(forget).instrument(span.clone());
    let (forgotten, versions, receipts) = forgetting.await??;
    note_records_in_span(&span, forgotten.len(), forgotten.first().copied());
    if !forgotten.is_empty() {
        memory.announce_change("forgotten", forgotten.clone());
    }
    let standing = receipts.list_published_things_of(&forgotten).into_iter();
    Ok(Forgotten {
        published: standing
            .map(|id| PublishedCopy::new(id, memory.user()))
            .collect(),
        forgotten,
        versions,
        ..Forgotten::default()
    })
}

operation! {
    Spec::for_destroying(
        "delete",
        "Forget a memory and its earlier versions; no undo.",
    )
    .with_routes(&[(Method::Delete, "/v1/users/{user}/records/{id}")])
    .with_tool("delete", Profile::Default);
    /// Which memories, and why.
    #[derive(Default, clap::Args)]
    #[schemars(transform = schema_rules::require_any_non_blank(&["id", "ids"]))]
    Delete(memory, arguments: DeleteArguments {
        /// Its id, as `recall` shows it.
        #[arg(required = true)]
        pub id | "lesson_id": Option<String> as RecordKey,
        /// Several ids, in place of `id`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[schemars(length(max = super::records::RECORDS_MAX), extend("x-rare" = true))]
        #[arg(skip)]
        pub ids: Vec<String> as RecordKeys,
        /// Reason, for the audit log.
        #[schemars(extend("x-rare" = true))]
        #[arg(long)]
        pub reason: Option<String> as LineText,
        /// Show what would be forgotten; change nothing.
        #[schemars(extend("x-rare" = true))]
        #[arg(long)]
        pub dry_run: bool,
    }) -> Forgotten {
        let DeleteArguments { id, ids, reason, dry_run } = arguments;
        let names: Vec<String> = ids.into_iter().chain(id).collect();
        if names.iter().all(|name| name.trim().is_empty()) {
            return Err(Problem::invalid(
                "`id` is missing; give the id of the memory to forget, as `recall` and `list` \
                 show it",
            ));
        }
        let wanted = names.clone();
        if dry_run {
            let preview = move |memory: &Snapshot| {
                let selector = find_all_named(memory, &wanted)?;
                Ok::<_, Problem>(memory.preview_forget(&selector))
            };
            let would = memory.run_on_snapshot(preview).await??;
            return describe_preview(memory, would).await;
        }
        let now = memory.now();
        let reason = reason.unwrap_or_else(|| "asked for by a client".to_owned());
        let forget = move |engine: &mut Engine, request: Option<&ExternalId>| {
            let Ok(selector) = find_all_named(&engine.snapshot(), &wanted) else {
                return Ok(Vec::new());
            };
            let gone = engine.forget_for_request(request, &selector, &reason, now)?;
            Ok(gone.iter().map(|gone| gone.id).collect())
        };
        let gone = forget_and_announce(memory, forget).await?;
        if gone.forgotten.is_empty() {
            let why = move |memory: &Snapshot| find_all_named(memory, &names).err();
            let problem = memory.run_on_snapshot(why).await?;
            return Err(problem.unwrap_or_else(|| no_such_memory_problem("")));
        }
        Ok(gone)
    }

    fn effect(arguments: &DeleteArguments) -> Effect {
        if arguments.dry_run {
            return Effect::Reads;
        }
        Self::SPEC.effect
    }

    fn render_text(done: &Forgotten) -> Cow<'_, str> {
        render_forgotten(done).into()
    }
}

/// Finds the memories with these names, with all of their versions: without those that it
/// corrected, the one before would come back. A name that no memory has is an error.
fn find_all_named(memory: &Snapshot, names: &[String]) -> Result<ForgetSelector, Problem> {
    let mut all = Vec::with_capacity(names.len());
    for name in names {
        let one = find_record_id(memory, name).map(ForgetSelector::Record);
        let found = one.map(|one| (memory.preview_forget(&one), one));
        let found = found.filter(|(versions, _)| !versions.is_empty());
        all.push(found.ok_or_else(|| no_whole_name_problem(memory, name))?);
    }
    if names.len() == 1
        && let Some((_, one)) = all.pop()
    {
        return Ok(one);
    }
    let versions = all.into_iter().flat_map(|(versions, _)| versions);
    Ok(ForgetSelector::All(versions.collect()))
}

fn deserialize_whole_record<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<MemoryRecord, D::Error> {
    let said = Value::deserialize(deserializer)?;
    if !said.is_object() {
        return Err(D::Error::custom(
            "memory no longer has what was forgotten; give the whole record as `get` answered it, \
             and no id",
        ));
    }
    serde_json::from_value(said).map_err(D::Error::custom)
}

/// What was kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Kept")]
pub struct UnforgetReport {
    /// Its id: another one than before.
    pub id: RecordId,
}

operation! {
    Spec::for_adding(
        "unforget",
        "Keep a forgotten record again, under an id of its own.",
    )
    .with_machine_callers_only();
    /// What was forgotten.
    Unforget(memory, asked: UnforgetArguments {
        /// The whole record, as it was shown.
        #[serde(deserialize_with = "deserialize_whole_record")]
        #[schemars(with = "BTreeMap<String, Value>")]
        pub record: MemoryRecord as RedactedLater,
    }) -> UnforgetReport {
        // Its external ids stay spent: whatever brought it must not bring it twice.
        let mut new = asked.record.into_new_record();
        Redactor::new().redact_record(&mut new.body);
        new.external_ids.clear();
        new.supersedes = None;
        new.embedding = None;
        let id = memory.with_verbatim_texts()?.store_new(new).await?;
        Ok(UnforgetReport { id })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_alone_is_refused_in_plain_words() {
        let asked = json!({ "record": "01M0000000000000000000000A" });
        let said = serde_json::from_value::<UnforgetArguments>(asked).unwrap_err();
        let said = said.to_string();
        assert!(said.contains("give the whole record"), "{said}");
        assert!(!said.contains("struct"), "{said}");
    }
}

/// It is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Released {
    /// Always.
    pub released: bool,
}

operation! {
    Spec::for_adding(
        "release",
        "Close the file for another program; the next request opens it again.",
    )
    .with_machine_callers_only();
    Release(memory, _: NoArguments) -> Released {
        memory.all_memories().service().release_file(memory.user()).await?;
        Ok(Released { released: true })
    }
}
