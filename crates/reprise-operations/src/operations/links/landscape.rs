//! What of a memory is alike: its newest records in groups, for a picture.

use super::graph::ClusterLink;
use crate::prelude::*;

/// Records where the caller does not say, and at most: each is compared with each.
const LIMIT_DEFAULT: usize = 120;
const LIMIT_MAX: usize = 200;
/// Nearest ones of a record that count.
const NEAREST: usize = 4;
/// Deviations above the mean from which two records are alike.
const APART: f32 = 1.0;
/// Rounds until groups stand still, at most.
const ROUNDS: usize = 20;

/// The picture.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Landscape {
    /// The largest first.
    pub groups: Vec<LandscapeGroup>,
    /// Newest first.
    pub records: Vec<LandscapeRecord>,
    /// What holds them together; `alike` where nobody linked them.
    pub ties: Vec<ClusterLink>,
}

/// Records that are alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Ground")]
pub struct LandscapeGroup {
    /// The one that is most like the others.
    pub centre: RecordId,
    /// The line that names it.
    pub title: String,
    /// How many they are.
    pub size: usize,
}

/// A record of the picture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Spot")]
pub struct LandscapeRecord {
    /// Its id.
    pub id: RecordId,
    /// The line that names it.
    pub title: String,
    /// What it is.
    #[serde(rename = "type")]
    pub record_type: RecordType,
    /// The place of its group among them; null where it is like no other.
    pub group: Option<usize>,
}

operation! {
    Spec::for_reading(
        "landscape",
        "The newest records of a memory or a project in groups of those that are alike, with what \
         ties them: for a picture.",
    );
    /// Of what.
    #[derive(Default)]
    LandscapeOf(memory, arguments: LandscapeArguments {
        /// Only records of this project.
        pub project: Option<String> as SelectorName,
        /// Number of the newest ones to keep [default: 120; at most 200].
        pub limit: Option<usize> as LimitCount,
    }) -> Landscape {
        let limit = arguments.limit.unwrap_or(LIMIT_DEFAULT);
        let request = ListRequest {
            filter: MemoryFilter {
                project: arguments.project,
                ..MemoryFilter::default()
            },
            limit: limit.clamp(1, LIMIT_MAX),
            after: None,
        };
        let drawn = memory.run_on_snapshot(move |memory| draw_landscape(memory, &memory.list(&request).records));
        drawn.await
    }
}

fn draw_landscape(memory: &Snapshot, records: &[MemoryRecord]) -> Landscape {
    let ids: Vec<RecordId> = records.iter().map(|record| record.id).collect();
    let mut edges = select_mutual_nearest(ids.len(), &memory.pairwise_cosines(&ids));
    let mut ties: Vec<ClusterLink> = Vec::new();
    let places: BTreeMap<RecordId, usize> = ids.iter().copied().zip(0..).collect();
    let mut tied: BTreeSet<[usize; 2]> = BTreeSet::new();
    for (at, id) in ids.iter().enumerate() {
        for link in memory.links(*id).into_iter().filter(|link| link.outgoing) {
            let Some(&to) = places.get(&link.record).filter(|to| **to != at) else {
                continue;
            };
            edges.push((at, to, 1.0));
            tied.insert([at.min(to), at.max(to)]);
            ties.push(ClusterLink {
                from: *id,
                to: link.record,
                relation: link.relation,
            });
        }
    }
    for (one, other, _) in &edges {
        if tied.insert([*one.min(other), *one.max(other)]) {
            let (from, to) = (ids[*one], ids[*other]);
            let relation = "alike".to_owned();
            ties.push(ClusterLink { from, to, relation });
        }
    }
    // Without vectors and links a session is all that is known to belong together.
    if edges.is_empty() {
        edges = list_session_pairs(records);
    }
    let groups = group_by_labels(ids.len(), &edges);
    let group_of = |at: usize| groups.iter().position(|group| group.contains(&at));
    Landscape {
        groups: groups
            .iter()
            .filter_map(|group| {
                let centre = &records[*group.first()?];
                Some(LandscapeGroup {
                    centre: centre.id,
                    title: title_or_beginning(centre),
                    size: group.len(),
                })
            })
            .collect(),
        records: records
            .iter()
            .enumerate()
            .map(|(at, record)| LandscapeRecord {
                id: record.id,
                title: title_or_beginning(record),
                record_type: record.record_type(),
                group: group_of(at),
            })
            .collect(),
        ties,
    }
}

fn list_session_pairs(records: &[MemoryRecord]) -> Vec<(usize, usize, f32)> {
    let mut last: BTreeMap<&str, usize> = BTreeMap::new();
    let mut edges = Vec::new();
    for (at, record) in records.iter().enumerate() {
        if !record.session_id.is_empty()
            && let Some(before) = last.insert(&record.session_id, at)
        {
            edges.push((before, at, 1.0));
        }
    }
    edges
}

/// Pairs of which each is among the nearest of the other, and that stand out among all.
fn select_mutual_nearest(count: usize, all: &[(usize, usize, f32)]) -> Vec<(usize, usize, f32)> {
    let number = all.len().max(1) as f32;
    let mean = all.iter().map(|pair| pair.2).sum::<f32>() / number;
    let square = all.iter().map(|pair| (pair.2 - mean).powi(2)).sum::<f32>() / number;
    let least = mean + APART * square.sqrt();
    let mut best: Vec<(usize, usize, f32)> =
        all.iter().filter(|it| it.2 > least).copied().collect();
    best.sort_by(|a, b| {
        b.2.total_cmp(&a.2)
            .then_with(|| (a.0, a.1).cmp(&(b.0, b.1)))
    });
    // The nearest come first: who has had its share takes no more.
    let mut taken = vec![0; count];
    best.retain(|(one, other, _)| {
        let is_near = taken[*one] < NEAREST && taken[*other] < NEAREST;
        taken[*one] += 1;
        taken[*other] += 1;
        is_near
    });
    best
}

/// Groups by the labels that neighbours pass on until they stand still, the largest first; in each
/// what is tied most comes first. What has no neighbour is in none.
fn group_by_labels(count: usize, edges: &[(usize, usize, f32)]) -> Vec<Vec<usize>> {
    let mut near: Vec<Vec<(usize, f32)>> = vec![Vec::new(); count];
    for (one, other, weight) in edges {
        near[*one].push((*other, *weight));
        near[*other].push((*one, *weight));
    }
    let mut labels: Vec<usize> = (0..count).collect();
    for _ in 0..ROUNDS {
        let mut is_still = true;
        for (at, near) in near.iter().enumerate() {
            let mut sums: BTreeMap<usize, f32> = BTreeMap::new();
            for (other, weight) in near {
                *sums.entry(labels[*other]).or_default() += weight;
            }
            let best = sums
                .into_iter()
                .max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
            if let Some((label, _)) = best.filter(|(label, _)| *label != labels[at]) {
                labels[at] = label;
                is_still = false;
            }
        }
        if is_still {
            break;
        }
    }
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (at, label) in labels.into_iter().enumerate() {
        if !near[at].is_empty() {
            groups.entry(label).or_default().push(at);
        }
    }
    let weight = |at: &usize| near[*at].iter().map(|(_, weight)| weight).sum::<f32>();
    let mut groups: Vec<Vec<usize>> = groups.into_values().collect();
    for group in &mut groups {
        group.sort_by(|a, b| weight(b).total_cmp(&weight(a)).then(a.cmp(b)));
    }
    groups.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_alike_is_a_group_and_what_is_like_nothing_is_in_none() {
        // Two crowds of four, one between them, one alone.
        let mut pairs = Vec::new();
        for one in 0..10_usize {
            for other in one + 1..10 {
                let same = one / 4 == other / 4 && other < 8;
                let near = if same { 0.8 } else { 0.1 };
                pairs.push((one, other, near - 0.001 * (one + other) as f32));
            }
        }
        pairs.push((3, 8, 0.7));
        let edges = select_mutual_nearest(10, &pairs);
        assert!(edges.iter().all(|(one, other, _)| *one != 9 && *other != 9));
        let groups = group_by_labels(10, &edges);
        let mut found: Vec<Vec<usize>> = groups.clone();
        for group in &mut found {
            group.sort_unstable();
        }
        assert_eq!(found, [vec![0, 1, 2, 3, 8], vec![4, 5, 6, 7]], "{groups:?}");
        assert_ne!(groups[0][0], 8, "the middle of a group is not its edge");
        assert_eq!(group_by_labels(3, &[]), Vec::<Vec<usize>>::new());
    }
}
