//! The links as a whole: ways, clusters, bridges.

use reprise_knowledge::Graph;

use crate::operations::records::hide_sensitive;
use crate::prelude::*;

/// A shortest way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Way")]
pub struct ShortestPath {
    /// Whether there is one.
    pub connected: bool,
    /// Where it begins.
    pub from: RecordId,
    /// Each link on it, in order.
    pub steps: Vec<PathStep>,
}

/// One link on the way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "WayStep")]
pub struct PathStep {
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
    Spec::for_reading("path", "How two memories are connected, link by link.").with_tool("path", Profile::Full);
    /// The two ends.
    #[derive(Default, clap::Args)]
    Path(memory, arguments: PathArguments {
        /// Memory id.
        pub from | "from_id": String as RecordKey,
        /// Other memory's id.
        pub to | "to_id": String as RecordKey,
    }) -> ShortestPath {
        let from = memory.get_record(&arguments.from).await?.id;
        let to = memory.get_record(&arguments.to).await?.id;
        let for_agent = memory.is_for_agent();
        let path = memory.run_on_snapshot(move |memory| find_path(&RecordNames { memory, for_agent }, from, to));
        path.await
    }

    fn render_text(way: &ShortestPath) -> Cow<'_, str> {
        if !way.connected {
            return "no links lead from one to the other".into();
        }
        let mut quoted = QuotedMemory::new(system_entropy());
        for step in &way.steps {
            let side = if step.outgoing { "to" } else { "from" };
            let label = format!("- {side} {} ", step.id);
            quoted.add_line(&label, &[&step.relation, ": ", &step.title].concat());
        }
        let count = format_count(way.steps.len(), "link");
        format!("{count}\n{}", quoted.into_text()).into()
    }
}

fn find_path(names: &RecordNames<'_>, from: RecordId, to: RecordId) -> ShortestPath {
    let found = Graph::of(names.memory).find_shortest_path(from, to);
    let found = found.or_else(|| (from == to).then(Vec::new));
    let connected = found.is_some();
    let steps = found.into_iter().flatten().map(|step| PathStep {
        id: step.record,
        title: title_of_id(names, step.record),
        relation: step.relation,
        outgoing: step.outgoing,
    });
    ShortestPath {
        connected,
        from,
        steps: steps.collect(),
    }
}

/// The line that names a record.
fn title_of_id(names: &RecordNames<'_>, id: RecordId) -> String {
    let record = names.memory.get(id).and_then(Result::ok);
    let title =
        record.map(|record| hide_sensitive(names.for_agent, &record, title_or_beginning(&record)));
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
    pub records: Vec<ClusterRecord>,
    /// The links among those.
    pub links: Vec<ClusterLink>,
}

/// A record of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Named")]
pub struct ClusterRecord {
    /// Its id.
    pub id: RecordId,
    /// The line that names it.
    pub title: String,
}

/// A link within a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Tie")]
pub struct ClusterLink {
    /// Where it begins.
    pub from: RecordId,
    /// Where it leads.
    pub to: RecordId,
    /// How they are related.
    pub relation: String,
}

operation! {
    Spec::for_reading(
        "cluster",
        "Groups of linked memories: around one, or all of them.",
    )
    .with_tool("cluster", Profile::Full);
    /// Around what.
    #[derive(Default, clap::Args)]
    ClusterOf(memory, arguments: ClusterArguments {
        /// Memory id; without it, all clusters.
        pub id: Option<String> as RecordKey,
        /// Maximum number of links between it and a result [default: 2].
        #[arg(long)]
        pub depth: Option<usize> as ItemCount,
        /// Maximum number of memories around one, or of clusters [default: 20].
        #[arg(long)]
        pub limit: Option<usize> as LimitCount,
    }) -> Clusters {
        let limit = arguments.limit.unwrap_or(CLUSTERS_DEFAULT);
        let for_agent = memory.is_for_agent();
        let Some(name) = &arguments.id else {
            let all = memory.run_on_snapshot(move |memory| list_clusters(&RecordNames { memory, for_agent }, limit));
            return Ok(Clusters {
                clusters: all.await?,
            });
        };
        let id = memory.get_record(name).await?.id;
        let depth = arguments.depth.unwrap_or(DEPTH_DEFAULT);
        let around = memory.run_on_snapshot(move |memory| {
            let near = memory.related(id, depth, limit).into_iter();
            let records: Vec<RecordId> = std::iter::once(id)
                .chain(near.map(|one| one.link.record))
                .collect();
            let names = RecordNames { memory, for_agent };
            describe_cluster(&names, &Graph::of(memory), id, &records, records.len())
        });
        Ok(Clusters {
            clusters: vec![around.await?],
        })
    }

    fn render_text(found: &Clusters) -> Cow<'_, str> {
        if let [alone] = found.clusters.as_slice()
            && alone.size == 1
        {
            return format!("{} is not linked to anything", alone.centre).into();
        }
        let mut quoted = QuotedMemory::new(system_entropy());
        for cluster in &found.clusters {
            let count = format_count(cluster.size, "memory");
            let label = format!("{count} around {} ", cluster.centre);
            let mut title = cluster.title.clone();
            if !cluster.tags.is_empty() {
                title.push_str(&[" (", &cluster.tags.join(", "), ")"].concat());
            }
            quoted.add_line(&label, &title);
            for one in cluster
                .records
                .iter()
                .filter(|one| one.id != cluster.centre)
            {
                quoted.add_line(&format!("  {} ", one.id), &one.title);
            }
        }
        let count = format_count(found.clusters.len(), "cluster");
        format!("{count}\n{}", quoted.into_text()).into()
    }
}

fn list_clusters(names: &RecordNames<'_>, limit: usize) -> Vec<Cluster> {
    let graph = Graph::of(names.memory);
    let found = graph.find_clusters().into_iter().take(limit);
    let shown = found.map(|one| {
        let named: Vec<RecordId> = one.members.iter().take(NAMED_MAX).copied().collect();
        describe_cluster(names, &graph, one.centre, &named, one.members.len())
    });
    shown.collect()
}

fn describe_cluster(
    names: &RecordNames<'_>,
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
    let links = graph
        .list_links_among(records)
        .into_iter()
        .map(|(from, step)| ClusterLink {
            from,
            to: step.record,
            relation: step.relation,
        });
    Cluster {
        centre,
        title: title_of_id(names, centre),
        size,
        tags: tags
            .into_iter()
            .take(TAGS_MAX)
            .map(|(tag, _)| tag)
            .collect(),
        records: records
            .iter()
            .map(|id| ClusterRecord {
                id: *id,
                title: title_of_id(names, *id),
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
    Spec::for_reading(
        "bridges",
        "Which memories connect two tags, or hold all memories together.",
    )
    .with_tool("bridges", Profile::Full);
    /// Between what.
    #[derive(Default, clap::Args)]
    BridgesOf(memory, arguments: BridgesArguments {
        /// Tag of the first group; all memories by default.
        #[arg(value_name = "TAG", requires = "to")]
        pub from: Option<String> as RecordKey,
        /// Tag of the second group.
        #[arg(value_name = "TAG")]
        pub to: Option<String> as RecordKey,
        /// Maximum number of results [default: 10].
        #[arg(long)]
        pub limit: Option<usize> as LimitCount,
    }) -> Bridges {
        let limit = arguments.limit.unwrap_or(BRIDGES_DEFAULT);
        let ends = [arguments.from, arguments.to]
            .map(|tag| memory.list_tag_spellings(&tag.into_iter().collect::<Vec<_>>()));
        let [from, to] = ends;
        let for_agent = memory.is_for_agent();
        let bridges = memory.run_on_snapshot(move |memory| {
            find_bridges_between_tags(&RecordNames { memory, for_agent }, &from, &to, limit)
        });
        let bridges = bridges.await?.map_err(Problem::not_found)?;
        Ok(Bridges { bridges })
    }

    fn render_text(found: &Bridges) -> Cow<'_, str> {
        let mut quoted = QuotedMemory::new(system_entropy());
        for one in &found.bridges {
            let label = format!("- {:.0}% {} ", one.share * 100.0, one.id);
            quoted.add_line(&label, &one.title);
        }
        let count = found.bridges.len();
        if count == 0 {
            return "no memory connects these; link memories first".into();
        }
        format!("{} found\n{}", format_count(count, "bridge"), quoted.into_text()).into()
    }
}

fn find_bridges_between_tags(
    names: &RecordNames<'_>,
    from: &[String],
    to: &[String],
    limit: usize,
) -> Result<Vec<Bridge>, String> {
    let memory = names.memory;
    let (from, to) = (list_tagged_ids(memory, from)?, list_tagged_ids(memory, to)?);
    let found = Graph::of(memory).find_bridges(&from, &to);
    let inside = |id: &RecordId| from.contains(id) && to.contains(id);
    let found = found.into_iter().filter(|(id, _)| !inside(id));
    let named = found.take(limit).map(|(id, share)| Bridge {
        id,
        title: title_of_id(names, id),
        share,
    });
    Ok(named.collect())
}

/// The records with a tag, given in all its spellings; none for all of memory.
fn list_tagged_ids(memory: &Snapshot, tags: &[String]) -> Result<Vec<RecordId>, String> {
    let Some(tag) = tags.first() else {
        return Ok(Vec::new());
    };
    let tagged = tags.iter().flat_map(|tag| memory.ids_with_tag(tag));
    let tagged: Vec<RecordId> = tagged.collect();
    if tagged.is_empty() {
        return Err(format!(
            "no memory has tag `{tag}`; `reprise tags` lists the tags in use"
        ));
    }
    Ok(tagged)
}
