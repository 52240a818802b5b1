//! Compares every signal with a naive implementation of its formula, over random histories of a
//! store.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use proptest::prelude::*;
use reprise_types::{MemoryFilter, MemoryKind, MemorySource, RecordId};

use super::*;
use crate::snapshot::IndexSnapshot;
use crate::view::IndexView;
use crate::words::{AnalyserConfig, HEAD_TERMS, Language, for_each_term as words_of};
use crate::writer::{IndexWriter, NewDoc};

const VOCABULARY: [&str; 10] = [
    "race", "auth", "token", "deploy", "kitten", "painting", "budget", "train", "of", "the",
];

#[derive(Debug, Clone)]
enum Op {
    Push {
        words: Vec<usize>,
        session: usize,
        is_lead: bool,
    },
    Hole,
    Forget(u32),
    Supersede(u32),
    Publish,
}

/// What is expected of one document: its content and the steps at which it began and ended.
struct ExpectedDoc {
    terms: Vec<String>,
    session: usize,
    is_lead: bool,
    known: i64,
    ended: i64,
}

fn at(step: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(step, 0).unwrap()
}

fn op_strategy() -> impl Strategy<Value = Vec<Op>> {
    // Some texts are longer than a head.
    let words = prop_oneof![
        4 => prop::collection::vec(0..VOCABULARY.len(), 0..12),
        1 => prop::collection::vec(0..VOCABULARY.len(), 60..120),
    ];
    let op = prop_oneof![
        8 => (words, 0_usize..4, prop::bool::weighted(0.2)).prop_map(
            |(words, session, is_lead)| Op::Push { words, session, is_lead }
        ),
        1 => Just(Op::Hole),
        1 => (0_u32..30).prop_map(Op::Forget),
        1 => (0_u32..30).prop_map(Op::Supersede),
        4 => Just(Op::Publish),
    ];
    prop::collection::vec(op, 0..60)
}

/// Replays the history; each operation takes one step of time.
fn replay(ops: &[Op], publish: bool) -> (IndexWriter, Vec<ExpectedDoc>) {
    let mut writer = IndexWriter::new(4);
    let mut expected_docs: Vec<ExpectedDoc> = Vec::new();
    for (step, op) in (1..).zip(ops) {
        let end = |expected_docs: &mut Vec<ExpectedDoc>, ordinal: u32| {
            if let Some(doc) = expected_docs.get_mut(ordinal as usize) {
                doc.ended = doc.ended.min(step);
            }
        };
        match op {
            Op::Push {
                words,
                session,
                is_lead,
            } => {
                let text = words
                    .iter()
                    .map(|w| VOCABULARY[*w])
                    .collect::<Vec<_>>()
                    .join(" ");
                let mut terms = Vec::new();
                let reading = AnalyserConfig::for_text(Language::English);
                words_of(&text, &reading, |term| terms.push(term.key.to_owned()));
                let names = ["", "one", "two", "three"];
                writer.push(&NewDoc {
                    id: RecordId::from_parts(step as u64, 0),
                    timestamp: at(step),
                    known_at: at(step),
                    kind: MemoryKind::Episode,
                    source: MemorySource::UserInput,
                    session_id: names[*session],
                    speaker: "",
                    text: &text,
                    is_prompt: *is_lead,
                    exact: &[],
                    vector: None,
                });
                expected_docs.push(ExpectedDoc {
                    terms,
                    session: *session,
                    is_lead: *is_lead,
                    known: step,
                    ended: i64::MAX,
                });
            }
            Op::Hole => {
                writer.push_hole(RecordId::from_parts(step as u64, 0));
                expected_docs.push(ExpectedDoc {
                    terms: Vec::new(),
                    session: 0,
                    is_lead: false,
                    known: i64::MAX,
                    ended: 0,
                });
            }
            Op::Forget(ordinal) => {
                writer.forget(*ordinal, at(step));
                end(&mut expected_docs, *ordinal);
            }
            Op::Supersede(ordinal) => {
                writer.supersede(*ordinal, at(step));
                end(&mut expected_docs, *ordinal);
            }
            Op::Publish if publish => drop(writer.publish()),
            Op::Publish => {}
        }
    }
    (writer, expected_docs)
}

/// BM25 as in `floors.py`, over documents given as lists of terms.
struct NaiveBm25 {
    k1: f64,
    lengths: Vec<f64>,
    average: f64,
    counts: Vec<BTreeMap<String, f64>>,
}

impl NaiveBm25 {
    fn new(documents: &[Vec<String>], k1: f64) -> Self {
        let lengths: Vec<f64> = documents.iter().map(|d| d.len() as f64).collect();
        let average = lengths.iter().sum::<f64>() / documents.len().max(1) as f64;
        let counts = documents
            .iter()
            .map(|terms| {
                let mut counts = BTreeMap::new();
                for term in terms {
                    *counts.entry(term.clone()).or_insert(0.0) += 1.0;
                }
                counts
            })
            .collect();
        let average = if average == 0.0 { 1.0 } else { average };
        Self {
            k1,
            lengths,
            average,
            counts,
        }
    }

    fn idf(&self, term: &str) -> f64 {
        let n = self.counts.len() as f64;
        let held = |least: f64| {
            let holds = |c: &&BTreeMap<String, f64>| c.get(term).is_some_and(|f| *f >= least);
            self.counts.iter().filter(holds).count() as f64
        };
        // A term that is only in tails counts for little, but it is known.
        let df = if held(1.0) > 0.0 {
            held(1.0)
        } else {
            held(0.0)
        };
        if df == 0.0 {
            0.0
        } else {
            (1.0 + (n - df + 0.5) / (df + 0.5)).ln()
        }
    }

    fn scores(&self, query: &[String]) -> Vec<f64> {
        let score = |at: usize| {
            let of = |term: &String| {
                let f = self.counts[at].get(term).copied().unwrap_or(0.0);
                let norm = self.k1 * (1.0 - 0.75 + 0.75 * self.lengths[at] / self.average);
                if f == 0.0 {
                    0.0
                } else {
                    self.idf(term) * f * (self.k1 + 1.0) / (f + norm)
                }
            };
            let distinct: BTreeSet<&String> = query.iter().collect();
            distinct.into_iter().map(of).sum()
        };
        (0..self.counts.len()).map(score).collect()
    }

    fn coverage(&self, query: &[String]) -> Vec<f64> {
        let distinct: BTreeSet<&String> = query.iter().collect();
        let total: f64 = distinct.iter().map(|t| self.idf(t)).sum();
        let total = if total == 0.0 { 1.0 } else { total };
        let held = |counts: &BTreeMap<String, f64>| {
            let held = distinct.iter().filter(|t| counts.contains_key(**t));
            held.map(|t| self.idf(t)).sum::<f64>() / total
        };
        self.counts.iter().map(held).collect()
    }
}

/// Computes score, session score and coverage of every document as of `now`; 0 for a bare prompt,
/// which changes no other document's signals.
fn expected_signals(expected_docs: &[ExpectedDoc], query: &[String], now: i64) -> [Vec<f64>; 3] {
    let live: Vec<usize> = (0..expected_docs.len())
        .filter(|i| {
            expected_docs[*i].known <= now
                && expected_docs[*i].ended > now
                && !expected_docs[*i].is_lead
        })
        .collect();
    let whole: Vec<Vec<String>> = live
        .iter()
        .map(|i| expected_docs[*i].terms.clone())
        .collect();
    let head_of = |terms: &Vec<String>| terms.iter().take(HEAD_TERMS).cloned().collect();
    let heads: Vec<Vec<String>> = whole.iter().map(head_of).collect();
    let mut heads = NaiveBm25::new(&heads, 0.4);
    for (counts, terms) in heads.counts.iter_mut().zip(&whole) {
        for term in terms.iter().skip(HEAD_TERMS) {
            counts.entry(term.clone()).or_insert(0.3);
        }
    }
    let session = |at: usize| expected_docs[live[at]].session;
    let named: Vec<usize> = (1..4)
        .filter(|s| (0..live.len()).any(|at| session(at) == *s))
        .collect();
    let sessions: Vec<Vec<String>> = named
        .iter()
        .map(|s| {
            (0..live.len())
                .filter(|at| session(*at) == *s)
                .flat_map(|at| whole[at].clone())
                .collect()
        })
        .collect();
    let by_session = NaiveBm25::new(&sessions, 1.2).scores(query);
    let of_session = |at: usize| named.iter().position(|s| *s == session(at));
    let compact = [
        heads.scores(query),
        (0..live.len())
            .map(|at| of_session(at).map_or(0.0, |s| by_session[s]))
            .collect(),
        heads.coverage(query),
    ];
    compact.map(|signal| {
        let mut all = vec![0.0; expected_docs.len()];
        for (at, value) in live.iter().zip(signal) {
            all[*at] = value;
        }
        all
    })
}

fn measure_signals(snapshot: &IndexSnapshot, query: &str, as_of: Option<i64>) -> [Vec<f32>; 3] {
    let view = snapshot.view(&MemoryFilter::default(), as_of.map(at));
    let mut scratch = LexicalScratch::default();
    measure_signals_in(snapshot, query, &view, &mut scratch)
}

/// Measures the signals with buffers that may contain another query's data.
fn measure_signals_in(
    snapshot: &IndexSnapshot,
    query: &str,
    view: &IndexView,
    scratch: &mut LexicalScratch,
) -> [Vec<f32>; 3] {
    let query = snapshot.analyse_query(query);
    let found = snapshot.score_lexical(&query, view, 5, scratch);
    let all = 0..snapshot.len() as u32;
    // A dead document has no session score.
    let session = |at: u32| {
        let doc = snapshot.doc(at).filter(|_| view.is_live(at));
        found.session_score(doc.and_then(|doc| doc.session()))
    };
    let scores: Vec<f32> = all.clone().map(|at| found.score(at)).collect();
    let mut best: Vec<(u32, f32)> = all
        .clone()
        .map(|at| (at, found.score(at)))
        .filter(|(_, score)| *score > 0.0)
        .collect();
    best.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
    best.truncate(5);
    assert_eq!(found.best, best);
    let lead = |at: u32| {
        snapshot
            .doc_traits(at, view)
            .is_some_and(|it| it.bare_prompt)
    };
    let statistics_documents = || all.clone().filter(|at| view.is_live(*at) && !lead(*at));
    let live: Vec<f32> = statistics_documents().map(session).collect();
    check_spread(found.session_score_spread, &live);
    let live: Vec<f32> = statistics_documents().map(|at| found.score(at)).collect();
    check_spread(found.score_spread, &live);
    [
        scores,
        all.clone().map(session).collect(),
        all.map(|at| found.coverage(found.term_mask(at))).collect(),
    ]
}

fn check_spread(spread: Spread, values: &[f32]) {
    let n = values.len().max(1) as f64;
    let mean = values.iter().map(|v| f64::from(*v)).sum::<f64>() / n;
    let square = values
        .iter()
        .map(|v| (f64::from(*v) - mean).powi(2))
        .sum::<f64>()
        / n;
    assert!(
        (f64::from(spread.mean) - mean).abs() < 1e-3,
        "{spread:?} {mean}"
    );
    assert!(
        (f64::from(spread.deviation) - square.sqrt()).abs() < 1e-2,
        "{spread:?} {square}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn every_signal_is_its_formula(
        ops in op_strategy(),
        words in prop::collection::vec(0..VOCABULARY.len(), 0..8),
        as_of in prop::option::of(0_i64..61),
    ) {
        let (mut writer, expected_docs) = replay(&ops, true);
        let snapshot = writer.publish();
        let query = words.iter().map(|w| VOCABULARY[*w]).collect::<Vec<_>>().join(" ");
        let mut terms = Vec::new();
        words_of(&query, &AnalyserConfig::for_text(Language::English), |term| {
            terms.push(term.key.to_owned());
        });
        let expected = expected_signals(&expected_docs, &terms, as_of.unwrap_or(i64::MAX - 1));
        let got = measure_signals(&snapshot, &query, as_of);
        let names = ["words", "session", "coverage"];
        for (name, (got, expected)) in names.iter().zip(got.iter().zip(&expected)) {
            prop_assert_eq!(got.len(), expected.len());
            let compared = got.iter().zip(expected).zip(&expected_docs);
            for ((g, e), _) in compared.filter(|(_, expected_docs)| !expected_docs.is_lead) {
                let close = (f64::from(*g) - e).abs() <= 1e-4 * e.abs().max(1.0);
                prop_assert!(close, "{} {} {}", name, g, e);
            }
        }
        // The result is bit for bit the same however the documents were batched.
        let (mut at_once, _) = replay(&ops, false);
        prop_assert_eq!(&measure_signals(&at_once.publish(), &query, as_of), &got);
        let mut reloaded = crate::saving::open_whole(4, &writer.to_sections()).unwrap();
        prop_assert_eq!(&measure_signals(&reloaded.publish(), &query, as_of), &got);
        // Purging does not change answers about the present.
        writer.purge();
        let purged = measure_signals(&writer.publish(), &query, None);
        prop_assert_eq!(purged, measure_signals(&snapshot, &query, None));
    }

    #[test]
    fn a_store_stopped_then_would_have_answered_the_same(ops in op_strategy(), stop in 0_usize..60) {
        let stop = stop.min(ops.len());
        let (mut whole, _) = replay(&ops, true);
        let (mut stopped, expected_docs) = replay(&ops[..stop], true);
        let then = measure_signals(&whole.publish(), "the race of auth tokens", i64::try_from(stop).ok());
        let now = measure_signals(&stopped.publish(), "the race of auth tokens", None);
        for (then, now) in then.iter().zip(&now) {
            prop_assert_eq!(&then[..expected_docs.len()], &now[..]);
            prop_assert!(then[expected_docs.len()..].iter().all(|x| *x == 0.0));
        }
    }

    #[test]
    fn matched_words_are_those_the_text_holds(ops in op_strategy()) {
        let (mut writer, expected_docs) = replay(&ops, true);
        let snapshot = writer.publish();
        let query = snapshot.analyse_query("Auth races; painted TRAINS, auth!");
        let view = snapshot.view(&MemoryFilter::default(), None);
        let mut scratch = LexicalScratch::default();
        let signals = snapshot.score_lexical(&query, &view, 5, &mut scratch);
        for (ordinal, doc) in (0..).zip(&expected_docs) {
            let held = query.terms.iter().filter(|t| doc.terms.contains(&t.stem));
            let expected: Vec<String> = held.map(|t| t.surface.clone()).collect();
            prop_assert_eq!(&snapshot.matched_words(ordinal, &query), &expected);
            if view.is_live(ordinal) {
                prop_assert_eq!(&signals.matched_words(ordinal, &query), &expected);
            }
        }
    }
}

#[test]
fn borrowed_buffers_carry_nothing_over() {
    let (mut writer, _) = replay(
        &[
            Op::Push {
                words: vec![0, 1, 2],
                session: 1,
                is_lead: false,
            },
            Op::Push {
                words: vec![3, 4],
                session: 1,
                is_lead: false,
            },
        ],
        true,
    );
    let snapshot = writer.publish();
    let view = snapshot.view(&MemoryFilter::default(), None);
    let mut scratch = LexicalScratch::default();
    let first = measure_signals_in(&snapshot, "race kitten", &view, &mut scratch);
    for empty in ["", "the of and", "\u{1f600}\u{1f680}", "unheard"] {
        for signal in measure_signals_in(&snapshot, empty, &view, &mut scratch) {
            assert_eq!(signal, [0.0, 0.0], "{empty}");
        }
    }
    // Nor does another, smaller store that uses the same buffers in between.
    let (mut other, _) = replay(
        &[Op::Push {
            words: vec![0],
            session: 2,
            is_lead: false,
        }],
        true,
    );
    let small = other.publish();
    let other_view = small.view(&MemoryFilter::default(), None);
    measure_signals_in(&small, "race", &other_view, &mut scratch);
    assert_eq!(
        measure_signals_in(&snapshot, "race kitten", &view, &mut scratch),
        first
    );
}

#[test]
fn a_word_of_most_documents_counts_where_nothing_else_is_asked() {
    let mut writer = IndexWriter::new(4);
    let count = COMMON_LIVE_MIN + 2;
    for number in 0..count {
        let text = if number == 7 {
            "common rare"
        } else {
            "common other"
        };
        writer.push(&NewDoc {
            id: RecordId::from_parts(u64::from(number), 0),
            timestamp: at(1),
            known_at: at(1),
            kind: MemoryKind::Episode,
            source: MemorySource::UserInput,
            session_id: "",
            speaker: "",
            text,
            is_prompt: false,
            exact: &[],
            vector: None,
        });
    }
    let snapshot = writer.publish();
    let view = snapshot.view(&MemoryFilter::default(), None);
    let mut scratch = LexicalScratch::default();
    let query = snapshot.analyse_query("common rare");
    let found = snapshot.score_lexical(&query, &view, 3, &mut scratch);
    assert_eq!(
        found.best.iter().map(|best| best.0).collect::<Vec<_>>(),
        [7]
    );
    assert_eq!((found.terms[0].documents, found.terms[1].documents), (0, 1));
    let query = snapshot.analyse_query("common");
    let found = snapshot.score_lexical(&query, &view, 3, &mut scratch);
    assert_eq!(found.best.len(), 3);
    assert_eq!(found.terms[0].documents, count);
}

/// Builds a snapshot with a record for each text, none in a session.
fn build_snapshot(texts: &[&str]) -> std::sync::Arc<IndexSnapshot> {
    let mut writer = IndexWriter::new(4);
    for (number, text) in (1..).zip(texts) {
        writer.push(&NewDoc {
            id: RecordId::from_parts(number, 0),
            timestamp: at(1),
            known_at: at(1),
            kind: MemoryKind::Episode,
            source: MemorySource::UserInput,
            session_id: "",
            speaker: "",
            text,
            is_prompt: false,
            exact: &[],
            vector: None,
        });
    }
    writer.publish()
}

#[test]
fn a_word_stands_for_the_longer_ones_that_it_begins_but_for_less() {
    let texts = [
        "sock",
        "sockstat",
        "sockstatistics sockstat",
        "socrates",
        "1234567",
    ];
    let snapshot = build_snapshot(&texts);
    let view = snapshot.view(&MemoryFilter::default(), None);
    let mut scratch = LexicalScratch::default();
    let mut scores = |question: &str| -> Vec<f32> {
        let query = snapshot.analyse_query(question);
        let found = snapshot.score_lexical(&query, &view, 9, &mut scratch);
        (0..5).map(|at| found.score(at)).collect()
    };
    let found = scores("sock");
    assert!(found[0] > found[1] && found[1] > 0.0, "{found:?}");
    // Of several longer words only the best counts, once.
    assert!(found[2] > 0.0 && found[2] <= found[1], "{found:?}");
    assert_eq!(found[3..], [0.0, 0.0]);
    // A word that nobody wrote finds what it begins; three letters and numbers begin nothing.
    assert!(scores("sockst")[1] > 0.0);
    assert_eq!(scores("soc 1234"), [0.0; 5]);
}

#[test]
fn words_that_nobody_wrote_are_a_share_of_the_question_too() {
    let snapshot = build_snapshot(&["deploy token", "kitten"]);
    let view = snapshot.view(&MemoryFilter::default(), None);
    let mut scratch = LexicalScratch::default();
    let query = snapshot.analyse_query("deploy zebra");
    let found = snapshot.score_lexical(&query, &view, 9, &mut scratch);
    let terms = found.term_mask(0);
    assert!(
        (found.coverage(terms) - 1.0).abs() < 1e-6,
        "of what is known"
    );
    assert!(
        (0.3..0.6).contains(&found.weighted_coverage(terms)),
        "{}",
        found.weighted_coverage(terms)
    );
    assert!(found.weighted_coverage(found.term_mask(1)) < 1e-6);
    let query = snapshot.analyse_query("deploy");
    let found = snapshot.score_lexical(&query, &view, 9, &mut scratch);
    assert!((found.weighted_coverage(found.term_mask(0)) - 1.0).abs() < 1e-6);
    let query = snapshot.analyse_query("the");
    let found = snapshot.score_lexical(&query, &view, 9, &mut scratch);
    assert!(found.weighted_coverage(0) < 1e-6);
}
