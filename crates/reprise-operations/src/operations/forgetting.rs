//! What goes, and what of it comes back.

use std::num::NonZeroUsize;

use reprise_engine::ForgetSelector;
use serde::Deserializer;
use serde::de::Error as _;

use crate::memories::{Receipts, span, span_records};
use crate::prelude::*;

/// Records of a dry run that are shown with their texts.
const SHOWN_MAX: usize = 100;

const WHATS: [&str; 6] = ["id", "external_id", "session", "before", "tag", "project"];

/// The id of `--id`; another system's has an option of its own.
fn own_id(text: &str) -> Result<RecordId, String> {
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
    pub fn selectors(&self, calendar: &Calendar) -> Result<Vec<ForgetSelector>, String> {
        let named = [
            self.id.is_some(),
            self.external_id.is_some(),
            self.session.is_some(),
            self.before.is_some(),
            self.tag.is_some(),
            self.project.is_some(),
        ];
        if named.iter().filter(|is_named| **is_named).count() != 1 {
            return Err("name one of id, external_id, session, before, tag and project".to_owned());
        }
        Ok(if let Some(id) = self.id {
            vec![ForgetSelector::Id(id)]
        } else if let Some(external) = &self.external_id {
            let all = ExternalId::NAMED.iter().flat_map(|space| {
                names(external).map(|name| ForgetSelector::External(ExternalId::new(*space, name)))
            });
            all.collect()
        } else if let Some(session) = &self.session {
            names(session).map(ForgetSelector::Session).into()
        } else if let Some(before) = &self.before {
            let before = calendar.since(before).map_err(|error| error.to_string())?;
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
fn names(name: &str) -> [String; 2] {
    [name.to_owned(), Redactor::new().name_of(name).into_owned()]
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
    pub published: Vec<Standing>,
}

operation! {
    Spec::destroys(
        "forget",
        "Forget by id, by external id, a whole session, or all before a time.",
    )
    .tool("forget", Profile::Full);
    /// What is to be forgotten: exactly one of the six.
    #[derive(Default, clap::Args)]
    #[schemars(transform = asks::only_one_of(&WHATS))]
    #[group(skip)]
    #[command(group = clap::ArgGroup::new("what").required(true))]
    Forget(memory, arguments: ForgetArguments {
        /// The record with this id.
        #[arg(long, group = "what", value_parser = own_id)]
        pub id: Option<RecordId>,
        /// The record with this external id.
        #[arg(long, group = "what")]
        pub external_id: Option<String>,
        /// All records of this session.
        #[serde(alias = "session_id")]
        #[arg(long, group = "what")]
        pub session: Option<String>,
        /// All that happened before this instant.
        #[arg(long, group = "what", value_name = "TIME")]
        pub before: Option<String>,
        /// All that have this tag.
        #[arg(long, group = "what")]
        pub tag: Option<String>,
        /// All of this project: tagged `project:NAME`, or `project` in the metadata.
        #[arg(long, group = "what", value_name = "NAME")]
        pub project: Option<String>,
        /// Only say what would be forgotten.
        #[arg(long)]
        pub dry_run: bool,
        /// Why; the audit stub keeps it.
        #[arg(long)]
        pub reason: Option<String>,
    }) -> Forgotten {
        let selectors = arguments.selectors(&memory.calendar());
        let mut selectors = selectors.map_err(Problem::invalid)?;
        for selector in &mut selectors {
            if let ForgetSelector::Tag(tags) = selector {
                *tags = memory.spellings(tags);
            }
        }
        let now = memory.now();
        let reason = arguments.reason;
        if arguments.dry_run {
            let preview = move |engine: &mut Engine| {
                let mut would = selectors.iter().map(|one| engine.would_forget(one));
                would.find(|would| !would.is_empty()).unwrap_or_default()
            };
            let forgotten = memory.with_engine(preview).await?;
            // Texts are read beside the writer.
            let for_agent = memory.is_for_agent();
            let shown = move |memory: &Snapshot| {
                let names = Names { memory, for_agent };
                let first = forgotten.iter().take(SHOWN_MAX);
                Forgotten {
                    dry_run: true,
                    texts: first.map(|id| names.beginning(*id)).collect(),
                    versions: versions_of(memory, &forgotten),
                    forgotten,
                    published: Vec::new(),
                }
            };
            return memory.read(shown).await;
        }
        let reason = reason.unwrap_or_else(|| "asked for by a client".to_owned());
        let forget = move |engine: &mut Engine, request: Option<&ExternalId>| {
            for selector in &selectors {
                let gone = engine.forget_for(request, selector, &reason, now)?;
                if !gone.is_empty() {
                    return Ok(gone.iter().map(|gone| gone.id).collect());
                }
            }
            Ok(Vec::new())
        };
        forgotten(memory, forget).await
    }

    fn effect(arguments: &ForgetArguments) -> Effect {
        if arguments.dry_run {
            return Effect::Reads;
        }
        Self::SPEC.effect
    }

    fn text(gone: &Forgotten) -> Cow<'_, str> {
        let all = gone.forgotten.len();
        let versions = gone.versions.map_or(0, NonZeroUsize::get);
        // Where nothing else goes, an earlier version is what was asked for.
        let records = if versions < all { all - versions } else { all };
        let count = counted(records, "record");
        let done = if gone.dry_run {
            "would be forgotten"
        } else {
            "forgotten"
        };
        let with = if records < all {
            format!(", {all} with their earlier versions")
        } else {
            String::new()
        };
        format!("{count} {done}{with}{}", Standing::lines(&gone.published)).into()
    }
}

/// How many of these are no record any more but an earlier version of one.
fn versions_of(memory: &Snapshot, ids: &[RecordId]) -> Option<NonZeroUsize> {
    let versions = ids.iter().filter(|id| !memory.is_live(**id));
    NonZeroUsize::new(versions.count())
}

/// Forgets by `forget`, which answers what is gone, and tells of it. To a request that comes again,
/// because its answer was lost, what it forgot the first time is told.
pub(super) async fn forgotten<F>(memory: &Memory, forget: F) -> Result<Forgotten, Problem>
where
    F: FnOnce(&mut Engine, Option<&ExternalId>) -> Result<Vec<RecordId>, EngineError>,
    F: Send + 'static,
{
    let span = span("delete_memory", memory.user());
    let request = memory.request_name("forget");
    let forget = move |engine: &mut Engine| {
        // Its receipts may be among what goes.
        let before = engine.snapshot();
        let receipts = Receipts::read(&before);
        let mut gone = forget(engine, request.as_ref())?;
        let versions = versions_of(&before, &gone);
        if let Some(request) = request.filter(|_| gone.is_empty()) {
            gone = engine.forgotten_for(&request)?;
        }
        Ok::<_, EngineError>((gone, versions, receipts))
    };
    let forgetting = memory.with_engine(forget).instrument(span.clone());
    let (forgotten, versions, receipts) = forgetting.await??;
    span_records(&span, forgotten.len(), forgotten.first().copied());
    if !forgotten.is_empty() {
        memory.tell("forgotten", forgotten.clone());
    }
    let standing = receipts.standing_of(&forgotten).into_iter();
    Ok(Forgotten {
        published: standing
            .map(|id| Standing::new(id, memory.user()))
            .collect(),
        forgotten,
        versions,
        ..Forgotten::default()
    })
}

operation! {
    Spec::destroys(
        "delete",
        "Forget a record and its earlier versions, for good.",
    )
    .at(&[(Method::Delete, "/v1/users/{user}/records/{id}")])
    .tool("delete", Profile::Default);
    /// Which record, and why.
    #[derive(clap::Args)]
    Delete(memory, arguments: DeleteArguments {
        /// A record's id.
        #[serde(alias = "lesson_id")]
        pub id: String,
        /// Why.
        #[schemars(extend("x-rare" = true))]
        #[arg(long)]
        pub reason: Option<String>,
    }) -> Forgotten {
        // Without the versions that it corrected the one before would come back.
        let DeleteArguments { id: name, reason } = arguments;
        let now = memory.now();
        let reason = reason.unwrap_or_else(|| "asked for by a client".to_owned());
        let wanted = name.clone();
        let forget = move |engine: &mut Engine, request: Option<&ExternalId>| {
            let Some(id) = resolve(engine, &wanted) else {
                return Ok(Vec::new());
            };
            let selector = ForgetSelector::Record(id);
            let gone = engine.forget_for(request, &selector, &reason, now)?;
            Ok(gone.iter().map(|gone| gone.id).collect())
        };
        let gone = forgotten(memory, forget).await?;
        if gone.forgotten.is_empty() {
            return Err(missing(&name));
        }
        Ok(gone)
    }

    fn text(done: &Forgotten) -> Cow<'_, str> {
        let count = counted(done.forgotten.len(), "version");
        let standing = Standing::lines(&done.published);
        format!("{count} deleted{standing}").into()
    }
}

fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<MemoryRecord, D::Error> {
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
pub struct Kept {
    /// Its id: another one than before.
    pub id: RecordId,
}

operation! {
    Spec::adds(
        "unforget",
        "Keep a forgotten record again, under an id of its own.",
    )
    .for_machine();
    /// What was forgotten.
    Unforget(memory, asked: UnforgetArguments {
        /// The whole record, as it was shown.
        #[serde(deserialize_with = "whole")]
        #[schemars(with = "BTreeMap<String, Value>")]
        pub record: MemoryRecord,
    }) -> Kept {
        // Its external ids stay spent: whatever brought it must not bring it twice.
        let mut new = asked.record.into_new();
        new.external_ids.clear();
        new.supersedes = None;
        new.embedding = None;
        let id = memory.verbatim()?.keep_new(new).await?;
        Ok(Kept { id })
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
    Spec::adds(
        "release",
        "Close the file for another program; the next request opens it again.",
    )
    .for_machine();
    Release(memory, _: NoArguments) -> Released {
        memory.all().service().release(memory.user()).await?;
        Ok(Released { released: true })
    }
}
