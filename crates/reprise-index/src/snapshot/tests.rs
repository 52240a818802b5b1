//! Snapshots never change, views admit exactly what they should, and odd input does not panic.

use proptest::prelude::*;
use reprise_types::{ListOrder, MemoryKind, MemorySource, RecordId, next_splitmix64};

use super::*;
use crate::writer::{IndexWriter, NewDoc};

fn at(second: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(second, 0).unwrap()
}

const SESSIONS: [&str; 3] = ["", "one", "two"];

/// Creates document `number`: every column follows from the number.
fn doc(number: u32) -> NewDoc<'static> {
    NewDoc {
        id: RecordId::from_parts(number.into(), 0),
        // Events arrive out of order.
        timestamp: at(1_000 - i64::from(number * 7 % 50)),
        known_at: at(i64::from(number)),
        kind: MemoryKind::ALL[number as usize % 4],
        source: MemorySource::ALL[number as usize % 5],
        session_id: SESSIONS[number as usize % 3],
        speaker: "",
        text: "race in the auth module",
        is_prompt: false,
        exact: &[],
        vector: None,
    }
}

/// Publishes three documents at once, and one after the other, which makes a segment of each.
fn in_one_and_in_three_segments(docs: &[NewDoc<'_>; 3]) -> [Arc<IndexSnapshot>; 2] {
    [false, true].map(|each| {
        let mut writer = IndexWriter::new(4);
        for doc in docs {
            writer.push(doc);
            if each {
                writer.publish();
            }
        }
        let snapshot = writer.publish();
        assert_eq!(snapshot.lexicon.segments().len(), if each { 3 } else { 1 });
        snapshot
    })
}

#[test]
fn a_misspelled_word_is_corrected_alike_however_many_segments_hold_the_words() {
    let texts = ["grafana alpha", "grafana beta", "grafina gamma"];
    let docs = [0, 1, 2].map(|number: u32| NewDoc {
        text: texts[number as usize],
        ..doc(number)
    });
    for snapshot in in_one_and_in_three_segments(&docs) {
        let mut query = snapshot.analyse_query("grafona");
        snapshot.correct_spelling(&mut query);
        assert_eq!(query.terms[0].corrections, ["grafana", "grafina"]);
    }
}

#[test]
fn as_many_exact_terms_are_found_by_their_beginning_however_many_segments_hold_them() {
    let terms = [["car"], ["cat"], ["cab"]].map(|terms| terms.map(str::to_owned));
    let docs = [0, 1, 2].map(|number: u32| NewDoc {
        exact: &terms[number as usize],
        ..doc(number)
    });
    for snapshot in in_one_and_in_three_segments(&docs) {
        let found = snapshot.find_exact_prefix("ca", 2);
        let expected = [("cab".to_owned(), vec![2]), ("car".to_owned(), vec![0])];
        assert_eq!(found, BTreeMap::from(expected));
    }
}

/// Words of a text, each with the number n of which one document in n has it.
const HELD: [(&str, u64); 6] = [
    ("common", 1),
    ("often", 2),
    ("sometimes", 5),
    ("seldom", 40),
    ("rare", 300),
    ("never", u64::MAX),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn those_that_hold_every_word_are_found_whatever_is_read_first(
        seed in any::<u64>(), count in 0_u32..900,
        cuts in prop::collection::vec(0_u32..900, 0..6),
        words in prop::sample::subsequence(HELD.map(|held| held.0).to_vec(), 0..=6),
        enough in 0_usize..40,
    ) {
        let mut writer = IndexWriter::new(4);
        let mut random = seed;
        let mut holding: Vec<Vec<&str>> = Vec::new();
        for number in 0..count {
            let mut turn = |one_in: u64| next_splitmix64(&mut random).is_multiple_of(one_in);
            let held = HELD.iter().filter(|(_, one_in)| turn(*one_in));
            let held: Vec<&str> = held.map(|(word, _)| *word).collect();
            writer.push(&NewDoc { text: &held.join(" "), ..doc(number) });
            holding.push(held);
            if cuts.contains(&number) {
                writer.publish();
            }
        }
        let snapshot = writer.publish();
        let query = snapshot.analyse_query(&words.join(" "));
        let all = |number: &u32| words.iter().all(|word| holding[*number as usize].contains(word));
        let expected: Vec<u32> = (0..count).filter(all).collect();
        let exact = snapshot.find_all_words(&query, 0);
        prop_assert_eq!(exact.is_none(), words.is_empty());
        prop_assert_eq!(exact.unwrap_or_else(|| expected.clone()), expected.clone());
        let found = snapshot.find_all_words(&query, enough).unwrap_or_else(|| expected.clone());
        prop_assert!(expected.iter().all(|ordinal| found.contains(ordinal)));
        prop_assert!(found.is_sorted() && (found == expected || found.len() <= enough));
    }

    #[test]
    fn a_view_admits_what_the_filter_and_the_instant_do(
        count in 0_u32..150,
        ends in prop::collection::vec((0_u32..150, 0_i64..300, any::<bool>()), 0..20),
        kinds in prop::option::of(prop::sample::subsequence(MemoryKind::ALL, 0..=4)),
        sources in prop::option::of(prop::sample::subsequence(MemorySource::ALL, 0..=5)),
        since in prop::option::of(940_i64..1_010),
        until in prop::option::of(940_i64..1_010),
        session in prop::option::of(prop::sample::select(vec!["", "one", "two", "three"])),
        as_of in prop::option::of(-1_i64..300),
    ) {
        let mut writer = IndexWriter::new(4);
        for number in 0..count {
            writer.push(&doc(number));
        }
        for (ordinal, second, forgotten) in &ends {
            if *forgotten {
                writer.forget(*ordinal, at(*second));
            } else {
                writer.supersede(*ordinal, at(*second));
            }
        }
        let first_end = |ordinal: u32, forgotten: bool| {
            let mut all = ends.iter().filter(|e| e.0 == ordinal && e.2 == forgotten);
            all.next().map(|e| e.1)
        };
        let (since, session_id) = (since.map(at), session.map(str::to_owned));
        let until = until.map(at);
        let filter = MemoryFilter {
            kinds,
            sources,
            since,
            until,
            session_id,
            ..MemoryFilter::default()
        };
        let snapshot = writer.publish();
        let view = snapshot.view(&filter, as_of.map(at));
        let mut expected = Vec::new();
        for number in 0..count {
            let doc = doc(number);
            let ended = |end: Option<i64>| end.is_some_and(|end| as_of.is_none_or(|t| end <= t));
            let live = as_of.is_none_or(|t| doc.known_at <= at(t))
                && !ended(first_end(number, true))
                && !ended(first_end(number, false));
            prop_assert_eq!(view.is_live(number), live);
            if live && filter.matches_record(doc.kind, doc.source, doc.timestamp, doc.session_id) {
                expected.push(number);
            }
        }
        prop_assert_eq!(view.considered_count() as usize, expected.len());
        prop_assert_eq!(view.ordinals().collect::<Vec<_>>(), expected.clone());
        prop_assert!(!view.contains(count) && !view.is_live(count));
        // Page by page the latest (or the oldest) come first, whatever block they are in.
        let place = |ordinal: &u32| {
            let (timestamp, id) = snapshot.time_key(*ordinal).unwrap();
            (timestamp, id, *ordinal)
        };
        let mut by_time: Vec<_> = expected.iter().map(place).collect();
        by_time.sort_unstable_by(|a, b| b.cmp(a));
        for order in [ListOrder::NewestFirst, ListOrder::OldestFirst] {
            let (mut paged, mut after) = (Vec::new(), None);
            loop {
                let page = snapshot.list_by_time(&view, order, after, 7);
                prop_assert_eq!(page.len(), 7.min(by_time.len() - paged.len()));
                after = page.last().map(|last| (last.0, last.1));
                paged.extend(page);
                if after.is_none() {
                    break;
                }
            }
            prop_assert_eq!(paged, by_time.clone());
            by_time.reverse();
        }
        let learned: Vec<u32> = snapshot.documents_learned_at(at(77)).collect();
        prop_assert_eq!(learned, (77..count.min(78)).collect::<Vec<_>>());
    }
}

#[test]
fn a_snapshot_does_not_see_what_comes_later() {
    let mut writer = IndexWriter::new(2);
    for number in 0..300 {
        writer.push(&NewDoc {
            exact: &[],
            vector: Some(&[0.6, 0.8]),
            ..doc(number)
        });
    }
    let before = writer.publish();
    let state = |snapshot: &IndexSnapshot| {
        let view = snapshot.view(&MemoryFilter::default(), None);
        let mut scratch = LexicalScratch::default();
        let query = snapshot.analyse_query("auth race zebra");
        let signals = format!(
            "{:?}",
            snapshot.score_lexical(&query, &view, 9, &mut scratch)
        );
        let mut scores = Vec::new();
        let query = snapshot.encode_query(&[1.0, 0.0]).unwrap();
        let all: Vec<u32> = (0..snapshot.len() as u32).collect();
        snapshot.compute_cosines(&query, &all, &mut scores);
        let docs: Vec<_> = (0..400)
            .map(|o| (snapshot.doc(o), snapshot.doc_traits(o, &view)))
            .collect();
        format!(
            "{signals} {scores:?} {docs:?} {:?}",
            view.ordinals().collect::<Vec<_>>()
        )
    };
    let seen = state(&before);
    writer.push(&NewDoc {
        speaker: "",
        text: "zebra",
        is_prompt: false,
        exact: &[],
        vector: Some(&[1.0, 0.0]),
        ..doc(301)
    });
    writer.set_vector(5, &[1.0, 0.0]);
    writer.forget(6, at(9_000));
    writer.supersede(7, at(9_000));
    writer.purge();
    let after = writer.publish();
    assert_eq!(state(&before), seen);
    assert_ne!(state(&after), seen);
}

#[test]
fn neighbours_are_the_living_of_the_same_session() {
    let mut writer = IndexWriter::new(2);
    for session_id in ["a", "b", "a", "", "a", ""] {
        writer.push(&NewDoc {
            session_id,
            ..doc(0)
        });
    }
    let of = |writer: &mut IndexWriter| {
        let view = writer.publish().view(&MemoryFilter::default(), None);
        (0..6).map(|o| view.neighbours(o)).collect::<Vec<_>>()
    };
    let none = (None, None);
    let all = [
        (None, Some(2)),
        none,
        (Some(0), Some(4)),
        none,
        (Some(2), None),
        none,
    ];
    assert_eq!(of(&mut writer), all);
    writer.forget(2, at(9_000));
    writer.forget(2, at(9_001));
    assert_eq!(
        of(&mut writer),
        [(None, Some(4)), none, none, none, (Some(0), None), none]
    );
    writer.supersede(4, at(9_000));
    writer.push(&NewDoc {
        session_id: "a",
        ..doc(0)
    });
    let snapshot = writer.publish();
    let now = snapshot.view(&MemoryFilter::default(), None);
    assert_eq!(now.neighbours(6).0, Some(0));
    assert_eq!(snapshot.doc(2).unwrap().forgotten_at(), Some(at(9_000)));
    let then = snapshot.view(&MemoryFilter::default(), Some(at(100)));
    assert_eq!(then.neighbours(2), (Some(0), Some(4)));
    assert_eq!(then.neighbours(99), none);
}

#[test]
fn an_empty_index_and_odd_questions_have_answers() {
    let mut writer = IndexWriter::new(2);
    let mut scratch = LexicalScratch::default();
    let empty = writer.publish();
    assert!(empty.is_empty() && empty.doc(0).is_none() && empty.list_unembedded(0, 9).is_empty());
    let view = empty.view(&MemoryFilter::default(), None);
    let signals = empty.score_lexical(&empty.analyse_query("race"), &view, 9, &mut scratch);
    assert!(signals.best.is_empty() && signals.terms[0].idf == 0.0);
    for _ in 0..3 {
        writer.push(&doc(1));
    }
    let snapshot = writer.publish();
    let nobody = MemoryFilter {
        kinds: Some(Vec::new()),
        ..MemoryFilter::default()
    };
    assert_eq!(snapshot.view(&nobody, None).considered_count(), 0);
    let view = snapshot.view(&MemoryFilter::default(), None);
    let long = "auth race ".repeat(10_000);
    for question in [
        "",
        "the of and",
        "\u{1f600}\u{1f680}",
        &long,
        "\0\u{feff}\u{202e}",
    ] {
        let query = snapshot.analyse_query(question);
        let signals = snapshot.score_lexical(&query, &view, 9, &mut scratch);
        for ordinal in 0..3 {
            let terms = signals.term_mask(ordinal);
            assert!(signals.score(ordinal).is_finite(), "{question:.20}");
            let all = if question == long { 1.0 } else { 0.0 };
            let missed = (signals.coverage(terms) - all).abs();
            assert!(missed < 1e-6, "{question:.20}");
        }
    }
    // Without vectors every document is unembedded and every cosine is 0.
    assert_eq!(snapshot.list_unembedded(0, 2), [0, 1]);
    assert_eq!(snapshot.list_unembedded(1, 1), [1]);
    let mut scores = Vec::new();
    let query = snapshot.encode_query(&[1.0, 0.0]).unwrap();
    let all: Vec<u32> = (0..snapshot.len() as u32).collect();
    snapshot.compute_cosines(&query, &all, &mut scores);
    assert_eq!(scores, [0.0; 3]);
    assert!(snapshot.memory_bytes() > 0);
}

#[test]
fn a_record_is_found_by_its_id() {
    let mut writer = IndexWriter::new(2);
    assert_eq!(writer.last(), None);
    for number in [1, 3, 5, 7] {
        writer.push(&doc(number));
    }
    writer.push_hole(doc(7).id);
    let snapshot = writer.publish();
    for number in 0..9 {
        let expected = [1, 3, 5, 7]
            .iter()
            .position(|n| *n == number)
            .map(|o| o as u32);
        assert_eq!(snapshot.find(doc(number).id), expected, "{number}");
        assert_eq!(writer.find(doc(number).id), expected, "{number}");
    }
    assert_eq!(writer.last().map(|(id, _)| id), Some(doc(7).id));
    assert_eq!(
        (
            snapshot.find_session("two"),
            snapshot.find_session(""),
            snapshot.session_count()
        ),
        (Some(1), None, 2)
    );
}
