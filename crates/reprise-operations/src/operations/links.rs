//! Links between records, and where they lead.

pub mod graph;
pub mod landscape;

use std::num::NonZeroUsize;

use crate::operations::records::{get_live_record_id, hide_sensitive};
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
    Spec::for_adding("link", "Link two memories by a relation, which `related` follows.").with_tool("link", Profile::Default);
    /// Which records, and how they are related.
    #[derive(clap::Args)]
    Link(memory, arguments: LinkArguments {
        /// Id where the link begins.
        pub from | "from_id": String as RecordKey,
        /// Id to which the link leads.
        pub to | "to_id": String as RecordKey,
        /// What `from` does or is to `to`, as one word: `supports`, `contradicts`, `derived_from`,
        /// `part_of` or your own [default: `related_to`].
        #[arg(long)]
        pub relation: Option<String> as NameText,
    }) -> Linked {
        let now = memory.now();
        let relation = arguments.relation;
        let relation = relation.unwrap_or_else(|| RELATION_DEFAULT.to_owned());
        let names = [arguments.from, arguments.to];
        let link = move |engine: &mut Engine| -> Result<_, Problem> {
            let snapshot = engine.snapshot();
            let [from, to] = names.map(|name| get_live_record_id(&snapshot, &name));
            let (from, to) = (from?, to?);
            if from == to {
                return Err(Problem::invalid(
                    "both names are the same memory; link it to another one",
                ));
            }
            Ok((from, to, engine.link(from, to, &relation, now)?))
        };
        let (from, to, linked) = memory.run_on_engine(link).await??;
        if linked {
            memory.announce_change("linked", vec![from, to]);
        }
        Ok(Linked { linked })
    }

    fn render_text(done: &Linked) -> Cow<'_, str> {
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
    Spec::for_destroying("unlink", "Remove a link between two memories.");
    /// Which link.
    Unlink(memory, arguments: UnlinkArguments {
        /// The record that it leads from.
        pub from: String as RecordKey,
        /// The record that it leads to.
        pub to: String as RecordKey,
        /// How they were related.
        pub relation: String as NameText,
    }) -> Unlinked {
        let (now, relation) = (memory.now(), arguments.relation);
        let names = [arguments.from, arguments.to];
        let unlink = move |engine: &mut Engine| -> Result<_, Problem> {
            let snapshot = engine.snapshot();
            let [from, to] = names.map(|name| get_live_record_id(&snapshot, &name));
            let (from, to) = (from?, to?);
            Ok((from, to, engine.unlink(from, to, &relation, now)?))
        };
        let (from, to, unlinked) = memory.run_on_engine(unlink).await??;
        if unlinked {
            memory.announce_change("unlinked", vec![from, to]);
        }
        Ok(Unlinked { unlinked })
    }
}

/// Most links of one request.
const LINKS_MAX: usize = 10_000;

arguments! {
    /// A link of two records.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    pub struct NamedLink {
        /// Where it begins.
        pub from: ExternalId as RecordKey,
        /// Where it leads.
        pub to: ExternalId as RecordKey,
        /// In one word.
        pub relation: String as NameText,
    }
}

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LinkedMany {
    /// Links that are new; one with an end that is not there is none.
    pub linked: usize,
}

operation! {
    Spec::for_adding(
        "link_many",
        "Connect many records at once, by the names that they have in other systems.",
    )
    .with_routes(&[(Method::Post, "/v1/users/{user}/links")]);
    /// The links.
    #[derive(Default)]
    LinkMany(memory, arguments: LinkManyArguments {
        /// Each by the names of its two ends.
        #[schemars(length(max = LINKS_MAX))]
        pub links: Vec<NamedLink>,
    }) -> LinkedMany {
        let (now, links) = (memory.now(), arguments.links);
        let link = move |engine: &mut Engine| -> Result<_, Problem> {
            let ends = resolve_ends(&engine.snapshot(), links);
            let new = engine.link_all(&ends, now)?;
            let new = ends.into_iter().zip(new).filter(|(_, new)| *new);
            Ok(new.map(|((from, ..), _)| from).collect::<Vec<_>>())
        };
        let linked = memory.run_on_engine(link).await??;
        let count = linked.len();
        if count > 0 {
            memory.announce_change("linked", linked);
        }
        Ok(LinkedMany { linked: count })
    }

    fn render_text(done: &LinkedMany) -> Cow<'_, str> {
        format!("{} new links", done.linked).into()
    }
}

/// The present ends of links, where both are there; relations without secrets.
pub fn resolve_ends(memory: &Snapshot, links: Vec<NamedLink>) -> Vec<(RecordId, RecordId, String)> {
    let redactor = Redactor::new();
    // A name with a secret is kept without it.
    let as_kept = |name: &ExternalId| {
        let id = redactor.redacted_name(&name.id).into_owned();
        memory.find_by_external_id(&ExternalId { id, ..name.clone() })
    };
    let held = |name: &ExternalId| {
        let found = memory.find_by_external_id(name).or_else(|| as_kept(name));
        memory.current_version(found?)
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
    pub related: Vec<NeighbourRecord>,
    /// Memories that lead to it, if it leads to none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incoming: Option<NonZeroUsize>,
}

/// A record that was reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Neighbour")]
pub struct NeighbourRecord {
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
    Spec::for_reading("related", "Follow the links of a memory to others, nearest first.").with_tool("related", Profile::Default);
    /// Where to begin, and how far to go.
    #[derive(Default, clap::Args)]
    Related(memory, arguments: RelatedArguments {
        /// Id of the memory to begin at.
        pub id | "lesson_id": String as RecordKey,
        /// Maximum number of links to follow [default: 2; at most 5].
        #[schemars(extend("x-rare" = true))]
        #[arg(long)]
        pub depth: Option<usize> as ItemCount,
        /// Maximum number of results [default: 20].
        #[schemars(extend("x-rare" = true))]
        #[arg(long)]
        pub limit: Option<usize> as LimitCount,
        /// Direction of the links: `in`, `out` or `both` [default: `out`, or `in` if none leads
        /// away].
        #[schemars(extend("x-rare" = true))]
        #[arg(long, value_enum)]
        pub direction: Option<Direction>,
        /// Follow only these relations.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[schemars(extend("x-rare" = true))]
        #[arg(long = "relation")]
        pub relations: Vec<String> as LineText,
    }) -> Neighbours {
        let id = memory.get_record(&arguments.id).await?.id;
        let depth = arguments.depth.unwrap_or(DEPTH_DEFAULT).min(DEPTH_MAX);
        let limit = arguments.limit.unwrap_or(LIMIT_DEFAULT);
        let asked = arguments.direction;
        let relations = normalize_tags(&arguments.relations);
        let is_wanted = move |relation: &str| {
            relations.is_empty() || relations.iter().any(|own| own == relation)
        };
        let for_agent = memory.is_for_agent();
        let found = memory.run_on_snapshot(move |memory| {
            let list = |direction: Direction| {
                let follows = |relation: &str, outgoing: bool| {
                    let way = match direction {
                        Direction::Out => outgoing,
                        Direction::In => !outgoing,
                        Direction::Both => true,
                    };
                    way && is_wanted(relation)
                };
                let related = memory.related_filtered(id, depth, limit, follows).into_iter();
                let named = related.filter_map(|related| {
                    let link = related.link;
                    let record = memory.get(link.record)?.ok()?;
                    Some(NeighbourRecord {
                        id: link.record,
                        title: hide_sensitive(for_agent, &record, title_or_beginning(&record)),
                        relation: link.relation,
                        outgoing: link.outgoing,
                        depth: related.depth,
                        via: related.via,
                        record_type: Some(record.record_type()),
                    })
                });
                named.collect::<Vec<_>>()
            };
            let mut related = list(asked.unwrap_or_default());
            if related.is_empty() && asked.is_none() {
                related = list(Direction::In);
            }
            let leads_here = |relation: &str, outgoing: bool| !outgoing && is_wanted(relation);
            let incoming = if related.is_empty() && asked == Some(Direction::Out) {
                NonZeroUsize::new(memory.related_filtered(id, 1, limit, leads_here).len())
            } else {
                None
            };
            Neighbours { related, incoming }
        });
        found.await
    }

    fn render_text(found: &Neighbours) -> Cow<'_, str> {
        let mut memory = QuotedMemory::new(system_entropy());
        for one in &found.related {
            let side = if one.outgoing { "to" } else { "from" };
            let label = format!("- {side} {} ", one.id);
            memory.add_line(&label, &[&one.relation, ": ", &one.title].concat());
        }
        let hint = found.incoming.map_or_else(String::new, |count| {
            let lead = if count.get() == 1 { "leads" } else { "lead" };
            let count = format_count(count.get(), "memory");
            format!("{count} {lead} to it: ask with `direction` `in` or `both`\n")
        });
        format!("{} related\n{hint}{}", found.related.len(), memory.into_text()).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hint_at_memories_that_lead_here_agrees_with_their_number() {
        let hint = |count| {
            let related = Vec::new();
            let incoming = NonZeroUsize::new(count);
            Related::render_text(&Neighbours { related, incoming }).into_owned()
        };
        assert!(hint(1).contains("1 memory leads to it"), "{}", hint(1));
        assert!(hint(2).contains("2 memories lead to it"), "{}", hint(2));
    }
}
