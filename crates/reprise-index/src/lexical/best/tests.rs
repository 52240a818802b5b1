//! The best by blocks, compared with those of the whole pass.

use chrono::DateTime;
use proptest::prelude::*;
use reprise_types::{MemoryFilter, MemoryKind, MemorySource, RecordId};

use crate::lexical::LexicalScratch;
use crate::writer::{IndexWriter, NewDoc};

/// Words of a text: the first of the vocabulary are in most texts, the last in few.
fn words(seed: u64, count: u64) -> String {
    let mut state = seed;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    let rank = |one: u64, other: u64| (one % 40) * (other % 40) / 8;
    let words = (0..count).map(|_| format!("word{}", rank(next(), next())));
    words.collect::<Vec<_>>().join(" ")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn blocks_give_the_best_of_the_whole_pass(
        seed in any::<u32>(),
        documents in 1_u32..3_000,
        cut in 1_u32..900,
        k in prop_oneof![Just(1_usize), Just(10), Just(128)],
        saved in any::<bool>(),
        kinds in any::<bool>(),
    ) {
        let mut writer = IndexWriter::new(4);
        for number in 0..documents {
            let own = u64::from(seed) << 32 | u64::from(number);
            let at = DateTime::from_timestamp(i64::from(number), 0).unwrap();
            writer.push(&NewDoc {
                id: RecordId::from_parts(u64::from(number) + 1, 0),
                timestamp: at,
                known_at: at,
                kind: MemoryKind::ALL[number as usize % 2],
                source: MemorySource::UserInput,
                session_id: "",
                speaker: "",
                text: &words(own, 1 + own.wrapping_mul(31) % 97),
                is_prompt: false,
                exact: &[],
                vector: None,
            });
            if number % cut == 0 {
                drop(writer.publish());
            }
        }
        if saved {
            writer = IndexWriter::from_parts(4, &writer.to_parts()).unwrap();
        }
        let snapshot = writer.publish();
        let filter = MemoryFilter {
            kinds: kinds.then(|| vec![MemoryKind::ALL[1]]),
            ..MemoryFilter::default()
        };
        let view = snapshot.view(&filter, None);
        let (mut one, mut other) = (LexicalScratch::default(), LexicalScratch::default());
        for question in 0..8 {
            let query = snapshot.analyse_query(&words(u64::from(seed) + question, 1 + question));
            let best = snapshot.best_by_words(&query, &view, k, &mut one);
            let whole = snapshot.lexical(&query, &view, k, &mut other).best;
            prop_assert_eq!(best, whole);
        }
    }
}
