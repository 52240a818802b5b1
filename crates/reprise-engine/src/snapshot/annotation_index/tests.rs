//! Tests tags and links against a plain model of two sets.

use std::collections::BTreeSet;

use proptest::prelude::*;
use reprise_types::Annotation;

use super::AnnotationIndex;

const RECORDS: u32 = 8;

#[derive(Debug, Clone)]
enum Change {
    Annotated(u32, Annotation),
    Forgotten(u32),
}

fn changes() -> impl Strategy<Value = Change> {
    let tags = || {
        prop::collection::btree_set(prop::sample::select(vec!["a", "b", "c"]), 0..3)
            .prop_map(|set| set.into_iter().map(str::to_owned).collect())
    };
    let relation = || prop::sample::select(vec!["why", "how"]).prop_map(str::to_owned);
    let annotation = prop_oneof![
        2 => tags().prop_map(|tags| Annotation::Tagged { tags }),
        3 => (0..RECORDS, relation())
            .prop_map(|(to, relation)| Annotation::Linked { to, relation }),
        1 => (0..RECORDS, relation())
            .prop_map(|(to, relation)| Annotation::Unlinked { to, relation }),
        1 => (2..9_u32).prop_map(|count| Annotation::Seen { count }),
    ];
    prop_oneof![
        6 => (0..RECORDS, annotation).prop_map(|(ordinal, said)| Change::Annotated(ordinal, said)),
        1 => (0..RECORDS).prop_map(Change::Forgotten),
    ]
}

/// The tags as (tag, record) and the links as (from, to, relation).
#[derive(Debug, Clone, Default)]
struct PlainModel {
    tags: BTreeSet<(String, u32)>,
    links: BTreeSet<(u32, u32, String)>,
}

impl PlainModel {
    fn ordinals_with_tag(&self, tag: &str) -> Vec<u32> {
        let tagged = self.tags.iter().filter(|(held, _)| held == tag);
        tagged.map(|(_, ordinal)| *ordinal).collect()
    }

    fn forget(&mut self, ordinal: u32) {
        self.tags.retain(|(_, held)| *held != ordinal);
        self.links
            .retain(|(from, to, _)| *from != ordinal && *to != ordinal);
    }

    fn apply(&mut self, said: &Change) {
        match said.clone() {
            Change::Annotated(ordinal, Annotation::Tagged { tags }) => {
                self.tags.retain(|(_, held)| *held != ordinal);
                self.tags.extend(tags.into_iter().map(|tag| (tag, ordinal)));
            }
            Change::Annotated(from, Annotation::Linked { to, relation }) if from != to => {
                self.links.insert((from, to, relation));
            }
            Change::Annotated(from, Annotation::Unlinked { to, relation }) => {
                self.links.remove(&(from, to, relation));
            }
            Change::Annotated(..) => {}
            Change::Forgotten(ordinal) => self.forget(ordinal),
        }
    }
}

proptest! {
    #[test]
    fn what_was_said_holds_then_and_now(
        kept in prop::collection::vec(prop::option::of("[a-c]"), RECORDS as usize),
        all in prop::collection::vec(changes(), 1..40),
        ask in 0..40_i64,
    ) {
        let (mut marks, mut held) = (AnnotationIndex::default(), PlainModel::default());
        for (ordinal, tag) in (0..).zip(&kept) {
            marks.insert_tags(ordinal, tag.as_slice(), 0);
            held.tags.extend(tag.clone().map(|tag| (tag, ordinal)));
        }
        let mut then = held.clone();
        for (at, said) in (1..).zip(&all) {
            match said {
                Change::Annotated(ordinal, annotation) => marks.apply(*ordinal, annotation, at),
                Change::Forgotten(ordinal) => marks.forget(*ordinal),
            }
            held.apply(said);
            if at <= ask {
                then = held.clone();
            } else if let Change::Forgotten(ordinal) = said {
                then.forget(*ordinal);
            }
        }
        for tag in ["a", "b", "c"] {
            prop_assert_eq!(marks.ordinals_with_tag(tag, None), held.ordinals_with_tag(tag));
            prop_assert_eq!(marks.ordinals_with_tag(tag, Some(ask)), then.ordinals_with_tag(tag));
        }
        for ordinal in 0..RECORDS {
            if let Some(edited) = marks.edited_tags(ordinal, None) {
                let now = held.tags.iter().filter(|(_, o)| *o == ordinal);
                prop_assert_eq!(edited, now.map(|(tag, _)| tag.clone()).collect::<Vec<_>>());
            }
            let links = marks.open_links(ordinal).map(|l| (l.from, l.to, l.relation.to_string()));
            let expected = held.links.iter().filter(|(a, b, _)| *a == ordinal || *b == ordinal);
            prop_assert_eq!(links.collect::<BTreeSet<_>>(), expected.cloned().collect());
        }
        prop_assert_eq!(AnnotationIndex::from_bytes(&marks.to_bytes()), Some(marks));
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes: Vec<u8>) {
        AnnotationIndex::from_bytes(&bytes);
        let mut led = vec![1];
        led.extend(bytes);
        AnnotationIndex::from_bytes(&led);
    }
}

#[test]
fn a_walk_takes_the_shortest_way_around_what_may_not_be_passed() {
    let mut marks = AnnotationIndex::default();
    for (from, to) in [(0, 1), (2, 1), (2, 3), (0, 4), (4, 3)] {
        let relation = "next".to_owned();
        marks.apply(from, &Annotation::Linked { to, relation }, 1);
    }
    let walk = |depth, closed: u32| -> Vec<(u32, usize, u32)> {
        let reached = marks.find_reachable(0, depth, |ordinal| ordinal != closed, |_, _| true);
        let steps = reached.iter().map(|r| (r.ordinal, r.depth, r.via));
        steps.collect()
    };
    assert_eq!(walk(1, 9), [(1, 1, 0), (4, 1, 0)]);
    assert_eq!(walk(9, 9), [(1, 1, 0), (4, 1, 0), (2, 2, 1), (3, 2, 4)]);
    assert_eq!(walk(9, 1), [(4, 1, 0), (3, 2, 4), (2, 3, 3)]);
    assert!(walk(0, 9).is_empty());
}
