//! The links as a whole: ways, clusters, bridges.

use reprise_knowledge::Graph;

use crate::memories::told_of;
use crate::prelude::*;

/// A shortest way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Way {
    /// Whether there is one.
    pub connected: bool,
    /// Where it begins.
    pub from: RecordId,
    /// Each link on it, in order.
    pub steps: Vec<WayStep>,
}

/// One link on the way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WayStep {
    /// The record that is reached.
    pub id: RecordId,
    /// The line that names it.
    pub title: String,
    /// How it is related to the record before it.
    pub relation: String,
    /// Whether the link leads to it.
    pub outgoing: bool,
}

operation! {
    Spec::reads("path", "How two records are connected, link by link.").tool("path", Profile::Full);
    /// The two ends.
    #[derive(Default, clap::Args)]
    Path(memory, arguments: PathArguments {
        /// A record's id.
        #[serde(alias = "from_id")]
        pub from: String,
        /// Another's.
        #[serde(alias = "to_id")]
        pub to: String,
    }) -> Way {
        let from = memory.record(&arguments.from).await?.id;
        let to = memory.record(&arguments.to).await?.id;
        let for_agent = memory.is_for_agent();
        let way = memory.read(move |memory| way(&Names { memory, for_agent }, from, to));
        way.await
    }

    fn text(way: &Way) -> Cow<'_, str> {
        if !way.connected {
            return "no links lead from one to the other".into();
        }
        let mut quoted = QuotedMemory::new(system_entropy());
        for step in &way.steps {
            let side = if step.outgoing { "to" } else { "from" };
            let label = format!("- {side} {} ", step.id);
            quoted.line(&label, &[&step.relation, ": ", &step.title].concat());
        }
        let count = counted(way.steps.len(), "link");
        format!("{count}\n{}", quoted.into_text()).into()
    }
}

fn way(names: &Names<'_>, from: RecordId, to: RecordId) -> Way {
    let found = Graph::of(names.memory).path(from, to);
    let found = found.or_else(|| (from == to).then(Vec::new));
    let connected = found.is_some();
    let steps = found.into_iter().flatten().map(|step| WayStep {
        id: step.record,
        title: titled(names, step.record),
        relation: step.relation,
        outgoing: step.outgoing,
    });
    Way {
        connected,
        from,
        steps: steps.collect(),
    }
}

/// The line that names a record.
fn titled(names: &Names<'_>, id: RecordId) -> String {
    let record = names.memory.get(id).and_then(Result::ok);
    let title = record.map(|record| told_of(names.for_agent, &record, title_of(&record)));
    title.unwrap_or_default()
}

const DEPTH_DEFAULT: usize = 2;
const CLUSTERS_DEFAULT: usize = 20;
/// Records of one cluster that are named.
const NAMED_MAX: usize = 20;
/// Tags of one cluster that are named.
const TAGS_MAX: usize = 5;

/// What belongs together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Clusters {
    /// The largest first; one where a record was named.
    pub clusters: Vec<Cluster>,
}

/// Records that belong together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cluster {
    /// The one with the most links inside, or the one that was named.
    pub centre: RecordId,
    /// The line that names it.
    pub title: String,
    /// Records in it.
    pub size: usize,
    /// Tags that most of them have.
    pub tags: Vec<String>,
    /// At most twenty of them, or as many as were asked for around one.
    pub records: Vec<Named>,
    /// The links among those.
    pub links: Vec<Tie>,
}

/// A record of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Named {
    /// Its id.
    pub id: RecordId,
    /// The line that names it.
    pub title: String,
}

/// A link within a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tie {
    /// Where it begins.
    pub from: RecordId,
    /// Where it leads.
    pub to: RecordId,
    /// How they are related.
    pub relation: String,
}

operation! {
    Spec::reads(
        "cluster",
        "What belongs together by its links: around a record, or all over memory.",
    )
    .tool("cluster", Profile::Full);
    /// Around what.
    #[derive(Default, clap::Args)]
    ClusterOf(memory, arguments: ClusterArguments {
        /// A record's id; without it all clusters are shown.
        pub id: Option<String>,
        /// Links to walk from it; 2 by default.
        #[arg(long)]
        pub depth: Option<usize>,
        /// Most records around one, or most clusters; 20 by default.
        #[arg(long)]
        pub limit: Option<usize>,
    }) -> Clusters {
        let limit = arguments.limit.unwrap_or(CLUSTERS_DEFAULT);
        let for_agent = memory.is_for_agent();
        let Some(name) = &arguments.id else {
            let all = memory.read(move |memory| everywhere(&Names { memory, for_agent }, limit));
            return Ok(Clusters {
                clusters: all.await?,
            });
        };
        let id = memory.record(name).await?.id;
        let depth = arguments.depth.unwrap_or(DEPTH_DEFAULT);
        let around = memory.read(move |memory| {
            let near = memory.related(id, depth, limit).into_iter();
            let records: Vec<RecordId> = std::iter::once(id)
                .chain(near.map(|one| one.link.record))
                .collect();
            let names = Names { memory, for_agent };
            cluster(&names, &Graph::of(memory), id, &records, records.len())
        });
        Ok(Clusters {
            clusters: vec![around.await?],
        })
    }

    fn text(found: &Clusters) -> Cow<'_, str> {
        let mut quoted = QuotedMemory::new(system_entropy());
        for cluster in &found.clusters {
            let count = counted(cluster.size, "record");
            let label = format!("{count} around {} ", cluster.centre);
            quoted.line(
                &label,
                &[&cluster.title, " (", &cluster.tags.join(", "), ")"].concat(),
            );
            for one in cluster
                .records
                .iter()
                .filter(|one| one.id != cluster.centre)
            {
                quoted.line(&format!("  {} ", one.id), &one.title);
            }
        }
        let count = counted(found.clusters.len(), "cluster");
        format!("{count}\n{}", quoted.into_text()).into()
    }
}

fn everywhere(names: &Names<'_>, limit: usize) -> Vec<Cluster> {
    let graph = Graph::of(names.memory);
    let found = graph.clusters().into_iter().take(limit);
    let shown = found.map(|one| {
        let named: Vec<RecordId> = one.members.iter().take(NAMED_MAX).copied().collect();
        cluster(names, &graph, one.centre, &named, one.members.len())
    });
    shown.collect()
}

fn cluster(
    names: &Names<'_>,
    graph: &Graph,
    centre: RecordId,
    records: &[RecordId],
    size: usize,
) -> Cluster {
    let mut tags: BTreeMap<String, usize> = BTreeMap::new();
    for record in records.iter().filter_map(|id| names.memory.get(*id)?.ok()) {
        for tag in record.body.tags {
            *tags.entry(tag).or_default() += 1;
        }
    }
    let mut tags: Vec<(String, usize)> = tags.into_iter().collect();
    tags.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let links = graph.among(records).into_iter().map(|(from, step)| Tie {
        from,
        to: step.record,
        relation: step.relation,
    });
    Cluster {
        centre,
        title: titled(names, centre),
        size,
        tags: tags
            .into_iter()
            .take(TAGS_MAX)
            .map(|(tag, _)| tag)
            .collect(),
        records: records
            .iter()
            .map(|id| Named {
                id: *id,
                title: titled(names, *id),
            })
            .collect(),
        links: links.collect(),
    }
}

const BRIDGES_DEFAULT: usize = 10;

/// The bridges.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bridges {
    /// The one with the most ways first.
    pub bridges: Vec<Bridge>,
}

/// A record that holds others together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bridge {
    /// Its id.
    pub id: RecordId,
    /// The line that names it.
    pub title: String,
    /// Share of the shortest ways that lead through it, 0..1.
    pub share: f64,
}

operation! {
    Spec::reads(
        "bridges",
        "Which records hold two domains together, each named by a tag, or all of memory.",
    )
    .tool("bridges", Profile::Full);
    /// Between what.
    #[derive(Default, clap::Args)]
    BridgesOf(memory, arguments: BridgesArguments {
        /// The tag of one domain; all of memory by default.
        #[arg(value_name = "TAG", requires = "to")]
        pub from: Option<String>,
        /// The tag of the other.
        #[arg(value_name = "TAG")]
        pub to: Option<String>,
        /// Most results; 10 by default.
        #[arg(long)]
        pub limit: Option<usize>,
    }) -> Bridges {
        let limit = arguments.limit.unwrap_or(BRIDGES_DEFAULT);
        let ends = [arguments.from, arguments.to]
            .map(|tag| memory.spellings(&tag.into_iter().collect::<Vec<_>>()));
        let [from, to] = ends;
        let for_agent = memory.is_for_agent();
        let bridges = memory.read(move |memory| {
            bridges(&Names { memory, for_agent }, &from, &to, limit)
        });
        let bridges = bridges.await?.map_err(Problem::not_found)?;
        Ok(Bridges { bridges })
    }

    fn text(found: &Bridges) -> Cow<'_, str> {
        let mut quoted = QuotedMemory::new(system_entropy());
        for one in &found.bridges {
            let label = format!("- {:.0}% {} ", one.share * 100.0, one.id);
            quoted.line(&label, &one.title);
        }
        format!("{} bridges\n{}", found.bridges.len(), quoted.into_text()).into()
    }
}

fn bridges(
    names: &Names<'_>,
    from: &[String],
    to: &[String],
    limit: usize,
) -> Result<Vec<Bridge>, String> {
    let memory = names.memory;
    let (from, to) = (domain(memory, from)?, domain(memory, to)?);
    let found = Graph::of(memory).bridges(&from, &to);
    let inside = |id: &RecordId| from.contains(id) && to.contains(id);
    let found = found.into_iter().filter(|(id, _)| !inside(id));
    let named = found.take(limit).map(|(id, share)| Bridge {
        id,
        title: titled(names, id),
        share,
    });
    Ok(named.collect())
}

/// The records with a tag, given in all its spellings; none for all of memory.
fn domain(memory: &Snapshot, tags: &[String]) -> Result<Vec<RecordId>, String> {
    let Some(tag) = tags.first() else {
        return Ok(Vec::new());
    };
    let tagged = tags.iter().flat_map(|tag| memory.tagged(tag));
    let tagged: Vec<RecordId> = tagged.collect();
    if tagged.is_empty() {
        return Err(format!(
            "no record is tagged `{tag}`; `tags` lists those in use"
        ));
    }
    Ok(tagged)
}
