//! An answer as of an instant is that of a store that had stopped then, whatever was stored,
//! corrected, tagged or linked since.

use chrono::Duration;
use proptest::prelude::*;
use reprise_types::{MemoryFilter, RecallRequest, RecordId, RetrievedMemory};

use super::{EngineBench, inserted_ids, record};

#[derive(Debug, Clone)]
enum Step {
    Keep { words: Vec<usize>, session: usize },
    Correct { which: usize, words: Vec<usize> },
    Tag { which: usize, tags: Vec<usize> },
    Link { from: usize, to: usize },
}

const WORDS: [&str; 8] = [
    "auth",
    "race",
    "mutex",
    "port",
    "Lisbon",
    "hotel",
    "invoice",
    "yesterday",
];
const TAGS: [&str; 3] = ["rust", "travel", "billing"];

fn step() -> impl Strategy<Value = Step> {
    let words = || prop::collection::vec(0..WORDS.len(), 1..6);
    prop_oneof![
        4 => (words(), 0..3_usize).prop_map(|(words, session)| Step::Keep { words, session }),
        1 => (any::<usize>(), words()).prop_map(|(which, words)| Step::Correct { which, words }),
        2 => (any::<usize>(), prop::collection::vec(0..TAGS.len(), 0..3))
            .prop_map(|(which, tags)| Step::Tag { which, tags }),
        1 => (any::<usize>(), any::<usize>()).prop_map(|(from, to)| Step::Link { from, to }),
    ]
}

fn apply_step(
    bench: &mut EngineBench,
    ids: &mut Vec<RecordId>,
    live: &mut Vec<usize>,
    step: &Step,
) {
    let text = |words: &[usize]| -> String {
        let words: Vec<&str> = words.iter().map(|word| WORDS[*word]).collect();
        words.join(" ")
    };
    let name = ids.len().to_string();
    bench.now += Duration::seconds(1);
    let now = bench.now;
    match step {
        Step::Keep { words, session } => {
            let mut new = record(&name, &text(words), words[0], &format!("s{session}"));
            new.tags = vec![TAGS[words[0] % TAGS.len()].to_owned()];
            live.push(ids.len());
            ids.extend(inserted_ids(&bench.insert(vec![new])));
        }
        Step::Correct { which, words } if !live.is_empty() => {
            let place = which % live.len();
            let old = live.swap_remove(place);
            let mut new = record(&name, &text(words), words[0], "s0");
            new.supersedes = Some(ids[old]);
            live.push(ids.len());
            ids.extend(inserted_ids(&bench.insert(vec![new])));
        }
        Step::Tag { which, tags } if !live.is_empty() => {
            let tags: Vec<String> = tags.iter().map(|tag| TAGS[*tag].to_owned()).collect();
            let id = ids[live[which % live.len()]];
            bench.engine().set_tags(id, &tags, now).unwrap();
        }
        Step::Link { from, to } if !live.is_empty() => {
            let id = |which: &usize| ids[live[which % live.len()]];
            let (from, to) = (id(from), id(to));
            bench.engine().link(from, to, "see", now).unwrap();
        }
        _ => {}
    }
}

/// Asks three questions, one of them with a tag.
fn ask_questions(
    bench: &mut EngineBench,
    at: Option<chrono::DateTime<chrono::Utc>>,
) -> Vec<Vec<RetrievedMemory>> {
    let questions = [
        ("auth race yesterday", None),
        ("hotel in Lisbon", None),
        ("port", Some(0)),
    ];
    let mut ask = |(query, tag): (&str, Option<usize>)| {
        let mut request = RecallRequest::new(query);
        request.as_of = at;
        request.filter = MemoryFilter {
            tags: tag.map(|tag| vec![TAGS[tag].to_owned()]),
            ..MemoryFilter::default()
        };
        bench.ask_with(&request, Some(query.len())).results
    };
    questions.map(&mut ask).to_vec()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn an_answer_as_of_an_instant_is_that_of_a_store_that_stopped_then(
        steps in prop::collection::vec(step(), 1..14),
        compact in any::<bool>(),
    ) {
        let mut bench = EngineBench::new();
        let (mut ids, mut live) = (Vec::new(), Vec::new());
        let mut then = Vec::new();
        for step in &steps {
            apply_step(&mut bench, &mut ids, &mut live, step);
            let stopped = ask_questions(&mut bench, None);
            then.push((bench.now, stopped));
        }
        if compact {
            bench.engine().compact().unwrap();
            bench.reopen();
        }
        for (at, stopped) in then {
            prop_assert_eq!(ask_questions(&mut bench, Some(at)), stopped);
        }
    }
}
