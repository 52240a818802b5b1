//! Tags and links against a plain model: what holds, kept in two sets.

use std::collections::BTreeSet;

use proptest::prelude::*;
use reprise_types::Annotation;

use super::Marks;

const RECORDS: u32 = 8;

#[derive(Debug, Clone)]
enum Said {
    Annotated(u32, Annotation),
    Forgotten(u32),
}

fn said() -> impl Strategy<Value = Said> {
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
        6 => (0..RECORDS, annotation).prop_map(|(ordinal, said)| Said::Annotated(ordinal, said)),
        1 => (0..RECORDS).prop_map(Said::Forgotten),
    ]
}

/// (tag, record) and (from, to, relation).
#[derive(Debug, Clone, Default)]
struct Held {
    tags: BTreeSet<(String, u32)>,
    links: BTreeSet<(u32, u32, String)>,
}

impl Held {
    fn tagged(&self, tag: &str) -> Vec<u32> {
        let tagged = self.tags.iter().filter(|(held, _)| held == tag);
        tagged.map(|(_, ordinal)| *ordinal).collect()
    }

    fn forget(&mut self, ordinal: u32) {
        self.tags.retain(|(_, held)| *held != ordinal);
        self.links
            .retain(|(from, to, _)| *from != ordinal && *to != ordinal);
    }

    fn take(&mut self, said: &Said) {
        match said.clone() {
            Said::Annotated(ordinal, Annotation::Tagged { tags }) => {
                self.tags.retain(|(_, held)| *held != ordinal);
                self.tags.extend(tags.into_iter().map(|tag| (tag, ordinal)));
            }
            Said::Annotated(from, Annotation::Linked { to, relation }) if from != to => {
                self.links.insert((from, to, relation));
            }
            Said::Annotated(from, Annotation::Unlinked { to, relation }) => {
                self.links.remove(&(from, to, relation));
            }
            Said::Annotated(..) => {}
            Said::Forgotten(ordinal) => self.forget(ordinal),
        }
    }
}

proptest! {
    #[test]
    fn what_was_said_holds_then_and_now(
        kept in prop::collection::vec(prop::option::of("[a-c]"), RECORDS as usize),
        all in prop::collection::vec(said(), 1..40),
        ask in 0..40_i64,
    ) {
        let (mut marks, mut held) = (Marks::default(), Held::default());
        for (ordinal, tag) in (0..).zip(&kept) {
            marks.kept(ordinal, tag.as_slice(), 0);
            held.tags.extend(tag.clone().map(|tag| (tag, ordinal)));
        }
        let mut then = held.clone();
        for (at, said) in (1..).zip(&all) {
            match said {
                Said::Annotated(ordinal, annotation) => marks.say(*ordinal, annotation, at),
                Said::Forgotten(ordinal) => marks.forget(*ordinal),
            }
            held.take(said);
            if at <= ask {
                then = held.clone();
            } else if let Said::Forgotten(ordinal) = said {
                then.forget(*ordinal);
            }
        }
        for tag in ["a", "b", "c"] {
            prop_assert_eq!(marks.tagged(tag, None), held.tagged(tag));
            prop_assert_eq!(marks.tagged(tag, Some(ask)), then.tagged(tag));
        }
        for ordinal in 0..RECORDS {
            if let Some(edited) = marks.edited(ordinal, None) {
                let now = held.tags.iter().filter(|(_, o)| *o == ordinal);
                prop_assert_eq!(edited, now.map(|(tag, _)| tag.clone()).collect::<Vec<_>>());
            }
            let links = marks.links(ordinal).map(|l| (l.from, l.to, l.relation.to_string()));
            let expected = held.links.iter().filter(|(a, b, _)| *a == ordinal || *b == ordinal);
            prop_assert_eq!(links.collect::<BTreeSet<_>>(), expected.cloned().collect());
        }
        prop_assert_eq!(Marks::from_part(&marks.to_part()), Some(marks));
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes: Vec<u8>) {
        Marks::from_part(&bytes);
        let mut led = vec![1];
        led.extend(bytes);
        Marks::from_part(&led);
    }
}

#[test]
fn a_walk_takes_the_shortest_way_around_what_may_not_be_passed() {
    let mut marks = Marks::default();
    for (from, to) in [(0, 1), (2, 1), (2, 3), (0, 4), (4, 3)] {
        let relation = "next".to_owned();
        marks.say(from, &Annotation::Linked { to, relation }, 1);
    }
    let walk = |depth, closed: u32| -> Vec<(u32, usize, u32)> {
        let reached = marks.reach(0, depth, |ordinal| ordinal != closed, |_, _| true);
        let steps = reached.iter().map(|r| (r.ordinal, r.depth, r.via));
        steps.collect()
    };
    assert_eq!(walk(1, 9), [(1, 1, 0), (4, 1, 0)]);
    assert_eq!(walk(9, 9), [(1, 1, 0), (4, 1, 0), (2, 2, 1), (3, 2, 4)]);
    assert_eq!(walk(9, 1), [(4, 1, 0), (3, 2, 4), (2, 3, 3)]);
    assert!(walk(0, 9).is_empty());
}
