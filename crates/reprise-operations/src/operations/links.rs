//! Links between records, and where they lead.

use crate::memories::{live, told_of};
use crate::prelude::*;

/// The relation of a link where the caller does not say.
const RELATION_DEFAULT: &str = "related_to";

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Linked {
    /// Whether the link is new.
    pub linked: bool,
}

operation! {
    Spec::adds("link", "Connect two records.").tool("link", Profile::Default);
    /// Which records, and how they are related.
    #[derive(clap::Args)]
    Link(memory, arguments: LinkArguments {
        /// A record's id.
        #[serde(alias = "from_id")]
        pub from: String,
        /// Another's.
        #[serde(alias = "to_id")]
        pub to: String,
        /// Such as `derived_from`, `contradicts`.
        #[arg(long)]
        pub relation: Option<String>,
    }) -> Linked {
        let now = memory.now();
        let relation = arguments.relation;
        let relation = relation.unwrap_or_else(|| RELATION_DEFAULT.to_owned());
        let names = [arguments.from, arguments.to];
        let link = move |engine: &mut Engine| -> Result<_, Problem> {
            let [from, to] = names.map(|name| live(engine, &name));
            let (from, to) = (from?, to?);
            if from == to {
                return Err(Problem::invalid(
                    "both names lead to one record; link it to another one",
                ));
            }
            Ok((from, to, engine.link(from, to, &relation, now)?))
        };
        let (from, to, linked) = memory.with_engine(link).await??;
        if linked {
            memory.tell("linked", vec![from, to]);
        }
        Ok(Linked { linked })
    }

    fn text(done: &Linked) -> Cow<'_, str> {
        let new = if done.linked {
            "linked"
        } else {
            "they were linked so already"
        };
        new.into()
    }
}

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unlinked {
    /// Whether there was such a link.
    pub unlinked: bool,
}

operation! {
    Spec::destroys("unlink", "Take a link between two records back.");
    /// Which link.
    Unlink(memory, arguments: UnlinkArguments {
        /// The record that it leads from.
        pub from: String,
        /// The record that it leads to.
        pub to: String,
        /// How they were related.
        pub relation: String,
    }) -> Unlinked {
        let (now, relation) = (memory.now(), arguments.relation);
        let names = [arguments.from, arguments.to];
        let unlink = move |engine: &mut Engine| -> Result<_, Problem> {
            let [from, to] = names.map(|name| live(engine, &name));
            let (from, to) = (from?, to?);
            Ok((from, to, engine.unlink(from, to, &relation, now)?))
        };
        let (from, to, unlinked) = memory.with_engine(unlink).await??;
        if unlinked {
            memory.tell("unlinked", vec![from, to]);
        }
        Ok(Unlinked { unlinked })
    }
}

/// Most links of one request.
const LINKS_MAX: usize = 10_000;

/// A link of two records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NamedLink {
    /// Where it begins.
    pub from: ExternalId,
    /// Where it leads.
    pub to: ExternalId,
    /// In one word.
    pub relation: String,
}

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LinkedMany {
    /// Links that are new; one with an end that is not there is none.
    pub linked: usize,
}

operation! {
    Spec::adds(
        "link_many",
        "Connect many records at once, by the names that they have in other systems.",
    )
    .at(&[(Method::Post, "/v1/users/{user}/links")]);
    /// The links.
    #[derive(Default)]
    LinkMany(memory, arguments: LinkManyArguments {
        /// Each by the names of its two ends.
        #[schemars(length(max = LINKS_MAX))]
        pub links: Vec<NamedLink>,
    }) -> LinkedMany {
        let (now, links) = (memory.now(), arguments.links);
        let link = move |engine: &mut Engine| -> Result<_, Problem> {
            let ends = named_ends(engine, links);
            let new = engine.link_all(&ends, now)?;
            let new = ends.into_iter().zip(new).filter(|(_, new)| *new);
            Ok(new.map(|((from, ..), _)| from).collect::<Vec<_>>())
        };
        let linked = memory.with_engine(link).await??;
        let count = linked.len();
        if count > 0 {
            memory.tell("linked", linked);
        }
        Ok(LinkedMany { linked: count })
    }

    fn text(done: &LinkedMany) -> Cow<'_, str> {
        format!("{} new links", done.linked).into()
    }
}

/// The present ends of links, where both are there; relations without secrets.
pub fn named_ends(engine: &Engine, links: Vec<NamedLink>) -> Vec<(RecordId, RecordId, String)> {
    let memory = engine.snapshot();
    let redactor = Redactor::new();
    // A name with a secret is kept without it.
    let as_kept = |name: &ExternalId| {
        let id = redactor.name_of(&name.id).into_owned();
        engine.duplicate_of(&ExternalId { id, ..name.clone() })
    };
    let held = |name: &ExternalId| {
        let found = engine.duplicate_of(name).or_else(|| as_kept(name));
        memory.current(found?)
    };
    let ends = links.into_iter().filter_map(|link| {
        let (from, to) = held(&link.from).zip(held(&link.to))?;
        let relation = redactor.redact_text(&link.relation).text;
        Some((from, to, relation))
    });
    ends.collect()
}

/// Links to walk where the caller does not say, and at most.
const DEPTH_DEFAULT: usize = 2;
const DEPTH_MAX: usize = 5;
/// Records of one walk where the caller does not say.
const LIMIT_DEFAULT: usize = 20;

/// Which links of a record are taken.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, clap::ValueEnum,
)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Those that lead away from it.
    #[default]
    Out,
    /// Those that lead to it.
    In,
    /// All.
    Both,
}

/// What was reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Neighbours {
    /// Nearest first.
    pub related: Vec<Neighbour>,
}

/// A record that was reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Neighbour {
    /// Its id.
    pub id: RecordId,
    /// The line that names it.
    pub title: String,
    /// How it is related to the record before it.
    pub relation: String,
    /// Whether the link leads to it.
    pub outgoing: bool,
    /// Links between it and the record asked about.
    pub depth: usize,
    /// The record before it.
    pub via: RecordId,
    /// What it is.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub record_type: Option<RecordType>,
}

operation! {
    Spec::reads("related", "Walk the links of a record.").tool("related", Profile::Default);
    /// Where to begin, and how far to go.
    #[derive(Default, clap::Args)]
    Related(memory, arguments: RelatedArguments {
        /// A record's id.
        #[serde(alias = "lesson_id")]
        pub id: String,
        /// Links to walk; 2 by default, 5 at most.
        #[schemars(extend("x-rare" = true))]
        #[arg(long)]
        pub depth: Option<usize>,
        /// Most results; 20 by default.
        #[schemars(extend("x-rare" = true))]
        #[arg(long)]
        pub limit: Option<usize>,
        /// Which links to take: `out`, the default, `in` or `both`.
        #[schemars(extend("x-rare" = true))]
        #[arg(long, value_enum)]
        pub direction: Option<Direction>,
        /// Only links of these relations.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[schemars(extend("x-rare" = true))]
        #[arg(long = "relation")]
        pub relations: Vec<String>,
    }) -> Neighbours {
        let id = memory.record(&arguments.id).await?.id;
        let depth = arguments.depth.unwrap_or(DEPTH_DEFAULT).min(DEPTH_MAX);
        let limit = arguments.limit.unwrap_or(LIMIT_DEFAULT);
        let direction = arguments.direction.unwrap_or_default();
        let relations = normal_tags(&arguments.relations);
        let follows = move |relation: &str, outgoing: bool| {
            let way = match direction {
                Direction::Out => outgoing,
                Direction::In => !outgoing,
                Direction::Both => true,
            };
            way && (relations.is_empty() || relations.iter().any(|own| own == relation))
        };
        let for_agent = memory.is_for_agent();
        let related = memory.read(move |memory| {
            let related = memory.related_by(id, depth, limit, follows).into_iter();
            let named = related.filter_map(|related| {
                let link = related.link;
                let record = memory.get(link.record)?.ok()?;
                Some(Neighbour {
                    id: link.record,
                    title: told_of(for_agent, &record, title_of(&record)),
                    relation: link.relation,
                    outgoing: link.outgoing,
                    depth: related.depth,
                    via: related.via,
                    record_type: Some(record.record_type()),
                })
            });
            named.collect()
        });
        let related = related.await?;
        Ok(Neighbours { related })
    }

    fn text(found: &Neighbours) -> Cow<'_, str> {
        let mut memory = QuotedMemory::new(system_entropy());
        for one in &found.related {
            let side = if one.outgoing { "to" } else { "from" };
            let label = format!("- {side} {} ", one.id);
            memory.line(&label, &[&one.relation, ": ", &one.title].concat());
        }
        format!("{} related\n{}", found.related.len(), memory.into_text()).into()
    }
}
