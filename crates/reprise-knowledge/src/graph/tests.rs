//! Small graphs whose answers are known.

use super::*;

fn id(number: u128) -> RecordId {
    RecordId::from_u128(number)
}

fn graph_of(links: &[(u128, u128, &'static str)]) -> Graph {
    Graph::from_links(
        links
            .iter()
            .map(|(from, to, word)| (id(*from), id(*to), *word)),
    )
}

#[test]
fn the_documents_three_lessons_are_joined_by_their_edges() {
    let graph = graph_of(&[
        (1, 2, "learned_from"),
        (2, 3, "instance_of"),
        (3, 4, "x"),
        (5, 6, "x"),
    ]);
    let path = graph.find_shortest_path(id(1), id(3)).unwrap();
    let told: Vec<(RecordId, &str, bool)> = path
        .iter()
        .map(|step| (step.record, step.relation.as_str(), step.outgoing))
        .collect();
    assert_eq!(
        told,
        [(id(2), "learned_from", true), (id(3), "instance_of", true)]
    );
    let back = graph.find_shortest_path(id(3), id(1)).unwrap();
    assert!(back.iter().all(|step| !step.outgoing));
    assert_eq!(graph.find_shortest_path(id(1), id(1)), Some(Vec::new()));
    assert_eq!(
        graph.find_shortest_path(id(1), id(6)),
        None,
        "they are not joined"
    );
    assert_eq!(graph.list_links_among(&[id(1), id(2), id(4)]).len(), 1);
}

#[test]
fn a_circle_ends_and_a_shorter_way_is_taken() {
    let graph = graph_of(&[
        (1, 2, "a"),
        (2, 3, "a"),
        (3, 1, "a"),
        (3, 4, "a"),
        (1, 2, "b"),
    ]);
    assert_eq!(graph.find_shortest_path(id(1), id(4)).unwrap().len(), 2);
    let graph = Graph::default();
    assert_eq!(graph.find_shortest_path(id(1), id(2)), None);
    assert!(graph.find_clusters().is_empty() && graph.find_bridges(&[], &[]).is_empty());
}

/// Two groups of four in which each knows each, and one record between them.
fn dumbbell() -> Graph {
    let mut links = Vec::new();
    for base in [10, 20] {
        for a in base..base + 4 {
            for b in a + 1..base + 4 {
                links.push((a, b, "x"));
            }
        }
    }
    links.extend([(10, 30, "x"), (30, 20, "x")]);
    graph_of(&links)
}

#[test]
fn what_belongs_together_is_found_and_what_holds_it_together() {
    let graph = dumbbell();
    let clusters = graph.find_clusters();
    let with = |one: u128| {
        clusters
            .iter()
            .find(|cluster| cluster.members.contains(&id(one)))
            .unwrap()
    };
    assert!((10..14).all(|other| with(10).members.contains(&id(other))));
    assert!((20..24).all(|other| with(20).members.contains(&id(other))));
    assert!(!with(10).members.contains(&id(20)));
    assert_eq!(with(10).centre, id(10));

    let group = |base: u128| -> Vec<RecordId> { (base..base + 4).map(id).collect() };
    let bridges = graph.find_bridges(&group(10), &group(20));
    assert_eq!(bridges[0].0, id(30), "every way leads through it");
    assert!((bridges[0].1 - 1.0).abs() < 1e-9, "{bridges:?}");
    // Three of four begin elsewhere and pass through 10.
    let ten = bridges.iter().find(|(one, _)| *one == id(10)).unwrap().1;
    assert!((ten - 0.75).abs() < 1e-9, "{bridges:?}");
}
